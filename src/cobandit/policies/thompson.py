"""Thompson sampling: pull the arm whose mean, drawn from its posterior, is highest (Thompson, 1933).

The posterior of an arm is Beta(1 + rewards, 1 + observations - rewards), from a uniform prior. Rewards between 0 and
1 count by their size. An arm of which nothing is known may be the best, so it is explored. Chance is a function here:
the draw depends on the seed, the number of own pulls and the arm's position, so the same evidence and the same seed
give the same arm, and a restart does not disturb the sequence. Live members use the posteriors alone (`matching.py`).
"""

from collections.abc import Sequence

from cobandit.policies.base import Policy
from cobandit.policies.matching import Posterior
from cobandit.values.chance import beta, stream
from cobandit.values.checks import check_whole, plain
from cobandit.values.quantum import MILLIONTH
from cobandit.values.tally import Arm


def thompson_index(rewards: float, count: float, key: int) -> float:
    """Draw a mean from the posterior of an arm with these rewards over this many observations.

    >>> 0.0 < thompson_index(rewards=3.0, count=4, key=1) < 1.0
    True
    """
    return beta(1.0 + rewards, 1.0 + count - rewards, key)


class Thompson(Policy):
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

    draws = True

    def __init__(self, arms: Sequence[Arm], *, seed: int, quantum: float = MILLIONTH) -> None:
        super().__init__(arms, quantum=quantum)
        self.seed: int = plain(seed)
        check_whole("seed", self.seed, 0)
        self._position = {arm: position for position, arm in enumerate(self.arms)}

    def select_arm(self) -> Arm:
        """Return the candidate with the highest draw."""
        return max(self.candidates, key=self._draw)

    def posteriors(self) -> list[Posterior]:
        """Return the Beta distribution of every candidate's mean."""
        counts, sums, per_reward = self.tally.counts, self.tally.sums, self.quantum.per_reward
        found = []
        for arm in self.candidates:
            rewards = sums[arm] / per_reward
            found.append((1.0 + rewards, 1.0 + counts[arm] - rewards))
        return found

    def _draw(self, arm: Arm) -> float:
        rewards = self.tally.sums[arm] / self.quantum.per_reward
        return thompson_index(rewards, self.tally.counts[arm], stream(self.seed, self.own_pulls, self._position[arm]))
