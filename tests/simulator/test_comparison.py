"""Two scenarios trial by trial: differences, tests and ratios against numbers that were computed elsewhere."""

import math

import pytest

from cobandit.simulator.comparison import Ratio, compare
from cobandit.simulator.interval import t_mass_beyond
from cobandit.values.chance import stream, uniform
from cobandit.values.errors import LocalError

BEFORE = [125.0, 115.0, 130.0, 140.0, 140.0, 115.0, 140.0, 125.0, 140.0, 135.0]
AFTER = [110.0, 122.0, 125.0, 120.0, 140.0, 124.0, 123.0, 137.0, 135.0, 145.0]


def test_a_comparison_has_the_difference_both_tests_and_the_ratio() -> None:
    """As scipy.stats.ttest_rel gives it (t 0.6363, p 0.5404), and all 2^10 signs one by one."""
    got = compare("a", "b", "shares", BEFORE, AFTER)
    half = 2.262157 * 11.927559 / math.sqrt(10)
    assert (got.one, got.other, got.quantity, got.trials) == ("a", "b", "shares", 10)
    assert got.difference.as_dict() == pytest.approx(
        {"mean": 2.4, "sd": 11.927559, "low": 2.4 - half, "high": 2.4 + half}, rel=1e-5
    )
    assert got.p_t == pytest.approx(0.540426, abs=1e-6)
    assert got.p_permutation == 0.54296875
    assert (got.correlation, got.trials_saved) == pytest.approx((0.347127, 1.530303), abs=1e-6)
    assert got.ratio.mean == pytest.approx(1305 / 1281)


def test_few_differences_of_one_sign_are_as_rare_as_their_signs() -> None:
    assert compare("a", "b", "shares", [3.0, 5.0, 4.0], [1.0, 2.0, 1.0]).p_permutation == 2 / 2**3


def test_with_many_trials_chance_stands_in_for_all_signs() -> None:
    """Forty differences around a third of their spread: both tests say nearly the same."""
    noise = [math.sqrt(12) * (uniform(stream(1), place) - 0.5) + 0.35 for place in range(40)]
    got = compare("a", "b", "shares", noise, [0.0] * 40)
    assert got.p_permutation == pytest.approx(got.p_t, abs=0.01)
    assert got == compare("a", "b", "shares", noise, [0.0] * 40)


def test_the_ends_of_a_ratio_are_where_the_difference_may_be_zero() -> None:
    """Fieller: at each end r, the interval of ones less r times others just touches zero."""
    ratio = compare("a", "b", "shares", BEFORE, AFTER).ratio
    assert ratio.low is not None
    assert ratio.high is not None
    for end in (ratio.low, ratio.high):
        scaled = compare("a", "b", "shares", BEFORE, [end * value for value in AFTER]).difference
        assert min(abs(scaled.low or 0.0), abs(scaled.high or 0.0)) == pytest.approx(0.0, abs=1e-9)


def test_where_nothing_varies_nothing_is_made_up() -> None:
    got = compare("a", "b", "shares", [2.0, 2.0, 2.0], [1.0, 1.0, 1.0])
    assert (got.p_t, got.correlation, got.trials_saved) == (0.0, None, None)
    assert got.ratio == Ratio(2.0, 2.0, 2.0)
    assert compare("a", "b", "shares", [1.0, 2.0], [0.0, 0.0]).ratio == Ratio(None, None, None)
    assert compare("a", "b", "shares", [2.0, 2.0], [2.0, 2.0]).p_t == 1.0
    assert compare("a", "b", "shares", [1.0, 2.0, 3.0], [-5.0, 6.0, 0.1]).ratio.low is None


def test_a_single_trial_is_no_comparison() -> None:
    with pytest.raises(LocalError, match="at least two trials of each, not 1 and 1"):
        compare("a", "b", "shares", [1.0], [2.0])


def test_what_nobody_knows_is_not_compared() -> None:
    with pytest.raises(LocalError, match="staleness of 'names' is unknown, so it cannot be compared: take another"):
        compare("odc", "names", "staleness", [1.0, 2.0], [math.nan, math.nan])


@pytest.mark.parametrize(("t", "freedom", "mass"), [(2.228139, 10, 0.05), (1.0, 1, 0.5), (12.0, 600, 0.0)])
def test_the_tails_of_t(t: float, freedom: int, mass: float) -> None:
    assert t_mass_beyond(t, freedom) == pytest.approx(mass, abs=1e-6)


def test_a_chance_that_is_too_small_to_compute_is_not_called_nothing() -> None:
    shown = str(compare("a", "b", "shares", [300.0 + n % 3 for n in range(20)], [1.0 + n % 2 for n in range(20)]))
    assert "p < 0.000001 by t, 0.0001 by permutation" in shown


def test_a_comparison_reads_as_a_sentence() -> None:
    assert str(compare("a", "b", "shares", [3.0, 5.0, 4.0], [1.0, 2.0, 1.0])) == (
        "shares, a less b: 2.667 (95 %: 1.232 to 4.101; p 0.015 by t, 0.25 by permutation; 3 pairs)"
    )
