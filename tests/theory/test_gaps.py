"""Gaps are differences of means, and observations grow as their inverse square."""

import math
from collections.abc import Callable

import pytest

from cobandit.theory import aae_observations, gaps_of, local_gaps_of, ucb_observations
from cobandit.values.errors import LocalError


def test_the_best_arm_has_no_gap_and_two_best_arms_have_none() -> None:
    assert gaps_of([0.25, 0.75, 0.75]) == [0.5, 0.0, 0.0]


def test_a_local_gap_is_taken_to_the_best_of_the_agents_own_arms() -> None:
    assert local_gaps_of([1.0, 0.5, 0.25], [(0, 1, 2), (1, 2), (2,)]) == [
        {0: 0.0, 1: 0.5, 2: 0.75},
        {1: 0.0, 2: 0.25},
        {2: 0.0},
    ]


def test_aae_needs_eight_times_the_observations_of_ucb() -> None:
    assert ucb_observations(0.1, alpha=3.0, total_decisions=1000) == pytest.approx(600 * math.log(1000))
    assert aae_observations(0.1, alpha=3.0, total_decisions=1000) == pytest.approx(4800 * math.log(1000))


def test_when_nobody_decides_no_observation_is_needed() -> None:
    assert ucb_observations(0.1, alpha=3.0, total_decisions=0) == 0.0


def test_a_gap_whose_square_is_no_number_is_still_a_gap() -> None:
    assert ucb_observations(1e-300, alpha=3.0, total_decisions=1000) == math.inf


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: gaps_of([]), "no arms"),
        (lambda: gaps_of([0.5, 1.5]), r"the mean of arm 1 must be a number in \[0, 1\], not 1.5"),
        (lambda: gaps_of([math.nan]), "the mean of arm 0"),
        (lambda: local_gaps_of([0.5], []), "no agents"),
        (lambda: local_gaps_of([0.5], [(0,), ()]), "agent 1 has no arms"),
        (lambda: local_gaps_of([0.5], [(1,)]), "an arm of agent 0 must be a whole number from 0 to 0, not 1"),
        (lambda: ucb_observations(-0.1, alpha=3.0, total_decisions=10), "a gap"),
        (lambda: ucb_observations(0.1, alpha=0.0, total_decisions=10), "alpha"),
        (lambda: aae_observations(0.1, alpha=3.0, total_decisions=-1), "the number of decisions of all agents"),
    ],
)
def test_nonsense_is_refused(call: Callable[[], object], complaint: str) -> None:
    with pytest.raises(LocalError, match=complaint):
        call()
