"""How one member's messages become packets and leave: versions, sizes, counts, and announcements to everybody.

This file owns in which version a peer is written to, what does not fit, and when to announce this member again. It does
not know what the messages are about, nor whether they are written down: who calls it has seen to that.
"""

from collections import Counter

from cobandit.codec import NotSpokenError, facts_that_fit
from cobandit.codec.frames import ENVELOPE
from cobandit.core import Acknowledgement, Bandit, Message, Share
from cobandit.live.log_events import LogEvent
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import AnyControlMessage, ControlMessage
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.step import Step
from cobandit.live.status.parts import in_parts
from cobandit.live.status.statistics import Statistics, encode_statistics
from cobandit.live.transports.base import Transport
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm

FIRST_ANNOUNCEMENT, LONGEST_BETWEEN_ANNOUNCEMENTS = 2.0, 600.0
"""Seconds; the pause doubles from the one to the other, in case nobody heard."""


class Sending:
    """Sends for one member."""

    def __init__(self, machine: Machine, transport: Transport) -> None:
        self._machine, self._transport = machine, transport
        self.counts: Counter[str] = Counter()
        """By kind, as `Communication` names them."""
        self._fitted: tuple[int, tuple[Arm, ...], tuple[Bandit, ...]] | None = None
        """For which size of packets, and which arms, it was computed how much fits a message."""
        self._unsent: dict[str, set[str | None]] = {}
        """By kind of message, to whom the last one was too large to be sent."""
        self._announce_at: float | None = None
        self._announced_at = 0.0
        self._pause = FIRST_ANNOUNCEMENT
        self.has_announced = True
        """Whether everybody who can be reached was told that this member is here."""

    @property
    def due_at(self) -> float | None:
        """When to announce this member again; `None` for never."""
        return None if self._is_superseded else self._announce_at

    def announce_soon(self, within: float = 0.0) -> None:
        """Say to everybody, with the next step, that this member is here; then again and again, ever less often.

        Args:
            within: Seconds that it may wait for more to say.
        """
        at = self._machine.clock.now() + within
        self._announce_at = at if self._announce_at is None else min(at, self._announce_at)
        self._pause = FIRST_ANNOUNCEMENT

    def announce_now_and_then(self) -> None:
        """Say so seldom, if it is not said anyway: or who has nothing to say would be taken to be gone."""
        if self._announce_at is None:
            self._pause = LONGEST_BETWEEN_ANNOUNCEMENTS
            self._announce_at = self._machine.clock.now() + self._pause

    def fit_packets(self) -> None:
        """See to it that what the agent says in one message fits a packet of the transport."""
        machine, largest = self._machine, self._transport.largest_frame
        bandits = machine.agent.bandits
        if (largest, machine.agent.arms, bandits) != self._fitted:
            self._fitted = (largest, machine.agent.arms, bandits)
            machine.room = min(machine.room, max(1, largest - 2 * ENVELOPE))
            try:
                machine.limit_facts(facts_that_fit(largest, machine.agent.arms, bandits))
                machine.alerts.trouble(LogEvent.ARMS_TOO_MANY, None)
            except LocalError as error:
                machine.alerts.trouble(LogEvent.ARMS_TOO_MANY, str(error))

    def send(self, step: Step) -> None:
        """Send what a step produced, and the announcement if it is due."""
        for receiver, content in step.outgoing:
            if self._is_superseded and not isinstance(content, control_messages.StatusTold):
                continue  # another process speaks for this member now
            packet = self.packed(content, receiver)
            if packet is None:
                continue
            may_send = self._machine.guard.may_send(receiver, len(packet), self._machine.clock.now())
            if not (may_send and self._transport.send(receiver, packet)):
                self.counts["lost"] += 1
        self._announce()

    def status(self, statistics: Statistics) -> list[control_messages.StatusTold]:
        """Return how this member is, in as many messages as fit the packets of the transport."""
        name, content = self._machine.terms.name, encode_statistics(statistics)
        parts = in_parts(content, self._machine.room, answer=int(1000 * statistics.at))
        return [control_messages.StatusTold(name, part) for part in parts]

    def passed_on(self, statistics: Statistics, answer: int) -> list[control_messages.StatusPassedOn]:
        """Return how another member is, in the same way. Each answer has a higher number than those before."""
        name, content = self._machine.terms.name, encode_statistics(statistics)
        return [control_messages.StatusPassedOn(name, part) for part in in_parts(content, self._machine.room, answer)]

    def ask(self, peer: str, question: AnyControlMessage) -> None:
        """Send a control message to a peer, outside any step."""
        if (packet := self.packed(question, peer)) is not None:
            self.counts["lost"] += not self._transport.send(peer, packet)

    def packed(self, content: Message | AnyControlMessage, receiver: str | None) -> bytes | None:
        """Return a packet in a version that its receiver reads: a hello in the oldest, for it says which those are."""
        machine, kind = self._machine, type(content).__name__
        is_hello = isinstance(content, control_messages.Hello)
        version = machine.peer_versions.of(None if is_hello else receiver)
        try:
            packet = machine.terms.versions.packets.encode(content, machine.terms.group, version)
            self._transport.check_size(packet)
        except NotSpokenError:  # it was added later, so who reads only that version does not miss it
            return None
        except LocalError as error:
            self._unsent.setdefault(kind, set()).add(receiver)
            machine.alerts.trouble(LogEvent.MESSAGE_TOO_LARGE, f"{kind} is not sent: {error}")
            return None
        if self._unsent and receiver in self._unsent.get(kind, ()):
            self._unsent[kind].discard(receiver)
            if not any(self._unsent.values()):
                machine.alerts.trouble(LogEvent.MESSAGE_TOO_LARGE, None)
        self.counts[_kind(content)] += 1
        self.counts["bytes_sent"] += len(packet)
        return packet

    @property
    def _is_superseded(self) -> bool:
        return self._machine.succession.superseded_by is not None

    def _announce(self) -> None:
        now = self._machine.clock.now()
        if self._announce_at is None or now < self._announce_at or self._is_superseded:
            return
        leaf = self._machine.leaf
        if leaf is not None and leaf.homes.are_all_talking and self._pause > FIRST_ANNOUNCEMENT:
            self._pause = LONGEST_BETWEEN_ANNOUNCEMENTS  # its relays have heard it: nobody else needs to
            if now < self._announced_at + LONGEST_BETWEEN_ANNOUNCEMENTS:
                self._announce_at = self._announced_at + LONGEST_BETWEEN_ANNOUNCEMENTS
                return
        if leaf is None or leaf.homes.takes_any:
            hello = (
                self._machine.introduction.hello()
                if leaf is None
                else control_messages.RelaySought(self._machine.terms.name)
            )
            packet = self.packed(hello, None)
            if packet is not None:
                self._transport.announce(packet)
                self.has_announced = True
        for home in () if leaf is None else leaf.homes.talking:
            self.ask(home, self._machine.introduction.hello())
        self._announced_at, self._announce_at = now, now + self._pause
        self._pause = min(2.0 * self._pause, LONGEST_BETWEEN_ANNOUNCEMENTS)


def _kind(content: Message | AnyControlMessage) -> str:
    match content:
        case Share():
            return "shares" if content.is_fresh else "repetitions"
        case Acknowledgement():
            return "acknowledgements"
        case ControlMessage():
            return "letters"
    return "notices"
