"""Compares two scenarios trial by trial: the difference with its interval, two tests, and the ratio with its interval.

Trial 7 of both ran on the same tape, so its difference contains less luck than either number. Student's paired t test
assumes that differences are normal. The permutation test only assumes that their signs are exchangeable; it evaluates
all 2^n assignments, or `RANDOM_FLIPS` of them if there are more. This uses plain numbers, no frames.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cobandit.simulator.interval import Estimate, estimate, t_mass_beyond, t_quantile
from cobandit.values.chance import stream
from cobandit.values.errors import LocalError

MAX_EXACT = 14
"""Up to this many trials, all assignments of signs are evaluated."""

RANDOM_FLIPS = 10_000
"""With more trials, this many assignments of signs are evaluated; the same ones each time."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two means with its 95 % interval (Fieller). Without ends if the data allow any ratio."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A quantity of one scenario compared with that of another, on the same tapes."""

    one: str
    other: str
    quantity: str
    trials: int
    difference: Estimate
    """The first minus the second, per trial: the mean with its 95 % interval."""
    p_t: float
    """The two-sided p-value of Student's paired t test."""
    p_permutation: float
    """The two-sided p-value of the sign permutation test."""
    ratio: Ratio
    """The first mean divided by the second."""
    correlation: float | None
    """The correlation between the two over trials; `None` if one of them never varies."""
    trials_saved: float | None
    """How many times more trials the same interval would take if the two ran on unrelated tapes: the sum of both
    variances over the variance of the difference. `None` if the difference never varies."""

    def __str__(self) -> str:
        low, high = self.difference.low, self.difference.high
        return (
            f"{self.quantity}, {self.one} less {self.other}: {self.difference.mean:,.4g} "
            f"(95 %: {low:,.4g} to {high:,.4g}; p {_small(self.p_t)} by t, "
            f"{_small(self.p_permutation)} by permutation; {self.trials} pairs)"
        )


def _small(p: float) -> str:
    """Return a probability with two digits. One of nothing is none that a test can give.

    >>> _small(0.0147), _small(0.0)
    ('0.015', '< 0.000001')
    """
    return f"{p:.2g}" if p >= 1e-6 else "< 0.000001"


def compare(one: str, other: str, quantity: str, ones: Sequence[float], others: Sequence[float]) -> Comparison:
    """Compare the measurements of two scenarios, trial by trial.

    Raises:
        LocalError: There are fewer than two trials, or nobody knows the quantity of one of them.
    """
    for name, values in ((one, ones), (other, others)):
        if any(map(math.isnan, values)):
            raise LocalError(f"{quantity} of {name!r} is unknown, so it cannot be compared: take another quantity")
    if len(ones) < 2 or len(ones) != len(others):
        raise LocalError(f"a comparison takes at least two trials of each, not {len(ones)} and {len(others)}")
    differences = [a - b for a, b in zip(ones, others, strict=True)]
    spread = statistics.variance(differences)
    both = statistics.variance(ones) + statistics.variance(others)
    return Comparison(
        one=one,
        other=other,
        quantity=quantity,
        trials=len(ones),
        difference=estimate(differences),
        p_t=_p_of_t(differences),
        p_permutation=_p_of_signs(differences),
        ratio=_ratio(ones, others),
        correlation=_correlation(ones, others),
        trials_saved=both / spread if spread > 0.0 else None,
    )


def _p_of_t(differences: Sequence[float]) -> float:
    mean, sd = statistics.fmean(differences), statistics.stdev(differences)
    if sd == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return t_mass_beyond(abs(mean) * math.sqrt(len(differences)) / sd, len(differences) - 1)


def _p_of_signs(differences: Sequence[float]) -> float:
    """Return the share of sign assignments whose sum is at least as far from zero."""
    seen = abs(math.fsum(differences)) * (1.0 - 1e-12)  # sums of the same numbers in another order are as large
    if len(differences) <= MAX_EXACT:
        sums = [0.0]
        for value in differences:
            sums = [total + signed for total in sums for signed in (value, -value)]
        return sum(abs(total) >= seen for total in sums) / len(sums)
    reached = 1  # the actual signs
    for flip in range(RANDOM_FLIPS):
        total = 0.0
        for place, value in enumerate(differences):
            if place % 64 == 0:
                signs = stream(flip, place)
            total += value if signs >> place % 64 & 1 else -value
        reached += abs(total) >= seen
    return reached / (1 + RANDOM_FLIPS)


def _ratio(ones: Sequence[float], others: Sequence[float]) -> Ratio:
    """Return the ratio of the means, with Fieller's interval: all r for which ones minus r times others may be zero."""
    top, bottom = statistics.fmean(ones), statistics.fmean(others)
    if bottom == 0.0:
        return Ratio(None, None, None)
    share = t_quantile(len(ones) - 1) ** 2 / len(ones)
    a = bottom**2 - share * statistics.variance(others)
    b = top * bottom - share * statistics.covariance(ones, others)
    c = top**2 - share * statistics.variance(ones)
    root = b**2 - a * c
    if a <= 0.0 or root < 0.0:
        return Ratio(top / bottom, None, None)
    return Ratio(top / bottom, (b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a)


def _correlation(ones: Sequence[float], others: Sequence[float]) -> float | None:
    if min(statistics.pvariance(ones), statistics.pvariance(others)) == 0.0:
        return None
    return statistics.correlation(ones, others)
