"""Theorem 2 by hand, and the fast count of buffers against the loop that anybody can read."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.core import Constant, FromFunction, Geometric, PerCandidate, Threshold
from cobandit.theory import (
    aae_share_counts,
    constant_order,
    doubling_table_order,
    geometric_order,
    immediate_share_count,
    local_aae_share_counts,
    share_bounds,
    total_share_bound,
    ucb_share_counts,
    unsettled_share_bounds,
)
from cobandit.values.errors import LocalError
from lab.pairs import largest_share_count

TEN_MILLION = 10**7

thresholds: st.SearchStrategy[Threshold] = st.one_of(
    st.builds(Constant, st.integers(1, 50)),
    st.builds(Geometric, st.integers(2, 5), cap=st.integers(1, 300)),
    st.builds(PerCandidate, cap=st.integers(1, 300)),
    st.lists(st.integers(0, 3), min_size=1, max_size=30).map(
        lambda steps: FromFunction(lambda c: 1 + sum(steps[: c - 1]))
    ),
)


class Counted:
    """f(c) = c, and how often it was asked."""

    answers_advance = True

    def __init__(self) -> None:
        self.asked = 0

    def at(self, share_number: int, candidate_count: int) -> int:  # this f depends on c alone
        self.asked += 1
        return share_number


@given(thresholds, st.lists(st.integers(0, 5000), min_size=1, max_size=5), st.integers(1, 20))
def test_the_fast_count_equals_the_loop(threshold: Threshold, decisions: list[int], candidates: int) -> None:
    ref = [largest_share_count(threshold, pulls, candidates) for pulls in decisions]
    got = ucb_share_counts(decisions, threshold, candidate_count=candidates)
    assert got == ref


def test_a_constant_threshold_divides_ten_million() -> None:
    assert ucb_share_counts([TEN_MILLION, TEN_MILLION - 1], Constant(7)) == [1428571, 1428571]
    assert ucb_share_counts([TEN_MILLION], Constant(1)) == [TEN_MILLION]


def test_a_doubling_threshold_takes_a_logarithm() -> None:
    assert ucb_share_counts([0, 1, 2, 3, 6, 7, TEN_MILLION], Geometric(2)) == [0, 1, 1, 2, 2, 3, 23]


def test_a_capped_threshold_goes_on_at_its_cap() -> None:
    assert ucb_share_counts([7 + 8 * 1000], Geometric(2, cap=8)) == [1003]


def test_a_threshold_above_all_decisions_is_never_reached() -> None:
    assert ucb_share_counts([9], Constant(10)) == [0]


def test_f_of_a_growing_threshold_is_asked_about_as_often_as_the_root_of_n_for_all_agents_together() -> None:
    threshold = Counted()
    got = ucb_share_counts([TEN_MILLION] * 300, threshold)
    assert got == [4471] * 300  # 4471 x 4472 / 2 <= 10^7 < 4472 x 4473 / 2
    assert threshold.asked < 25 * 4472


def test_fewer_candidates_mean_more_shares() -> None:
    assert ucb_share_counts([100], PerCandidate(), candidate_count=16) == [2]  # 16 + 32 <= 100 < 16 + 32 + 64
    assert ucb_share_counts([100], PerCandidate()) == [6]


def test_aae_stops_when_one_candidate_is_left() -> None:
    # 2 x 3 + 16 x 3 x log(1000) x (1 / 0.25 + 1 / 0.25 + 1 / 1) = 6 + 331.57 x 9 = 2990.2
    counts = aae_share_counts([5000, 2000, 0], Constant(10), [0.0, 0.5, 1.0], alpha=3.0, total_decisions=1000)
    assert counts == [299, 200, 0]


def test_aae_takes_all_decisions_together_for_n_unless_told_otherwise() -> None:
    given_n = aae_share_counts([5000, 2000], Constant(1), [0.0, 0.9], alpha=3.0, total_decisions=7000)
    assert aae_share_counts([5000, 2000], Constant(1), [0.0, 0.9], alpha=3.0) == given_n
    assert given_n == [int(4 + 2 * 48 * math.log(7000) / 0.81)] * 2


def test_with_two_best_arms_aae_may_talk_for_ever() -> None:
    assert aae_share_counts([5000, 2000], Constant(1), [0.0, 0.0, 1.0], alpha=3.0) == [5000, 2000]


def test_with_one_arm_there_is_nothing_to_explore() -> None:
    assert aae_share_counts([5000], Constant(1), [0.0], alpha=3.0) == [2]


def test_local_counts_use_local_gaps_and_all_arms_of_the_world() -> None:
    # 2 x 3 + 331.57 x 2 / 0.25 = 2658.6; 6 + 331.57 x 2 / 0.0625 = 10616.3; 6
    counts = local_aae_share_counts(
        [20000] * 3, Constant(1), [0.75, 0.5, 0.25], [(0, 2), (1, 2), (1,)], alpha=3.0, total_decisions=1000
    )
    assert counts == [2658, 10616, 6]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=6))
def test_the_total_is_the_sum_over_ordered_pairs(counts: list[int]) -> None:
    bounds = share_bounds(counts)
    ref = sum(min(one, other) + 1 for j, one in enumerate(counts) for k, other in enumerate(counts) if j != k)
    assert sum(map(sum, bounds)) == ref
    assert total_share_bound(counts) == ref
    assert total_share_bound(counts, arm_sets=[(0,)] * len(counts)) == ref


def test_pairs_without_a_common_arm_are_left_out() -> None:
    assert share_bounds([5, 3, 4], arm_sets=[(0, 1), (1, 2), (2, 3)]) == [[0, 4, 0], [4, 0, 4], [0, 4, 0]]
    assert total_share_bound([5, 3, 4], arm_sets=[(0, 1), (1, 2), (2, 3)]) == 16


def test_a_pair_that_is_not_settled_is_bounded_by_whoever_explores_longer() -> None:
    assert unsettled_share_bounds([100, 40, 70], [6, 50, 60], [(0,), (0, 1), (2,)]) == [
        [0, 41, 0],
        [41, 0, 0],
        [0, 0, 0],
    ]


def test_the_slower_agent_sets_the_bound_where_the_faster_sets_the_cost_of_immediate_broadcast() -> None:
    decisions = [1_000_000, 10]
    assert total_share_bound(ucb_share_counts(decisions, Constant(1))) == 2 * 10 + 2  # Remark 7
    assert immediate_share_count(decisions) == 1_000_010


def test_immediate_broadcast_sends_each_decision_to_everybody_else() -> None:
    assert immediate_share_count([5, 7, 11]) == 2 * 23


def test_corollary_1() -> None:
    assert constant_order([100, 50, 7], 10) == 2 * (5 + 0 + 0)
    # K log N / (a Delta^2) = 3 x log(1000) / (10 x 0.25) = 8.3
    assert constant_order([900, 850, 60], 10, gaps=[0.0, 0.5, 1.0], total_decisions=1000) == 2 * (8 + 6 + 6)
    assert constant_order([900, 850], 10, gaps=[0.0, 0.0]) == 2 * 85
    assert constant_order([900, 850], 10, gaps=[0.0]) == 0


def test_corollary_2() -> None:
    assert geometric_order([1000, 999, 0], 10) == 2 * 2
    assert geometric_order([3**20, 3**20 - 1], 3) == 2 * 19
    # log2(K log N / (a Delta^2)) = log2(2 x log(1000) / (2 x 0.01)) = 9.4
    assert geometric_order([10**6, 10**6], 2, gaps=[0.0, 0.1], total_decisions=1000) == 2 * 9


@given(st.integers(0, TEN_MILLION), st.integers(2, 12))
def test_the_doubling_count_is_the_logarithm_or_one_more(pulls: int, base: int) -> None:
    logarithm = geometric_order([pulls, pulls], base) // 2
    assert ucb_share_counts([pulls], Geometric(base))[0] - logarithm in (0, 1)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: ucb_share_counts([], Constant(1)), "no agents"),
        (lambda: ucb_share_counts([5, -1], Constant(1)), "decisions of agent 1 must be .* not -1"),
        (lambda: ucb_share_counts([5], Geometric(2, answers_advance=False)), "answers advance c"),
        (lambda: ucb_share_counts([5], Constant(1), candidate_count=0), "the number of candidates"),
        (lambda: aae_share_counts([5], Constant(1), [], alpha=3.0), "no arms"),
        (lambda: aae_share_counts([5], Constant(1), [0.5, 0.2], alpha=3.0), "no gap is zero"),
        (lambda: aae_share_counts([5], Constant(1), [0.0, 1.2], alpha=3.0), "the gap of arm 1"),
        (lambda: aae_share_counts([5], Constant(1), [0.0, 0.2], alpha=0.0), "alpha"),
        (lambda: aae_share_counts([5], Constant(1), [0.0], alpha=-1.0), "alpha"),
        (lambda: aae_share_counts([5], Constant(1), [0.0], alpha=3.0, total_decisions=-5), "of all agents"),
        (lambda: local_aae_share_counts([5, 5], Constant(1), [0.5], [(0,)], alpha=3.0), "2 numbers .* 1 arm sets"),
        (lambda: share_bounds([]), "no agents"),
        (lambda: share_bounds([3, -1]), "C_j of agent 1"),
        (lambda: share_bounds([3, 1], arm_sets=[(0,)]), "2 numbers of shares but 1 arm sets"),
        (lambda: unsettled_share_bounds([3], [3, 1], arm_sets=[(0,)]), "2 numbers of shares but 1 arm sets"),
        (lambda: total_share_bound([]), "no agents"),
        (lambda: immediate_share_count([-1]), "decisions of agent 0"),
        (lambda: constant_order([5], 0), "a constant threshold"),
        (lambda: geometric_order([5], 1), "the base"),
        (lambda: geometric_order([5], 2, gaps=[0.5]), "no gap is zero"),
    ],
)
def test_nonsense_is_refused(call: Callable[[], object], complaint: str) -> None:
    with pytest.raises(LocalError, match=complaint):
        call()


def test_a_constant_threshold_is_the_same_whether_answers_advance_or_not() -> None:
    assert ucb_share_counts([10], Constant(3, answers_advance=False)) == [3]


def test_the_third_row_of_table_1_is_a_sum_over_ordered_pairs() -> None:
    decisions, gaps = [500, 40, 3, 0], [0.0, 0.25, 0.5]
    recount = sum(
        max(0.0, math.log2(3 * least / 0.25**2)) if (least := min(math.log(543), one, other)) > 0 else 0.0
        for here, one in enumerate(decisions)
        for there, other in enumerate(decisions)
        if here != there
    )
    assert doubling_table_order(decisions, gaps=gaps) == pytest.approx(recount)


@pytest.mark.parametrize(("gaps", "order"), [([0.0], 0.0), ([0.0, 0.0, 0.5], math.inf)])
def test_the_third_row_of_table_1_at_its_ends(gaps: list[float], order: float) -> None:
    assert doubling_table_order([10, 10], gaps=gaps) == order
