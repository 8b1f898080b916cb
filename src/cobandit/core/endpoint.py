"""One agent's side of the protocol: what follows from each input and each message.

This is the only class of the core that a driver talks to. Inputs go in, outcomes come out; there is no clock, no
randomness and no I/O here. The endpoint does not know how arms are chosen: it counts observations, answers shares, and
passes on which arms were eliminated.

On a reliable network every message does what the paper says, and no more. Where messages may be lost and agents restart
(`sharing.retry`), every message names its sender's session and what the sender has of the receiver's. What is not
acknowledged in time is repeated: `retransmit.py` decides when, `agenda.py` what, `uncertain.py` what follows.

The endpoint is assembled from parts. `peers.py` knows who is here and `speech.py` makes the messages; this file decides
what follows from an input.
"""

from collections.abc import Sequence

from cobandit.core import credibility, roles, uncertain
from cobandit.core.agenda import Agenda
from cobandit.core.candidates import Candidates
from cobandit.core.exchange import Sharing
from cobandit.core.link import Link
from cobandit.core.members import Members, Peer
from cobandit.core.messages import (
    MAX_INCARNATION,
    Acknowledgement,
    AgentId,
    Changes,
    Eliminations,
    Message,
    Notice,
    Presence,
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
from cobandit.core.peers import Peers
from cobandit.core.pen_names import SettledBlock
from cobandit.core.places import Bandit, Change, Placed, check_bandits, check_next
from cobandit.core.replica import Replica
from cobandit.core.speech import Speech
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
        sharing: How it communicates: `on_demand(...)`, `immediate(...)` or `silent()`.
        units_per_reward: How many quanta make a reward of 1; the same in the whole group.
        incarnation: The number of this start of the agent. Observations of different incarnations are kept apart.
        settles: Whether a pair falls silent once its candidate sets have shrunk to one arm (AAE does, UCB does not).
        bandits: Named bandits that it also serves. Include the plain bandit, without its arms, if it has a window.
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
        bandits: Sequence[Bandit] = (),
    ) -> None:
        check_bandits(bandits)
        self.name = agent
        self.members = Members(agent, arms, session=incarnation)
        self.members.serve(bandits)
        self.replica = Replica(agent, incarnation, self.members.arms, units_per_reward)
        self.replica.serve(bandits)
        settles = settles and not sharing.forwards  # others further on may still want what passes through here
        self.candidates = Candidates(self.members, self.replica, settles=settles)
        self.links: dict[AgentId, Link] = {}
        self.agenda = Agenda(sharing.retry, self.replica, self.candidates, self.links)
        self.peers = Peers(self.members, self.links, self.replica, self.candidates, self.agenda, sharing)
        self.met, self.forgotten = self.peers.met, self.peers.forgotten
        self.speech = Speech(self.members, self.replica, self.candidates, self.agenda)
        self.witnesses = Witnesses(self.replica)
        self.totals = Totals()
        """What others have observed, if this agent is a leaf."""
        self.sharing = sharing

    @property
    def session(self) -> int:
        """The session of this agent's log."""
        return self.members.session

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that this agent serves."""
        return self.members.arms

    @property
    def wake_at(self) -> float | None:
        """When to call `wake`."""
        return self.agenda.wake_at

    # Inputs of this agent.

    def observe(
        self,
        tallies: Sequence[ArmTally],
        now: float,
        settled: Sequence[SettledBlock] = (),
        elsewhere: Sequence[Placed] = (),
    ) -> Outcome:
        """Take own observations, one or several, and share with every peer that has asked and has enough buffered.

        They must have passed `credibility.check_observations`. They may settle decisions of a pen. Observations of
        named bandits come along and count for the same buffers.
        """
        self.agenda.look(now)
        self.replica.observe(tallies, settled)
        for bandit, segment, placed in elsewhere:
            self.replica.observe(placed, at=(bandit, segment))
        candidate_count = self.candidates.count
        usable: dict[int, int] = {}
        outgoing: list[Message] = []
        for link in self.links.values():  # Algorithm 1, line 6; Algorithm 4, "each agent j' in A_i"
            common = link.peer.common_set
            news = usable.get(id(common), -1)  # equal sets are one object: see `Members`
            if news < 0:
                news = usable[id(common)] = sum([entry.observations for entry in tallies if entry.arm in common])
            for bandit, _, placed in elsewhere:
                also = link.peer.commons.get(bandit, ()) if bandit else link.peer.common_set
                news += sum([entry.observations for entry in placed if entry.arm in also])
            if not news or self.candidates.are_settled(link.peer):
                continue
            observations = link.exchange.observe(candidate_count, news)
            if observations:
                outgoing.append(self.speech.share(link, observations, now))
        outgoing += [self.speech.repeat(link, now) for link in self.agenda.observed(now)]
        record = Observed(tuple(tallies), now, tuple(settled), tuple(elsewhere))
        return Outcome((record,), tuple(outgoing), wake_at=self.wake_at)

    def turn(self, time: float, now: float, *, is_back: bool = False) -> Outcome:
        """Advance the calendar, which counts periods. It goes back only if told to.

        When a period begins, observations outside its window are dropped. Shares are counted from the first again if
        this agent observed anything of that bandit in the period that ends.
        """
        return roles.turn(self, time, now, is_back=is_back)

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
        if self.sharing.literal_notices:
            partners = [link for link in partners if arm in link.peer.common_set]
        for link in partners:
            link.urgent = self.agenda.own_eliminated_at
        self.agenda.expect_from_all(now)
        gone = Changes(eliminations=(Eliminations(self.name, self.replica.incarnation, (arm,)),))
        return Outcome(outgoing=tuple(self.speech.notice(link.peer, gone) for link in partners), wake_at=self.wake_at)

    def join(self, now: float, *, is_relay: bool = False, is_leaf: bool = False) -> Outcome:
        """Tell every known peer that this agent is here, or here again, and whether it is a relay or a leaf.

        Rows of others and totals describe the same observations. Becoming a leaf, or ceasing to be one, starts over.
        """
        was_leaf = self.members.is_leaf
        if self.members.notices and was_leaf != is_leaf:
            raise LocalError(f"{self.name} has said whether it is a leaf: it must begin a new session to change that")
        self.agenda.look(now)
        gone: tuple[Change, ...] = ()
        if was_leaf != is_leaf:
            gone = self.totals.clear() if was_leaf else roles.drop_rows(self.replica)
        less, elsewhere = roles.sorted_out(self.replica, gone)
        self.peers.take_role(is_relay=is_relay, is_leaf=is_leaf)
        self.members.notices += 2
        number = self.speech.put_presence(self.links.values())
        self.agenda.expect_from_all(now)
        claim = Changes() if self.sharing.retry is None else Changes(number - 1, number)
        record = Introduced(now, is_relay, is_leaf)
        outgoing = self._tell_all(self.speech.presence(), claim)
        return Outcome((record,), outgoing, news=less, wake_at=self.wake_at, elsewhere=elsewhere)

    def leave(self) -> Outcome:
        """Tell every known peer, once, that this agent is leaving."""
        farewell = self.speech.presence()._replace(number=self.members.notices + 1, is_present=False)
        return Outcome(outgoing=self._tell_all(farewell, Changes()), wake_at=self.wake_at)

    def _tell_all(self, presence: Presence, claim: Changes) -> tuple[Message, ...]:
        changes = claim._replace(presences=(presence,))
        return tuple(self.speech.notice(link.peer, changes) for link in self.links.values())

    def wake(self, now: float) -> Outcome:
        """Send what is not acknowledged, if this agent has not observed anything for a long time."""
        self.agenda.look(now)
        outgoing = tuple([self.speech.repeat(link, now) for link in self.agenda.woken(now)])
        return Outcome((Woke(now),), outgoing, wake_at=self.wake_at)

    def flush(self, now: float) -> Outcome:
        """Send every present peer what it has not acknowledged, without waiting for a full buffer."""
        self.agenda.look(now)
        unsaid = [link for link in self.links.values() if link.retransmit is not None and self.agenda.has_unsaid(link)]
        outgoing = tuple([self.speech.repeat(link, now) for link in unsaid])
        return Outcome((Flushed(now),), outgoing, wake_at=self.wake_at)

    def begin(
        self,
        session: int,
        incarnation: int,
        arms: Sequence[Arm],
        now: float,
        bandits: Sequence[Bandit] | None = None,
    ) -> Outcome:
        """Begin a new session: after a start that may have forgotten something, or to serve more arms or other bandits.

        In a new session nothing is acknowledged or held yet, so all peers send everything that is wanted again. A new
        arm needs nothing else. An agent that may have forgotten own observations also begins a new incarnation. What
        is known of a bandit that is no longer served stays.
        """
        check_time(now)
        check_whole("session", session, self.session + 1, MAX_INCARNATION - 1)
        if tuple(arms[: len(self.arms)]) != self.arms:
            raise LocalError(f"the arms {', '.join(arms)} do not begin with {', '.join(self.arms)}: new arms come last")
        if bandits is not None:
            check_next(bandits, roles.bound(self.replica), self.members.bandits)
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
        if bandits is not None:
            self.members.serve(bandits)
            self.replica.serve(bandits)
        self.members.session, self.members.notices = session, 0
        self.speech.put_presence(self.links.values())
        self.peers.begin(is_new_life=is_new_life)
        ruled_out = self.candidates.follow_all(was_same=was_same)
        self.agenda.expect_from_all(now)
        record = Began(session, incarnation, self.arms, now, None if bandits is None else tuple(bandits))
        return Outcome((record,), ruled_out=ruled_out, wake_at=self.wake_at)

    # Inputs from outside.

    def receive(self, message: Message, now: float) -> Outcome:
        """Take a message.

        Raises:
            PeerError: The message is from a stranger, from this agent itself, for another agent, or invalid. Nothing
                changes.
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
                outcome = uncertain.receive_acknowledgement(self, message, now)
        if outcome.records:
            link = self.met[message.sender]
            link.peer.last_heard = now
            if before is not None and before == self._standing(message):
                outcome, self.agenda.latest = outcome._replace(records=()), latest
            elif link.forgotten_at is not None:
                self.peers.remember(link)
        wake_at = self.agenda.wake_at
        return outcome if outcome.wake_at == wake_at else outcome._replace(wake_at=wake_at)

    def _standing(self, message: Message) -> tuple[object, ...] | None:
        """Return everything that a message can change, or `None` if the message is certainly news.

        A message that leaves it unchanged, such as a repetition, needs no record. The time a peer was last heard is
        left out: a journal must not grow because others repeat themselves.
        """
        link = self.met.get(message.sender)
        if link is None or (isinstance(message, Share) and message.number > link.shares_received):
            return None
        known = (self.replica.number, self.witnesses.number, self.totals.number, self.candidates.own.copy())
        return (*known, *self.agenda.standing(), *link.standing())

    def peer_joined(self, peer: AgentId, arms: Sequence[Arm], now: float) -> Outcome:
        """The driver says that a peer is here: demand becomes true, and nothing is sent.

        Raises:
            LocalError: It cannot be a peer.
            PeerError: It is known with other arms, which only the peer itself can change.
        """
        check_time(now)
        names, ruled_out = self.peers.join(peer, arms)
        return Outcome((PeerJoined(peer, names, now),), ruled_out=ruled_out, wake_at=self.wake_at)

    def peer_left(self, peer: AgentId, now: float) -> Outcome:
        """The driver says that a peer is gone: keep buffering for it.

        Raises:
            LocalError: No agent of that name has joined.
        """
        check_time(now)
        self.peers.leave(peer)
        return Outcome((PeerLeft(peer, now),), wake_at=self.wake_at)

    def forget(self, peer: AgentId, now: float) -> Outcome:
        """The driver says that a peer is gone and can be forgotten: nothing is buffered for it or sent to it.

        Its observations stay, and so does the link, set aside. When the peer is heard again, both continue from there.
        It need not really be gone, and others need not forget it. Beyond `MAX_FORGOTTEN` it only counts as away.

        Raises:
            LocalError: No agent of that name has joined, or messages cannot be lost here.
        """
        check_time(now)
        self.peers.forget(peer)
        return Outcome((Forgot(peer, now),), wake_at=self.wake_at)

    # What is received.

    def _receive_share(self, share: Share, now: float) -> Outcome:
        """Handle a share: a peer's observations, and its request for this agent's (Algorithm 1, lines 15 to 21)."""
        self.peers.check_share(share)
        if share.delivery is not None:
            return uncertain.receive_share(self, share, share.delivery, now)
        link = self.peers.admit(share.sender, share.changes, None)
        if share.number <= link.shares_received:
            return Outcome()  # this share, or a later one, has already arrived
        self.agenda.look(now)
        changes = share.changes
        if self.members.is_leaf:
            changes = changes._replace(upto=share.number)  # where no message is lost, only shares have numbers
        outcome = self.merge(link, share, changes, link.peer.session, now)  # Algorithm 1, line 16
        link.shares_received = share.number
        # A settled pair skips lines 17 to 21: it has nothing left to say.
        answer = () if self.candidates.are_settled(link.peer) else self.answer(link, now)
        return Outcome(outcome.records, answer + outcome.outgoing, *outcome[2:]) if answer else outcome

    def answer(self, link: Link, now: float) -> tuple[Message, ...]:
        """Answer a share if enough is buffered. A relay answers at once, so the other side sets the pace."""
        observations = link.exchange.share_received(self.candidates.count)
        is_led = self.members.is_relay and not self.peers.is_relay(link.peer.name)
        if is_led and not observations:
            link.exchange.ask()
        return (self.speech.share(link, observations, now),) if is_led or observations else ()

    def _receive_notice(self, notice: Notice, now: float) -> Outcome:
        if not 0 <= notice.session < MAX_INCARNATION:
            raise PeerError(f"{notice.sender} speaks of itself as session {notice.session}")
        link = self.peers.admit(notice.sender, notice.changes, notice)
        for presence in notice.changes.presences:
            if link.peer.session is not None and presence.session < link.peer.session and link.retransmit is not None:
                return Outcome(outgoing=(self.speech.acknowledge(link),))  # it should know that its session is over
        self.agenda.look(now)
        heeded = link.retransmit is None or credibility.is_heeded(link, notice, notice.changes)
        outcome = self.merge(link, notice, notice.changes, notice.session, now, is_heeded=heeded)
        self.peers.take_back(link, notice.changes)
        for presence in notice.changes.presences:  # a notice claims only this one fact, whatever else is wanted
            if presence.session == link.peer.session and notice.changes.base <= link.held:
                link.held = max(link.held, notice.changes.upto)
        if link.is_leaf and link.retransmit is not None and self.agenda.has_unsaid(link):  # it is here, so send it
            outcome = outcome._replace(outgoing=(self.speech.repeat(link, now, is_answer=True), *outcome.outgoing))
        return outcome

    def merge(
        self, link: Link, message: Message, changes: Changes, session: int | None, now: float, *, is_heeded: bool = True
    ) -> Outcome:
        """Merge what a peer reports. Return what is new: from others, and from this agent's own other incarnations.

        The peer's eliminations count only if the arms behind them are known, and a statement about itself only if there
        is no later one.
        """
        records, is_leaf = (Received(message, now),), self.members.is_leaf
        if self._is_plain(link.peer, changes):
            self.witnesses.is_whole, grown = True, self.replica.merge_cells(changes.cells[0], (link.peer.name, session))
            return Outcome(records, (), tuple([added for _, added in grown]), (), self.agenda.wake_at)
        changes = credibility.believed(
            link.peer.name, changes, session, self.replica, is_heeded=is_heeded, is_leaf=is_leaf
        )
        changes, totals = self.totals.take(link.peer.name, changes, session, self.replica)
        said = credibility.said_by(link.peer.name, changes, self.replica)
        is_enough = self.met.keys() <= {link.peer.name} or credibility.is_relay(said, session)
        news = self.witnesses.merge(link.peer.name, changes, session, is_enough=is_enough)
        own = [Change(*key[3:], added, True) for key, added in news.cells if key.agent == self.name]
        rows = [one for one in news.cells if one[0].agent != self.name] if own else news.cells
        others, elsewhere = roles.sorted_out(self.replica, [*totals, *[Change(*key[3:], added) for key, added in rows]])
        returned, also = roles.sorted_out(self.replica, own) if own else ((), ())
        is_passed_on = self.members.is_relay and bool(rows or news.settled)
        outgoing = roles.pass_on(self, link, rows, now, forwards=self.sharing.forwards) if is_passed_on else ()
        if own:  # the others must hear of it
            for other in self.links.values():
                self.agenda.find_urgent(other)
            self.agenda.expect_from_all(now)
        ruled_out: tuple[Arm, ...] = ()
        for presence in news.presences:
            ruled_out += self.peers.meet(link, presence)
        before = link.peer.incarnation
        self.peers.note_incarnation(link, news, now)
        if is_heeded and (news.eliminations or news.presences or link.peer.incarnation != before):
            ruled_out += self.candidates.follow(link.peer)
        forgot = bool(own) and credibility.has_forgotten(news, self.replica)
        return Outcome(records, outgoing, others, ruled_out, self.wake_at, None, returned, elsewhere + also, forgot)

    def _is_plain(self, peer: Peer, changes: Changes) -> bool:
        """Return whether a message reports only what its sender's present incarnation observed of the plain bandit.

        Most messages do. Nothing else can follow from one, unless this agent passes it on or takes totals instead.
        """
        if len(changes.cells) != 1 or changes.eliminations or changes.presences or changes.settled:
            return False
        agent, incarnation, _, bandit, segment, _ = changes.cells[0]
        is_own_word = agent == peer.name and incarnation == peer.incarnation and not (bandit or segment)
        return is_own_word and not (self.members.is_relay or self.members.is_leaf or self.replica.forgets)
