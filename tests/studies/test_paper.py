"""The experiments are the paper's: so many agents, at such rates, for so long."""

from collections import Counter

import pytest

from cobandit.core import Constant, Geometric
from cobandit.scenario import AgentSpec, Halving, OnOff, Rate, Sine
from cobandit.studies.paper import EASY, EXPERIMENT_4, FAST_AGENTS, SLOW_AGENTS, TABLES, experiment_1, experiment_2


@pytest.mark.parametrize(("ratio", "fast"), [(10, 33), (15, 21), (20, 16), (25, 13), (30, 10)])
def test_experiment_1_has_forty_agents_with_a_mean_rate_of_0_085(ratio: int, fast: int) -> None:
    world = experiment_1(ratio)
    rates = [agent.schedule.rate for agent in world.agents if isinstance(agent.schedule, Rate)]
    assert Counter(rates) == {ratio / 100: fast, 0.01: 40 - fast}
    assert {rates[agent] for agent in world.fast} == {ratio / 100}
    assert len(world.fast) == fast
    assert sum(rates) / 40 == pytest.approx(0.085, abs=0.004)
    assert (world.horizon, world.threshold) == (80_000, Constant(1))


@pytest.mark.parametrize("slow", [5, 10, 15, 20, 25, 30])
def test_experiment_2_makes_300_000_decisions_in_60_000_slots(slow: int) -> None:
    world = experiment_2(slow)
    rates = [agent.schedule.rate for agent in world.agents if isinstance(agent.schedule, Rate)]
    assert rates[:slow] == [pytest.approx(1 / slow)] * slow
    assert rates[slow:] == [0.8] * 5
    assert world.fast == set(range(slow, slow + 5))
    assert world.horizon == 60_000
    assert sum(rates) * world.horizon == pytest.approx(300_000)


def test_the_figures_have_five_and_six_points() -> None:
    assert tuple(FAST_AGENTS) == (10, 15, 20, 25, 30)
    assert SLOW_AGENTS == (5, 10, 15, 20, 25, 30)


def test_experiment_3_is_one_agent_that_always_decides_and_nine_that_hardly_do() -> None:
    assert TABLES["3"].agents == (AgentSpec(Rate(1.0)),) + (AgentSpec(Rate(0.001)),) * 9
    assert (TABLES["3"].horizon, TABLES["3"].threshold) == (80_000, Geometric(2))


def test_experiment_4_is_one_agent_that_always_decides_and_nine_that_halve_their_rates() -> None:
    assert EXPERIMENT_4.agents == (AgentSpec(Rate(1.0)),) + (AgentSpec(Halving(0.1)),) * 9
    assert (EXPERIMENT_4.horizon, EXPERIMENT_4.threshold) == (8_000_000, Geometric(2))


def test_experiments_5_to_7_have_five_slow_and_five_fast_agents_or_ten_sine_waves() -> None:
    assert TABLES["5"].agents == (AgentSpec(Rate(0.2)),) * 5 + (AgentSpec(OnOff(0.8, toggle=0.01)),) * 5
    assert TABLES["6a"].agents == (AgentSpec(Rate(0.1)),) * 5 + (AgentSpec(Rate(0.7), start=40_000),) * 5
    assert TABLES["6b"].agents == (AgentSpec(Rate(0.1), start=40_000),) * 5 + (AgentSpec(Rate(0.7)),) * 5
    assert TABLES["7"].agents == tuple(AgentSpec(Sine(phase=j / 5)) for j in range(1, 11))
    assert {TABLES[name].horizon for name in ("5", "6a", "6b", "7")} == {80_000}


def test_the_easy_instance_has_sixteen_arms_with_a_gap_of_0_15_at_least() -> None:
    assert EASY.agents == (AgentSpec(Rate(0.1)),) * 10 + (AgentSpec(Rate(0.8)),) * 5
    assert EASY.horizon == 80_000
    assert EASY.arms is not None
    best, *others = sorted(EASY.arms.means, reverse=True)
    assert len(others) == 15
    assert best - others[0] == pytest.approx(0.15)
    assert EASY.scenario("AAE-ODC", arms=experiment_1(10).scenario("AAE-ODC").arms).arms == EASY.arms


def test_a_name_that_ends_with_d_doubles_its_thresholds() -> None:
    assert experiment_1(10).scenario("UCB-ODC").exchange.threshold == Constant(1)
    assert experiment_1(10).scenario("UCB-IBC-D").exchange.threshold == Geometric(2)
