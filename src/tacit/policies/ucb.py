"""UCB: pull the arm with the highest upper confidence bound (Section 3.2 and Algorithm 2 of the paper)."""

import math
from collections.abc import Sequence

from tacit.checks import check_positive
from tacit.policies.base import IndexPolicy
from tacit.policies.confidence import Confidence, checked_confidence, log_inverse_delta
from tacit.rewards import MILLIONTH
from tacit.tally import Arm

HORIZON_POWER = 1
"""With a known horizon N, delta = 1/N (Theorem 1a)."""


def confidence_width(count: int, budget: float) -> float:
    """Return CI = sqrt(alpha log(1/delta) / (2 n)) (Equation 1), with budget = alpha log(1/delta)."""
    return math.sqrt(budget / (2.0 * count))


def ucb_index(mean: float, count: int, budget: float) -> float:
    """Return mean + CI.

    >>> ucb_index(mean=0.5, count=8, budget=4.0)
    1.0
    """
    return mean + math.sqrt(budget / (2.0 * count))


class UCB(IndexPolicy):
    """Upper confidence bounds.

    Args:
        arms: The names of the arms.
        alpha: How much to explore; the theorems ask for at least 3.
        confidence: `"observed"` (default), `"own"` (as published) or `Horizon(decisions)`.
        quantum: The smallest step of a reward.

    >>> policy = UCB(["A", "B"])
    >>> for reward in (1.0, 0.0, 1.0, 1.0):
    ...     policy.update(policy.select_arm(), reward)
    >>> policy.select_arm()
    'A'
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        *,
        alpha: float = 3.0,
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
        """Return the upper confidence bound."""
        return ucb_index(mean, count, budget)


def checked_alpha(alpha: float) -> float:
    """Return a usable exploration factor, or say what is wrong with it."""
    check_positive("alpha", alpha)
    return float(alpha)
