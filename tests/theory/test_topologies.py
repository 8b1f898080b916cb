"""Bounds for fleets of relays and for graphs hold in runs: small worlds from seeds."""

import random
from collections import deque

import pytest

from cobandit.core import Constant, FromFunction, Geometric, Threshold, on_demand
from cobandit.policies import Horizon
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Graph, Kind, Rate, Relays, Row, Scenario
from cobandit.simulator.reference import ReferenceRun, run
from cobandit.theory import (
    fleet_share_bound,
    gaps_of,
    graph_arrival,
    graph_extra_pulls,
    graph_share_bound,
    graph_share_bounds,
    relay_extra_pulls,
    ucb_observations,
)
from cobandit.values.errors import LocalError

WORLDS = 40
MEANS = (0.2, 0.6, 0.8)
THRESHOLDS: list[Threshold] = [
    Constant(1),
    Constant(4),
    Geometric(2),
    Geometric(2, cap=8, phases=True),
    FromFunction(lambda c: min(c, 6)),
]


def graph(luck: random.Random, agents: int) -> Graph:
    tree = {(agent, luck.randrange(agent)) for agent in range(1, agents)}
    more = {(agent, luck.randrange(agent)) for agent in range(1, agents) if luck.random() < 0.3}
    return Graph(tuple(sorted(tree | more)))


def world(seed: int, *, delay: int = 0, horizon: int = 150) -> Scenario:
    luck = random.Random(seed)
    agents = luck.randint(2, 7)
    specs = tuple(AgentSpec(Rate(luck.choice([0.05, 0.3, 0.9]))) for _ in range(agents))
    topology = graph(luck, agents) if seed % 2 else Relays(luck.randint(1, 3))
    sharing = on_demand(luck.choice(THRESHOLDS))
    return Scenario(horizon, Arms.of(MEANS), specs, BuiltIn("ucb"), sharing, delay, topology=topology)


@pytest.mark.parametrize("delay", [0, 3])
def test_nobody_sends_more_than_the_bound(delay: int) -> None:
    for seed in range(WORLDS):
        scenario = world(seed, delay=delay)
        result, threshold = run(scenario, seed=seed), scenario.exchange.threshold
        match scenario.topology:
            case Relays(relays):
                most = fleet_share_bound(result.decisions, relays, threshold)
                assert result.shares <= most
                if not isinstance(threshold, Geometric) or not threshold.phases:
                    leaves = len(result.agents)
                    up = result.communication.shares[:leaves]
                    assert up.tolist() == result.communication.shares[leaves : 2 * leaves].tolist() or delay
            case Graph(edges):
                bounds = graph_share_bounds(edges, result.decisions, threshold)
                count = len(edges)
                there, back = result.communication.shares[:count], result.communication.shares[count:]
                assert all(there + back <= bounds)
                assert result.shares <= graph_share_bound(edges, result.decisions, threshold) == sum(bounds)


def shortest(edges: tuple[tuple[int, int], ...], start: int) -> dict[int, list[int]]:
    """Return a shortest path from one agent to every other one."""
    paths, waiting = {start: [start]}, deque([start])
    while waiting:
        here = waiting.popleft()
        for edge in edges:
            if here in edge:
                there = edge[0] + edge[1] - here
                if there not in paths:
                    paths[there] = [*paths[here], there]
                    waiting.append(there)
    return paths


@pytest.mark.parametrize("delay", [0, 2])
def test_what_an_agent_has_observed_is_known_along_a_path_by_the_slot_that_theory_names(delay: int) -> None:
    checked = 0
    for seed in range(1, WORLDS, 2):
        scenario = world(seed, delay=delay, horizon=300)
        assert isinstance(scenario.topology, Graph)
        threshold, rows = scenario.exchange.threshold, list[Row]()
        if not isinstance(threshold, Constant):
            continue
        known: dict[int, list[list[int]]] = {}

        def look(engine: ReferenceRun, known: dict[int, list[list[int]]] = known) -> None:
            names = [agent.name for agent in engine.agents]
            held = [[agent.endpoint.replica.amount_of(name)[1] for name in names] for agent in engine.agents]
            known[engine.slot] = held

        run(scenario, seed=seed, trace=rows, watch=look)
        slots: list[list[int]] = [[] for _ in scenario.agents]
        for row in rows:
            if row.kind == Kind.DECISION:
                slots[row.agent].append(row.slot)
        for start in (0, 20, 60, 100):
            for teller in range(len(slots)):
                for listener, path in shortest(scenario.topology.edges, teller).items():
                    arrival = graph_arrival(path, slots, threshold.size, start, delay=delay)
                    if arrival is None or arrival >= 300 or teller == listener:
                        continue
                    then = max(slot for slot in known if slot <= arrival)
                    assert known[then][listener][teller] >= sum(slot < start for slot in slots[teller])
                    checked += 1
    assert checked > 20


def test_regret_stays_below_the_bounds() -> None:
    """40 worlds; the mean regret of each kind below Theorem 1(a) with the extra pulls of its topology."""
    regrets, bounds = {Relays: 0.0, Graph: 0.0}, {Relays: 0.0, Graph: 0.0}
    for seed in range(WORLDS):
        luck = random.Random(seed)
        agents = 4
        topology = graph(luck, agents) if seed % 2 else Relays(1)
        total = agents * 100
        policy = BuiltIn("ucb", confidence=Horizon(total))
        specs = (AgentSpec(Rate(1.0)),) * agents
        sharing = on_demand(Constant(2))
        scenario = Scenario(100, Arms.of(MEANS), specs, policy, sharing, topology=topology)
        regrets[type(topology)] += run(scenario, seed=seed).group_regret
        bound = 3.0 * len(MEANS) * agents
        for gap in gaps_of(MEANS):
            if gap > 0.0:
                if isinstance(topology, Relays):
                    extra = relay_extra_pulls(gap, [2] * (agents - 1), 2, alpha=3.0, total_decisions=total)
                else:
                    hops = max(len(path) - 1 for path in shortest(topology.edges, 0).values())
                    extra = graph_extra_pulls(gap, [2] * max(1, hops), alpha=3.0, total_decisions=total)
                bound += gap * (ucb_observations(gap, alpha=3.0, total_decisions=total) + agents * extra)
        bounds[type(topology)] += bound
    assert 0.0 < regrets[Relays] < bounds[Relays]
    assert 0.0 < regrets[Graph] < bounds[Graph]


@pytest.mark.parametrize(
    ("edges", "told"),
    [
        ([(0, 2)], "an agent of an edge must be a whole number from 0 to 1, not 2"),
        ([(0, -1)], "an agent of an edge must be a whole number from 0 to 1, not -1"),
        ([(1, 1)], "agent 1 cannot have an edge to itself"),
        ([(0, 1), (1, 0)], "the edge between 0 and 1 is given twice: name it once"),
    ],
)
def test_edges_of_no_graph_have_no_bound(edges: list[tuple[int, int]], told: str) -> None:
    """One that is given twice counted twice, and a negative position was another agent's."""
    with pytest.raises(LocalError, match=told):
        graph_share_bound(edges, [10, 3], Constant(1))


def test_a_path_names_agents_and_thresholds_that_there_are() -> None:
    with pytest.raises(LocalError, match="an agent of the path must be a whole number from 0 to 1, not -1"):
        graph_arrival([0, -1], [[0, 1], [2]], 1, start=0)
    with pytest.raises(LocalError, match="the largest threshold must be a whole number of at least 1, not 0"):
        graph_arrival([0, 1], [[0, 1], [2]], 0, start=0)
