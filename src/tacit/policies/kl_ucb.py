"""KL-UCB: upper confidence bounds from the Kullback-Leibler divergence (Garivier and Cappe, 2011).

For rewards in [0, 1] its bound is never above that of UCB with the same budget, and much below it for means near 0 or
1, which is where click-through rates live.
"""

import math
from collections.abc import Sequence

from tacit.policies.base import IndexPolicy
from tacit.policies.confidence import Confidence, checked_confidence, log_inverse_delta
from tacit.policies.ucb import HORIZON_POWER, checked_alpha
from tacit.rewards import MILLIONTH
from tacit.tally import Arm

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


def kl_ucb_index(mean: float, count: int, budget: float) -> float:
    """Return the largest q with count kl(mean, q) <= budget.

    >>> round(kl_ucb_index(mean=0.5, count=100, budget=math.log(1000)), 3)
    0.682
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


class KLUCB(IndexPolicy):
    """KL-UCB.

    Args:
        arms: The names of the arms.
        alpha: How much to explore; 1 is asymptotically optimal for one agent.
        confidence: `"observed"` (default), `"own"` or `Horizon(decisions)`.
        quantum: The smallest step of a reward.

    >>> policy = KLUCB(["A", "B"])
    >>> for reward in (1.0, 0.0, 1.0, 1.0):
    ...     policy.update(policy.select_arm(), reward)
    >>> policy.select_arm()
    'A'
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        *,
        alpha: float = 1.0,
        confidence: Confidence = "observed",
        quantum: float = MILLIONTH,
    ) -> None:
        super().__init__(arms, quantum=quantum)
        self.alpha = checked_alpha(alpha)
        self.confidence = checked_confidence(confidence)

    def budget(self) -> float:
        """Return alpha log(1/delta)."""
        return self.alpha * log_inverse_delta(self.confidence, self.own_pulls, self.tally.observations, HORIZON_POWER)

    def index(self, mean: float, count: int, budget: float) -> float:
        """Return the KL upper confidence bound."""
        return kl_ucb_index(mean, count, budget)
