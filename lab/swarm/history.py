"""What really happened: every observation that anyone ever made, whatever became of it."""

from cobandit.core import AgentId
from cobandit.values.tally import Arm


class Life:
    """What one incarnation of one agent observed, in order."""

    __slots__ = ("observations", "sums")

    def __init__(self) -> None:
        self.observations = 0
        self.sums: dict[Arm, list[int]] = {}
        """For each arm, its reward sum after each of them."""

    def observe(self, arm: Arm, units: int) -> None:
        """Count one observation."""
        self.observations += 1
        sums = self.sums.setdefault(arm, [0])
        sums.append(sums[-1] + units)

    def sum_of(self, arm: Arm, count: int) -> int | None:
        """Return the reward sum of the first so many observations of an arm, if there were as many."""
        sums = self.sums.get(arm, [0])
        return sums[count] if count < len(sums) else None


class History:
    """All lives."""

    def __init__(self) -> None:
        self.lives: dict[tuple[AgentId, int], Life] = {}
        self._totals: dict[Arm, tuple[int, int]] = {}
        self._own: dict[tuple[AgentId, Arm], tuple[int, int]] = {}

    def of(self, agent: AgentId, incarnation: int) -> Life:
        """Return what an incarnation of an agent observed."""
        life = self.lives.get((agent, incarnation))
        if life is None:
            life = self.lives[agent, incarnation] = Life()
        return life

    def observe(self, agent: AgentId, incarnation: int, arm: Arm, units: int) -> None:
        """Count one observation."""
        self.of(agent, incarnation).observe(arm, units)
        observed, rewarded = self.total(arm)
        self._totals[arm] = (observed + 1, rewarded + units)
        observed, rewarded = self._own.get((agent, arm), (0, 0))
        self._own[agent, arm] = (observed + 1, rewarded + units)

    def total(self, arm: Arm) -> tuple[int, int]:
        """Return how often anybody observed an arm, and with how many quanta together."""
        return self._totals.get(arm, (0, 0))

    def total_but(self, agent: AgentId, arm: Arm) -> tuple[int, int]:
        """Return the same for everybody but one agent."""
        total, own = self.total(arm), self._own.get((agent, arm), (0, 0))
        return total[0] - own[0], total[1] - own[1]
