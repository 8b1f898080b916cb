"""UCB: pull the arm with the highest upper confidence bound (Section 3.2 and Algorithm 2 of the paper)."""

import math

from cobandit.policies.base import IndexPolicy
from cobandit.policies.confident import Confident
from cobandit.values.tally import Arm


def confidence_width(count: float, budget: float) -> float:
    """Return CI = sqrt(alpha log(1/delta) / (2 n)) (Equation 1), with budget = alpha log(1/delta)."""
    return math.sqrt(budget / (2.0 * count))


def ucb_index(mean: float, count: float, budget: float) -> float:
    """Return mean + CI.

    >>> ucb_index(mean=0.5, count=8, budget=4.0)
    1.0
    """
    return mean + confidence_width(count, budget)


class UCB(Confident, IndexPolicy):
    """Upper confidence bounds, with delta = 1/N for a known horizon N (Theorem 1a).

    Args:
        arms: The names of the arms.
        alpha: How much to explore; 3 by default.
        confidence: `"observed"` (default), `"own"` (as published) or `Horizon(decisions)`.
        quantum: The smallest step of a reward.

    >>> policy = UCB(["A", "B"])
    >>> for reward in (1.0, 0.0, 1.0, 1.0):
    ...     policy.update(policy.select_arm(), reward)
    >>> policy.select_arm()
    'A'
    """

    def __init_subclass__(cls) -> None:
        """Let a subclass that defines its own index choose by it."""
        super().__init_subclass__()
        if "index" in vars(cls) and "select_arm" not in vars(cls):
            cls.select_arm = IndexPolicy.select_arm  # type: ignore[method-assign]

    def select_arm(self) -> Arm:
        """Return the candidate with the highest index.

        This is the loop of `IndexPolicy` with the index written out, and gives bit-identical results. Live members run
        it in their request path, and calls are most of what a decision costs.
        """
        counts, sums, per_reward = self.tally.counts, self.tally.sums, self.quantum.per_reward
        half_budget = 0.5 * self.budget()
        best, best_index = self.candidates[0], -math.inf
        for arm in self.candidates:
            count = counts[arm]
            if not count:
                return arm
            index = sums[arm] / (count * per_reward) + math.sqrt(half_budget / count)
            if index > best_index:
                best, best_index = arm, index
        return best

    def index(self, mean: float, count: int, budget: float) -> float:
        """Return the upper confidence bound."""
        return ucb_index(mean, count, budget)
