"""Regret in units of the reward, and against the best arm of the moment where means change."""

import math
from dataclasses import replace

import numpy as np
import pytest

import cobandit
from cobandit.scenario import AgentSpec, Arms, Bernoulli, Linear, Normal, Rate, Row, Scenario, Slots, Switches
from cobandit.simulator import run

AGENTS = (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.1), arms=("1", "2")))
WORLD = Scenario(600, Arms.of([0.2, 0.5, 0.8]), AGENTS)


def test_a_wider_range_only_stretches_regret() -> None:
    wide = replace(WORLD, arms=Arms.of([20.0, 50.0, 80.0], rewards=(0, 100)))
    narrow, stretched = run(WORLD, seed=1), run(wide, seed=1)
    assert stretched.pulls.tolist() == narrow.pulls.tolist()
    assert stretched.group_regret == pytest.approx(100.0 * narrow.group_regret)
    assert stretched.realised_regret == pytest.approx(100.0 * narrow.realised_regret)
    assert stretched.rewards.tolist() == (100.0 * narrow.rewards).tolist()


def test_negative_rewards_are_only_moved() -> None:
    moved = replace(WORLD, arms=Arms.of([-0.8, -0.5, -0.2], rewards=(-1, 0)))
    here, there = run(WORLD, seed=1), run(moved, seed=1)
    assert there.pulls.tolist() == here.pulls.tolist()
    assert there.group_regret == pytest.approx(here.group_regret)
    assert there.rewards == pytest.approx(here.rewards - here.pulls)


def test_means_that_do_not_change_have_the_same_regret_however_it_is_counted() -> None:
    still = replace(WORLD, arms=Arms.of([0.2, 0.5, 0.8], changes=Linear((0.2, 0.5, 0.8))))
    plain, counted = run(WORLD, seed=1, checkpoints=(0, 300, 600)), run(still, seed=1, checkpoints=(0, 300, 600))
    assert counted.pulls.tolist() == plain.pulls.tolist()
    assert counted.regrets == pytest.approx(plain.regrets)
    assert counted.dynamic_regrets == pytest.approx(plain.regrets)
    assert counted.realised_regrets == pytest.approx(plain.realised_regrets)
    assert counted.group_regret_at == pytest.approx(plain.group_regret_at)
    assert counted.dynamic_regret_at == pytest.approx(plain.group_regret_at)
    assert counted.regrets_at == pytest.approx(plain.regrets_at)
    assert plain.dynamic_regret == plain.group_regret


def test_regret_is_that_of_a_plain_count_of_every_decision() -> None:
    arms = Arms.of([0.2, 0.5, 0.8], changes=Switches(((200, (0.9, 0.1, 0.4)), (450, (0.3, 0.3, 0.2)))))
    world = replace(WORLD, arms=arms)
    trace: list[Row] = []
    result = run(world, seed=2, trace=trace)
    course = [(0.2, 0.5, 0.8)] * 200 + [(0.9, 0.1, 0.4)] * 250 + [(0.3, 0.3, 0.2)] * 150
    for agent, own in ((0, (0, 1, 2)), (1, (1, 2))):
        pulls = [(course[row.slot], row.other) for row in trace if row.kind == 0 and row.agent == agent]
        gained = math.fsum(means[arm] for means, arm in pulls)
        best = max(math.fsum(means[arm] for means, _ in pulls) for arm in own)
        dynamic = math.fsum(max(means[arm] for arm in own) - means[chosen] for means, chosen in pulls)
        assert result.regrets[agent] == pytest.approx(best - gained)
        assert result.dynamic_regrets[agent] == pytest.approx(dynamic)
        assert result.realised_regrets[agent] == pytest.approx(best - result.rewards[agent].sum())
    assert result.dynamic_regret > result.group_regret


def test_a_slot_belongs_to_the_step_that_begins_in_it() -> None:
    arms = Arms.of([0.0, 1.0], changes=Switches(((5, (1.0, 0.0)),)))
    result = run(Scenario(10, arms, (AgentSpec(Slots((4, 5))),)), seed=1)
    assert result.rewards.tolist() == [[0, 0]]  # arm 0 in slot 4 and arm 1 in slot 5: each pays nothing just then
    assert result.dynamic_regret == 2.0
    assert result.group_regret == 1.0


def test_frames_have_rewards_in_their_unit_and_dynamic_regret() -> None:
    arms = Arms.of([-2.0, 3.0], rewards=(-5, 5), pays=Normal(1.0), changes=Switches(((50, (3.0, -2.0)),)))
    world = Scenario(200, arms, (AgentSpec(Rate(1.0)),) * 2)
    results = cobandit.simulate(world, trials=2, seed=1, engine="reference", checkpoints=4)
    assert (results.trials["dynamic_regret"] >= results.trials["group_regret"]).all()
    assert results.over_time["dynamic_regret"].tolist()[-1] == results.trials["dynamic_regret"].tolist()[-1]
    by_agent = results.agents.groupby("trial")["dynamic_regret"].sum()
    assert np.allclose(by_agent, results.trials["dynamic_regret"])
    paid = results.arms.groupby("trial")["rewards"].sum()
    assert np.allclose(paid / 400, 3.0, atol=1.0)  # the best arm pays 3, and most decisions took it


def test_a_policy_of_your_own_must_count_in_the_steps_of_the_arms() -> None:
    world = replace(
        WORLD, arms=Arms.of([0.2, 0.5, 0.8], pays=Normal(0.1)), policy=lambda arms, _: cobandit.UCB(arms, quantum=1.0)
    )
    with pytest.raises(cobandit.LocalError, match=r"counts rewards in steps of 1, but .* build it with quantum=1e-06"):
        run(world, seed=1)
    assert run(replace(world, policy=lambda arms, _: cobandit.UCB(arms)), seed=1).group_regret > 0.0
    two_valued = replace(world, arms=replace(WORLD.arms, pays=Bernoulli()))
    assert run(two_valued, seed=1).group_regret > 0.0
