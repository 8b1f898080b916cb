"""What really happened: every observation that anyone ever made, whatever became of it."""

from cobandit.core import AgentId
from cobandit.values.tally import Arm

Where = tuple[Arm, str, str, int]
"""An arm, its bandit, a segment of that, and a period."""


def plainly(arm: Arm, period: int = 0) -> Where:
    """Return where an arm of the plain bandit is."""
    return (arm, "", "", period)


class Life:
    """What one incarnation of one agent observed, in order."""

    __slots__ = ("observations", "sums")

    def __init__(self) -> None:
        self.observations = 0
        self.sums: dict[Where, list[int]] = {}
        """For each arm in each place, its reward sum after each of them."""

    def observe(self, where: Where, units: int) -> None:
        """Count one observation."""
        self.observations += 1
        sums = self.sums.setdefault(where, [0])
        sums.append(sums[-1] + units)

    def sum_of(self, where: Where, count: int) -> int | None:
        """Return the reward sum of the first so many observations of an arm, if there were as many."""
        sums = self.sums.get(where, [0])
        return sums[count] if count < len(sums) else None


class History:
    """All lives."""

    def __init__(self) -> None:
        self.lives: dict[tuple[AgentId, int], Life] = {}
        self._totals: dict[Where, tuple[int, int]] = {}
        self._own: dict[tuple[AgentId, Where], tuple[int, int]] = {}

    def of(self, agent: AgentId, incarnation: int) -> Life:
        """Return what an incarnation of an agent observed."""
        life = self.lives.get((agent, incarnation))
        if life is None:
            life = self.lives[agent, incarnation] = Life()
        return life

    def observe(self, agent: AgentId, incarnation: int, where: Where, units: int) -> None:
        """Count one observation."""
        self.of(agent, incarnation).observe(where, units)
        observed, rewarded = self.total(where)
        self._totals[where] = (observed + 1, rewarded + units)
        observed, rewarded = self._own.get((agent, where), (0, 0))
        self._own[agent, where] = (observed + 1, rewarded + units)

    def total(self, where: Where) -> tuple[int, int]:
        """Return how often anybody observed an arm, and with how many quanta together."""
        return self._totals.get(where, (0, 0))

    def total_but(self, agent: AgentId, where: Where) -> tuple[int, int]:
        """Return the same for everybody but one agent."""
        total, own = self.total(where), self._own.get((agent, where), (0, 0))
        return total[0] - own[0], total[1] - own[1]
