"""UCB-V: upper confidence bounds that know the variance (Audibert, Munos and Szepesvari, 2009).

Their Equation 1: mean + sqrt(2 V E / n) + 3 b E / n, where V is the variance of the n rewards seen, b the range of
rewards, and E the exploration. Here rewards are shares of their range, so b is 1, and E = alpha log(1/delta); the paper
has E = zeta log t with zeta = 1.2. Arms that hardly vary need few pulls with it. That suits revenue or latency, not
only clicks.
"""

import math

from cobandit.policies.confident import Confident
from cobandit.values.tally import Arm


def ucb_v_index(mean: float, variance: float, count: float, budget: float) -> float:
    """Return mean + sqrt(2 V E / n) + 3 E / n, with budget = E.

    >>> ucb_v_index(mean=0.5, variance=0.25, count=8, budget=4.0)
    2.5
    >>> ucb_v_index(mean=0.5, variance=0.0, count=1200, budget=4.0)
    0.51
    """
    return mean + math.sqrt(2.0 * variance * budget / count) + 3.0 * budget / count


class UCBV(Confident):
    """Upper confidence bounds from the mean and the variance of what was observed.

    Args:
        arms: The names of the arms.
        alpha: How much to explore; by default 1.2, as published.
        confidence: `"observed"` (default), `"own"` or `Horizon(decisions)`.
        quantum: The smallest step of a reward.

    >>> policy = UCBV(["A", "B"])
    >>> for reward in (0.6, 0.2, 0.6, 0.2):
    ...     policy.update(policy.select_arm(), reward)
    >>> policy.select_arm()
    'A'
    """

    usual_alpha = 1.2

    def select_arm(self) -> Arm:
        """Return the candidate with the highest index; an arm without observations first."""
        counts, budget = self.tally.counts, self.budget()
        best, best_index = self.candidates[0], -math.inf
        for arm in self.candidates:
            count = counts[arm]
            if not count:
                return arm
            index = ucb_v_index(self.mean(arm), self.variance(arm), count, budget)
            if index > best_index:
                best, best_index = arm, index
        return best
