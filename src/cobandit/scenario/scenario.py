"""A world as data: arms, agents and when they decide, how they choose, how they talk.

A scenario has no randomness and no state. Together with a seed and a trial number (`cobandit.scenario.tape`), it
determines a run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, get_args

from cobandit.core import Sharing, on_demand
from cobandit.policies import Confidence, Policy
from cobandit.policies.confidence import checked_confidence
from cobandit.policies.from_index import FromIndex
from cobandit.policies.registry import BuiltIn
from cobandit.protocols.node import Node, Place
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario.arms import Arms
from cobandit.scenario.changes import Course
from cobandit.scenario.faults import Faults
from cobandit.scenario.forgetting import Forgetting
from cobandit.scenario.schedules import Schedule
from cobandit.scenario.tape import Luck
from cobandit.scenario.topology import Graph, Relays, Topology
from cobandit.values.checks import check_positive, check_whole, keep_plain
from cobandit.values.errors import LocalError
from cobandit.values.quantum import BERNOULLI, Quantum
from cobandit.values.tally import Arm, checked_arms

LONGEST_HORIZON = 2**40
LONGEST_DELAY = 2**30
MOST_AGENTS = 100_000
MAX_LEAVES = 1_000_000
"""Maximum number of agents with relays. It is higher, because no agent keeps anything for each of the others."""


@dataclass(frozen=True, slots=True)
class Absence:
    """An agent is away from slot `leave` until just before slot `rejoin`, or for good. It announces both."""

    leave: int
    rejoin: int | None = None

    def __post_init__(self) -> None:
        keep_plain(self, "leave", "rejoin")
        check_slot("leave", self.leave)
        if self.rejoin is not None:
            check_slot("rejoin", self.rejoin)
            if self.rejoin <= self.leave:
                raise LocalError(f"an agent that leaves in slot {self.leave} cannot rejoin in slot {self.rejoin}")


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent of a scenario.

    Args:
        schedule: When it decides.
        start: The first slot in which it may decide. Before that the agent is silent, but the others know about it.
        stop: The first slot in which it no longer decides.
        arms: The arms that it can pull; all arms of the world by default.
        absences: When it is away, announced by notices.
        policy: How it chooses, if different from the scenario's policy.
        settings: Its own settings for a policy of yours, passed by name to the function that builds the policy.
    """

    schedule: Schedule
    start: int = 0
    stop: int | None = None
    arms: tuple[Arm, ...] | None = None
    absences: tuple[Absence, ...] = ()
    policy: "BuildPolicy | None" = None
    settings: "Mapping[str, Any] | tuple[tuple[str, Any], ...]" = ()

    def __post_init__(self) -> None:
        keep_plain(self, "start", "stop", "arms")
        if self.policy is not None:
            _check_policy("an agent's policy", self.policy)
        pairs = self.settings.items() if isinstance(self.settings, Mapping) else self.settings
        object.__setattr__(self, "settings", tuple(sorted(pairs)))  # equal agents have equal settings
        if not hasattr(self.schedule, "clock"):
            raise LocalError(f"an agent needs a schedule such as Rate(0.5), not {self.schedule!r}")
        check_slot("start", self.start)
        if self.stop is not None:
            check_whole("stop", self.stop, self.start + 1, LONGEST_HORIZON)
        if not all(isinstance(absence, Absence) for absence in self.absences):
            raise LocalError(f"absences must be a tuple of Absence(leave, rejoin), not {self.absences!r}")
        if self.arms is not None:
            checked_arms(self.arms)
        for before, absence in pairwise(self.absences):
            if before.rejoin is None or absence.leave < before.rejoin:
                raise LocalError(f"an agent away since slot {before.leave} cannot leave again in slot {absence.leave}")


BuildPolicy = Callable[..., Policy]
"""Returns a fresh policy for an agent with these arms. The number is the agent's own seed; settings are passed by name.
"""


@dataclass(frozen=True, slots=True)
class IndexFunction:
    """Your own policy as one plain function: the index of an arm. Both engines run it; the compiled one compiles it.

    Args:
        index: Takes an arm's mean, its count and alpha log(1/delta), and returns the index.
        alpha: How much to explore.
        confidence: How delta is set.

    >>> greedy = IndexFunction(lambda mean, count, budget: mean + 1.0 / count)
    >>> greedy(["A", "B"], seed=1).select_arm()
    'A'
    """

    index: Callable[[float, int, float], float]
    alpha: float = 1.0
    confidence: Confidence = "observed"

    def __post_init__(self) -> None:
        keep_plain(self, "alpha")
        check_positive("alpha", self.alpha)
        checked_confidence(self.confidence)

    def __call__(self, arms: Sequence[Arm], seed: int, quantum: float = BERNOULLI) -> Policy:  # noqa: ARG002
        """Return a fresh policy, for rewards of 0 or 1 unless the quantum says otherwise. It is deterministic."""
        return FromIndex(arms, index=self.index, alpha=self.alpha, confidence=self.confidence, quantum=quantum)


@dataclass(frozen=True)
class Scenario:
    """A world, ready to run.

    Args:
        horizon: The number of slots.
        arms: The arms, their means and how they pay.
        agents: The agents, in the order in which they decide within a slot.
        policy: How agents choose: a `BuiltIn`, or any function that builds a policy for rewards of 0 and 1. For arms
            that pay in another way, the policy needs a quantum of 1e-6, which counts fractions of their range.
        sharing: How agents communicate: `on_demand(...)`, `immediate(...)`, `silent()` or a `plug_in(...)`.
        delay: How many slots a message takes; 0 means within the slot.
        faults: What the network does to messages; nothing by default.
        topology: Who talks to whom: `Relays(...)` or a `Graph`; a full mesh by default.
        luck: What the luck of a reward belongs to: `"pull"`, an agent's n-th pull, whatever the arm; or `"arm"`, its
            n-th pull of that arm, so that two algorithms on the same tape see the same rewards from an arm
            (docs/experiments.md).
        forgetting: How much of the past counts, for all agents: `Forgetting(window=...)` or
            `Forgetting(half_life=...)`, in slots; everything by default (docs/drift.md).
    """

    horizon: int
    arms: Arms
    agents: tuple[AgentSpec, ...]
    policy: BuildPolicy = field(default_factory=lambda: BuiltIn("ucb"))
    sharing: Sharing | PlugIn = field(default_factory=on_demand)
    delay: int = 0
    faults: Faults = field(default_factory=Faults)
    topology: Topology | None = None
    luck: Luck = "pull"
    forgetting: Forgetting | None = None

    def __post_init__(self) -> None:
        keep_plain(self, "horizon", "delay")
        check_whole("horizon", self.horizon, 1, LONGEST_HORIZON)
        if self.luck not in get_args(Luck):
            raise LocalError(f'luck must be "pull" or "arm", not {self.luck!r}')
        _check_policy("policy", self.policy)
        if not isinstance(self.sharing, Sharing | PlugIn):
            raise LocalError(
                f"sharing must be on_demand(...), immediate(...), silent() or plug_in(...), not {self.sharing!r}"
            )
        check_whole("delay", self.delay, 0, LONGEST_DELAY)
        if not isinstance(self.faults, Faults):
            raise LocalError(f"faults must be Faults(...), not {self.faults!r}")
        if not isinstance(self.arms, Arms):
            raise LocalError(f"arms must be Arms.of([0.2, 0.8]), say, not {self.arms!r}")
        if not (isinstance(self.agents, list | tuple) and all(isinstance(one, AgentSpec) for one in self.agents)):
            raise LocalError(f"agents must be a list of AgentSpec(Rate(0.5)), say, not {self.agents!r}")
        most = MAX_LEAVES if isinstance(self.topology, Relays) else MOST_AGENTS
        check_whole("the number of agents", len(self.agents), 1, most)
        self._check_topology()
        for partition in self.faults.partitions:
            for position in (*partition.senders, *partition.receivers):
                check_whole("an agent of a partition", position, 0, self.node_count - 1)
        for position, agent in enumerate(self.agents):
            if agent.arms is not None and not set(agent.arms) <= set(self.arms.names):
                raise LocalError(f"agent {position} has arms {agent.arms!r}: name some of {', '.join(self.arms.names)}")
        _ = self.course  # raises if it leaves the range
        self._check_forgetting()
        if isinstance(self.sharing, PlugIn):
            _check_plug_in(self, self.sharing)

    def _check_topology(self) -> None:
        topology = self.topology
        if isinstance(topology, Graph):
            topology.check(len(self.agents))
        elif isinstance(topology, Relays):
            if any(absence.forgets for absence in topology.absences) and (
                isinstance(self.sharing, PlugIn) or self.sharing.retry is None
            ):
                raise LocalError("a relay that forgets needs loss-tolerant agents: no others would tell it again")
        elif topology is not None:
            raise LocalError(f"topology must be Relays(...), a Graph or None, not {topology!r}")

    def _check_forgetting(self) -> None:
        if self.forgetting is None:
            return
        if not isinstance(self.forgetting, Forgetting):
            raise LocalError(f"forgetting must be Forgetting(window=...) or None, not {self.forgetting!r}")
        if isinstance(self.sharing, PlugIn):
            raise LocalError(
                f"{self.sharing.about.title} is a plug-in, which keeps no periods: agents with a window talk by "
                "on_demand(...), immediate(...) or silent()"
            )
        builds = {self.policy, *(agent.policy for agent in self.agents)}
        if any(isinstance(build, BuiltIn) and build.name == "aae" for build in builds):
            raise LocalError(
                "AAE rules arms out for good, and such an arm is never observed again: with a window or a half_life "
                "nothing could show that it has become the best. Take ucb, kl-ucb or thompson"
            )

    @property
    def exchange(self) -> Sharing:
        """How agents communicate, if their protocol is a table over the machine of Algorithm 1.

        Raises:
            LocalError: Their protocol is a plug-in, which has no table.
        """
        if isinstance(self.sharing, PlugIn):
            raise LocalError(f"{self.sharing.about.title} is a plug-in and has no table of demands and thresholds")
        return self.sharing

    @property
    def plugged(self) -> PlugIn | None:
        """The plug-in that agents communicate with, if there is one."""
        return self.sharing if isinstance(self.sharing, PlugIn) else None

    @property
    def layout(self) -> Topology | None:
        """Who talks to whom: the topology, or agents around the hubs that a plug-in brings."""
        if self.topology is None and isinstance(self.sharing, PlugIn) and self.sharing.hubs:
            return Relays(self.sharing.hubs, homes=self.sharing.hubs)
        return self.topology

    @cached_property
    def course(self) -> Course | None:
        """The means of the arms over time, if they change."""
        return self.arms.course(self.horizon)

    @property
    def relay_count(self) -> int:
        """The number of relays or hubs."""
        return self.layout.count if isinstance(self.layout, Relays) else 0

    @property
    def node_count(self) -> int:
        """The number of agents and relays. Relays' positions come after the agents'."""
        return len(self.agents) + self.relay_count

    @cached_property
    def has_same_arms(self) -> bool:
        """Whether all agents have the same arms, in whatever order."""
        given = {self.arms.names if own is None else own for own in {agent.arms for agent in self.agents}}
        return len({frozenset(own) for own in given}) == 1

    def arms_of(self, agent: int) -> tuple[Arm, ...]:
        """Return the arms that an agent can pull."""
        own = self.agents[agent].arms if agent < len(self.agents) else None
        return self.arms.names if own is None else own

    def policy_of(self, agent: int) -> BuildPolicy:
        """Return how an agent chooses."""
        return self.agents[agent].policy or self.policy

    def new_policy(self, agent: int, seed: int) -> Policy:
        """Return a fresh policy for an agent, which counts rewards as the arms pay them.

        Raises:
            LocalError: A policy of yours uses another quantum.
        """
        build, arms, settings = self.policy_of(agent), self.arms_of(agent), dict(self.agents[agent].settings)
        if isinstance(build, BuiltIn | IndexFunction):
            if settings:
                raise LocalError(f"agent {agent} has settings, which are for policies of your own: give it a policy")
            return build(arms, seed, self.arms.quantum)
        try:
            policy = build(arms, seed, **settings)
        except TypeError as error:
            raise LocalError(f"the policy of agent {agent} cannot be built with {settings}: {error}") from error
        if not self.arms.are_binary and policy.quantum != Quantum(self.arms.quantum):
            raise LocalError(
                f"the policy of agent {agent} counts rewards in steps of {policy.quantum.step:g}, but these arms pay "
                f"in steps of {self.arms.quantum:g} of their range: build it with quantum={self.arms.quantum:g}"
            )
        return policy

    def peers_of(self, position: int) -> Iterator[int]:
        """Return the peers that an agent or a relay knows, in order."""
        leaves = len(self.agents)
        match self.layout:
            case Relays() as relays:
                if position < leaves:
                    yield from (leaves + relay for relay in relays.order(position)[: relays.known])
                    return
                relay = position - leaves
                yield from (leaf for leaf in range(leaves) if relay in relays.order(leaf)[: relays.known])
                yield from (leaves + other for other in range(relays.count) if other != relay)
            case Graph() as graph:
                yield from graph.neighbours(leaves)[position]
            case None:
                yield from (peer for peer in range(leaves) if peer != position)

    def node_name(self, position: int) -> str:
        """Return a node's name: agents by position, relays and hubs by their position among themselves."""
        leaves = len(self.agents)
        return str(position) if position < leaves else relay_name(position - leaves)


Peers = Callable[[], tuple[tuple[int, ...], ...]]
"""Returns the neighbours of every node."""


def peers_of_all(scenario: Scenario) -> Peers:
    """Return a function that computes the neighbours of every node on its first call."""
    return cache(lambda: tuple(tuple(scenario.peers_of(position)) for position in range(scenario.node_count)))


def relay_name(relay: int) -> str:
    """Return the name of a relay. Agents are named by their positions."""
    return f"relay-{relay}"


def _check_policy(what: str, policy: object) -> None:
    if isinstance(policy, type) or not callable(policy):
        raise LocalError(f'{what} must be BuiltIn("ucb"), say, or a function that builds a policy, not {policy!r}')


def _check_plug_in(scenario: Scenario, plugged: PlugIn) -> None:
    """Raise unless the plug-in fits the network and accepts its parameters. Creates, and drops, its first instance."""
    if scenario.relay_count != plugged.hubs:
        raise LocalError(
            f"{plugged.about.title} needs hubs: {plugged.hubs}, but the topology has {scenario.relay_count}: "
            "leave the topology out, or give it as many relays"
        )
    names = [scenario.node_name(position) for position in range(scenario.node_count)]
    place = place_of(scenario, 0, names, chance_key=0, graph=peers_of_all(scenario))
    plugged(Node(place, scenario.new_policy(0, 0)))


def place_of(scenario: Scenario, position: int, names: Sequence[str], chance_key: int, graph: Peers) -> Place:
    """Return the place of a plug-in's node."""
    peers = tuple(scenario.peers_of(position))
    arms = scenario.arms_of(position)
    is_mesh = scenario.layout is None
    agents, same = len(scenario.agents), scenario.has_same_arms
    return Place(position, names, agents, peers, arms, scenario.horizon, chance_key, graph, is_mesh, same)


def check_slot(what: str, value: int) -> None:
    """Raise unless the value can be a slot."""
    check_whole(what, value, 0, LONGEST_HORIZON)
