"""A process without a name: it asks for a pen, works with it, takes another when it must, and gives it back.

This is what a driver of live members has to do, without a loop and without sockets.
"""

from collections.abc import Callable
from functools import partial

from cobandit.live.machine.control_messages import PenAsked, PenLent, PenReturned, pack, unpack
from cobandit.live.machine.holding import Leftovers, holder, question
from cobandit.live.machine.step import Step
from cobandit.values.errors import PeerError
from lab.pen_swarm.network import Network
from lab.pen_swarm.plan import ARMS, GROUP, Plan
from lab.pen_swarm.station import Station, policy

ASK_EVERY, ASKS = 1.0, 2
"""Seconds until a relay is asked again, and how often before the next one is."""

LOOK_EVERY = 1.0
CLOSE_WITHIN = 60.0


class Pod:
    """A process that runs, with a pen or without."""

    def __init__(
        self,
        plan: Plan,
        network: Network,
        number: int,
        stepped: Callable[[Station, Step], None],
        began: Callable[[Station], None],
        gone: Callable[["Pod"], None],
    ) -> None:
        self.process: object = self
        self.number = number
        self.name = f"asker-{number}"
        self.is_up = True
        self.station: Station | None = None
        self.all_stations: list[Station] = []
        self.is_closing = False
        self.leaves_copy: Callable[[Station], None] | None = None
        """Whether the process goes on after its stop, though its pen is given back, and whom to tell."""
        self._plan, self._network = plan, network
        self._stepped, self._began, self._gone = stepped, began, gone
        self._asked: PenAsked | None = None
        self._asks = number  # so that pods begin with different relays
        self._close_by = 0.0
        network.doors[self.name].append(self)
        self._look()

    def _look(self) -> None:
        """Look every now and then what is to be done."""
        if not self.is_up:
            return
        self._network.at(self._network.time + LOOK_EVERY, self._look)
        station = self.station
        if station is None:
            self._ask(avoid=None)
            return
        holding = station.machine.holding
        assert holding is not None
        if self.is_closing:
            if holding.is_closed or self._network.time >= self._close_by:
                self._stop(station, is_closed=holding.is_closed)
        elif holding.is_over or holding.is_lender_silent(self._network.now()):
            self._ask(avoid=None if holding.is_over else holding.lender)
        else:
            self._asked = None  # the lender is heard again

    def _ask(self, avoid: str | None) -> None:
        if self._asked is None:
            self._asked = question(self.name, ARMS, round(1.0 / self._plan.quantum))
            self._next_ask_at = 0.0
        if self._network.time < self._next_ask_at:
            return
        self._next_ask_at = self._network.time + ASK_EVERY
        relays = [relay for relay in self._plan.relays if relay != avoid]
        if relays:
            self._asks += 1
            relay = relays[self._asks // ASKS % len(relays)]
            self._network.carry(self, self.name, relay, pack(self._asked, GROUP), "PenAsked")

    _next_ask_at = 0.0

    def receive(self, packet: bytes, sender: str) -> None:
        """Take an answer to a question for a pen."""
        message = unpack(packet, GROUP)
        if not self.is_up or not isinstance(message, PenLent):
            return
        if self._asked is None or message.nonce != self._asked.nonce or self.is_closing:
            self._give_back(message, sender)
            return
        asked, self._asked = self._asked, None
        self._switch(message, asked)

    def _give_back(self, lent: PenLent, lender: str) -> None:
        """Give back a pen that came too late to be used, under its name: from nobody else it is taken."""
        in_use = {station.name for station in self.all_stations}
        if lent.pen not in in_use:
            unused = PenReturned(lent.pen, lent.pen, lent.session, 0, lent.first_number)
            self._network.carry(self, lent.pen, lender, pack(unused, GROUP), "PenReturned")

    def _switch(self, lent: PenLent, asked: PenAsked) -> None:
        old, before = self.station, Leftovers()
        if old is not None:
            assert old.machine.holding is not None
            before = old.machine.holding.leftovers()
            old.die()
        plan = self._plan
        try:
            restored = holder(
                lent,
                asked,
                build=partial(policy, plan, lent.pen),
                sharing=plan.sharing,
                clock=self._network,
                before=before,
            )
        except PeerError:
            return
        self.station = Station(plan, self._network, self, self._stepped)
        self.all_stations.append(self.station)
        self.station.run(restored, name=lent.pen, is_relay=False, began=self._began)

    def close(self) -> None:
        """Begin to stop in good order."""
        self.is_closing = True
        self._asked = None
        self._close_by = self._network.time + CLOSE_WITHIN
        if self.station is None:
            self.kill()
            return
        assert self.station.machine.holding is not None
        self.station.machine.holding.close(self._network.now())
        self.station.work()

    def _stop(self, station: Station, *, is_closed: bool) -> None:
        if not is_closed:  # it could not flush: what is not acknowledged is lost
            machine, holding = station.machine, station.machine.holding
            assert holding is not None
            machine.answer_with(holding.lender, PenReturned(station.name, station.name, holding.session, None))
        if is_closed and self.leaves_copy is not None:
            self.station = None
            self.leaves_copy(station)
        else:
            station.machine.take_leave()
            station.work()
        self.kill()

    def kill(self) -> None:
        """End here and now."""
        self.is_up = False
        if self.station is not None:
            self.station.die()
        self._network.doors[self.name].remove(self)
        self._gone(self)
