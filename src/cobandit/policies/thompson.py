"""Thompson sampling: pull the arm whose mean, drawn from its posterior, is highest (Thompson, 1933).

The posterior of an arm is Beta(1 + rewards, 1 + observations - rewards), from a uniform prior. Rewards between 0 and 1
count by their size. An arm of which nothing is known may be the best, so it is explored. Live members use only the
posteriors (`matching.py`).
"""

from cobandit.policies.drawing import Drawing
from cobandit.policies.matching import Posterior
from cobandit.values.chance import beta
from cobandit.values.tally import Arm


def thompson_index(rewards: float, count: float, key: int) -> float:
    """Draw a mean from the posterior of an arm with these rewards over this many observations.

    >>> 0.0 < thompson_index(rewards=3.0, count=4, key=1) < 1.0
    True
    """
    return beta(1.0 + rewards, 1.0 + count - rewards, key)


class Thompson(Drawing):
    """Thompson sampling.

    Args:
        arms: The names of the arms.
        seed: The seed of this agent's draws. Give every agent its own.
        quantum: The smallest step of a reward.

    >>> policy = Thompson(["A", "B"], seed=7)
    >>> for _ in range(100):
    ...     arm = policy.select_arm()
    ...     policy.update(arm, reward=1.0 if arm == "A" else 0.0)
    >>> policy.select_arm()
    'A'
    """

    def posteriors(self) -> list[Posterior]:
        """Return the Beta distribution of every candidate's mean."""
        found = []
        for arm in self.candidates:
            rewards = self.rewards(arm)
            found.append((1.0 + rewards, 1.0 + self.tally.counts[arm] - rewards))
        return found

    def draw(self, arm: Arm, key: int) -> float:
        """Draw a mean of an arm."""
        return thompson_index(self.rewards(arm), self.tally.counts[arm], key)
