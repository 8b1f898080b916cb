"""The lower bound by hand, and below the upper one everywhere."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.theory import gaps_of, lower_bound_slope, regret_lower_bound, ucb_regret_bound
from cobandit.values.errors import LocalError

worlds = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6)


def test_the_slope_is_the_sum_of_gap_over_divergence() -> None:
    kl_of_half = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    kl_of_zero = math.log(1.0 / 0.25)
    got = lower_bound_slope([0.5, 0.75, 0.0, 0.75])
    assert got == pytest.approx(0.25 / kl_of_half + 0.75 / kl_of_zero)


def test_regret_grows_with_the_logarithm_of_all_decisions() -> None:
    assert regret_lower_bound([0.5, 0.75], total_decisions=10**6) == pytest.approx(
        2 * regret_lower_bound([0.5, 0.75], total_decisions=10**3)
    )
    assert regret_lower_bound([0.5, 0.75], total_decisions=0) == 0.0


def test_nothing_is_lost_for_sure_when_all_arms_are_best_or_the_best_always_pays() -> None:
    assert lower_bound_slope([0.5, 0.5]) == 0.0
    assert lower_bound_slope([1.0, 0.5]) == 0.0


def test_gaps_that_rounding_hides_do_not_break_it() -> None:
    assert lower_bound_slope([0.5, math.nextafter(0.5, 0.0)]) <= 0.5 / (0.5 - math.nextafter(0.5, 0.0))
    assert lower_bound_slope([2e-170, 1e-170]) > 0.0


@given(worlds, st.integers(0, 10**7), st.integers(1, 20))
def test_the_lower_bound_is_below_the_upper_bound(means: list[float], total: int, agents: int) -> None:
    upper = ucb_regret_bound(gaps_of(means), agent_count=agents, alpha=3.0, total_decisions=total)
    assert regret_lower_bound(means, total_decisions=total) <= upper


@pytest.mark.parametrize("means", [[], [0.5, -0.1], [2.0]])
def test_nonsense_means_are_refused(means: list[float]) -> None:
    with pytest.raises(LocalError, match=r"no arms|the mean of arm"):
        lower_bound_slope(means)


def test_a_negative_number_of_decisions_is_refused() -> None:
    with pytest.raises(LocalError, match="of all agents"):
        regret_lower_bound([0.5], total_decisions=-1)
