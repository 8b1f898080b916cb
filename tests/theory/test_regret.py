"""Theorem 1 by hand. LOG is log(1000), and alpha is 3: UCB needs 6 LOG / gap^2 observations, AAE 48 LOG / gap^2."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.core import Geometric, PerCandidate, Threshold, on_demand
from cobandit.core.thresholds import threshold_between
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Rate, Scenario
from cobandit.simulator import run
from cobandit.theory import (
    aae_extra_pulls,
    aae_observations,
    aae_regret_bound,
    largest_thresholds,
    local_aae_regret_bound,
    local_ucb_regret_bound,
    synchronous_regret_bound,
    ucb_extra_pulls,
    ucb_regret_bound,
)
from cobandit.values.errors import LocalError

LOG = math.log(1000)


def test_extra_pulls_are_what_is_held_back_but_no_more_than_it_takes_to_see_the_gap() -> None:
    assert ucb_extra_pulls(1.0, [10, 20], alpha=3.0, total_decisions=1000) == 30
    assert ucb_extra_pulls(1.0, [10, 32], alpha=3.0, total_decisions=1000) == pytest.approx(6 * LOG)  # 41.4
    assert aae_extra_pulls(1.0, [10, 32], alpha=3.0, total_decisions=1000) == 42
    assert aae_extra_pulls(1.0, [10, 400], alpha=3.0, total_decisions=1000) == pytest.approx(48 * LOG)  # 331.6


def test_each_other_agent_adds_twice_the_delay() -> None:
    assert ucb_extra_pulls(0.1, [1, 2, 3], alpha=3.0, total_decisions=1000, delay=5) == 6 + 3 * 10
    assert aae_extra_pulls(0.1, [1, 2, 3], alpha=3.0, total_decisions=1000, delay=5) == 6 + 3 * 10


def test_an_agent_alone_holds_nothing_back() -> None:
    assert ucb_extra_pulls(0.1, [], alpha=3.0, total_decisions=1000, delay=5) == 0


def test_theorem_1a() -> None:
    got = ucb_regret_bound([0.0, 0.5, 0.25], agent_count=4, alpha=3.0, total_decisions=1000, thresholds=2)
    ref = 3 * 3 * 4 + (6 * LOG / 0.5 + 4 * 6 * 0.5) + (6 * LOG / 0.25 + 4 * 6 * 0.25)
    assert got == pytest.approx(ref)


def test_theorem_1b() -> None:
    got = aae_regret_bound([0.0, 0.5, 0.25], agent_count=4, alpha=3.0, total_decisions=1000, thresholds=2)
    ref = 3 * 3 * 4 + (48 * LOG / 0.5 + 4 * 6 * 0.5) + (48 * LOG / 0.25 + 4 * 6 * 0.25)
    assert got == pytest.approx(ref)


def test_large_thresholds_cost_no_more_than_learning_alone() -> None:
    got = ucb_regret_bound([0.0, 0.5], agent_count=4, alpha=3.0, total_decisions=1000, thresholds=10**9)
    assert got == pytest.approx(3 * 2 * 4 + 5 * 6 * LOG / 0.5)


def test_delay_adds_to_every_pair() -> None:
    without = ucb_regret_bound([0.0, 0.5], agent_count=4, alpha=3.0, total_decisions=1000)
    with_delay = ucb_regret_bound([0.0, 0.5], agent_count=4, alpha=3.0, total_decisions=1000, delay=5)
    assert with_delay - without == pytest.approx(4 * 3 * 10 * 0.5)


def test_thresholds_may_be_given_by_arm_and_agent() -> None:
    got = ucb_regret_bound(
        [0.0, 0.5], agent_count=3, alpha=3.0, total_decisions=1000, thresholds=[[], [[1, 2], [4, 8], [16, 512]]]
    )
    assert got == pytest.approx(3 * 2 * 3 + 6 * LOG / 0.5 + (3 + 12 + 6 * LOG / 0.25) * 0.5)


@given(st.integers(1, 300), st.integers(1, 5), st.integers(0, 20))
def test_a_constant_is_the_same_as_its_value_for_every_pair(size: int, agents: int, delay: int) -> None:
    by_pair = [[[size] * (agents - 1)] * agents] * 2
    for bound in (ucb_regret_bound, aae_regret_bound):
        ref = bound([0.3, 0.0], agent_count=agents, alpha=3.0, total_decisions=1000, thresholds=by_pair, delay=delay)
        got = bound([0.3, 0.0], agent_count=agents, alpha=3.0, total_decisions=1000, thresholds=size, delay=delay)
        assert got == ref


def test_with_arms_of_their_own_the_smallest_gap_of_an_arm_counts_twice() -> None:
    # Arm 1 is 0.5 below the best of agent 0. Arm 2 is 0.75 below for agent 0 and 0.25 below for agent 1.
    means, arm_sets = [1.0, 0.5, 0.25], [(0, 1, 2), (1, 2), (2,)]
    got = local_ucb_regret_bound(means, arm_sets, alpha=3.0, total_decisions=1000, thresholds=3)
    extra_of_arm_1, extra_of_arm_2 = 3 * 0.5, 6 * 0.75 + 6 * 0.25  # one other agent has arm 1, two have arm 2
    assert got == pytest.approx(27 + 12 * LOG / 0.5 + extra_of_arm_1 + 12 * LOG / 0.25 + extra_of_arm_2)
    got = local_aae_regret_bound(means, arm_sets, alpha=3.0, total_decisions=1000, thresholds=3)
    assert got == pytest.approx(27 + 96 * LOG / 0.5 + extra_of_arm_1 + 96 * LOG / 0.25 + extra_of_arm_2)


def test_with_arms_of_their_own_each_agents_extra_pulls_are_capped_by_its_own_gap() -> None:
    means, arm_sets = [1.0, 0.5, 0.25], [(0, 1, 2), (1, 2)]
    got = local_ucb_regret_bound(
        means, arm_sets, alpha=3.0, total_decisions=1000, thresholds=[[], [[10**9]], [[10**9], [7]]], delay=1
    )
    ref = 18 + 12 * LOG / 0.5 + 6 * LOG / 0.5 + 12 * LOG / 0.25 + 6 * LOG / 0.75 + 9 * 0.25
    assert got == pytest.approx(ref)


def test_an_agent_to_which_an_arm_is_as_good_as_the_best_does_not_hide_the_gap_of_another() -> None:
    got = local_ucb_regret_bound([0.5, 0.5, 1.0], [(0, 1), (0, 1, 2)], alpha=3.0, total_decisions=1000)
    assert got == pytest.approx(18 + 2 * (12 * LOG / 0.5 + 0.5))


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: ucb_regret_bound([], agent_count=1, alpha=3.0, total_decisions=9), "no arms"),
        (lambda: ucb_regret_bound([0.1], agent_count=1, alpha=3.0, total_decisions=9), "no gap is zero"),
        (lambda: ucb_regret_bound([0.0], agent_count=0, alpha=3.0, total_decisions=9), "the number of agents"),
        (lambda: ucb_regret_bound([0.0], agent_count=1, alpha=0.0, total_decisions=9), "alpha"),
        (lambda: aae_regret_bound([0.0], agent_count=1, alpha=3.0, total_decisions=-9), "of all agents"),
        (
            lambda: aae_regret_bound([0.0, 0.1], agent_count=1, alpha=3.0, total_decisions=9, delay=-1),
            "delay",
        ),
        (
            lambda: aae_regret_bound([0.0, 0.1], agent_count=1, alpha=3.0, total_decisions=9, thresholds=0),
            "a constant threshold",
        ),
        (
            lambda: aae_regret_bound([0.0, 0.1], agent_count=1, alpha=3.0, total_decisions=9, thresholds=[[[]]]),
            "given for 1 arms, but there are 2",
        ),
        (
            lambda: aae_regret_bound([0.0, 0.1], agent_count=2, alpha=3.0, total_decisions=9, thresholds=[[], [[1]]]),
            "arm 1 are given for 1 agents",
        ),
        (
            lambda: aae_regret_bound(
                [0.0, 0.1], agent_count=2, alpha=3.0, total_decisions=9, thresholds=[[], [[1, 1], [1]]]
            ),
            "2 thresholds, but 1 other agents",
        ),
        (lambda: ucb_extra_pulls(0.1, [0], alpha=3.0, total_decisions=9), "a threshold must be a positive number"),
        (lambda: ucb_extra_pulls(1.1, [1], alpha=3.0, total_decisions=9), "a gap"),
        (lambda: local_ucb_regret_bound([1.5], [(0,)], alpha=3.0, total_decisions=9), "the mean of arm 0"),
        (lambda: local_ucb_regret_bound([0.5], [(0,)], alpha=0.0, total_decisions=9), "alpha"),
        (lambda: local_aae_regret_bound([0.5], [], alpha=3.0, total_decisions=9), "no agents"),
    ],
)
def test_nonsense_is_refused(call: Callable[[], object], complaint: str) -> None:
    with pytest.raises(LocalError, match=complaint):
        call()


def test_the_synchronous_bound_adds_what_appendix_b_3_adds_for_each_agent() -> None:
    gaps, agents, total = [0.0, 0.1, 0.4], 5, 10_000
    recount = 3 * 3 * 5 + sum(
        gap * (2 * aae_observations(gap, alpha=3.0, total_decisions=total) + 5 + 3 * 5) for gap in gaps if gap
    )
    bound = synchronous_regret_bound(gaps, agent_count=agents, alpha=3.0, total_decisions=total)
    assert bound == pytest.approx(recount)


@pytest.mark.parametrize("threshold", [Geometric(2), Geometric(2, cap=16), PerCandidate(), Geometric(2, phases=True)])
def test_no_threshold_of_a_run_is_above_the_largest_that_is_counted_with(threshold: Threshold) -> None:
    agents = tuple(AgentSpec(Rate(rate)) for rate in (1.0, 0.4, 0.1))
    for seed in range(5):
        world = Scenario(300, Arms.of([0.2, 0.5, 0.8]), agents, BuiltIn("ucb"), on_demand(threshold))
        result = run(world, seed=seed)
        most = largest_thresholds(result.decisions, threshold, arm_count=3)
        assert not isinstance(most, int)
        for agent in range(3):
            peers = [peer for peer in range(3) if peer != agent]
            for peer, largest in zip(peers, most[0][agent], strict=True):
                c = 1 + int(result.communication.shares[peer, agent])
                assert threshold_between(threshold, str(peer), str(agent)).at(c, 3) <= largest
