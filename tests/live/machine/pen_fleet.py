"""Relays and pods as machines that hear each other at once, in a time that is told: for tests of pens."""

from collections.abc import Iterable

from cobandit.live.drive.clock import VirtualClock
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import PenLent, pack, unpack
from cobandit.live.machine.holding import Leftovers, holder
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.live.machine.step import PenTerms, Restored, Terms
from cobandit.live.store.journal import MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.policies import Policy
from cobandit.policies.registry import BuiltIn

GROUP, ARMS = "pods", ("A", "B")


def build(arms: Iterable[str]) -> Policy:
    return BuiltIn("ucb")(tuple(arms), 1, 1.0)


class Fleet:
    """Machines that hear each other at once."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.clock.time = 1_800_000_000.0
        self.machines: dict[str, Machine] = {}
        self.journals: dict[str, MemoryJournal] = {}
        self.heard: list[object] = []
        """What nobody has a machine for."""
        self.sent: list[tuple[str, str, bytes]] = []
        """Every packet, with its sender and its receiver."""
        self.cut: set[str] = set()
        self.lost: dict[str, type] = {}
        """What the network loses of what each says."""

    def relay(self, name: str, journal: MemoryJournal | None = None) -> Machine:
        self.journals[name] = journal = MemoryJournal() if journal is None else journal
        found = restore(journal, name=name, group=GROUP, arms=ARMS, build=build, sharing=LIVE_SHARING, clock=self.clock)
        return self._run(name, found, is_relay=True)

    def pod(self, relay: str, nonce: bytes = b"1", before: Leftovers | None = None) -> Machine:
        asked = control_messages.PenAsked("asker", nonce, ARMS, 1)
        self.tell(relay, asked)
        lent = self.heard.pop()
        assert isinstance(lent, PenLent)
        found = holder(lent, asked, build=build, sharing=LIVE_SHARING, clock=self.clock, before=before)
        return self._run(lent.pen, found, is_relay=False)

    def _run(self, name: str, found: Restored, *, is_relay: bool) -> Machine:
        relays = () if found.held is None else (found.held.lender,)
        terms = Terms(
            name, GROUP, LIVE_SHARING, build, 1e6, None, is_relay=is_relay, relays=relays, pens=PenTerms(b"key")
        )
        machine = self.machines[name] = Machine(terms, found, self.clock)
        machine.make_decider(None, seed=1, wake=lambda: None)
        if is_relay:
            self.journals[name].replace(machine.state(is_clean=False))
        if machine.leaf is not None:
            machine.leaf.begin()
        machine.introduction.introduce()
        for other in self.machines:
            if other != name and is_relay:
                machine.introduction.greet(other)
        self.work()
        return machine

    def tell(self, receiver: str, message: control_messages.AnyControlMessage) -> None:
        self._deliver(message.sender, receiver, pack(message, GROUP))
        self.work()

    def work(self) -> None:
        """Let everybody take steps until nobody has anything to say."""
        is_busy = True
        while is_busy:
            is_busy = sum(self._step(machine) for machine in list(self.machines.values())) > 0

    def _step(self, machine: Machine, packets: tuple[tuple[bytes, str], ...] = ()) -> bool:
        step = machine.step(packets)
        if machine.terms.name in self.journals and not step.is_empty:
            self.journals[machine.terms.name].write([step.batch])
        for receiver, message in step.outgoing:
            if isinstance(message, self.lost.get(machine.terms.name, ())):
                continue
            self._deliver(machine.terms.name, receiver, pack(message, GROUP))
        return bool(step.outgoing)

    def _deliver(self, sender: str, receiver: str, packet: bytes) -> None:
        self.sent.append((sender, receiver, packet))
        if {sender, receiver} & self.cut:
            return
        if receiver in self.machines:
            self._step(self.machines[receiver], ((packet, sender),))
        else:
            self.heard.append(unpack(packet, GROUP))

    def wait(self, seconds: float) -> None:
        end = self.clock.time + seconds
        while self.clock.time < end:
            self.clock.time = min(self.clock.time + 1.0, end)
            self.work()


def decide(machine: Machine, reward: float | None = 1.0) -> str:
    decision = machine.decider.select_arm()
    if reward is not None:
        machine.decider.settle(decision.number, reward)
    return decision.id


def counted(machine: Machine) -> int:
    """How many observations a machine knows, of everybody."""
    return machine.agent.policy.tally.observations


def name_of(machine: Machine) -> str:
    return machine.terms.name
