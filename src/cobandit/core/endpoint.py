"""One agent's side of the protocol: what it knows, whom it knows, and a link to each of them.

This is the only class of the core that a driver talks to. Inputs go in, outcomes come out; there is no clock, no chance
and no I/O here. The endpoint does not know how arms are chosen: it counts observations, answers shares, and passes on
which arms were eliminated.

On a reliable network every message does what the paper says, and that is all. Where messages may be lost and agents
restart (`sharing.retry`), every message says which session speaks and what it has of the receiver's, and what was not
acknowledged in time is said again: `retransmit.py` says when, `agenda.py` what.
"""

from collections import ChainMap
from collections.abc import Mapping, Sequence

from cobandit.core import credibility
from cobandit.core.agenda import Agenda
from cobandit.core.candidates import Candidates
from cobandit.core.exchange import Exchange, Sharing
from cobandit.core.link import Link
from cobandit.core.members import MAX_FORGOTTEN, Members, Peer
from cobandit.core.messages import (
    EVERYBODY_ELSE,
    MAX_INCARNATION,
    Acknowledgement,
    AgentId,
    Changes,
    Delivery,
    Eliminations,
    Message,
    Notice,
    Presence,
    Receipt,
    Share,
)
from cobandit.core.outcome import (
    Began,
    Flushed,
    Forgot,
    Introduced,
    Observed,
    Outcome,
    PeerJoined,
    PeerLeft,
    Received,
    Woke,
)
from cobandit.core.replica import News, PresenceKey, Replica
from cobandit.core.retransmit import Event, Phase, Retransmit
from cobandit.core.thresholds import threshold_between
from cobandit.core.totals import Totals
from cobandit.core.witnesses import Witnesses
from cobandit.values.checks import check_time, check_whole
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import Arm, ArmTally


class Endpoint:
    """The protocol state of one agent.

    Args:
        agent: This agent's name.
        arms: The arms that it serves.
        sharing: How it talks: `on_demand(...)`, `immediate(...)` or `silent()`.
        units_per_reward: How many quanta a reward of 1 has; the same in the whole group.
        incarnation: Which start of this agent it is. Observations of different incarnations are kept apart.
        settles: Whether a pair falls silent once its candidate sets have shrunk to one arm (AAE does, UCB does not).
    """

    def __init__(
        self,
        agent: AgentId,
        arms: Sequence[Arm],
        sharing: Sharing,
        *,
        units_per_reward: int,
        incarnation: int = 0,
        settles: bool = False,
    ) -> None:
        self.members = Members(agent, arms)
        self.replica = Replica(agent, incarnation, self.members.arms, units_per_reward)
        self.session = incarnation
        """Which start of this agent's log it is. A new incarnation is a new session, and so is a new arm."""
        self.candidates = Candidates(self.members, self.replica, settles=settles)
        self.links: dict[AgentId, Link] = {}
        self.forgotten: dict[AgentId, Link] = {}
        """The links to agents that are gone: as they were, and nobody looks at them before their agent is heard."""
        self.met: Mapping[AgentId, Link] = ChainMap(self.links, self.forgotten)
        """All of them."""
        self.notices = 0
        """How often this agent said in this session that it is here, times two: a farewell has the number between."""
        self.witnesses = Witnesses(self.replica)
        self.totals = Totals()
        """What others have observed, if this agent is a leaf."""
        self._sharing = sharing
        self.agenda = Agenda(sharing.retry, self.replica, self.candidates, self.links)

    @property
    def name(self) -> AgentId:
        """This agent's name."""
        return self.members.agent

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that this agent serves."""
        return self.members.arms

    @property
    def wake_at(self) -> float | None:
        """When to call `wake`."""
        return self.agenda.wake_at

    # Inputs of this agent.

    def observe(self, tallies: Sequence[ArmTally], now: float) -> Outcome:
        """Take own observations, one or several, and share with every peer that has asked and has enough buffered.

        `credibility.check_observations` must have found nothing wrong with them.
        """
        self.agenda.look(now)
        self.replica.observe(tallies)
        candidate_count = len(self.candidates.own)
        usable: dict[int, int] = {}
        outgoing: list[Message] = []
        for link in self.links.values():  # Algorithm 1, line 6; Algorithm 4, "each agent j' in A_i"
            common = link.peer.common_set
            if id(common) not in usable:  # equal sets are one object: see `Members`
                usable[id(common)] = sum([entry.observations for entry in tallies if entry.arm in common])
            if not usable[id(common)] or self.candidates.are_settled(link.peer):
                continue
            observations = link.exchange.observe(candidate_count, usable[id(common)])
            if observations:
                outgoing.append(self._share(link, observations, now))
        outgoing += [self._repeat(link, now) for link in self.agenda.observed(now)]
        return Outcome((Observed(tuple(tallies), now),), tuple(outgoing), wake_at=self.wake_at)

    def eliminate(self, arm: Arm, now: float) -> Outcome:
        """Stop considering an arm, and tell the others (Algorithm 3, "broadcast index of arm i").

        Raises:
            LocalError: The arm is not a candidate, or it is the last one.
        """
        check_time(now)
        own = self.candidates.own
        if arm not in own or len(own) == 1:
            raise LocalError(f"arm {arm!r} cannot be eliminated: the candidates are {', '.join(sorted(own))}")
        self.agenda.own_eliminated_at = self.candidates.drop(arm)
        # To the agents that have an arm in common with this one (A^(j) of Appendix H.1), or that have this arm (A_i).
        partners = [link for link in self.links.values() if link.peer.common]
        if self._sharing.literal_notices:
            partners = [link for link in partners if arm in link.peer.common_set]
        for link in partners:
            link.urgent = self.agenda.own_eliminated_at
        self.agenda.expect_from_all(now)
        gone = Changes(eliminations=(Eliminations(self.name, self.replica.incarnation, (arm,)),))
        return Outcome(outgoing=tuple(self._notice(link.peer, gone) for link in partners), wake_at=self.wake_at)

    def join(self, now: float, *, is_relay: bool = False, is_leaf: bool = False) -> Outcome:
        """Say to every known peer that this agent is here, or here again, and whether it is a relay or a leaf."""
        self.agenda.look(now)
        self.take_role(is_relay=is_relay, is_leaf=is_leaf)
        self.notices += 2
        number = self._put_presence()
        self.agenda.expect_from_all(now)
        claim = Changes() if self._sharing.retry is None else Changes(number - 1, number)
        record = Introduced(now, is_relay, is_leaf)
        return Outcome((record,), self._say_presence(self.presence(), claim), wake_at=self.wake_at)

    def take_role(self, *, is_relay: bool, is_leaf: bool) -> None:
        """Be a relay, a leaf, or neither. Nobody hears of it before it is said with `join`."""
        self.members.is_relay, self.members.is_leaf = is_relay, is_leaf
        if is_relay:
            self.replica.keep_totals()
        for link in self.links.values():
            self._note_role(link)

    def leave(self) -> Outcome:
        """Say to every known peer that this agent goes away. It is said once."""
        farewell = self.presence()._replace(number=self.notices + 1, is_present=False)
        return Outcome(outgoing=self._say_presence(farewell, Changes()), wake_at=self.wake_at)

    def wake(self, now: float) -> Outcome:
        """Send what is not acknowledged, if this agent has not observed anything for long."""
        self.agenda.look(now)
        outgoing = tuple([self._repeat(link, now) for link in self.agenda.woken(now)])
        return Outcome((Woke(now),), outgoing, wake_at=self.wake_at)

    def flush(self, now: float) -> Outcome:
        """Send to everybody who is here what it has not acknowledged, without waiting until a buffer is full."""
        self.agenda.look(now)
        unsaid = [link for link in self.links.values() if link.retransmit is not None and self.agenda.has_unsaid(link)]
        outgoing = tuple([self._repeat(link, now) for link in unsaid])
        return Outcome((Flushed(now),), outgoing, wake_at=self.wake_at)

    def begin(self, session: int, incarnation: int, arms: Sequence[Arm], now: float) -> Outcome:
        """Begin a new session: after a start that may have forgotten something, or to serve more arms.

        Nothing is acknowledged and nothing is held in it yet, so everybody tells everything again that is wanted. That
        is all that a new arm needs. Who may have forgotten own observations begins a new incarnation as well.
        """
        check_time(now)
        check_whole("session", session, self.session + 1, MAX_INCARNATION - 1)
        if tuple(arms[: len(self.arms)]) != self.arms:
            raise LocalError(f"the arms {', '.join(arms)} do not begin with {', '.join(self.arms)}: new arms come last")
        was_same, gone = self.members.same_arms, self.candidates.eliminated
        is_new_life = incarnation != self.replica.incarnation
        if is_new_life:
            self.replica.begin(incarnation)
        self.agenda.look(now)
        if is_new_life and gone:
            self.agenda.own_eliminated_at = self.replica.put(self.candidates.key, gone)
        if len(arms) > len(self.arms):
            self.candidates.own |= set(arms) - set(self.arms)
            self.members.grow(arms)
            self.replica.arms.update(arms)
        self.session, self.notices = session, 0
        self._put_presence()
        for link in self.met.values():
            link.begin()
            if is_new_life:
                link.exchange.renew(0)
                link.forgotten_at = None if link.forgotten_at is None else 0
        ruled_out = self.candidates.follow_all(was_same=was_same)
        self.agenda.expect_from_all(now)
        return Outcome((Began(session, incarnation, self.arms, now),), ruled_out=ruled_out, wake_at=self.wake_at)

    # Inputs from outside.

    def receive(self, message: Message, now: float) -> Outcome:
        """Take a message.

        Raises:
            PeerError: The message is from a stranger, from oneself, for another agent, or says what cannot be. Nothing
                changed.
        """
        check_time(now)
        if not isinstance(message, Message):
            raise LocalError(
                f"receive takes one message, not {message!r}: turn bytes into one with cobandit.codec.decode"
            )
        if message.sender == self.name:
            raise PeerError(f"{self.name} received a message from itself: do two processes run under one name?")
        if message.receiver != self.name:
            raise PeerError(f"{message.sender} sent a message for {message.receiver!r} to {self.name}")
        before, latest = self._standing(message), self.agenda.latest
        match message:
            case Share():
                outcome = self._receive_share(message, now)
            case Notice():
                outcome = self._receive_notice(message, now)
            case Acknowledgement():
                outcome = self._receive_acknowledgement(message, now)
        if outcome.records:
            self.met[message.sender].peer.last_heard = now
            self._remember(message.sender)
            if before is not None and before == self._standing(message):
                outcome, self.agenda.latest = outcome._replace(records=()), latest
        return outcome._replace(wake_at=self.wake_at)

    def _standing(self, message: Message) -> tuple[object, ...] | None:
        """Return all that a message can change. What leaves it as it was, such as a repetition, needs no record.

        `None` if the message is certainly news. When a peer was last heard does not count: a journal must not grow with
        what others say again and again.
        """
        link = self.links.get(message.sender)
        if link is None or (isinstance(message, Share) and message.number > link.shares_received):
            return None
        known = (self.replica.number, self.witnesses.number, self.totals.number, self.candidates.own.copy())
        return (*known, *self.agenda.standing(), *link.standing())

    def peer_joined(self, peer: AgentId, arms: Sequence[Arm], now: float) -> Outcome:
        """The driver says that a peer is here: demand becomes true, and nothing is sent.

        Raises:
            LocalError: It cannot be a peer.
            PeerError: It is known with other arms, and only its own word changes them.
        """
        check_time(now)
        names, known = self.members.check(peer, arms), self.met.get(peer)
        credibility.check_arms(known, names)
        ruled_out: tuple[Arm, ...] = ()
        if known is None or known.retransmit is None or not known.peer.is_present:
            ruled_out = self._greet(peer, names)
            self._remember(peer)
        return Outcome((PeerJoined(peer, names, now),), ruled_out=ruled_out, wake_at=self.wake_at)

    def peer_left(self, peer: AgentId, now: float) -> Outcome:
        """The driver says that a peer is gone: go on buffering for it.

        Raises:
            LocalError: No agent of that name has joined.
        """
        check_time(now)
        if peer not in self.met:
            raise LocalError(f"{peer!r} cannot leave {self.name}: it has not joined")
        self._part(self.met[peer], is_gone=True)
        return Outcome((PeerLeft(peer, now),), wake_at=self.wake_at)

    def forget(self, peer: AgentId, now: float) -> Outcome:
        """The driver says that a peer is gone, and need not be kept in mind: nothing is buffered for it, or sent to it.

        What it observed stays, and so does the link, aside. When the peer is heard again, both go on from there. So
        it does not matter whether it is gone, nor whether others forget it too.

        Raises:
            LocalError: No agent of that name has joined, messages cannot be lost here, or too many are forgotten.
        """
        check_time(now)
        if peer not in self.met:
            raise LocalError(f"{self.name} cannot forget {peer!r}: it has not joined")
        if self._sharing.retry is None:
            raise LocalError(f"{self.name} cannot forget {peer!r}: where no message is lost, all are kept in mind")
        if len(self.forgotten) >= MAX_FORGOTTEN:
            raise LocalError(f"{MAX_FORGOTTEN} agents are forgotten already, which is the limit")
        link = self.links.pop(peer, None)
        if link is not None:
            link.peer.is_present, link.is_gone = False, True
            link.exchange.peer_left()
            link.forgotten_at, self.forgotten[peer] = self._usable_by(link.peer), link
            self.members.forgotten += 1
        return Outcome((Forgot(peer, now),), wake_at=self.wake_at)

    def _buffer_again(self, link: Link) -> None:
        """Count what was observed while the peer was forgotten: it was kept for its return (Section 3.1)."""
        if link.forgotten_at is not None:
            usable = self._usable_by(link.peer)
            link.exchange.renew(link.exchange.buffered + usable - link.forgotten_at)
            link.forgotten_at = usable

    def _remember(self, peer: AgentId) -> None:
        """A peer that was forgotten is heard: go on from where its link stood."""
        link = self.forgotten.pop(peer, None)
        if link is not None:
            self._buffer_again(link)
            link.forgotten_at, self.links[peer] = None, link
            self.members.forgotten -= 1
            if link.peer.is_present:
                self.agenda.find_urgent(link)
                self.agenda.schedule_if_needed(link)

    # What is said.

    def presence(self) -> Presence:
        """Return how this agent introduces itself."""
        replica = self.replica
        role = (replica.units_per_reward, self.members.is_relay, self.members.is_leaf)
        return Presence(self.name, self.session, self.notices, replica.incarnation, True, self.arms, *role)

    def _put_presence(self) -> int:
        number = self.replica.put(PresenceKey(self.name), self.presence())
        for link in self.links.values():
            link.urgent = number
        return number

    def _say_presence(self, presence: Presence, claim: Changes) -> tuple[Message, ...]:
        changes = claim._replace(presences=(presence,))
        return tuple(self._notice(link.peer, changes) for link in self.links.values())

    def _notice(self, peer: Peer, changes: Changes) -> Notice:
        return Notice(self.name, peer.name, changes, self.session, self._is_introduced())

    def _share(self, link: Link, observations: int, now: float) -> Share:
        if link.retransmit is not None:
            c = max(1, link.exchange.c - 1)
            link.retransmit.shared(link.exchange.threshold.at(c, len(self.candidates.own)), now)
            self.agenda.schedule(link)
        return self._say(link, observations)

    def _repeat(self, link: Link, now: float, *, is_answer: bool = False) -> Share:
        """Send the last share again: the same number, the newest state."""
        assert link.retransmit is not None
        carried = self.replica.observations - link.retransmit.confirmed
        link.exchange.repeat(len(self.candidates.own))
        link.retransmit.repeated(now)
        self.agenda.schedule(link)
        return self._say(link, carried, is_answer=is_answer)

    def _say(self, link: Link, observations: int, *, is_answer: bool = False) -> Share:
        changes = self.replica.changes(link.acknowledged, link.wants, link.told_of, link.peer.name)
        delivery = None
        if link.retransmit is None:
            link.acknowledged = changes.upto  # nothing is lost, so nothing needs to be claimed
            changes = changes._replace(base=0, upto=0)
        else:
            is_part = changes.upto < self.replica.number
            link.retransmit.part = changes.upto if is_part else 0
            if not is_part:
                link.retransmit.told(changes.upto, self.replica.observations)
            delivery = self._delivery(link, link.retransmit.attempts, is_answer=is_answer)
        return Share(self.name, link.peer.name, link.exchange.shares_sent, observations, changes, delivery)

    def _acknowledge(self, link: Link) -> Acknowledgement:
        return Acknowledgement(self.name, link.peer.name, self._delivery(link))

    def _delivery(self, link: Link, attempt: int = 0, *, is_answer: bool = False) -> Delivery:
        receipt = Receipt(link.peer.session or 0, link.shares_received, link.held)
        return Delivery(self.session, attempt, receipt, is_answer, self._is_introduced())

    def _is_introduced(self) -> bool:
        said = self.replica.presence_of(self.name)
        return said is not None and said.session == self.session

    # What is heard.

    def _receive_share(self, share: Share, now: float) -> Outcome:
        delivery = share.delivery
        is_tolerant, is_led = self._sharing.retry is not None, self._is_relay(share.sender)
        credibility.check_share(share, self.name, is_tolerant=is_tolerant, is_led=is_led)
        if delivery is not None and (later := self._superseded_by(share.sender, delivery, share.changes)):
            return Outcome(superseded_by=later)
        link = self._admit(share.sender, share.changes, delivery)
        if delivery is None:
            return self._receive_certain(link, share, now)
        self.agenda.look(now)
        heeded = credibility.is_heeded(link, delivery, share.changes)
        if heeded:
            self._hear(link, delivery, now)
        outcome = self._merge(link, share.changes, delivery.session, now, is_heeded=heeded)
        outcome = outcome._replace(records=(Received(share, now),))
        if not heeded:  # what it observed counts, what it asks for does not; it may not know of a later session
            is_over = delivery.session < (link.peer.session or 0)
            return outcome._replace(outgoing=((self._acknowledge(link),) if is_over else ()) + outcome.outgoing)
        # What a sender takes to be wanted depends on the session of the receiver that it knows.
        is_meant = delivery.receipt.session == self.session and not credibility.is_mistaken(share.changes, self.members)
        if is_meant and share.changes.base <= link.held:
            link.held = max(link.held, share.changes.upto)
        if share.number > link.shares_received and credibility.is_meant(delivery.receipt, self.session):
            answer = self._take_turn(link, share, delivery, now)
        else:
            answer = self._take_repetition(link, delivery, now) if delivery.attempt else ()
        return outcome._replace(outgoing=(answer or self._next_part(link, now)) + outcome.outgoing)

    def _receive_certain(self, link: Link, share: Share, now: float) -> Outcome:
        """Take a share on a network that loses nothing."""
        if share.number <= link.shares_received:
            return Outcome()  # it has come before, or a later one has
        self.agenda.look(now)
        changes = share.changes._replace(upto=share.number)  # all that is numbered where no message is lost
        outcome = self._merge(link, changes, None, now, is_heeded=True)  # Algorithm 1, line 16
        link.shares_received = share.number
        answer: tuple[Message, ...] = ()
        # The question of lines 17 to 21 is not put to a settled pair: it has nothing left to say.
        if not self.candidates.are_settled(link.peer):
            answer = self._answer(link, now)
        return outcome._replace(records=(Received(share, now),), outgoing=answer + outcome.outgoing)

    def _take_turn(self, link: Link, share: Share, delivery: Delivery, now: float) -> tuple[Message, ...]:
        """Take a fresh share: it asks for one of this agent's (Algorithm 1, lines 17 to 21)."""
        retransmit = link.retransmit
        assert retransmit is not None
        if delivery.receipt.number >= link.exchange.shares_sent:
            retransmit.answered(now)
        link.shares_received = share.number
        if self.candidates.are_settled(link.peer):
            link.exchange.put_off()  # until one of the two has more arms, and there is something to say
            retransmit.take(Event.ASKED)
            is_missing = self._knows_more_eliminations(link)
            return (self._repeat(link, now, is_answer=True),) if is_missing else ()
        answer = self._answer(link, now)
        if not answer:
            retransmit.take(Event.ASKED)
        return answer

    def _answer(self, link: Link, now: float) -> tuple[Message, ...]:
        """Answer a share if enough is buffered; a relay answers at once, so that the pace is the other side's."""
        observations = link.exchange.share_received(len(self.candidates.own))
        is_led = self.members.is_relay and not self._is_relay(link.peer.name)
        if is_led and not observations:
            link.exchange.ask()
        return (self._share(link, observations, now),) if is_led or observations else ()

    def _is_relay(self, peer: AgentId) -> bool:
        return credibility.is_relay(self.replica.presence_of(peer))

    def _take_repetition(self, link: Link, delivery: Delivery, now: float) -> tuple[Message, ...]:
        """Answer what was said again: with the answer again, if that is what was lost.

        What is itself an answer is only acknowledged. Otherwise two agents that share often would go on answering old
        repetitions with new ones, and every doubled message would double what follows from it.
        """
        assert link.retransmit is not None
        is_lacking = delivery.receipt.number < link.exchange.shares_sent
        is_missing = is_lacking and link.retransmit.phase is Phase.WAITING
        if self.candidates.are_settled(link.peer):
            is_missing = self._knows_more_eliminations(link)
        if is_missing and not delivery.is_answer:
            return (self._repeat(link, now, is_answer=True),)
        return (self._acknowledge(link),)

    def _next_part(self, link: Link, now: float) -> tuple[Message, ...]:
        """Go on at once if a message was too small for all there is to tell, and the peer now has what was in it."""
        assert link.retransmit is not None
        if not 0 < link.retransmit.part <= link.acknowledged:
            return ()
        link.retransmit.expect(now)
        return (self._repeat(link, now, is_answer=True),)

    def _receive_acknowledgement(self, message: Acknowledgement, now: float) -> Outcome:
        delivery, nothing = message.delivery, Changes()
        if self._sharing.retry is None:
            raise PeerError(f"{message.sender} is loss-tolerant and {self.name} is not: a whole group must agree")
        if later := self._superseded_by(message.sender, delivery, nothing):
            return Outcome(superseded_by=later)
        link = self._admit(message.sender, nothing, delivery)
        if not credibility.is_heeded(link, delivery, nothing):
            return Outcome()
        assert link.retransmit is not None
        self.agenda.look(now)
        if delivery.receipt.number >= link.exchange.shares_sent:
            link.retransmit.quenched()
        self._hear(link, delivery, now)
        return Outcome((Received(message, now),), self._next_part(link, now))

    def _receive_notice(self, notice: Notice, now: float) -> Outcome:
        if not 0 <= notice.session < MAX_INCARNATION:
            raise PeerError(f"{notice.sender} speaks of itself as session {notice.session}")
        link = self._admit(notice.sender, notice.changes, notice)
        for presence in notice.changes.presences:
            if link.peer.session is not None and presence.session < link.peer.session and link.retransmit is not None:
                return Outcome(outgoing=(self._acknowledge(link),))  # it should know that its session is over
        self.agenda.look(now)
        heeded = link.retransmit is None or credibility.is_heeded(link, notice, notice.changes)
        outcome = self._merge(link, notice.changes, notice.session, now, is_heeded=heeded)
        if link.forgotten_at is not None and link.is_gone and self._is_here(notice.sender, notice.changes):
            self._greet(notice.sender, link.peer.arms)  # it was not gone
        for presence in notice.changes.presences:  # all that is claimed is this one fact, whatever else is wanted
            if presence.session == link.peer.session and notice.changes.base <= link.held:
                link.held = max(link.held, notice.changes.upto)
        return outcome._replace(records=(Received(notice, now),))

    def _superseded_by(self, sender: AgentId, delivery: Delivery, changes: Changes) -> int:
        """Return which later session or incarnation of this agent a message knows, or 0. Strangers' words are none."""
        credibility.check_delivery(sender, delivery, self.name, self.session)
        is_known = sender in self.met or any(told.agent == sender for told in changes.presences)
        return credibility.latest_life(delivery.receipt, changes, self.replica, self.session) if is_known else 0

    def _hear(self, link: Link, delivery: Delivery, now: float) -> None:
        """Take what every message says: who speaks, in which session, and what it has of this agent's."""
        retransmit, receipt, peer = link.retransmit, delivery.receipt, link.peer
        assert retransmit is not None
        said = self.replica.presence_of(peer.name)
        has_left = said is not None and said.session == delivery.session and not said.is_present
        if not (peer.is_present or has_left):
            self._greet(peer.name, peer.arms)  # the driver was wrong, or its notice was lost
        if delivery.session != peer.session:
            self._begin_session_of(link, delivery.session)
        is_first, link.is_heard = not link.is_heard, True
        has_restarted, link.is_unconfirmed = link.is_unconfirmed, False
        held = 0
        if receipt.session == self.session:
            retransmit.is_known, held = True, receipt.held
        if has_restarted:  # its word counts: it may have forgotten what it had acknowledged
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
            self.agenda.find_urgent(link)
            self.agenda.schedule_if_needed(link)

    def _begin_session_of(self, link: Link, session: int) -> None:
        """The peer has begun another session: what it held, it may have forgotten."""
        is_first, link.peer.session = link.peer.session is None, session
        link.is_heard = False
        if not is_first:
            link.begin()
            link.is_unconfirmed = True
            self.agenda.find_urgent(link)

    def _merge(self, link: Link, changes: Changes, session: int | None, now: float, *, is_heeded: bool) -> Outcome:
        """Take what a peer tells. Return what is new: of others, of this agent's own other incarnations.

        What it has eliminated counts only if the arms are known because of which it did, and a word about itself only
        if there is no later one.
        """
        is_leaf = self.members.is_leaf
        changes = credibility.believed(link.peer.name, changes, self.replica, is_heeded=is_heeded, is_leaf=is_leaf)
        changes, others = self._take_totals(link.peer.name, changes, session)
        news = self._merge_vouched(link.peer.name, changes, session)
        own = tuple(added for key, added in news.cells if key.agent == self.name)
        others += tuple(added for key, added in news.cells if key.agent != self.name)
        outgoing = self._pass_on(link, others, now) if others and self.members.is_relay else ()
        if own:  # the others must be told
            for other in self.links.values():
                self.agenda.find_urgent(other)
            self.agenda.expect_from_all(now)
        ruled_out: tuple[Arm, ...] = ()
        for presence in news.presences:
            ruled_out += self._meet(link, presence)
        before = link.peer.incarnation
        self._note_incarnation(link, news, now)
        if is_heeded and (news.eliminations or news.presences or link.peer.incarnation != before):
            ruled_out += self.candidates.follow(link.peer)
        return Outcome(outgoing=outgoing, news=others, ruled_out=ruled_out, returned=own)

    def _take_totals(
        self, peer: AgentId, changes: Changes, session: int | None
    ) -> tuple[Changes, tuple[ArmTally, ...]]:
        """Take totals out of what a relay tells. Return the rest, and by how much they change what is known."""
        totals = [told for told in changes.cells if told.agent == EVERYBODY_ELSE]
        if not totals:
            return changes, ()
        served = [entry for told in totals for entry in told.tallies if entry.arm in self.replica.arms]
        changed = self.totals.heard(peer, session or 0, changes.base, changes.upto, served)
        rest = tuple(told for told in changes.cells if told.agent != EVERYBODY_ELSE)
        return changes._replace(cells=rest), changed

    def _pass_on(self, link: Link, news: tuple[ArmTally, ...], now: float) -> tuple[Message, ...]:
        """A relay has heard something new. Leaves hear of it when they ask; other relays once it is enough for a share.

        What members of a mesh observe they tell every relay themselves.
        """
        outgoing: list[Message] = []
        for other in self.links.values():
            if other.is_leaf:
                self.agenda.flush_by(now)
            elif link.is_leaf and self._is_relay(other.peer.name):
                common = other.peer.common_set
                count = sum(entry.observations for entry in news if entry.arm in common)
                observations = other.exchange.observe(len(self.candidates.own), count)
                if observations:
                    outgoing.append(self._share(other, observations, now))
            else:
                self.agenda.schedule(other)
        return tuple(outgoing)

    def _note_role(self, link: Link) -> None:
        said = self.replica.presence_of(link.peer.name)
        link.is_leaf = self.members.is_relay and said is not None and said.is_leaf

    def _merge_vouched(self, peer: AgentId, changes: Changes, session: int | None) -> News:
        """Merge what counts of a peer's words, and what others had said before that counts because of it."""
        said = credibility.said_by(peer, changes, self.replica)
        is_enough = self.links.keys() <= {peer} or credibility.is_relay(said)
        cells, confirmed = self.witnesses.heard(peer, changes.cells, is_enough=is_enough)
        news = self.replica.merge(changes._replace(cells=cells), (peer, session))
        for claim in confirmed:
            more = Changes(cells=(claim.told,))
            if credibility.is_possible(more, claim.peer, self.replica):
                news = news._replace(cells=news.cells + self.replica.merge(more, (claim.peer, None)).cells)
        return news

    def _note_incarnation(self, link: Link, news: News, now: float) -> None:
        """Note the present incarnation of a peer. What others of it observed, the peer may have forgotten."""
        peer, before = link.peer, link.peer.incarnation
        told = [key.incarnation for key, _ in news.cells if key.agent == peer.name]
        told += [key.incarnation for key in news.eliminations]
        said = self.replica.presence_of(peer.name)
        peer.incarnation = max((before, *told)) if said is None else said.incarnation
        if any(incarnation != peer.incarnation for incarnation in (before, *told)):
            self.agenda.find_urgent(link)
            if link.urgent > link.acknowledged and not self.members.is_relay:  # which tells a newcomer at once
                self.agenda.expect(link, now)

    # Who is here, and which arms they consider.

    def _knows_more_eliminations(self, link: Link) -> bool:
        return self.replica.number_of(self.candidates.key) > link.acknowledged

    def _meet(self, link: Link, presence: Presence) -> tuple[Arm, ...]:
        """Take a peer's own word that it is here, or goes away. Return which arms this agent drops for that."""
        if presence.session != link.peer.session:
            self._begin_session_of(link, presence.session)
        dropped: tuple[Arm, ...] = ()
        if presence.is_present or presence.arms != link.peer.arms:
            dropped = self._greet(presence.agent, presence.arms)
        if not presence.is_present:
            self._part(link, is_gone=False)
        return dropped

    def _greet(self, name: AgentId, arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
        """A peer is here. Return which arms this agent now drops, because all have the same arms now."""
        was_same, link = self.members.same_arms, self.met.get(name)
        arms_before = None if link is None else link.peer.arms
        if link is not None:
            self._buffer_again(link)
        peer = self.members.join(name, arms)
        if link is None:
            link = self._add_link(peer)
            self.agenda.find_urgent(link, is_met_now=True)
        else:
            link.is_gone = False
            link.exchange.peer_joined()
            if link.retransmit is not None:
                link.retransmit.take(Event.ASKED)
            if peer.arms != arms_before:  # as for a new peer: what it can use now, it may not have got before
                link.exchange.renew(self._usable_by(peer))
                link.forgotten_at = None if link.forgotten_at is None else link.exchange.buffered
        self._note_role(link)
        ruled_out = self.candidates.follow_all(was_same=was_same)
        # Pairs that had nothing left to say may have something again.
        for other in self.links.values() if was_same != self.members.same_arms else (link,):
            self.agenda.schedule_if_needed(other)
        return ruled_out

    def add_link(self, name: AgentId, arms: Sequence[Arm]) -> Link:
        """Add a link for `snapshots.restored`, which knows how it stands.

        Raises:
            LocalError: It cannot be a peer.
        """
        return self._add_link(self.members.join(name, self.members.check(name, arms)))

    def _add_link(self, peer: Peer) -> Link:
        retransmit = None if self._sharing.retry is None else Retransmit(self._sharing.retry)
        threshold = threshold_between(self._sharing.threshold, self.name, peer.name)
        exchange = Exchange(self._sharing, buffered=self._usable_by(peer), threshold=threshold)
        link = self.links[peer.name] = Link(self.members, peer, exchange, retransmit)
        self._note_role(link)
        return link

    def _part(self, link: Link, *, is_gone: bool) -> None:
        link.peer.is_present, link.is_gone = False, is_gone
        link.exchange.peer_left()
        self.agenda.schedule_if_needed(link)

    def _is_here(self, name: AgentId, changes: Changes) -> bool:
        """Return whether the last that a peer has said of itself is in a message, and is that it is here."""
        said = self.replica.presence_of(name)
        return said is not None and said.is_present and said in changes.presences

    def _usable_by(self, peer: Peer) -> int:
        """Return how many observations of this incarnation a peer can use."""
        return sum(map(self.replica.own_count, peer.common))

    def _admit(self, sender: AgentId, changes: Changes, speaker: Delivery | Notice | None) -> Link:
        """Return the link to a sender, if it can have said this. Who introduces itself need not be known.

        Raises:
            PeerError: It is a stranger, or says what cannot be.
        """
        link = self.met.get(sender)
        credibility.check_words(sender, speaker, changes, link, self.members, self.replica, self.candidates)
        if isinstance(speaker, Delivery):
            credibility.check_receipt(sender, link, speaker, self.name, self.session, self.replica.number)
        if link is None and any(presence.is_present for presence in changes.presences):
            self._greet(sender, changes.presences[0].arms)
        self.members.get(sender)  # raises for a stranger
        return self.met[sender]
