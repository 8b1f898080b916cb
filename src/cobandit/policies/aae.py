"""AAE: pull the least observed candidate and drop what is surely worse (Section 3.3 and Algorithm 3 of the paper)."""

from cobandit.policies.confident import Confident
from cobandit.policies.ucb import confidence_width
from cobandit.values.tally import Arm


class AAE(Confident):
    """Active arm elimination, with delta = 1/N^2 for a known horizon N (Theorem 1b).

    Args:
        arms: The names of the arms.
        alpha: How cautious to be; 3 by default.
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
    horizon_power = 2

    def select_arm(self) -> Arm:
        """Return the surviving candidate with the fewest observations; the lowest position wins a tie."""
        counts = self.tally.counts
        return min(self.survivors(), key=counts.__getitem__)

    def survivors(self) -> tuple[Arm, ...]:
        """Return the candidates that are not certain to be worse than some arm.

        An arm is dropped when its whole interval lies below that of any arm, eliminated ones included (Algorithm 3,
        line 6), but the last candidate stays. Intervals of zero width prove nothing: with delta = 1/n_j an agent has
        them until its second pull, however much it received, and would drop the best arm with the rest.
        """
        budget = self.budget()
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
