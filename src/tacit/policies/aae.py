"""AAE: pull the least observed candidate and drop what is surely worse (Section 3.3 and Algorithm 3 of the paper)."""

from collections.abc import Sequence

from tacit.policies.base import Policy
from tacit.policies.confidence import Confidence, checked_confidence, log_inverse_delta
from tacit.policies.ucb import checked_alpha, confidence_width
from tacit.rewards import MILLIONTH
from tacit.tally import Arm

HORIZON_POWER = 2
"""With a known horizon N, delta = 1/N^2 (Theorem 1b)."""


class AAE(Policy):
    """Active arm elimination.

    Args:
        arms: The names of the arms.
        alpha: How cautious to be; the theorems ask for at least 3.
        confidence: `"observed"` (default), `"own"` (as published) or `Horizon(decisions)`.
        quantum: The smallest step of a reward.

    >>> policy = AAE(["A", "B"], alpha=1.0)
    >>> for _ in range(40):
    ...     arm = policy.select_arm()
    ...     policy.update(arm, reward=1.0 if arm == "A" else 0.0)
    >>> policy.candidates
    ('A',)
    """

    eliminates = True

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

    def select_arm(self) -> Arm:
        """Return the surviving candidate with the fewest observations; the lowest position wins a tie."""
        counts = self.tally.counts
        return min(self.survivors(), key=counts.__getitem__)

    def update_units(self, arm: Arm, units: int) -> None:
        """Take the reward of an own pull. What the decision before it ruled out is now ruled out for good."""
        self.candidates = self.survivors()
        super().update_units(arm, units)

    def survivors(self) -> tuple[Arm, ...]:
        """Return the candidates that are not surely worse than some arm.

        An arm goes when its interval lies wholly below that of any arm, eliminated ones included (Algorithm 3, line
        6), but the last candidate stays. Intervals of no width prove nothing: with delta = 1/n_j an agent has them
        until its second pull is made, however much it received, and would drop the best arm with the rest.
        """
        budget = self.alpha * log_inverse_delta(self.confidence, self.own_pulls, self.tally.observations, HORIZON_POWER)
        if budget == 0.0 or len(self.candidates) == 1:
            return self.candidates
        counts = self.tally.counts
        highest_lower_bound = max(
            (self.mean(arm) - confidence_width(counts[arm], budget) for arm in self.arms if counts[arm]), default=0.0
        )
        left = list(self.candidates)
        for arm in self.candidates:
            if counts[arm] and self.mean(arm) + confidence_width(counts[arm], budget) < highest_lower_bound:
                left.remove(arm)
                if len(left) == 1:
                    break
        return self.candidates if len(left) == len(self.candidates) else tuple(left)
