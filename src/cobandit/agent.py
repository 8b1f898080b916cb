"""One agent: a policy that decides and an endpoint that talks. Still without clock, chance or I/O.

The contract of every input is the same: it returns an `Outcome`; persist its records, then send its outgoing messages.
Time is an argument; the agent only remembers when it last heard from each peer. Starting again after a stop or
a crash is one path: `Agent.restore(snapshot, records, policy=..., sharing=...)`.
"""

from collections.abc import Iterable, Sequence

from cobandit.core import (
    AgentId,
    Endpoint,
    Flushed,
    InputRecord,
    Introduced,
    Message,
    Observed,
    ObservedMany,
    Outcome,
    PeerJoined,
    PeerLeft,
    Received,
    Sharing,
    TolerantEndpoint,
    Woke,
    on_demand,
)
from cobandit.core.invariants import endpoint_violations
from cobandit.core.state import SNAPSHOT_VERSION, EndpointState, Snapshot
from cobandit.policies import Policy
from cobandit.values.checks import check_time
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import Arm, ArmTally


class Agent:
    """One member of a group that learns together.

    Args:
        name: This agent's name, unique in the group.
        policy: How it decides. The policy brings the arms and the quantum; the whole group uses the same quantum.
        sharing: How it talks; `on_demand()` unless told otherwise.
        boot: Which start of this agent it is.

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

    def __init__(self, name: AgentId, policy: Policy, sharing: Sharing | None = None, *, boot: int = 0) -> None:
        if not isinstance(policy, Policy):
            raise LocalError(f"an agent needs a policy such as UCB([...]), not {policy!r}")
        if not (sharing is None or isinstance(sharing, Sharing)):
            raise LocalError(f"an agent shares by on_demand(...), immediate(...) or silent(), not {sharing!r}")
        if policy.owner is not None:
            raise LocalError(f"the policy belongs to agent {policy.owner} already: give every agent one of its own")
        policy.owner = name
        self.policy = policy
        self.sharing = sharing or on_demand()
        self.endpoint = _endpoint_class(self.sharing)(
            name,
            policy.arms,
            self.sharing,
            units_per_reward=policy.quantum.per_reward,
            boot=boot,
            settles=policy.eliminates,
        )

    @property
    def name(self) -> AgentId:
        """This agent's name."""
        return self.endpoint.name

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that this agent can pull."""
        return self.policy.arms

    @property
    def boot(self) -> int:
        """Which start of this agent it is."""
        return self.endpoint.ledger.origin.boot

    @property
    def wake_at(self) -> float | None:
        """When to call `wake`, as the last outcome said; after `restore` there is no outcome to say it."""
        return self.endpoint.wake_at

    def select_arm(self) -> Arm:
        """Return the arm to pull next. Changes nothing and waits for nobody."""
        return self.policy.select_arm()

    def update(self, arm: Arm, reward: float, now: float | None = None) -> Outcome:
        """Take the reward of an own pull.

        Raises:
            LocalError: The arm is not one of this agent's, or the reward is not a number in [0, 1]. Nothing changed.
        """
        return self._observe(arm, self.policy.quantum.units(reward), self._time(now))

    def update_all(self, tallies: Sequence[ArmTally], now: float | None = None) -> Outcome:
        """Take the rewards of several own pulls at once: for each arm how many, and their sum in quanta.

        It is what `update` does for each of them, in one step: peers that have asked get one share with everything.

        Raises:
            LocalError: There are none, an arm comes twice or is not one of this agent's, or the rewards cannot add up
                to that. Nothing changed.
        """
        return self._observe_all(tallies, self._time(now))

    def receive(self, message: Message, now: float | None = None) -> Outcome:
        """Take a message of another agent.

        Raises:
            PeerError: The message cannot be right. Nothing changed.
        """
        outcome = self.endpoint.receive(message, self._time(now))
        self.policy.learn(outcome.news)
        self.policy.learn(outcome.returned, own=True)
        for arm in outcome.ruled_out:
            self.policy.eliminate(arm)
        return outcome

    def peer_joined(self, peer: AgentId, arms: Sequence[Arm], now: float = 0.0) -> Outcome:
        """Take it that a peer is here, for the first time or again. Sends nothing by itself."""
        return self.endpoint.peer_joined(peer, arms, now)

    def peer_left(self, peer: AgentId, now: float = 0.0) -> Outcome:
        """Take it that a peer is gone. What is observed from now on is kept for its return."""
        return self.endpoint.peer_left(peer, now)

    def join(self, now: float | None = None) -> Outcome:
        """Say to every known peer that this agent is here, or here again."""
        return self.endpoint.join(self._time(now))

    def leave(self) -> Outcome:
        """Say to every known peer that this agent goes away."""
        return self.endpoint.leave()

    def flush(self, now: float) -> Outcome:
        """Send to every peer what it lacks, without waiting until a buffer is full: before going away, say.

        Raises:
            LocalError: The agent is not loss-tolerant. In the paper's protocol nobody speaks unasked.
        """
        if not isinstance(self.endpoint, TolerantEndpoint):
            raise LocalError("only an agent that shares with loss_tolerant=True can flush")
        return self.endpoint.flush(self._time(now))

    def wake(self, now: float | None = None) -> Outcome:
        """Take it that the time has come that the last outcome asked for with `wake_at`."""
        return self.endpoint.wake(self._time(now))

    def snapshot(self) -> Snapshot:
        """Return all that this agent knows."""
        return Snapshot(SNAPSHOT_VERSION, repr(self.sharing), self.endpoint.state())

    @classmethod
    def restore(
        cls,
        snapshot: Snapshot,
        records: Iterable[InputRecord] = (),
        *,
        policy: Policy,
        sharing: Sharing | None = None,
        boot: int | None = None,
    ) -> "Agent":
        """Rebuild an agent from a snapshot and the records of every outcome since.

        After a start that may have forgotten something (a crash, an older disk) give a `boot` above all earlier ones:
        what was observed before is kept apart, peers return what they know of it, and nothing is counted twice.

        Args:
            snapshot: What `snapshot` returned.
            records: The records since then, in order.
            policy: A fresh policy with the same arms and the same quantum. With a new boot it may have more arms: those
                of the snapshot first, in their order.
            sharing: How to talk. Give the same again; another is accepted only when there are no records to replay.
            boot: The new boot, if it is one. Only agents that are loss-tolerant start again; take a snapshot after it.

        Raises:
            LocalError: The snapshot is of another version, is damaged, or does not fit the policy or the records.
        """
        if not isinstance(snapshot, Snapshot):
            raise LocalError("restore takes a snapshot: turn bytes into one with cobandit.wire.decode_snapshot")
        if snapshot.version != SNAPSHOT_VERSION:
            raise LocalError(
                f"the snapshot has version {snapshot.version}, this program reads version {SNAPSHOT_VERSION}: "
                "use the version of cobandit that wrote it"
            )
        state, arms = snapshot.endpoint, policy.arms
        is_grown = _is_grown(state, policy, boot)
        if policy.own_pulls or policy.tally.observations or policy.candidates != policy.arms:
            raise LocalError("restore needs a fresh policy: this one has observations or eliminations already")
        was_tolerant = any(link.delivery is not None for link in state.links)
        is_tolerant = sharing is not None and sharing.patience is not None
        if state.links and was_tolerant != is_tolerant:
            raise LocalError(
                f"the snapshot of {state.agent} was made with sharing={snapshot.sharing}: pass the same to restore"
            )
        if is_grown:  # what was recorded was decided by the arms of then
            policy.change_arms(state.arms)
        agent = cls(state.agent, policy, sharing, boot=state.boot)
        try:
            agent.endpoint = _endpoint_class(agent.sharing).from_state(state, agent.sharing, settles=policy.eliminates)
        except (KeyError, ValueError, PeerError) as error:
            reason = f"unknown name {error}" if isinstance(error, KeyError) else str(error)
            raise LocalError(f"the snapshot of {state.agent} is damaged: {reason}") from error
        if damage := endpoint_violations(agent.endpoint):
            raise LocalError(f"the snapshot of {state.agent} is damaged: {damage[0]}")
        policy.learn(agent.endpoint.ledger.own.entries(), own=True)
        for origin, holding in agent.endpoint.ledger.held.items():
            policy.learn(holding.tally.entries(), own=origin.agent == state.agent)
        for arm in state.eliminated:
            policy.eliminate(arm)
        agent._replay_all(records, snapshot)
        if boot is not None:
            if not isinstance(agent.endpoint, TolerantEndpoint):
                raise LocalError(
                    "only an agent that shares with loss_tolerant=True can start again with a new boot or more arms"
                )
            agent.endpoint.start_again(boot, arms)
            policy.change_arms(arms)
            for arm in agent.endpoint.eliminated:  # more than before, if all have the same arms now
                policy.eliminate(arm)
        return agent

    def _time(self, now: float | None) -> float:
        """Return the time; only agents that never wait may be spared it."""
        if now is None and self.sharing.patience is not None:
            raise LocalError(
                f"{self.name} is loss-tolerant and must know the time: pass now, in the unit of its Patience"
            )
        return 0.0 if now is None else now

    def _replay_all(self, records: Iterable[InputRecord], snapshot: Snapshot) -> None:
        for record in records:
            if repr(self.sharing) != snapshot.sharing:
                raise LocalError(f"records made under {snapshot.sharing} cannot be replayed under {self.sharing!r}")
            try:
                self._replay(record)
            except PeerError as error:  # it was accepted once, so it is the record that is wrong
                raise LocalError(f"a record does not fit the snapshot of {self.name}: {error}") from error

    def _observe(self, arm: Arm, units: int, now: float) -> Outcome:
        check_time(now)
        self.endpoint.ledger.check_observation(arm, units)
        candidates_before = self.policy.candidates
        self.policy.update_units(arm, units)
        notices = self._eliminate_what_fell(candidates_before, now)
        outcome = self.endpoint.observe(arm, units, now)
        return outcome._replace(outgoing=notices + outcome.outgoing) if notices else outcome

    def _observe_all(self, tallies: Sequence[ArmTally], now: float) -> Outcome:
        check_time(now)
        self.endpoint.ledger.check_observations(tallies)
        candidates_before = self.policy.candidates
        self.policy.update_all(tallies)
        notices = self._eliminate_what_fell(candidates_before, now)
        outcome = self.endpoint.observe_all(tallies, now)
        return outcome._replace(outgoing=notices + outcome.outgoing) if notices else outcome

    def _eliminate_what_fell(self, candidates_before: tuple[Arm, ...], now: float) -> tuple[Message, ...]:
        notices: tuple[Message, ...] = ()
        if self.policy.candidates is not candidates_before:
            for gone in candidates_before:
                if gone not in self.policy.candidates:
                    notices += self.endpoint.eliminate(gone, now).outgoing
        return notices

    def _replay(self, record: InputRecord) -> None:
        match record:
            case Observed(arm, units, now):
                self._observe(arm, units, now)
            case ObservedMany(tallies, now):
                self._observe_all(tallies, now)
            case Received(message, now):
                self.receive(message, now)
            case PeerJoined(peer, arms, now):
                self.peer_joined(peer, arms, now)
            case PeerLeft(peer, now):
                self.peer_left(peer, now)
            case Introduced(now):
                self.join(now)
            case Woke(now):
                self.wake(now)
            case Flushed(now):
                self.flush(now)
            case other:
                raise LocalError(f"{other!r} is not a record: pass the records of each outcome, in order")


def _is_grown(state: EndpointState, policy: Policy, boot: int | None) -> bool:
    """Return whether a policy has more arms than a state, or say why it does not fit."""
    arms = policy.arms
    is_grown = boot is not None and len(arms) > len(state.arms) and arms[: len(state.arms)] == state.arms
    if not (is_grown or arms == state.arms) or policy.quantum.per_reward != state.units_per_reward:
        raise LocalError(
            f"the snapshot of {state.agent} has arms {', '.join(state.arms)} and {state.units_per_reward} quanta "
            f"in a reward, but the policy has {', '.join(arms)} and {policy.quantum.per_reward} (new arms come last, "
            "and with a new boot)"
        )
    return is_grown


def _endpoint_class(sharing: Sharing) -> type[Endpoint]:
    return Endpoint if sharing.patience is None else TolerantEndpoint
