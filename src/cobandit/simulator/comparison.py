"""Two scenarios compared trial by trial: the difference with its interval, two tests, and the ratio with its interval.

Trial 7 of both ran on the same tape, so its difference has less luck in it than either number. Student's paired t test
takes the differences for normal; the permutation test takes only their signs for exchangeable, and looks at all 2^n of
them, or at `RANDOM_FLIPS` of them if there are more. Plain numbers in, no frames.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cobandit.simulator.interval import Estimate, estimate, t_mass_beyond, t_quantile
from cobandit.values.chance import stream
from cobandit.values.errors import LocalError

MAX_EXACT = 14
"""Of so many trials all assignments of signs are looked at."""

RANDOM_FLIPS = 10_000
"""Assignments of signs that are looked at if there are more trials; the same ones each time."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two means, with its 95 % interval (Fieller); no ends, where the data allow any ratio."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A quantity of one scenario against that of another, on the same tapes."""

    one: str
    other: str
    quantity: str
    trials: int
    difference: Estimate
    """The one's less the other's, for each trial: the mean with its 95 % interval."""
    p_t: float
    """How often chance alone brings a difference as large, if there is none: Student's paired t test, both ways."""
    p_permutation: float
    """The same by the permutation test of signs, both ways."""
    ratio: Ratio
    """The one's mean over the other's."""
    correlation: float | None
    """Between the two, over trials; nothing, if one of them never varies."""
    trials_saved: float | None
    """How many times as many trials the same interval would take if the two ran on unrelated tapes: the sum of both
    variances over the variance of the difference. Nothing, if the difference never varies."""

    def __str__(self) -> str:
        low, high = self.difference.low, self.difference.high
        return (
            f"{self.quantity}, {self.one} less {self.other}: {self.difference.mean:,.4g} "
            f"(95 %: {low:,.4g} to {high:,.4g}; p {self.p_t:.2g} by t, "
            f"{self.p_permutation:.2g} by permutation; {self.trials} pairs)"
        )


def compare(one: str, other: str, quantity: str, ones: Sequence[float], others: Sequence[float]) -> Comparison:
    """Compare what two scenarios measured, trial by trial.

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
    """Return how many assignments of signs bring a sum at least as far from zero."""
    seen = abs(math.fsum(differences)) * (1.0 - 1e-12)  # sums of the same numbers in another order are as large
    if len(differences) <= MAX_EXACT:
        sums = [0.0]
        for value in differences:
            sums = [total + signed for total in sums for signed in (value, -value)]
        return sum(abs(total) >= seen for total in sums) / len(sums)
    reached = 1  # the signs as they are
    for flip in range(RANDOM_FLIPS):
        total = 0.0
        for place, value in enumerate(differences):
            if place % 64 == 0:
                signs = stream(flip, place)
            total += value if signs >> place % 64 & 1 else -value
        reached += abs(total) >= seen
    return reached / (1 + RANDOM_FLIPS)


def _ratio(ones: Sequence[float], others: Sequence[float]) -> Ratio:
    """Return the ratio of the means, with Fieller's interval: all r for which ones less r times others may be zero."""
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
