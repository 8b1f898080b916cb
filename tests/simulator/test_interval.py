"""A mean over few trials has the interval that the tables of Student's t give."""

import math
import statistics
from itertools import pairwise

import pytest

from cobandit.simulator.interval import Estimate, estimate, t_quantile

# Two-sided 95 % and 99 %, as printed in tables of the t distribution.
PRINTED = [
    (1, 0.95, 12.706205),
    (2, 0.95, 4.302653),
    (3, 0.95, 3.182446),
    (4, 0.95, 2.776445),
    (5, 0.95, 2.570582),
    (10, 0.95, 2.228139),
    (29, 0.95, 2.045230),
    (30, 0.95, 2.042272),
    (100, 0.95, 1.983972),
    (500, 0.95, 1.964720),
    (1000, 0.95, 1.962339),
    (1, 0.99, 63.656741),
    (7, 0.99, 3.499483),
    (1000, 0.99, 2.580755),
]


@pytest.mark.parametrize(("freedom", "confidence", "printed"), PRINTED)
def test_the_quantile_is_the_printed_one(freedom: int, confidence: float, printed: float) -> None:
    assert t_quantile(freedom, confidence) == pytest.approx(printed, abs=6e-7)


def test_the_sum_and_the_expansion_meet() -> None:
    quantiles = [t_quantile(freedom) for freedom in range(480, 521)]
    steps = [before - after for before, after in pairwise(quantiles)]
    assert steps == sorted(steps, reverse=True)
    assert t_quantile(10**9) == pytest.approx(statistics.NormalDist().inv_cdf(0.975), abs=1e-8)


def test_an_interval_is_the_quantile_times_the_standard_error() -> None:
    values = [3.0, 5.0, 10.0, 2.0]
    half = 3.182446 * statistics.stdev(values) / math.sqrt(4)
    got = estimate(values)
    assert (got.mean, got.sd) == (5.0, statistics.stdev(values))
    assert (got.low, got.high) == pytest.approx((5.0 - half, 5.0 + half), abs=1e-5)


def test_one_trial_has_a_mean_and_nothing_else() -> None:
    assert estimate([7]) == Estimate(7.0, None, None, None)


def test_equal_trials_have_an_interval_of_no_width() -> None:
    assert estimate([7, 7, 7]) == Estimate(7.0, 0.0, 7.0, 7.0)


def test_an_interval_of_a_count_does_not_go_below_zero_and_is_otherwise_the_same() -> None:
    free, cut = estimate([0.0, 1.0, 5.0]), estimate([0.0, 1.0, 5.0], least=0.0)
    assert free.low is not None
    assert free.low < 0.0
    assert cut == Estimate(free.mean, free.sd, 0.0, free.high)
    assert estimate([4.0, 5.0, 6.0], least=0.0) == estimate([4.0, 5.0, 6.0])
