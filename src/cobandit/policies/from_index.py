"""A policy from one plain function: the index of an arm."""

from collections.abc import Callable, Sequence

from cobandit.policies.base import IndexPolicy
from cobandit.policies.confidence import Confidence
from cobandit.policies.confident import Confident
from cobandit.values.quantum import MILLIONTH
from cobandit.values.tally import Arm


class FromIndex(Confident, IndexPolicy):
    """Pulls the arm with the highest index, where the index is your own function.

    Args:
        arms: The names of the arms.
        index: Takes an arm's mean, its count and alpha log(1/delta), and returns the index.
        alpha: How much to explore; 1 by default.
        confidence: `"observed"` (default), `"own"` or `Horizon(decisions)`.
        quantum: The smallest step of a reward.

    >>> policy = FromIndex(["A", "B"], index=lambda mean, count, budget: mean + budget / count)
    >>> policy.update(policy.select_arm(), reward=1.0)
    >>> policy.select_arm()
    'B'
    """

    usual_alpha = 1.0

    def __init__(
        self,
        arms: Sequence[Arm],
        *,
        index: Callable[[float, int, float], float],
        alpha: float | None = None,
        confidence: Confidence = "observed",
        quantum: float = MILLIONTH,
    ) -> None:
        super().__init__(arms, alpha=alpha, confidence=confidence, quantum=quantum)
        self._index = index

    def index(self, mean: float, count: int, budget: float) -> float:
        """Return what the function returns."""
        return self._index(mean, count, budget)
