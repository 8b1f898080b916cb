"""Who is here, with a link to each: the peers that this agent knows, has parted from, or has forgotten.

It handles what every message says about its sender: that it is here, in which session and incarnation, and what it has
of this agent's. A peer that left stays known and is buffered for (Section 3.1, last paragraph). A forgotten peer is put
aside, and continues from there when it is heard again. This file does not know what a message says of observations,
when shares are sent, or how messages are made.
"""

from collections.abc import Sequence

from cobandit.core import credibility
from cobandit.core.agenda import Agenda
from cobandit.core.candidates import Candidates
from cobandit.core.exchange import Exchange, Sharing
from cobandit.core.link import Link
from cobandit.core.members import MAX_FORGOTTEN, Members, Peer
from cobandit.core.messages import AgentId, Changes, Delivery, Notice, Presence, Share
from cobandit.core.places import Bandit
from cobandit.core.replica import News, Replica
from cobandit.core.retransmit import Event, Retransmit
from cobandit.core.thresholds import threshold_between
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm


class Peers:
    """The peers of one agent, with a link to each.

    Args:
        members: This agent, and who the others are.
        links: The links to those that are not forgotten, shared with the agenda.
        replica: What this agent knows.
        candidates: Which arms are still considered.
        agenda: What is owed to the peers.
        sharing: How this agent talks.
    """

    def __init__(
        self,
        members: Members,
        links: dict[AgentId, Link],
        replica: Replica,
        candidates: Candidates,
        agenda: Agenda,
        sharing: Sharing,
    ) -> None:
        self.members = members
        self.links = links
        self.forgotten: dict[AgentId, Link] = {}
        """The links to forgotten agents, unchanged and unused until their agent is heard again."""
        self.met: dict[AgentId, Link] = {}
        """All links."""
        self.trusts = False
        """Whether the peers are agents of one simulation: then their messages are not checked."""
        self._replica = replica
        self._candidates = candidates
        self._agenda = agenda
        self._sharing = sharing

    # What the driver says.

    def join(self, name: AgentId, arms: Sequence[Arm]) -> tuple[tuple[Arm, ...], tuple[Arm, ...]]:
        """Mark a peer as present. Return its arms, and the arms that this agent drops as a result.

        Raises:
            LocalError: It cannot be a peer.
            PeerError: It is known with other arms, and only the peer itself can change them.
        """
        names, known = self.members.check(name, arms), self.met.get(name)
        credibility.check_arms(known, names)
        ruled_out: tuple[Arm, ...] = ()
        if known is None or known.retransmit is None or not known.peer.is_present:
            ruled_out = self.greet(name, names)
            self.remember(self.met[name])
        return names, ruled_out

    def leave(self, name: AgentId) -> None:
        """Mark a peer as gone: keep buffering for it.

        Raises:
            LocalError: No agent of that name has joined.
        """
        if name not in self.met:
            raise LocalError(f"{name!r} cannot leave {self.members.agent}: it has not joined")
        self._part(self.met[name], is_gone=True)

    def forget(self, name: AgentId) -> None:
        """Put a peer that is gone aside.

        Raises:
            LocalError: No agent of that name has joined, or messages cannot be lost here.
        """
        agent = self.members.agent
        if name not in self.met:
            raise LocalError(f"{agent} cannot forget {name!r}: it has not joined")
        if self._sharing.retry is None:
            raise LocalError(f"{agent} cannot forget {name!r}: where no message is lost, all are kept in mind")
        if len(self.forgotten) >= MAX_FORGOTTEN:  # then it only counts as away
            self._part(self.met[name], is_gone=True)
            return
        link = self.links.pop(name, None)
        if link is not None:
            link.peer.is_present, link.is_gone = False, True
            link.exchange.peer_left()
            link.forgotten_at, self.forgotten[name] = self._usable_by(link.peer), link
            self.members.forgotten += 1

    def _buffer_again(self, link: Link) -> None:
        """Count what was observed while the peer was forgotten: it was kept for its return (Section 3.1)."""
        if link.forgotten_at is not None:
            usable = self._usable_by(link.peer)
            link.exchange.renew(link.exchange.buffered + usable - link.forgotten_at)
            link.forgotten_at = usable

    def remember(self, link: Link) -> None:
        """Restore the link to a peer that was heard: if it was forgotten, continue from where it stood."""
        if self.forgotten.pop(link.peer.name, None) is not None:
            self._buffer_again(link)
            link.forgotten_at, self.links[link.peer.name] = None, link
            self.members.forgotten -= 1
            self._agenda.find_urgent(link)
            if link.peer.is_present:
                self._agenda.schedule_if_needed(link)

    def take_role(self, *, is_relay: bool, is_leaf: bool) -> None:
        """Become a relay, a leaf, or neither. No peer hears of it before `join` announces it."""
        self.members.is_relay, self.members.is_leaf = is_relay, is_leaf
        if is_relay:
            self._replica.keep_totals()
        for link in self.links.values():
            self._note_role(link)

    def begin(self, *, is_new_life: bool) -> None:
        """Begin a new session or incarnation: no peer has acknowledged anything, and nothing is held."""
        for link in self.met.values():
            link.begin()
            if is_new_life:
                link.exchange.renew(0)
                link.forgotten_at = None if link.forgotten_at is None else 0

    # What messages say about a peer.

    def check_share(self, share: Share) -> None:
        """Refuse a share that follows other rules, as `admit` refuses impossible statements."""
        if not self.trusts:
            # All that was buffered may have left its window.
            is_tolerant, is_led = self._sharing.retry is not None, self._replica.forgets or self.is_relay(share.sender)
            credibility.check_share(share, self.members.agent, is_tolerant=is_tolerant, is_led=is_led)

    def admit(self, sender: AgentId, changes: Changes, speaker: Delivery | Notice | None) -> Link:
        """Return the link to a sender that may say this. A sender that introduces itself need not be known.

        Raises:
            PeerError: It is a stranger, or says something impossible.
        """
        link, me = self.met.get(sender), self.members
        if not self.trusts:
            credibility.check_words(sender, speaker, changes, link, me, self._replica, self._candidates)
            if isinstance(speaker, Delivery):
                credibility.check_receipt(sender, link, speaker, me.agent, me.session, self._replica.number)
        if link is not None:
            return link
        for presence in changes.presences[:1]:
            if presence.is_present:
                self.greet(sender, presence.arms, presence.bandits, presence)
        me.get(sender)  # raises for a stranger
        return self.met[sender]

    def hear(self, link: Link, delivery: Delivery, now: float) -> None:
        """Handle what every message says: who sent it, in which session, and what it has of this agent's."""
        retransmit, receipt, peer = link.retransmit, delivery.receipt, link.peer
        assert retransmit is not None
        said = self._replica.presence_of(peer.name)
        has_left = said is not None and said.session == delivery.session and not said.is_present
        if not (peer.is_present or has_left):
            self.greet(peer.name, peer.arms)  # the driver was wrong, or its notice was lost
        if delivery.session != peer.session:
            self.begin_session_of(link, delivery.session)
        is_first, link.is_heard = not link.is_heard, True
        has_restarted, link.is_unconfirmed = link.is_unconfirmed, False
        held = 0
        if receipt.session == self.members.session:
            retransmit.is_known, held = True, receipt.held
        if has_restarted:  # believe it: it may have forgotten what it had acknowledged
            link.acknowledged, retransmit.seen = held, receipt.number
        else:
            link.acknowledged, retransmit.seen = max(held, link.acknowledged), max(receipt.number, retransmit.seen)
        retransmit.acknowledged(link.acknowledged)
        link.exchange.skip_to(retransmit.seen)  # or this agent has forgotten some
        if retransmit.seen >= link.exchange.shares_sent:
            retransmit.take(Event.SEEN)
        elif has_restarted:
            retransmit.take(Event.FORGOTTEN)
        if has_restarted:
            retransmit.retry_at = min(retransmit.retry_at, now)
        if is_first:
            self._agenda.find_urgent(link)
            self._agenda.schedule_if_needed(link)

    def begin_session_of(self, link: Link, session: int) -> None:
        """Note that the peer has begun another session: it may have forgotten what it held."""
        is_first, link.peer.session = link.peer.session is None, session
        link.is_heard = False
        if not is_first:
            link.begin()
            link.is_unconfirmed = True
            self._agenda.find_urgent(link)

    def note_incarnation(self, link: Link, news: News, now: float) -> None:
        """Note a peer's present incarnation. The peer may have forgotten what its other incarnations observed."""
        peer, said = link.peer, self._replica.presence_of(link.peer.name)
        told = {key.incarnation for key, _ in news.cells if key.agent == peer.name}
        told |= {peer.incarnation, *[key.incarnation for key in news.eliminations]}
        peer.incarnation = max(told) if said is None else said.incarnation
        if told != {peer.incarnation}:
            self._agenda.find_urgent(link)
            if link.urgent > link.acknowledged and not self.members.is_relay:  # a relay tells a newcomer at once
                self._agenda.expect(link, now)

    def meet(self, link: Link, presence: Presence) -> tuple[Arm, ...]:
        """Handle a peer's own presence: here, or leaving. Return the arms that this agent drops as a result."""
        if presence.session != link.peer.session:
            self.begin_session_of(link, presence.session)
        dropped: tuple[Arm, ...] = ()
        if presence.is_present or (presence.arms, presence.bandits) != (link.peer.arms, link.peer.bandits):
            dropped = self.greet(presence.agent, presence.arms, presence.bandits)
        if not presence.is_present:
            self._part(link, is_gone=False)
        return dropped

    def is_relay(self, peer: AgentId) -> bool:
        """Return whether a peer has said that it is a relay."""
        return credibility.is_relay(self._replica.presence_of(peer))

    def take_back(self, link: Link, changes: Changes) -> None:
        """Greet a forgotten peer if a message holds its latest presence, and that says it is here."""
        said = self._replica.presence_of(link.peer.name)
        is_here = said is not None and said.is_present and said in changes.presences
        if link.forgotten_at is not None and link.is_gone and is_here:
            self.greet(link.peer.name, link.peer.arms)  # it was not gone

    # Links.

    def greet(
        self,
        name: AgentId,
        arms: tuple[Arm, ...],
        bandits: tuple[Bandit, ...] | None = None,
        said: Presence | None = None,
    ) -> tuple[Arm, ...]:
        """Mark a peer as present. Return the arms that this agent now drops, because all have the same arms now.

        What a newcomer says about itself is passed in before it is merged (`said`). A relay that took a leaf for a
        member of a mesh would search the rows of all agents for urgent facts with each greeting.
        """
        was_same, link = self.members.same_arms, self.met.get(name)
        served_before = None if link is None else (link.peer.arms, link.peer.bandits)
        if link is not None:
            self._buffer_again(link)
        peer = self.members.join(name, arms, bandits)
        if link is None:
            link = self._add_link(peer, said)
            self._agenda.find_urgent(link, is_met_now=True)
        else:
            link.is_gone = False
            link.exchange.peer_joined()
            if link.retransmit is not None:
                link.retransmit.take(Event.ASKED)
            if (
                peer.arms,
                peer.bandits,
            ) != served_before:  # as for a new peer: it may now use what it could not use before
                link.exchange.renew(self._usable_by(peer))
                link.forgotten_at = None if link.forgotten_at is None else link.exchange.buffered
        self._note_role(link, said)
        ruled_out = self._candidates.follow_all(was_same=was_same)
        # Pairs that had nothing left to say may have something again.
        for other in self.links.values() if was_same != self.members.same_arms else (link,):
            self._agenda.schedule_if_needed(other)
        return ruled_out

    def add_link(self, name: AgentId, arms: Sequence[Arm], bandits: tuple[Bandit, ...] = ()) -> Link:
        """Add a link for `snapshots.restored`, which knows its state.

        Raises:
            LocalError: It cannot be a peer.
        """
        return self._add_link(self.members.join(name, self.members.check(name, arms, bandits), bandits))

    def _add_link(self, peer: Peer, said: Presence | None = None) -> Link:
        retransmit = None if self._sharing.retry is None else Retransmit(self._sharing.retry)
        threshold = threshold_between(self._sharing.threshold, self.members.agent, peer.name)
        exchange = Exchange(self._sharing, buffered=self._usable_by(peer), threshold=threshold)
        link = self.met[peer.name] = self.links[peer.name] = Link(self.members, peer, exchange, retransmit)
        self._note_role(link, said)
        return link

    def _note_role(self, link: Link, said: Presence | None = None) -> None:
        said = said or self._replica.presence_of(link.peer.name)
        link.is_leaf = self.members.is_relay and said is not None and said.is_leaf
        link.is_between_relays = self.members.is_relay and credibility.is_relay(said)

    def _part(self, link: Link, *, is_gone: bool) -> None:
        link.peer.is_present, link.is_gone = False, is_gone
        link.exchange.peer_left()
        self._agenda.schedule_if_needed(link)

    def _usable_by(self, peer: Peer) -> int:
        """Return how many observations of this incarnation a peer can use."""
        return sum(count for bandit, arm, count in self._replica.own_counts() if peer.serves(bandit, arm))
