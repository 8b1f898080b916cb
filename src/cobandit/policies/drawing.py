"""What policies that draw share: a seed, and a draw for every arm at every decision.

Randomness is a pure function here: the draw depends on the seed, the number of own pulls and the arm's position. So the
same evidence and the same seed give the same arm, and a restart does not disturb the sequence.
"""

from abc import abstractmethod
from collections.abc import Sequence

from cobandit.policies.base import Policy
from cobandit.values.chance import stream
from cobandit.values.checks import check_whole, plain
from cobandit.values.quantum import MILLIONTH
from cobandit.values.tally import Arm


class Drawing(Policy):
    """Pulls the candidate with the highest draw. A subclass defines `draw`.

    Args:
        arms: The names of the arms.
        seed: The seed of this agent's draws. Give every agent its own.
        quantum: The smallest step of a reward.
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

    def _draw(self, arm: Arm) -> float:
        return self.draw(arm, stream(self.seed, self.own_pulls, self._position[arm]))

    @abstractmethod
    def draw(self, arm: Arm, key: int) -> float:
        """Draw from what is known of an arm, using only the stream `key`."""
