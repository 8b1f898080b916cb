"""From trials to a mean with its 95 % interval: Student's t, without a statistics library.

Few trials are the usual case, where the normal quantile is far too small: 1.96 instead of 4.30 for three. The
distribution function of t with whole degrees of freedom is a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4), so
a bisection of it gives the quantile. Nothing else would require scipy.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

CONFIDENCE = 0.95
_LARGEST_SUM = 500
"""With more degrees of freedom, the expansion around the normal quantile has ten correct digits."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over trials. With a single trial, only the mean is known."""

    mean: float
    sd: float | None
    """The standard deviation of one trial."""
    low: float | None
    """The lower end of the 95 % interval of the mean."""
    high: float | None

    def as_dict(self) -> dict[str, float | None]:
        """Return the four numbers by name."""
        return asdict(self)


def estimate(values: Sequence[float], *, least: float | None = None) -> Estimate:
    """Return the mean of the trials with its interval.

    Args:
        values: The measurement of each trial.
        least: A lower bound of the quantity: a count is never negative. The interval is cut there; it still covers the
            true mean as often. It is not cut if a trial is below it: regret against the best fixed arm may be negative
            where means change.

    >>> three = estimate([1.0, 2.0, 3.0])
    >>> three.mean, three.sd, round(three.low, 3), round(three.high, 3)
    (2.0, 1.0, -0.484, 4.484)
    >>> estimate([0.0, 1.0, 2.0], least=0.0).low
    0.0
    >>> round(estimate([-1.0, -2.0, -3.0], least=0.0).low, 3)
    -4.484
    >>> estimate([5.0])
    Estimate(mean=5.0, sd=None, low=None, high=None)
    """
    mean = statistics.fmean(values)
    if len(values) < 2 or math.isnan(mean):
        return Estimate(mean, None, None, None)
    sd = statistics.stdev(values)
    half = t_quantile(len(values) - 1) * sd / math.sqrt(len(values))
    low = mean - half if least is None or min(values) < least else max(least, mean - half)
    return Estimate(mean, sd, low, mean + half)


def half_width(one: Estimate) -> float | None:
    """Return half of the 95 % interval, for ±: from the mean to the end that is not cut off."""
    return None if one.high is None else one.high - one.mean


def t_mass_beyond(t: float, freedom: int) -> float:
    """Return P(T <= -t or T >= t), for T of Student's distribution; below 1e-15 it may read 0.

    >>> round(t_mass_beyond(4.302653, 2), 6)
    0.05
    """
    return max(0.0, 1.0 - _mass_within(math.atan(t / math.sqrt(freedom)), freedom))


@lru_cache(maxsize=1024)
def t_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return the t with P(-t < T < t) = confidence, for T of Student's distribution.

    >>> round(t_quantile(2), 6), round(t_quantile(29), 6)
    (4.302653, 2.04523)
    """
    if freedom > _LARGEST_SUM:  # Abramowitz and Stegun, 26.7.5
        z = statistics.NormalDist().inv_cdf((1.0 + confidence) / 2.0)
        first = (z**3 + z) / 4.0
        second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
        third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
        return z + first / freedom + second / freedom**2 + third / freedom**3
    low, high = 0.0, math.pi / 2.0  # of the angle with tan(angle) = t / sqrt(freedom)
    while True:
        angle = 0.5 * (low + high)
        if angle in (low, high):
            return math.sqrt(freedom) * math.tan(angle)
        if _mass_within(angle, freedom) < confidence:
            low = angle
        else:
            high = angle


def _mass_within(angle: float, freedom: int) -> float:
    """Return P(-t < T < t) for t = sqrt(freedom) tan(angle)."""
    cosine_squared = math.cos(angle) ** 2
    odd = freedom % 2
    total, term = 0.0, math.cos(angle) if odd else 1.0
    for k in range(freedom // 2):
        total += term
        term *= cosine_squared * (2 * k + 1 + odd) / (2 * k + 2 + odd)
    if odd:
        return 2.0 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total
