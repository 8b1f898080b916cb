"""One agent's side of the protocol: its exchanges, its ledger and its roster.

This is the only protocol class that a driver talks to. Inputs go in, outcomes come out; there is no clock, no chance
and no I/O here. The endpoint does not know how arms are chosen: it counts observations, answers shares, and passes on
which arms were eliminated.
"""

from collections.abc import Sequence

from cobandit.core.delivery import Delivery
from cobandit.core.exchange import Exchange, Sharing
from cobandit.core.ledger import Holding, Ledger, Origin
from cobandit.core.messages import (
    MOST_OBSERVATIONS,
    Acknowledgement,
    AgentId,
    Eliminated,
    Join,
    Leave,
    Message,
    Share,
)
from cobandit.core.outcome import Introduced, Observed, ObservedMany, Outcome, PeerJoined, PeerLeft, Received, Woke
from cobandit.core.roster import Peer, Roster
from cobandit.core.state import EndpointState, HeldState, LinkState
from cobandit.values.checks import check_time
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import Arm, ArmTally, Tally, checked_arms


class Link:
    """All that an agent keeps for one peer: who it is, when to talk to it, and what was last said."""

    __slots__ = ("delivery", "exchange", "peer", "shared_version", "shares_received")

    def __init__(self, peer: Peer, exchange: Exchange, delivery: Delivery | None = None) -> None:
        self.peer = peer
        self.exchange = exchange
        self.delivery = delivery
        """Only where messages may be lost."""
        self.shared_version = 0
        """This agent's version when it last shared with the peer: the buffer is what came after."""
        self.shares_received = 0
        """The highest number of a share that came from the peer."""


class TolerantLink(Link):
    """A link whose delivery is looked after, because messages may be lost."""

    __slots__ = ()
    delivery: Delivery


class Endpoint:
    """The protocol state of one agent.

    Args:
        agent: This agent's name.
        arms: The arms that it can pull.
        sharing: How it talks: `on_demand(...)`, `immediate(...)` or `silent()`.
        units_per_reward: How many quanta a reward of 1 has; the same in the whole group.
        boot: Which start of this agent it is. Observations of different boots are kept apart.
        settles: Whether a pair falls silent once its candidate sets have shrunk to one arm (AAE does, UCB does not).
    """

    def __init__(
        self,
        agent: AgentId,
        arms: Sequence[Arm],
        sharing: Sharing,
        *,
        units_per_reward: int,
        boot: int = 0,
        settles: bool = False,
    ) -> None:
        self.roster = Roster(agent, arms)
        self.ledger = Ledger(agent, boot, self.roster.arms, units_per_reward)
        self.candidates = set(self.roster.arms)
        """The arms that this agent still considers (C of Algorithm 3, C_j of Algorithm 5)."""
        self.eliminated: list[Arm] = []
        """The others, in the order in which they went."""
        self.own_eliminations = 0
        """How many of those, counted from the first, end with the last one that this agent eliminated itself."""
        self.links: dict[AgentId, Link] = {}
        self._sharing = sharing
        self._settles = settles
        self.notices = 0
        """How often this agent said in this boot that it is here, times two. Only where messages may be lost."""
        self.arms_since: int | None = 0
        """Since which boot this agent surely has these arms. If not since boot 0, others may know it with other arms,
        and must acknowledge its introduction. `None` until it is introduced. Only where messages may be lost."""
        self.last_observed: float | None = None
        self.wake_at: float | None = None
        self._links_using: dict[Arm, list[Link]] = {arm: [] for arm in self.roster.arms}

    @property
    def name(self) -> AgentId:
        """This agent's name."""
        return self.roster.agent

    # Inputs of this agent.

    def observe(self, arm: Arm, units: int, now: float) -> Outcome:
        """Take one own observation, and share with every peer that has asked and for which enough is buffered.

        Raises:
            LocalError: The arm is not one of this agent's, or the reward is not from 0 to `units_per_reward`.
        """
        check_time(now)
        self.ledger.observe(arm, units)
        candidate_count = len(self.candidates)
        outgoing: list[Message] = []
        for link in self._links_using[arm]:  # Algorithm 1, line 6; Algorithm 4, "each agent j' in A_i"
            if self.settled(link):
                continue
            observations = link.exchange.observe(candidate_count)
            if observations:
                outgoing.append(self._share(link, observations, now))
        return Outcome((Observed(arm, units, now),), tuple(outgoing))

    def observe_all(self, tallies: Sequence[ArmTally], now: float) -> Outcome:
        """Take several own observations at once, and share at most once with each peer that has asked.

        The cost is that of the batch, once for each set of arms in common, and of going through the peers once.

        Raises:
            LocalError: As for one; or there are none, or an arm comes twice.
        """
        check_time(now)
        self.ledger.observe_all(tallies)
        candidate_count = len(self.candidates)
        usable: dict[int, int] = {}
        outgoing: list[Message] = []
        for link in self.links.values():
            common = link.peer.common_set
            if id(common) not in usable:  # equal sets are one object: see `Roster`
                usable[id(common)] = sum(count for arm, count, _ in tallies if arm in common)
            if not usable[id(common)] or self.settled(link):
                continue
            observations = link.exchange.observe(candidate_count, usable[id(common)])
            if observations:
                outgoing.append(self._share(link, observations, now))
        return Outcome((ObservedMany(tuple(tallies), now),), tuple(outgoing))

    def eliminate(self, arm: Arm, now: float) -> Outcome:
        """Stop considering an arm, and tell the others (Algorithm 3, "broadcast index of arm i").

        Raises:
            LocalError: The arm is not a candidate, or it is the last one.
        """
        check_time(now)
        if arm not in self.candidates or len(self.candidates) == 1:
            raise LocalError(
                f"arm {arm!r} cannot be eliminated: the candidates are {', '.join(sorted(self.candidates))}"
            )
        self._rule_out(arm)
        self.own_eliminations = len(self.eliminated)
        return Outcome(outgoing=tuple(self._dismissal(peer, arm) for peer in self._partners()))

    def join(self, now: float) -> Outcome:
        """Say to every known peer that this agent is here, or here again."""
        check_time(now)
        return Outcome((Introduced(now),), tuple(self._introduction(peer) for peer in self.roster))

    def leave(self) -> Outcome:
        """Say to every known peer that this agent goes away."""
        return Outcome(outgoing=tuple(self._farewell(peer) for peer in self.roster), wake_at=self.wake_at)

    def wake(self, now: float) -> Outcome:
        """Take it that the time has come that an outcome asked for. Where no message is lost nobody asks."""
        check_time(now)
        return Outcome((Woke(now),))

    # Inputs from outside.

    def receive(self, message: Message, now: float) -> Outcome:
        """Take a message.

        Raises:
            PeerError: The message is from a stranger, from oneself, for somebody else, or says what cannot be. Nothing
                changed.
        """
        check_time(now)
        if not isinstance(message, Message):
            raise LocalError(
                f"receive takes one message, not {message!r}: turn bytes into one with cobandit.wire.decode"
            )
        if message.sender == self.name:
            raise PeerError(f"{self.name} received a message from itself: do two processes run under one name?")
        if message.receiver != self.name:
            raise PeerError(f"{message.sender} sent a message for {message.receiver!r} to {self.name}")
        records = (Received(message, now),)
        match message:
            case Share():
                outcome = self._receive_share(message, records, now)
            case Acknowledgement():
                outcome = self._receive_acknowledgement(message, records, now)
            case Eliminated():
                outcome = self._receive_eliminated(message, records)
            case Join():
                outcome = self._receive_join(message, records)
            case Leave():
                outcome = self._receive_leave(message, records)
        if outcome.records:
            self.links[message.sender].peer.last_heard = now
        return outcome

    def peer_joined(self, peer: AgentId, arms: Sequence[Arm], now: float) -> Outcome:
        """Take it from the driver that a peer is here: exchange demand becomes true, and nothing is sent."""
        check_time(now)
        names = checked_arms(arms)
        self._greet(peer, names)
        return Outcome((PeerJoined(peer, names, now),))

    def peer_left(self, peer: AgentId, now: float) -> Outcome:
        """Take it from the driver that a peer is gone: go on buffering for it.

        Raises:
            LocalError: No agent of that name has joined.
        """
        check_time(now)
        if peer not in self.roster:
            raise LocalError(f"{peer!r} cannot leave {self.name}: it has not joined")
        self._part(peer)
        return Outcome((PeerLeft(peer, now),))

    # State.

    def state(self) -> EndpointState:
        """Return everything that this endpoint knows, as plain frozen values."""
        return EndpointState(
            agent=self.name,
            boot=self.ledger.origin.boot,
            arms=self.roster.arms,
            units_per_reward=self.ledger.units_per_reward,
            own=self.ledger.own.entries(),
            changed_at=tuple(self.ledger.changed_at.values()),
            eliminated=tuple(self.eliminated),
            own_eliminations=self.own_eliminations,
            formers=self.ledger.formers,
            notices=self.notices,
            arms_since=self.arms_since,
            held=tuple(
                HeldState(origin.agent, origin.boot, holding.version, holding.tally.entries(), holding.lacks)
                for origin, holding in self.ledger.held.items()
            ),
            links=tuple(
                LinkState(
                    peer=link.peer.name,
                    arms=link.peer.arms,
                    present=link.peer.present,
                    candidates=tuple(arm for arm in link.peer.arms if arm in link.peer.candidates),
                    last_heard=link.peer.last_heard,
                    demanded=link.exchange.demanded,
                    buffered=link.exchange.buffered,
                    share_number=link.exchange.share_number,
                    shares_sent=link.exchange.shares_sent,
                    shared_version=link.shared_version,
                    shares_received=link.shares_received,
                    delivery=None if link.delivery is None else link.delivery.state(),
                )
                for link in self.links.values()
            ),
            last_observed=self.last_observed,
            wake_at=self.wake_at,
        )

    @classmethod
    def from_state(cls, state: EndpointState, sharing: Sharing, *, settles: bool = False) -> "Endpoint":
        """Rebuild an endpoint from what `state` returned."""
        endpoint = cls(
            state.agent,
            state.arms,
            sharing,
            units_per_reward=state.units_per_reward,
            boot=state.boot,
            settles=settles,
        )
        if not set(state.eliminated) < endpoint.candidates:
            raise LocalError("the eliminated arms are not some of the arms")
        endpoint.eliminated = list(state.eliminated)
        endpoint.own_eliminations = state.own_eliminations
        endpoint.candidates -= set(state.eliminated)
        endpoint.ledger.formers, endpoint.notices = state.formers, state.notices
        endpoint.arms_since = state.arms_since
        endpoint.ledger.own.add_all(state.own)
        endpoint.ledger.changed_at = dict(zip(endpoint.roster.arms, state.changed_at, strict=True))
        for held in state.held:
            tally = Tally(endpoint.roster.arms)
            tally.add_all(held.tallies)
            endpoint.ledger.held[Origin(held.agent, held.boot)] = Holding(tally, held.version, lacks=held.lacks)
        for saved in state.links:
            if saved.peer in endpoint.links:
                raise LocalError(f"{saved.peer} is listed twice")
            endpoint._greet(saved.peer, saved.arms)
        for saved in state.links:
            link = endpoint.links[saved.peer]
            link.peer.present = saved.present
            link.peer.candidates = set(saved.candidates)
            link.peer.last_heard = saved.last_heard
            link.exchange.demanded = saved.demanded
            link.exchange.buffered = saved.buffered
            link.exchange.share_number = saved.share_number
            link.exchange.shares_sent = saved.shares_sent
            link.shared_version = saved.shared_version
            link.shares_received = saved.shares_received
            if (link.delivery is None) != (saved.delivery is None):
                raise LocalError("it was made with another loss_tolerant, which changes what is kept for every peer")
            if link.delivery is not None and saved.delivery is not None:
                link.delivery.restore(saved.delivery)
        endpoint.last_observed, endpoint.wake_at = state.last_observed, state.wake_at  # greeting may have set a timer
        return endpoint

    # The rest is how.

    def _receive_share(self, share: Share, records: tuple[Received, ...], now: float) -> Outcome:
        link = self._link(share.sender)
        if share.handling is not None:
            raise PeerError(f"{share.sender} is loss-tolerant and {self.name} is not: a whole group must agree")
        if share.observations < 1 or not share.records:
            raise PeerError(f"{share.sender} sent an empty share")
        if not 1 <= share.number <= MOST_OBSERVATIONS:  # however many are missing
            raise PeerError(f"{share.sender} sent share {share.number} after share {link.shares_received}")
        if share.number <= link.shares_received:
            return Outcome()  # it has come before, or a later one has
        for record in share.records:
            if record.agent != share.sender:
                raise PeerError(f"{share.sender} sent a record of {record.agent}: agents share only what they observed")
            self.ledger.check(record)
        self.ledger.check_boots(share.sender, share.records)
        news: tuple[ArmTally, ...] = ()
        for record in share.records:
            news += self.ledger.merge(record)  # Algorithm 1, line 16
        link.shares_received = share.number
        # The question of lines 17 to 21 is not put to a settled pair: it has nothing left to say.
        observations = 0 if self.settled(link) else link.exchange.share_received(len(self.candidates))
        if not observations:
            return Outcome(records, news=news)
        return Outcome(records, (self._share(link, observations, now),), news)

    def _receive_acknowledgement(
        self,
        message: Acknowledgement,
        records: tuple[Received, ...],  # noqa: ARG002  # for loss tolerance, as the next
        now: float,  # noqa: ARG002
    ) -> Outcome:
        raise PeerError(f"{message.sender} is loss-tolerant and {self.name} is not: a whole group must agree")

    def _receive_eliminated(self, notice: Eliminated, records: tuple[Received, ...]) -> Outcome:
        peer = self.roster.get(notice.sender)
        if notice.arm not in peer.arms:
            raise PeerError(f"{notice.sender} eliminated arm {notice.arm!r}, which is not one of its arms")
        # Where messages may be lost it may be a word from a former boot, which had other candidates.
        is_certain = self.links[peer.name].delivery is None
        if is_certain and peer.candidates == {notice.arm} and not self.roster.same_arms:
            raise PeerError(f"{notice.sender} eliminated arm {notice.arm!r}, its last candidate")
        return Outcome(records, ruled_out=self._follow(peer, notice.arm))

    def _follow(self, peer: Peer, arm: Arm) -> tuple[Arm, ...]:
        """Take it that a peer no longer considers an arm. Return which arms this agent now drops as well."""
        if len(peer.candidates) > 1:
            peer.candidates.discard(arm)  # Algorithm 5: C_j' <- C_j' without i
        # Same arms for all: there is one candidate set (Algorithm 3). Two agents may rule out each other's last arm
        # while their notices are under way, so the last candidate stays.
        if not self.roster.same_arms or arm not in self.candidates or len(self.candidates) == 1:
            return ()
        self._rule_out(arm)
        return (arm,)

    def _rule_out(self, arm: Arm) -> None:
        self.candidates.discard(arm)
        self.eliminated.append(arm)
        if self.roster.same_arms:  # one candidate set: what this agent no longer considers, nobody does
            for peer in self.roster:
                if len(peer.candidates) > 1:
                    peer.candidates.discard(arm)

    def _receive_leave(self, notice: Leave, records: tuple[Received, ...]) -> Outcome:
        self._part(notice.sender)
        return Outcome(records)

    def _receive_join(self, notice: Join, records: tuple[Received, ...]) -> Outcome:
        if notice.units_per_reward != self.ledger.units_per_reward:
            raise PeerError(
                f"{notice.sender} counts {notice.units_per_reward} quanta in a reward, {self.name} counts "
                f"{self.ledger.units_per_reward}: a whole group must declare the same quantum"
            )
        try:
            ruled_out = self._greet(notice.sender, notice.arms, may_change=self._may_change_arms(notice))
        except LocalError as error:  # here the arms and the name are the sender's, so the sender must act
            raise PeerError(f"{notice.sender} cannot join: {error}") from error
        return Outcome(records, ruled_out=ruled_out)

    def _may_change_arms(self, notice: Join) -> bool:  # noqa: ARG002  # for loss tolerance
        """Return whether a known peer may have other arms than before."""
        return False

    def _greet(self, name: AgentId, arms: Sequence[Arm], *, may_change: bool = False) -> tuple[Arm, ...]:
        """Take it that a peer is here. Return which arms this agent now drops, because all have the same arms now."""
        was_same, link_before = self.roster.same_arms, self.links.get(name)
        arms_before = None if link_before is None else link_before.peer.arms
        peer, is_new = self.roster.join(name, arms, may_change=may_change)
        if is_new:
            link = self.links[name] = self._new_link(peer, Exchange(self._sharing, buffered=self._usable_by(peer)))
            for arm in peer.common:
                self._links_using[arm].append(link)
        else:
            self._return(self.links[name])
            if peer.arms != arms_before:  # as for a new peer: what it can use now, it may not have got before
                self.links[name].shared_version = 0
                self.links[name].exchange.buffered = self._usable_by(peer)
                self._relink()
        return self._reconsider(was_same=was_same)

    def _relink(self) -> None:
        self._links_using = {
            arm: [link for link in self.links.values() if arm in link.peer.common_set] for arm in self.roster.arms
        }

    def _reconsider(self, *, was_same: bool) -> tuple[Arm, ...]:  # noqa: ARG002  # for loss tolerance
        """Take it that arm sets are others now. Return which arms this agent drops for that."""
        return ()

    def _usable_by(self, peer: Peer) -> int:
        """Return how many own observations a peer can use."""
        return sum(self.ledger.own.counts[arm] for arm in peer.common)

    def _return(self, link: Link) -> None:
        """Take it that a known peer is here again."""
        link.exchange.peer_joined()

    def _new_link(self, peer: Peer, exchange: Exchange) -> Link:
        return Link(peer, exchange)

    def _part(self, name: AgentId) -> None:
        self.roster.leave(name)
        self.links[name].exchange.peer_left()

    def _link(self, name: AgentId) -> Link:
        self.roster.get(name)  # raises for a stranger
        return self.links[name]

    def _introduction(self, peer: Peer) -> Join:
        return Join(self.name, peer.name, self.roster.arms, self.ledger.units_per_reward)

    def _dismissal(self, peer: Peer, arm: Arm) -> Eliminated:
        return Eliminated(self.name, peer.name, arm)

    def _farewell(self, peer: Peer) -> Leave:
        return Leave(self.name, peer.name)

    def _share(self, link: Link, observations: int, now: float) -> Share:  # noqa: ARG002  # for loss tolerance
        record = self.ledger.record_since(link.shared_version, link.peer.common)
        link.shared_version = record.version
        return Share(self.name, link.peer.name, link.exchange.shares_sent, observations, (record,))

    def settled(self, link: Link) -> bool:
        """Whether this pair has nothing left to learn (end of Section 3.3; Appendix H.2 for different arm sets)."""
        if not self._settles or len(self.candidates) > 1:
            return False
        return self.roster.same_arms or len(link.peer.candidates) == 1

    def _partners(self) -> list[Peer]:
        """The agents that have an arm in common with this one (A^(j) of Appendix H.1)."""
        return [peer for peer in self.roster if peer.common]
