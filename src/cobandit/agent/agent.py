"""One agent: a policy that decides and an endpoint that talks. Still without clock, randomness or I/O.

The contract of every input is the same: it returns an `Outcome`; persist its records, then send its outgoing messages.
Time is an argument; the agent only remembers when it last heard from each peer. After a stop and after a crash you
restart the same way: `Agent.restore(snapshot, records, policy=..., sharing=...)`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from cobandit.agent.knowledge import Knowledge
from cobandit.agent.peers import Peers
from cobandit.agent.restoring import checked, endpoint_of, replay_all
from cobandit.core import (
    AgentId,
    Cells,
    Endpoint,
    InputRecord,
    Limited,
    Message,
    Outcome,
    Presence,
    Sharing,
    Turned,
    on_demand,
)
from cobandit.core.calendar import Calendar
from cobandit.core.credibility import check_observations
from cobandit.core.pen_names import SettledBlock, incarnation_of
from cobandit.core.places import PLAIN, At, Bandit, Placed, beside
from cobandit.core.replica import MAX_FACTS_PER_MESSAGE
from cobandit.core.roles import adopt
from cobandit.core.snapshots import state
from cobandit.core.state import Snapshot
from cobandit.learning import Build, Learners
from cobandit.policies import Policy
from cobandit.values.checks import check_time, check_whole, plain, plain_arguments
from cobandit.values.errors import LocalError
from cobandit.values.quantum import Quantum
from cobandit.values.tally import Arm, ArmTally, checked_arms


class Agent:
    """One member of a group that learns together.

    Args:
        name: The agent's name, unique in the group.
        policy: How the agent decides. The policy brings the arms and the quantum; the whole group uses the same
            quantum. `None` if the agent has only named bandits.
        sharing: How the agent communicates; `on_demand()` by default.
        incarnation: Number of this start of the agent. Observations of different incarnations are kept apart.
        bandits: Named bandits that the agent also serves (`declare` sets their policies). Include the plain bandit,
            without its arms, if it has a window.

    >>> from cobandit import UCB, Agent
    >>> j, p = (Agent(name, UCB(["A", "B"])) for name in "jp")
    >>> _ = j.peer_joined("p", p.arms), p.peer_joined("j", j.arms)
    >>> outcome = j.update(j.select_arm(), reward=1.0)
    >>> [message.receiver for message in outcome.outgoing]
    ['p']
    >>> _ = p.receive(outcome.outgoing[0])
    >>> p.policy.tally
    Tally(A: 1000000/1, B: 0/0)
    """

    def __init__(
        self,
        name: AgentId,
        policy: Policy | None,
        sharing: Sharing | None = None,
        *,
        incarnation: int = 0,
        bandits: Sequence[Bandit] = (),
    ) -> None:
        if not (isinstance(policy, Policy) or policy is None):
            raise LocalError(f"an agent needs a policy such as UCB([...]), not {policy!r}")
        if not (isinstance(bandits, list | tuple) and all(isinstance(one, Bandit) for one in bandits)):
            raise LocalError(f"bandits must be a list of Bandit(...), not {bandits!r}")
        if not (sharing is None or isinstance(sharing, Sharing)):
            raise LocalError(f"an agent shares by on_demand(...), immediate(...) or silent(), not {sharing!r}")
        if policy is not None and policy.owner is not None:
            raise LocalError(f"the policy already belongs to agent {policy.owner}: give every agent its own policy")
        self.sharing = sharing or on_demand()
        endpoint = Endpoint(
            name,
            () if policy is None else policy.arms,
            self.sharing,
            units_per_reward=1 if policy is None else policy.quantum.per_reward,
            incarnation=plain(incarnation),
            settles=policy is not None and policy.eliminates,
            bandits=bandits,
        )
        self._take_endpoint(endpoint, policy)

    def _take_endpoint(self, endpoint: Endpoint, policy: Policy | None) -> None:
        """Adopt an endpoint, with nothing learned yet."""
        self.endpoint, replica = endpoint, endpoint.replica
        self.peers = Peers(endpoint)
        """The known peers, and the state of their links."""
        self.knowledge = Knowledge(endpoint)
        """All known observations."""
        self.learners = Learners(replica.bandits, replica.period_of)
        """The policies: one for each place."""
        self._plain = None if policy is None else self.learners.put_plain(policy)
        if policy is not None:
            policy.owner = endpoint.name

    @property
    def policy(self) -> Policy:
        """The policy of the plain bandit."""
        if self._plain is None:
            raise LocalError(f"{self.name} has only named bandits: say which one")
        return self._plain.policy

    def policy_at(self, bandit: str, segment: str = "") -> Policy:
        """Return the policy of a segment of a bandit. The segment is created the first time you ask for it.

        Raises:
            LocalError: The bandit was not declared.
        """
        return self.learners.at((bandit, segment)).policy

    def segments_of(self, bandit: str) -> tuple[str, ...]:
        """Return the existing segments of a bandit."""
        return self.learners.segments_of(bandit)

    def declare(self, bandit: str, build: Build) -> None:
        """Set how policies are made for a bandit that this agent serves: one policy per segment.

        Raises:
            LocalError: The agent does not serve this bandit. Begin a session with it first.
        """
        if bandit not in self.endpoint.members.bandits:
            raise LocalError(f"{self.name} does not serve a bandit {bandit!r}: begin a session with it first")
        self.learners.declare(bandit, build, self.knowledge.all())

    @property
    def has_plain(self) -> bool:
        """Whether the agent has a plain (unnamed) bandit."""
        return self._plain is not None

    def serves(self, at: At, arm: Arm) -> bool:
        """Return whether the agent serves, or has served, an arm of a bandit."""
        return self.endpoint.replica.has(at[0], arm)

    @property
    def bandits(self) -> tuple[Bandit, ...]:
        """The named bandits that this agent serves."""
        return tuple(bandit for name, bandit in self.endpoint.members.bandits.items() if name)

    def bandit(self, name: str) -> Bandit | None:
        """Return the settings that all agents serving a bandit share; `None` if this agent never served it."""
        return self.endpoint.replica.bandits.get(name)

    def quantum_of(self, bandit: str) -> Quantum:
        """Return the step in which a bandit's rewards are counted, as a fraction of their range."""
        return _quantum(self.endpoint.replica.units_of(bandit))

    @property
    def name(self) -> AgentId:
        """This agent's name."""
        return self.endpoint.name

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms of the plain bandit that this agent can pull."""
        return () if self._plain is None else self._plain.policy.arms

    @property
    def incarnation(self) -> int:
        """The number of this start of the agent."""
        return self.endpoint.replica.incarnation

    @plain_arguments
    def limit_facts(self, most: int) -> Outcome:
        """Put at most `most` facts into one message, because packets are small (`cobandit.codec.facts_that_fit`)."""
        check_whole("the number of facts in a message", most, 1)
        most = min(most, MAX_FACTS_PER_MESSAGE)
        is_new, self.endpoint.replica.max_facts = most != self.endpoint.replica.max_facts, most
        return Outcome((Limited(most),) if is_new else (), wake_at=self.endpoint.wake_at)

    @property
    def session(self) -> int:
        """The session of this agent's log: it advances with every incarnation and with every new arm."""
        return self.endpoint.session

    @property
    def wake_at(self) -> float | None:
        """When to call `wake`, as in the last outcome. Use it after `restore`, which returns no outcome."""
        return self.endpoint.wake_at

    def select_arm(self) -> Arm:
        """Return the arm to pull next. Changes nothing and never waits."""
        return self.policy.select_arm()

    def update(self, arm: Arm, reward: float, now: float | None = None) -> Outcome:
        """Record the reward of one of this agent's own pulls.

        Raises:
            LocalError: The arm is not one of this agent's, or the reward is not a number in [0, 1]. Nothing changes.
        """
        quantum = self.policy.quantum
        units = quantum.units(reward)
        return self.update_all((ArmTally(plain(arm), 1, units, quantum.square(units)),), now)

    def update_all(
        self,
        tallies: Sequence[ArmTally],
        now: float | None = None,
        settled: Sequence[SettledBlock] = (),
        elsewhere: Sequence[Placed] = (),
    ) -> Outcome:
        """Record the rewards of several own pulls at once: for each arm, their number and their sum in quanta.

        The effect is that of calling `update` for each of them, but in one step: peers that have asked get one share
        with everything.

        Args:
            tallies: The rewards. May be empty if decisions of a pen are settled without a reward.
            now: The time, if the agent is loss-tolerant.
            settled: The decisions of a pen that these rewards settle (`cobandit.core.settled`): sent together with the
                observations, or not at all.
            elsewhere: Rewards of named bandits, in the same step.

        Raises:
            LocalError: There are no rewards, an arm appears twice or is not one of this agent's, or the rewards cannot
                add up to the given sum. Nothing changes.
        """
        now = self._time(now)
        check_time(now)
        if settled and not (tallies or elsewhere):
            return self.endpoint.observe((), now, settled)
        replica, count = self.endpoint.replica, 0
        if tallies or not elsewhere:
            count = check_observations(tallies, replica)
        for placed in elsewhere:
            count = check_observations(placed.tallies, replica, placed[:2], before=count)
        if len({placed[:2] for placed in elsewhere}) < len(elsewhere):
            raise LocalError("a segment is in the batch twice: add the two up")
        for bandit, segment, placed_tallies in elsewhere:
            if self.learners.knows(bandit) and not beside(bandit, segment):
                self.learners.at((bandit, segment)).observe(placed_tallies)
        notices: tuple[Message, ...] = ()
        if tallies and self._plain is not None:
            candidates_before = self._plain.policy.candidates
            self._plain.observe(tallies)
            notices = self._eliminate_what_fell(candidates_before, now)
        outcome = self.endpoint.observe(tallies, now, settled, elsewhere)
        return outcome._replace(outgoing=notices + outcome.outgoing) if notices else outcome

    def turn(self, time: float, now: float | None = None, *, is_back: bool = False) -> Outcome:
        """Advance the calendar, which all agents serving a bandit with a window share.

        Observations outside the window are forgotten. An earlier time changes nothing, unless `is_back` says that the
        calendar was wrong. That is allowed only after a new incarnation has begun and before it observes anything.

        Raises:
            LocalError: The incarnation has already observed something.
        """
        return self._learned(self.endpoint.turn(plain(time), self._time(now), is_back=is_back))

    @property
    def calendar(self) -> Calendar:
        """The periods that currently count, for drivers to inspect."""
        return self.endpoint.replica.calendar

    def adopt(
        self, pen: AgentId, tally: ArmTally, settled: Sequence[SettledBlock], now: float, at: At = PLAIN
    ) -> Outcome:
        """Count rewards of decisions made with a pen that no agent holds any more, and mark them as settled.

        Only the relay that lent the pen may do this: it continues counting where the last holder stopped.
        """
        incarnation, replica = incarnation_of(pen), self.endpoint.replica
        place = (*at, replica.period_of(at[0]))
        told = Cells(pen, incarnation, (), *place)
        return self.adopt_told(told._replace(tallies=(replica.held(told, tally.arm).plus(tally),)), settled, now)

    def adopt_told(self, told: Cells, settled: Sequence[SettledBlock], now: float) -> Outcome:
        """Do what `adopt` does, from its record: everything that is then counted for the arm."""
        return self._learned(adopt(self.endpoint, told, settled, now))

    def _learned(self, outcome: Outcome) -> Outcome:
        """Pass what an input has brought to the policies."""
        if self._plain is not None:
            self._plain.policy.learn(outcome.news)
            if outcome.returned:
                self._plain.policy.learn(outcome.returned, own=True)
        if outcome.elsewhere:
            self.learners.learn(outcome.elsewhere)
        if outcome.records and isinstance(outcome.records[0], Turned):
            self.learners.turn()
        return outcome

    def receive(self, message: Message, now: float | None = None) -> Outcome:
        """Take a message from another agent.

        Raises:
            PeerError: The message is invalid. Nothing changes.
        """
        outcome = self._learned(self.endpoint.receive(message, self._time(now)))
        for arm in outcome.ruled_out:
            self.policy.eliminate(arm)
        return outcome

    def peer_joined(self, peer: AgentId, arms: Sequence[Arm], now: float = 0.0) -> Outcome:
        """Note that a peer is here, for the first time or again. This alone sends nothing."""
        return self.endpoint.peer_joined(peer, arms, now)

    def peer_left(self, peer: AgentId, now: float = 0.0) -> Outcome:
        """Note that a peer is gone. Observations from now on are kept for its return."""
        return self.endpoint.peer_left(peer, now)

    def forget(self, peer: AgentId, now: float) -> Outcome:
        """Note that a peer is gone, and keep nothing ready for its return. Its observations stay.

        The peer no longer costs anything. If it is heard again, the two continue where they left off.

        Raises:
            LocalError: No agent of that name has joined, or this agent is not loss-tolerant.
        """
        self._check_tolerant("forget another one")
        return self.endpoint.forget(peer, self._time(now))

    def join(self, now: float | None = None, *, is_relay: bool = False, is_leaf: bool = False) -> Outcome:
        """Tell every known peer that this agent is here, or here again.

        Args:
            now: The time, if the agent is loss-tolerant.
            is_relay: Whether the agent passes on what others observed: to newcomers at once, and to all peers whenever
                it is quiet. That way, what an agent learned does not die with its name.
            is_leaf: Whether the agent hears of others only from relays, as totals. Then neither what it stores nor the
                cost of a message to it depends on the number of agents. Its peers must be relays.

        Raises:
            LocalError: An agent cannot be both, and cannot become or stop being a leaf within a session.
        """
        if is_relay and is_leaf:
            raise LocalError(f"{self.name} cannot be a relay and a leaf: a leaf has no rows to pass on")
        return self._learned(self.endpoint.join(self._time(now), is_relay=is_relay, is_leaf=is_leaf))

    def leave(self) -> Outcome:
        """Tell every known peer that this agent is leaving."""
        return self.endpoint.leave()

    def flush(self, now: float) -> Outcome:
        """Send every peer what it lacks, without waiting for a full buffer, for example before leaving.

        Raises:
            LocalError: The agent is not loss-tolerant. In the paper's protocol, agents send nothing unasked.
        """
        self._check_tolerant("flush")
        return self.endpoint.flush(self._time(now))

    def wake(self, now: float | None = None) -> Outcome:
        """Do the work that is due at the time the last outcome gave in `wake_at`."""
        return self.endpoint.wake(self._time(now))

    @plain_arguments
    def begin(
        self,
        session: int,
        now: float,
        *,
        incarnation: int | None = None,
        arms: Sequence[Arm] | None = None,
        bandits: Sequence[Bandit] | None = None,
    ) -> Outcome:
        """Begin a new session: after a start that may have forgotten something, or to serve more arms or other bandits.

        All peers then send again whatever is wanted, which does no harm. Call `join` afterwards.

        Args:
            session: A number above all earlier ones and never used before: a clock and some randomness.
            now: The time.
            incarnation: A new number, if the agent may have forgotten some of its own observations. Earlier
                observations are kept apart, peers return what they know of them, and nothing is counted twice.
            arms: All arms, if there are more than before. The earlier ones come first.
            bandits: All named bandits that the agent serves, if they differ from before.

        Raises:
            LocalError: The agent is not loss-tolerant, or a number or arm set is invalid. Nothing changes.
        """
        self._check_tolerant("begin a new session")
        names = self.arms if arms is None else checked_arms(arms)
        life = self.incarnation if incarnation is None else incarnation
        outcome = self.endpoint.begin(session, life, names, now, bandits)
        if names != self.arms:
            self.learners.at(PLAIN).change_arms(names)
        if bandits is not None:
            self.learners.learn(outcome.elsewhere)
            self.learners.grow()
        for arm in outcome.ruled_out:
            self.policy.eliminate(arm)
        return outcome

    @property
    def presence(self) -> Presence:
        """How this agent introduces itself."""
        return self.endpoint.speech.presence()

    def acknowledge(self, peer: AgentId) -> Outcome:
        """Acknowledge to a known peer what this agent has from it, and send nothing else: a sign of life."""
        link = self.endpoint.links.get(peer)
        outgoing = () if link is None else (self.endpoint.speech.acknowledge(link),)
        return Outcome(outgoing=outgoing, wake_at=self.wake_at)

    @property
    def log_number(self) -> int:
        """The number of the last change in this agent's log."""
        return self.endpoint.replica.number

    def declares(self, bandit: str) -> bool:
        """Return whether this agent knows how to make policies for a bandit."""
        return self.learners.knows(bandit)

    def snapshot(self) -> Snapshot:
        """Return everything this agent knows."""
        return Snapshot(repr(self.sharing), state(self.endpoint))

    @classmethod
    def restore(
        cls,
        snapshot: Snapshot,
        records: Iterable[InputRecord] = (),
        *,
        policy: Policy | None,
        sharing: Sharing | None = None,
        builds: Mapping[str, Build] | None = None,
    ) -> "Agent":
        """Rebuild an agent from a snapshot and the records of every outcome since.

        After a start that may have forgotten something (a crash, an older disk), call `begin` with a new incarnation.

        Args:
            snapshot: What `snapshot` returned.
            records: The records since then, in order.
            policy: A fresh policy with the same quantum and the same arms. Any extra arms are put aside.
            sharing: How to communicate. Pass the same as before; a different one is accepted only if there are no
                records to replay.
            builds: How to make policies for named bandits that are already declared.

        Raises:
            LocalError: The snapshot is from another version, is damaged, or does not fit the policy or the records.
        """
        kept = checked(snapshot, policy, sharing)
        if policy is not None:
            policy.change_arms(kept.arms)
        agent = cls(kept.agent, policy, sharing, incarnation=kept.incarnation)
        endpoint = endpoint_of(kept, agent.sharing, settles=policy is not None and policy.eliminates)
        agent._take_endpoint(endpoint, policy)
        agent.learners.learn(agent.knowledge.all())
        for name, build in (builds or {}).items():
            if name in endpoint.members.bandits:
                agent.declare(name, build)
        for arm in agent.endpoint.candidates.eliminated:
            agent.policy.eliminate(arm)
        replay_all(agent, records, snapshot.sharing)
        return agent

    def _check_tolerant(self, what: str) -> None:
        if self.sharing.retry is None:
            raise LocalError(f"only an agent that shares with loss_tolerant=True can {what}")

    def _time(self, now: float | None) -> float:
        """Return the time; only agents that never wait may omit it."""
        if now is None and self.sharing.retry is not None:
            raise LocalError(
                f"{self.name} is loss-tolerant and must know the time: pass now, in the unit of its RetryTimers"
            )
        time: float = 0.0 if now is None else plain(now)
        return time

    def _eliminate_what_fell(self, candidates_before: tuple[Arm, ...], now: float) -> tuple[Message, ...]:
        notices: tuple[Message, ...] = ()
        if self.policy.candidates is not candidates_before:
            for gone in candidates_before:
                if gone not in self.policy.candidates:
                    notices += self.endpoint.eliminate(gone, now).outgoing
        return notices


@cache
def _quantum(per_reward: int) -> Quantum:
    return Quantum(1.0 / per_reward)
