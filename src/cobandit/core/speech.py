"""How this agent's messages are made: shares, repetitions of the last one, acknowledgements and notices.

Each carries what its receiver wants and has not acknowledged. Where messages may be lost, each also names its sender's
session and says what the sender has of the receiver's, and sending it is noted on the agenda. This file does not know
when to share, which a pair's exchange decides, and does not handle what is received.
"""

from collections.abc import Iterable

from cobandit.core.agenda import Agenda
from cobandit.core.candidates import Candidates
from cobandit.core.facts import PresenceKey
from cobandit.core.link import Link
from cobandit.core.members import Members, Peer
from cobandit.core.messages import Acknowledgement, Changes, Delivery, Message, Notice, Presence, Receipt, Share
from cobandit.core.replica import Replica


class Speech:
    """What one agent sends."""

    def __init__(self, members: Members, replica: Replica, candidates: Candidates, agenda: Agenda) -> None:
        self._members = members
        self._replica = replica
        self._candidates = candidates
        self._agenda = agenda

    def presence(self) -> Presence:
        """Return how this agent introduces itself."""
        me, replica = self._members, self._replica
        role = (replica.units_per_reward, me.is_relay, me.is_leaf)
        bandits = tuple(me.bandits.values())
        return Presence(me.agent, me.session, me.notices, replica.incarnation, True, me.arms, *role, bandits)

    def put_presence(self, links: Iterable[Link]) -> int:
        """Store this agent's presence, which is urgent for every peer. Return the number of the change."""
        number = self._replica.put(PresenceKey(self._members.agent), self.presence())
        for link in links:
            link.urgent = number
        return number

    def notice(self, peer: Peer, changes: Changes) -> Notice:
        """Make a notice for a peer."""
        return Notice(self._members.agent, peer.name, changes, self._members.session, self._is_introduced())

    def share(self, link: Link, observations: int, now: float) -> Share:
        """Make a share that the exchange has decided on."""
        if link.retransmit is not None:
            c = max(1, link.exchange.c - 1)
            link.retransmit.shared(link.exchange.threshold.at(c, self._candidates.count), now)
            self._agenda.schedule(link)
        return self._say(link, observations)

    def repeat(self, link: Link, now: float, *, is_answer: bool = False) -> Share:
        """Make the last share again: the same number, the newest state."""
        assert link.retransmit is not None
        carried = self._replica.observations - link.retransmit.confirmed
        link.exchange.repeat(self._candidates.count)
        link.retransmit.repeated(now)
        self._agenda.schedule(link)
        return self._say(link, carried, is_answer=is_answer)

    def next_part(self, link: Link, now: float) -> tuple[Message, ...]:
        """Continue at once if not everything fit into a message, and the peer now has what was in it."""
        assert link.retransmit is not None
        if not 0 < link.retransmit.part <= link.acknowledged:
            return ()
        link.retransmit.expect(now)
        return (self.repeat(link, now, is_answer=True),)

    def _say(self, link: Link, observations: int, *, is_answer: bool = False) -> Share:
        changes = self._replica.changes(link.acknowledged, link.wants, link.told_of, link.peer.name)
        delivery = None
        if link.retransmit is None:
            link.acknowledged = changes.upto
            changes = Changes(0, 0, *changes[2:])  # nothing is lost, so nothing needs to be claimed
        else:
            is_part = changes.upto < self._replica.number
            link.retransmit.part = changes.upto if is_part else 0
            if not is_part:
                link.retransmit.told(changes.upto, self._replica.observations)
            delivery = self._delivery(link, link.retransmit.attempts, is_answer=is_answer)
        return Share(self._members.agent, link.peer.name, link.exchange.shares_sent, observations, changes, delivery)

    def acknowledge(self, link: Link) -> Acknowledgement:
        """Make a message that only says what this agent has of the peer's."""
        return Acknowledgement(self._members.agent, link.peer.name, self._delivery(link))

    def _delivery(self, link: Link, attempt: int = 0, *, is_answer: bool = False) -> Delivery:
        receipt = Receipt(link.peer.session or 0, link.shares_received, link.held)
        return Delivery(self._members.session, attempt, receipt, is_answer, self._is_introduced())

    def _is_introduced(self) -> bool:
        said = self._replica.presence_of(self._members.agent)
        return said is not None and said.session == self._members.session
