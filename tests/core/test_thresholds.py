"""Thresholds are positive, never decrease, and stop growing before they stop fitting."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.core import Constant, FromFunction, Geometric, PerCandidate, Threshold, on_demand
from cobandit.core.exchange import Exchange
from cobandit.core.thresholds import LARGEST_THRESHOLD, TABULATED_SHARES, is_bounded


def needed(threshold: Threshold, c: int, candidate_count: int, *, is_answer: bool) -> int:
    """Return with how many observations in its buffer an exchange shares for the c-th time."""
    for buffered in range(1, 100):
        exchange = Exchange(on_demand(threshold), buffered=buffered if is_answer else buffered - 1)
        exchange.c = c
        if exchange.share_received(candidate_count) if is_answer else exchange.observe(candidate_count):
            return buffered
    raise AssertionError("it never shares")


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


def test_answers_wait_for_the_threshold_by_default_and_need_one_observation_otherwise() -> None:
    class Own:
        answers_advance = True

        def at(self, share_number: int, candidate_count: int) -> int:
            return 5

    by_default: tuple[Threshold, ...] = (Constant(3), Geometric(2), PerCandidate(), SQUARES, Own())
    told: tuple[Threshold, ...] = (
        Constant(3, answers_wait=False),
        Geometric(2, answers_wait=False),
        PerCandidate(answers_wait=False),
        FromFunction(lambda c: c * c, answers_wait=False),
    )
    assert [needed(one, 3, 2, is_answer=True) for one in by_default] == [3, 4, 8, 9, 5]
    assert [needed(one, 3, 2, is_answer=True) for one in told] == [1] * 4
    assert [needed(one, 3, 2, is_answer=False) for one in told] == [3, 4, 8, 9]


@given(st.text(), st.text(), st.integers(2, 5), st.integers(1, 100), st.sampled_from([64, LARGEST_THRESHOLD]))
def test_a_phase_is_the_pair_s_and_lies_between_one_and_two(one: str, other: str, base: int, c: int, cap: int) -> None:
    plain, threshold = Geometric(base, cap), Geometric(base, cap, phases=True)
    there, back = threshold.between(one, other), threshold.between(other, one)
    assert there.at(c, 1) == back.at(c, 1)
    assert threshold.at(c, 1) == plain.at(c, 1) <= there.at(c, 1) <= min(2 * plain.at(c, 1), cap)
    assert there.at(c, 1) <= there.at(c + 1, 1)
    assert plain.between(one, other) is plain


def test_phases_of_many_pairs_are_spread_evenly() -> None:
    """A thousand pairs in ten equal parts: each has a hundred, give or take four deviations of chance."""
    big = Geometric(2, phases=True)
    names = [f"agent-{number}" for number in range(46)]
    sizes = [big.between(one, other).at(31, 1) / 2**30 for at, one in enumerate(names) for other in names[:at]]
    parts = [sum(low / 10 <= size - 1.0 < (low + 1) / 10 for size in sizes) for low in range(10)]
    assert sum(parts) == len(sizes) == 1035
    assert all(abs(part - 103.5) < 4 * math.sqrt(103.5) for part in parts), parts


@pytest.mark.parametrize(
    ("threshold", "bounded"),
    [
        (Constant(3, answers_advance=False), True),
        (Constant(1, answers_wait=False), True),
        (Constant(3, answers_wait=False), False),
        (Geometric(2), True),
        (Geometric(2, phases=True), True),
        (Geometric(2, answers_advance=False), False),
        (Geometric(2, answers_wait=False), False),
    ],
)
def test_theorem_2_counts_with_shares_that_each_take_the_whole_threshold(threshold: Threshold, bounded: bool) -> None:
    assert is_bounded(threshold) == bounded


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
