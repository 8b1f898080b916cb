"""Thompson sampling with normal posteriors, whose width comes from the observed variance.

Thompson sampling with a Beta posterior treats every reward as a coin flip. Rewards that vary less than a coin are then
explored for too long. Here the mean of an arm is normal. Its mean and variance come from the observations and from one
prior reward of 0 and one of 1 (shares of the range), so that nothing is ever certain:

    m = (1 + sum) / (n + 2),  v = ((1 + sum of squares) / (n + 2) - m^2) / (n + 3).

For rewards that are 0 or 1 these are the mean and the variance of the Beta posterior, to the last digit. Gaussian
posteriors for bounded rewards are analysed by Agrawal and Goyal (2013), unknown variances by Honda and Takemura (2014).
"""

import math

from cobandit.policies.drawing import Drawing
from cobandit.policies.matching import Posterior
from cobandit.values.chance import normal
from cobandit.values.tally import Arm


def normal_mean(rewards: float, count: float) -> float:
    """Return the mean of the posterior."""
    return (1.0 + rewards) / (count + 2.0)


def normal_variance(mean: float, squares: float, count: float) -> float:
    """Return the variance of the posterior with this mean.

    >>> normal_variance(normal_mean(3.0, 4), squares=3.0, count=4) == (4 / 6) * (2 / 6) / 7  # that of Beta(4, 2)
    True
    """
    return max(0.0, ((1.0 + squares) / (count + 2.0) - mean * mean) / (count + 3.0))


def normal_thompson_index(rewards: float, squares: float, count: float, key: int) -> float:
    """Draw a mean from an arm's posterior, given the sums of its rewards and squares over `count` observations."""
    mean = normal_mean(rewards, count)
    return mean + math.sqrt(normal_variance(mean, squares, count)) * normal(key)


class NormalThompson(Drawing):
    """Thompson sampling with normal posteriors.

    Args:
        arms: The names of the arms.
        seed: The seed of this agent's draws. Give every agent its own.
        quantum: The smallest step of a reward.

    >>> policy = NormalThompson(["A", "B"], seed=7)
    >>> for _ in range(100):
    ...     arm = policy.select_arm()
    ...     policy.update(arm, reward=0.6 if arm == "A" else 0.4)
    >>> policy.select_arm()
    'A'
    """

    def posteriors(self) -> list[Posterior]:
        """Return a Beta distribution for every candidate with the mean and the variance of its posterior."""
        found = []
        for arm in self.candidates:
            count = self.tally.counts[arm]
            mean = normal_mean(self.rewards(arm), count)
            size = mean * (1.0 - mean) / normal_variance(mean, self.squares(arm), count) - 1.0
            found.append((max(1.0, mean * size), max(1.0, (1.0 - mean) * size)))
        return found

    def draw(self, arm: Arm, key: int) -> float:
        """Draw a mean of an arm."""
        return normal_thompson_index(self.rewards(arm), self.squares(arm), self.tally.counts[arm], key)
