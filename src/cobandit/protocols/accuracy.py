"""How accurately an arm is known: the radius of its confidence interval with a known horizon, and related widths.

The radius of Wang et al. (SIGMETRICS 2025): sqrt(2 log T / n), at most 1. T is the number of slots.
"""

import math

from cobandit.policies import Policy
from cobandit.values.tally import Arm


def radius(count: int, horizon: int) -> float:
    """Return how far the mean of `count` observations may be off: at most 1.

    >>> radius(0, 1000), round(radius(100, 1000), 3)
    (1.0, 0.372)
    """
    return radius_of(count, spend_of(horizon))


def spend_of(horizon: int) -> float:
    """Return the part that the radii of all arms share: 2 log T."""
    return 2.0 * math.log(horizon)


def radius_of(count: int, spend: float) -> float:
    """Return the radius of an arm with `count` observations."""
    return min(1.0, math.sqrt(spend / count)) if count > 0 else 1.0


def interval(policy: Policy, arm: Arm, horizon: int) -> tuple[float, float]:
    """Return the lower and the upper confidence bound of an arm, from all that is known of it."""
    width = radius(policy.tally.counts[arm], horizon)
    return policy.mean(arm) - width, policy.mean(arm) + width


def width_of(alpha: float, slot: int, count: int) -> float:
    """Return how far off a mean of `count` observations may be in a slot: alpha sqrt(log(t) / n), with t from 1."""
    return alpha * math.sqrt(math.log(slot + 1.0) / count) if count > 0 else math.inf
