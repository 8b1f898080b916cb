"""How one member's messages become packets and leave: versions, sizes, counts, and announcements.

This file owns the version for each peer, what to do with messages that do not fit, and when to announce this member
again. It does not know what messages are about, nor whether they are on the disk: its callers ensure that.
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
"""Seconds. The pause doubles from the first to the second, in case no member heard."""


class Sending:
    """Sends for one member."""

    def __init__(self, machine: Machine, transport: Transport) -> None:
        self._machine, self._transport = machine, transport
        self.counts: Counter[str] = Counter()
        """Counts by kind, with their names in `Communication`."""
        self._fitted: tuple[int, tuple[Arm, ...], tuple[Bandit, ...]] | None = None
        """The packet size, arms and bandits for which the capacity of a message was computed."""
        self._unsent: dict[str, set[str | None]] = {}
        """By kind of message, the receivers whose last one was too large to be sent."""
        self._announce_at: float | None = None
        self._announced_at = 0.0
        self._pause = FIRST_ANNOUNCEMENT
        self.has_announced = True
        """Whether all reachable members were told that this one is present."""

    @property
    def due_at(self) -> float | None:
        """When to announce this member again; `None` for never."""
        return None if self._is_superseded else self._announce_at

    def announce_soon(self, within: float = 0.0) -> None:
        """Announce this member to all with the next step, and then again and again, ever less often.

        Args:
            within: How many seconds it may wait for more to announce.
        """
        at = self._machine.clock.now() + within
        self._announce_at = at if self._announce_at is None else min(at, self._announce_at)
        self._pause = FIRST_ANNOUNCEMENT

    def announce_now_and_then(self) -> None:
        """Announce this member rarely, unless it is announced anyway. Otherwise a quiet member would count as gone."""
        if self._announce_at is None:
            self._pause = LONGEST_BETWEEN_ANNOUNCEMENTS
            self._announce_at = self._machine.clock.now() + self._pause

    def fit_packets(self) -> None:
        """Make the agent's messages fit the packets of the transport."""
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
                continue  # another process now speaks for this member
            packet = self.packed(content, receiver)
            if packet is None:
                continue
            may_send = self._machine.guard.may_send(receiver, len(packet), self._machine.clock.now())
            if not (may_send and self._transport.send(receiver, packet)):
                self.counts["lost"] += 1
        self._announce()

    def status(self, statistics: Statistics) -> list[control_messages.StatusTold]:
        """Return this member's status, in as many messages as the packet size requires."""
        name, content = self._machine.terms.name, encode_statistics(statistics)
        parts = in_parts(content, self._machine.room, answer=int(1000 * statistics.at))
        return [control_messages.StatusTold(name, part) for part in parts]

    def passed_on(self, statistics: Statistics, answer: int) -> list[control_messages.StatusPassedOn]:
        """Return another member's status, in the same way. Each answer has a higher number than earlier ones."""
        name, content = self._machine.terms.name, encode_statistics(statistics)
        return [control_messages.StatusPassedOn(name, part) for part in in_parts(content, self._machine.room, answer)]

    def ask(self, peer: str, question: AnyControlMessage) -> None:
        """Send a control message to a peer, outside any step."""
        if (packet := self.packed(question, peer)) is not None:
            self.counts["lost"] += not self._transport.send(peer, packet)

    def packed(self, content: Message | AnyControlMessage, receiver: str | None) -> bytes | None:
        """Return a packet in a version that its receiver reads: a hello in the oldest, since it says which they are."""
        machine, kind = self._machine, type(content).__name__
        is_hello = isinstance(content, control_messages.Hello)
        version = machine.peer_versions.of(None if is_hello else receiver)
        try:
            packet = machine.terms.versions.packets.encode(content, machine.terms.group, version)
            self._transport.check_size(packet)
        except NotSpokenError:  # added in a later version, so a receiver of this one does not miss it
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
            self._pause = LONGEST_BETWEEN_ANNOUNCEMENTS  # its relays have heard it, and others need not
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
