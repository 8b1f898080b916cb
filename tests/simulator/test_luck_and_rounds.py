"""Whose luck it is, and in how many rounds agents speak: what a comparison pairs, and what it counts."""

import tomllib
from collections import defaultdict
from dataclasses import replace

import pytest

from cobandit import Constant, LocalError, immediate, on_demand, silent
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuiltIn,
    Faults,
    Kind,
    Rate,
    Relays,
    Row,
    Scenario,
    scenario_from_mapping,
    scenario_to_toml,
)
from cobandit.scenario.words import scenario_in_words
from cobandit.simulator import reference
from cobandit.simulator.simulate import simulate

WORLD = Scenario(
    300,
    Arms.of([0.3, 0.5, 0.7]),
    (AgentSpec(Rate(0.9)), AgentSpec(Rate(0.3)), AgentSpec(Rate(0.3))),
    BuiltIn("ucb", 3.0),
    on_demand(Constant(2)),
    luck="arm",
)


def rewards(world: Scenario) -> dict[tuple[int, int], list[int]]:
    """What each agent got from each arm, in order."""
    trace: list[Row] = []
    reference.run(world, seed=5, trace=trace)
    got: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row in trace:
        if row.kind == Kind.DECISION:
            got[row.agent, row.other].append(row.a)
    return got


def are_the_same_as_far_as_both_go(world: Scenario, other: Scenario) -> bool:
    one, two = rewards(world), rewards(other)
    common = [(pulls, two[pair]) for pair, pulls in one.items() if pair in two]
    assert one != two
    return all(mine[: len(theirs)] == theirs[: len(mine)] for mine, theirs in common if min(len(mine), len(theirs)) > 0)


OTHERS = [replace(WORLD, sharing=silent()), replace(WORLD, policy=BuiltIn("thompson"))]


@pytest.mark.parametrize("other", OTHERS, ids=["alone", "Thompson"])
def test_with_the_luck_of_an_arm_two_algorithms_see_the_same_rewards_of_it(other: Scenario) -> None:
    assert are_the_same_as_far_as_both_go(WORLD, other)


@pytest.mark.parametrize("other", OTHERS, ids=["alone", "Thompson"])
def test_with_the_luck_of_a_pull_they_do_not(other: Scenario) -> None:
    assert not are_the_same_as_far_as_both_go(replace(WORLD, luck="pull"), replace(other, luck="pull"))


def test_agents_and_arms_have_luck_of_their_own() -> None:
    worlds = replace(WORLD, arms=Arms.of([0.5, 0.5]), agents=(AgentSpec(Rate(1.0)),) * 2, sharing=silent())
    streams = [tuple(got[:60]) for got in rewards(worlds).values()]
    assert len(set(streams)) == len(streams) == 4


def test_regret_is_more_alike_and_as_large_with_the_luck_of_an_arm() -> None:
    """Thirty trials: the correlation is far higher, and means agree within 4 standard errors."""
    found = {}
    for luck in ("pull", "arm"):
        worlds = {"a": replace(WORLD, luck=luck), "b": replace(WORLD, luck=luck, sharing=on_demand(Constant(8)))}
        results = simulate(worlds, trials=30, seed=3)
        found[luck] = (results.compare("a", "b").correlation or 0.0, results.estimate("a", "group_regret"))
    assert found["arm"][0] > found["pull"][0] + 0.2
    means, sds = ([getattr(one, name) for _, one in found.values()] for name in ("mean", "sd"))
    assert abs(means[0] - means[1]) < 4 * ((sds[0] ** 2 + sds[1] ** 2) / 30) ** 0.5


def test_luck_goes_to_a_file_and_back_and_is_told() -> None:
    assert scenario_from_mapping(tomllib.loads(scenario_to_toml(WORLD))).scenario == WORLD
    assert "luck" not in scenario_to_toml(replace(WORLD, luck="pull"))
    assert scenario_in_words(WORLD)[-1].startswith("Luck belongs to the arm")
    with pytest.raises(LocalError, match='luck must be "pull" or "arm", not \'agent\''):
        replace(WORLD, luck="agent")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "world",
    [
        WORLD,
        replace(WORLD, sharing=immediate()),
        replace(WORLD, delay=3),
        replace(WORLD, topology=Relays(2)),
        replace(WORLD, faults=Faults(loss=0.3, duplication=0.2), sharing=on_demand(loss_tolerant=True)),
    ],
    ids=["mesh", "broadcast", "delay", "relays", "loss"],
)
def test_agent_rounds_are_the_slots_in_which_each_node_sends(world: Scenario) -> None:
    trace: list[Row] = []
    said = reference.run(world, seed=5, trace=trace).communication
    sent = [row for row in trace if row.kind in (Kind.SHARE, Kind.RETRY, Kind.ACKNOWLEDGE)]
    assert said.agent_rounds == len({(row.slot, row.agent) for row in sent})
    assert 0 < said.agent_rounds < len(sent)


def test_a_notice_is_a_message_too() -> None:
    agents = (AgentSpec(Rate(0.5), absences=(Absence(10, 20), Absence(30))), AgentSpec(Rate(0.5)), AgentSpec(Rate(0.5)))
    result = reference.run(replace(WORLD, agents=agents, sharing=silent()), seed=5)
    assert (result.notices, result.shares, result.communication.agent_rounds) == (6, 0, 3)
