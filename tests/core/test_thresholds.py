"""Thresholds are positive, never decrease, and stop growing before they stop fitting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.core import Constant, FromFunction, Geometric, PerCandidate, Threshold
from cobandit.core.thresholds import LARGEST_THRESHOLD, TABULATED_SHARES

SQUARES = FromFunction(lambda c: c * c)

thresholds: st.SearchStrategy[Threshold] = st.one_of(
    st.builds(Constant, st.integers(1, 10**9)),
    st.builds(Geometric, st.integers(2, 100), st.integers(1, LARGEST_THRESHOLD)),
    st.builds(PerCandidate, st.integers(1, LARGEST_THRESHOLD)),
    st.just(SQUARES),
)


def first(threshold: Threshold, count: int, candidate_count: int = 16) -> list[int]:
    return [threshold.at(share_number, candidate_count) for share_number in range(1, count + 1)]


def test_a_constant_threshold_stays() -> None:
    assert first(Constant(3), 4) == [3, 3, 3, 3]
    assert Constant() == Constant(1)


def test_a_geometric_threshold_is_a_power_of_its_base() -> None:
    assert first(Geometric(), 6) == [1, 2, 4, 8, 16, 32]
    assert first(Geometric(3), 5) == [1, 3, 9, 27, 81]


def test_a_geometric_threshold_stops_at_its_cap() -> None:
    assert first(Geometric(2, cap=5), 6) == [1, 2, 4, 5, 5, 5]


def test_a_threshold_per_candidate_doubles_from_the_number_of_candidates() -> None:
    assert first(PerCandidate(), 4, candidate_count=16) == [16, 32, 64, 128]
    assert first(PerCandidate(), 4, candidate_count=1) == [1, 2, 4, 8]
    assert first(PerCandidate(cap=50), 4, candidate_count=16) == [16, 32, 50, 50]


def test_a_function_of_your_own_is_followed() -> None:
    assert first(SQUARES, 5) == [1, 4, 9, 16, 25]


def test_a_function_of_your_own_is_asked_once_for_each_share() -> None:
    asked = []
    threshold = FromFunction(lambda c: asked.append(c) or 1)  # type: ignore[func-returns-value]
    first(threshold, 10)
    assert asked == list(range(1, TABULATED_SHARES + 1))


def test_a_function_of_your_own_stays_at_the_last_value_that_was_taken() -> None:
    assert SQUARES.at(TABULATED_SHARES, 1) == SQUARES.at(10**12, 1) == TABULATED_SHARES**2


def test_a_function_of_your_own_that_grows_without_end_is_cut() -> None:
    threshold = FromFunction(lambda c: 10**c)
    assert threshold.at(3, 1) == 1000
    assert threshold.at(4000, 1) == LARGEST_THRESHOLD


@pytest.mark.parametrize("threshold", [Geometric(2), Geometric(10), PerCandidate()])
def test_a_pair_that_talked_for_years_has_the_largest_threshold(threshold: Threshold) -> None:
    assert threshold.at(10**12, 4096) == LARGEST_THRESHOLD


@given(thresholds, st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 4096))
def test_a_threshold_is_at_least_one_and_never_decreases(
    threshold: Threshold, share_number: int, later: int, candidate_count: int
) -> None:
    here, there = threshold.at(share_number, candidate_count), threshold.at(share_number + later, candidate_count)
    assert 1 <= here <= there <= LARGEST_THRESHOLD


@given(st.integers(1, 100), st.integers(1, 4096), st.integers(1, 4096))
def test_only_a_threshold_per_candidate_looks_at_the_candidates(share_number: int, few: int, many: int) -> None:
    for threshold in (Constant(3), Geometric(2), SQUARES):
        assert threshold.at(share_number, few) == threshold.at(share_number, many)


def test_answers_advance_unless_told_otherwise() -> None:
    by_default: tuple[Threshold, ...] = (Constant(1), Geometric(2), PerCandidate(), SQUARES)
    told: tuple[Threshold, ...] = (
        Constant(1, answers_advance=False),
        Geometric(2, answers_advance=False),
        PerCandidate(answers_advance=False),
        FromFunction(lambda c: c, answers_advance=False),
    )
    assert [threshold.answers_advance for threshold in by_default] == [True] * 4
    assert [threshold.answers_advance for threshold in told] == [False] * 4
