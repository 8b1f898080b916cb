"""KL-UCB: upper confidence bounds from the Kullback-Leibler divergence (Garivier and Cappe, 2011).

For rewards in [0, 1] its bound is never above that of UCB with the same budget, and much lower for means near 0 or 1,
such as click-through rates.
"""

import math

from cobandit.policies.base import IndexPolicy
from cobandit.policies.confident import Confident

BISECTIONS = 32
"""Enough halvings for an index that is exact to nine digits."""


def bernoulli_divergence(p: float, q: float) -> float:
    """Return kl(p, q) of two coins, for 0 < q < 1.

    >>> round(bernoulli_divergence(0.5, 0.75), 4)
    0.1438
    """
    divergence = 0.0
    if p > 0.0:
        divergence += p * math.log(p / q)
    if p < 1.0:
        divergence += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return divergence


def kl_ucb_index(mean: float, count: float, budget: float) -> float:
    """Return the largest q with count kl(mean, q) <= budget.

    >>> round(kl_ucb_index(mean=0.5, count=100, budget=math.log(1000)), 3)
    0.68
    """
    low = mean
    high = min(1.0, mean + math.sqrt(budget / (2.0 * count)))  # Pinsker: kl(p, q) >= 2 (p - q)^2
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if middle < 1.0 and count * bernoulli_divergence(mean, middle) <= budget:
            low = middle
        else:
            high = middle
    return low


class KLUCB(Confident, IndexPolicy):
    """KL-UCB.

    Args:
        arms: The names of the arms.
        alpha: How much to explore; by default 1, which is asymptotically optimal for one agent.
        confidence: `"observed"` (default), `"own"` or `Horizon(decisions)`.
        quantum: The smallest step of a reward.

    >>> policy = KLUCB(["A", "B"])
    >>> for reward in (1.0, 0.0, 1.0, 1.0):
    ...     policy.update(policy.select_arm(), reward)
    >>> policy.select_arm()
    'A'
    """

    usual_alpha = 1.0

    def index(self, mean: float, count: int, budget: float) -> float:
        """Return the KL upper confidence bound."""
        return kl_ucb_index(mean, count, budget)
