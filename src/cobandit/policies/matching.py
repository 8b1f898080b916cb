"""How likely each arm is to be the best one, given all that is known: the odds of probability matching.

The mean of an arm is uncertain: Beta(a, b). Let F be its distribution function, f its density, and H the product of all
F, which is the distribution of the highest mean. If the highest is x, then it is the mean of arm i with likelihood
r_i(x) = h_i(x) / (sum of all h at x), where h = f / F. So P(arm i is best) is the integral of r_i dH: a sum over points
of [0, 1] that are dense where H rises. Every point distributes exactly its part of H, so the odds add up to one.
Nothing here is random: the same posteriors give the same odds.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

Posterior = tuple[float, float]
"""The a and b of a Beta distribution, each at least one."""

LARGEST_STEP = 1 / 64
"""Between two neighbouring points H rises by no more than this."""

LARGEST_DOUBT = 1 / 1024
"""The largest part of H whose distribution among the arms may stay unclear: where r changes, points are denser."""

_LARGE = 5.0
_MOST_HALVINGS = 40
_NEVER = 1e-15


class _Mean(NamedTuple):
    """A posterior of a mean, and how many arms share it."""

    a: float
    b: float
    alike: int
    log_scale: float
    highest: float
    """The mean is practically never above this."""


class _Point(NamedTuple):
    x: float
    below: float
    """H: the probability that all means are below x."""
    rates: list[float]
    """r, of the means that reach so far. Empty where it is not known."""


def best_odds(posteriors: Sequence[Posterior], rest: Callable[[], object] = lambda: None) -> list[float]:
    """Return how likely each of these means is the highest, to within 0.001.

    Args:
        posteriors: What is known of each mean.
        rest: Called about every millisecond, for threads that must let others run.

    >>> [round(odds, 2) for odds in best_odds([(51.0, 951.0), (41.0, 961.0)])]  # 50 and 40 clicks, of 1000 each
    [0.86, 0.14]
    """
    means = sorted((_mean(a, b, alike) for (a, b), alike in Counter(posteriors).items()), key=lambda one: -one.highest)
    start, end = _Point(0.0, 0.0, []), _Point(1.0, 1.0, [])
    points, cells = [start, end], [(start, end, 0)]
    while cells:
        low, high, halvings = cells.pop()
        if halvings < _MOST_HALVINGS and _is_coarse(low, high):
            middle = _point(0.5 * (low.x + high.x), means, low.below, high.below)
            points.append(middle)
            cells += [(low, middle, halvings + 1), (middle, high, halvings + 1)]
            rest()
    points.sort()
    odds = [0.0] * len(means)
    for low, high in pairwise(points):
        known = [point.rates for point in (low, high) if point.rates]
        for rates in known:
            part = (high.below - low.below) / len(known)
            for place, rate in enumerate(rates):
                odds[place] += part * rate
        rest()
    found = {(mean.a, mean.b): value for mean, value in zip(means, odds, strict=True)}
    total = math.fsum(found[posterior] for posterior in posteriors)
    return [found[posterior] / total for posterior in posteriors]


def _is_coarse(low: _Point, high: _Point) -> bool:
    """Return whether a point between these two would help."""
    rise = high.below - low.below
    if rise > LARGEST_STEP:
        return True
    if rise <= LARGEST_DOUBT:
        return False
    pairs = zip_longest(low.rates, high.rates, fillvalue=0.0)
    return not (low.rates and high.rates) or rise * max(abs(one - other) for one, other in pairs) > LARGEST_DOUBT


def _mean(a: float, b: float, alike: int) -> _Mean:
    return _Mean(a, b, alike, math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b), highest_of(a, b))


def highest_of(a: float, b: float) -> float:
    """Return a value that a draw from Beta(a, b) practically never exceeds."""
    n, middle = a + b, a / (a + b)
    return middle + 7.0 * math.sqrt(middle * (1.0 - middle) / n) + 12.0 / n


def _point(x: float, means: list[_Mean], least: float, most: float) -> _Point:
    log_x, log_y = math.log(x), math.log1p(-x)
    below, rates, total = 1.0, [], 0.0
    for a, b, alike, log_scale, highest in means:
        if x > highest:  # and all means that follow are lower still
            break
        density = math.exp(log_scale + (a - 1.0) * log_x + (b - 1.0) * log_y)
        distribution = _below(x, a, b, density)
        below *= distribution**alike
        if below < _NEVER:
            return _Point(x, least, [])
        rate = density / distribution
        rates.append(rate)
        total += alike * rate
    return _Point(x, min(max(below, least), most), [rate / total for rate in rates] if total else [])


def beta_below(x: float, a: float, b: float) -> float:
    """Return the probability that a Beta(a, b) draw is below x, to within 0.0002, for a and b >= 1 and 0 < x < 1.

    >>> round(beta_below(0.3, 40.0, 60.0), 4), round(beta_below(0.3, 1.0, 2.0), 4)  # exactly 0.0176 and 0.51
    (0.0176, 0.51)
    """
    log_scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return _below(x, a, b, math.exp(log_scale + (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x)))


def _below(x: float, a: float, b: float, density: float) -> float:
    """Return the same, given the density at x.

    While a or b is small, one is added to it and the difference is corrected: I_x(a, b) = I_x(a + 1, b) + f x y / a =
    I_x(a, b + 1) - f x y / b, where f is the density of Beta(a, b).
    """
    y, given_back = 1.0 - x, 0.0
    part = density * x * y
    while a < _LARGE:
        given_back += part / a
        part *= x * (a + b) / a
        a += 1.0
    while b < _LARGE:
        given_back -= part / b
        part *= y * (a + b) / b
        b += 1.0
    return min(1.0, max(0.0, _normal_below(x, a, b) + given_back))


def _normal_below(x: float, a: float, b: float) -> float:
    """Return the same by the normal approximation of Peizer and Pratt (1968), which costs the same for all a and b.

    Its error is less than 0.0002 once a and b are at least five.
    """
    y, n = 1.0 - x, a + b - 1.0
    s, t = b - 0.5, a - 0.5
    distance = s + 1 / 6 - (n + 1 / 3) * y + 0.02 * (x / b - y / a + (x - 0.5) / (n + 1.0))
    spread = (1.0 + x * _skew(s / (n * y)) + y * _skew(t / (n * x))) / ((n + 1 / 6) * x * y)
    return 0.5 * math.erfc(-distance * math.sqrt(0.5 * spread))


def _skew(ratio: float) -> float:
    u = 1.0 - ratio
    if abs(u) < 0.001:  # where the quotient below would be of two numbers near zero
        return u / 3.0 + u * u / 6.0
    return (1.0 - ratio * ratio + 2.0 * ratio * math.log(ratio)) / (u * u)
