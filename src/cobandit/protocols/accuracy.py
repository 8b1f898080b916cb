"""How accurate an arm is known: the radius of its confidence interval, with a known horizon, and what follows from it.

The radius of Wang et al. (SIGMETRICS 2025): sqrt(2 log T / n), at most 1. T is the number of slots.
"""

import math

from cobandit.policies import Policy
from cobandit.values.tally import Arm


def radius(count: int, horizon: int) -> float:
    """Return how far the mean of so many observations may be off: at most 1.

    >>> radius(0, 1000), round(radius(100, 1000), 3)
    (1.0, 0.372)
    """
    if count == 0:
        return 1.0
    return min(1.0, math.sqrt(2.0 * math.log(horizon) / count))


def interval(policy: Policy, arm: Arm, horizon: int) -> tuple[float, float]:
    """Return the lower and the upper confidence bound of an arm, from all that is known of it."""
    width = radius(policy.tally.counts[arm], horizon)
    return policy.mean(arm) - width, policy.mean(arm) + width
