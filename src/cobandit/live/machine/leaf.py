"""What a leaf does in addition: it greets its homes, ignores other senders, and parts from homes that it leaves.

A leaf talks only to relays (`homes.py` chooses them). This file owns whose messages a leaf accepts, and what it answers
to other senders. It does not know how relays are found, and counts nothing.
"""

import logging
from typing import TYPE_CHECKING

from cobandit.core import Changes, Message, Notice
from cobandit.live.log_events import LogEvent
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import AnyControlMessage, ControlMessage
from cobandit.live.machine.homes import ANY_RELAY, Homes

if TYPE_CHECKING:
    from cobandit.live.machine.machine import Machine

MAX_NAMED = 5
"""If there are more places than this, only this many are named."""


class Leaf:
    """The leaf's part of one member."""

    def __init__(self, machine: "Machine", homes: Homes) -> None:
        self._machine, self.homes = machine, homes
        self._parted = set[str]()
        """Relays that were told that this leaf is no longer theirs."""

    def begin(self) -> None:
        """Forget peers from earlier starts. The homes will be heard again soon."""
        machine = self._machine
        for peer in machine.peers:
            machine.take(machine.agent.forget(peer, machine.clock.now()))

    def admits(self, content: Message | AnyControlMessage, now: float) -> bool:
        """Return whether a leaf accepts a message: anything from its homes, and questions from any sender."""
        homes, sender = self.homes, content.sender
        if isinstance(content, control_messages.StatusAsked | control_messages.PenAsked | control_messages.PenOver):
            return True  # even if not from a home: a former home may say that a pen is over
        if not homes.has(sender):
            if isinstance(content, control_messages.Hello) and content.is_relay:
                homes.found(sender, now)
            elif not isinstance(content, ControlMessage):
                self._part(sender, now)
            return False
        if isinstance(content, control_messages.Hello):
            if not content.is_relay:
                self._say_no_relay(sender)
                homes.left(sender, now)
                return False
            homes.met(sender, now)
        homes.heard(sender, now)
        return True

    def reached(self, name: str, place: str) -> None:
        """Greet the relay at a place that was dialled, if it is a home."""
        self.homes.reached(name, place)
        if self.homes.has(name):
            self._greet(name)

    def greet_all(self) -> None:
        """Greet every home, now that this leaf can reach them."""
        for name in self.homes.names:
            self._greet(name)

    def look(self, now: float) -> None:
        """Check the homes: part from silent ones, and greet new ones."""
        machine = self._machine
        for name in self.homes.talking:
            if not machine.agent.peers.is_present(name):
                self.homes.left(name, now)
        looked = self.homes.look(now, machine.awaits)
        for name in (*looked.dropped, *looked.replaced):
            if name in machine.agent.peers:  # otherwise it was only tried
                level, why = logging.WARNING, "which does not answer: it goes to another one"
                if name in looked.replaced:
                    level, why = logging.INFO, "because the one that it prefers answers"
                machine.alerts.say(level, LogEvent.RELAY_LEFT, f"has left the relay {name}, {why}", name)
                self._part(name, now)
                machine.forget(name)
        # A relay may introduce itself and be a home again before it is greeted. The earlier farewell must not stand
        # then.
        parted = [name for name in self.homes.talking if name in self._parted]
        for name in dict.fromkeys((*looked.greeted, *parted)):
            self._greet(name)
        if looked.is_reminded:
            machine.flush()
        machine.alerts.trouble(LogEvent.RELAYS_SILENT, self._trouble(), logging.WARNING)

    def _trouble(self) -> str | None:
        if not self.homes.is_cut_off:
            return None
        known = self.homes.known
        shown = ", ".join(known[:MAX_NAMED]) + (f" and {len(known) - MAX_NAMED} more" if len(known) > MAX_NAMED else "")
        which = f"none of its relays answers ({shown})" if known else f"it has found no relay ({ANY_RELAY})"
        return (
            f"{which}: it goes on deciding, keeps what it learns, and tries again. See that a relay of its group runs"
        )

    def _greet(self, name: str) -> None:
        machine = self._machine
        if name in self._parted:  # the farewell holds until there is a later message
            self._parted.discard(name)
            machine.introduction.introduce()
        machine.answer_with(name, machine.introduction.hello(wants_answer=True))

    def _part(self, name: str, now: float) -> None:
        """Tell a relay, or a member of a mesh, that this leaf is not one of its peers."""
        machine = self._machine
        if not machine.discovery.may_answer(name, now, is_member=True):
            return
        self._parted.add(name)
        here = machine.agent.presence
        farewell = here._replace(number=here.number + 1, is_present=False)
        machine.send(Notice(machine.terms.name, name, Changes(presences=(farewell,)), here.session))

    def _say_no_relay(self, name: str) -> None:
        self._machine.alerts.say_once(
            logging.ERROR,
            LogEvent.PACKET_REFUSED,
            f"{name} is not a relay, so this leaf does not talk to it: name relays only (`cobandit relay` runs one)",
            name,
        )
