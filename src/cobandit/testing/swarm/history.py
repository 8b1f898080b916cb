"""What really happened: every observation that anyone ever made, whatever became of it."""

from bisect import bisect_right

from cobandit.core import AgentId
from cobandit.values.tally import Arm


class Life:
    """What one boot of one agent observed, in order."""

    __slots__ = ("sums", "version", "versions")

    def __init__(self) -> None:
        self.version = 0
        self.versions: dict[Arm, list[int]] = {}
        """For each arm, the versions that an observation of it brought about."""
        self.sums: dict[Arm, list[int]] = {}
        """For each arm, its reward sum after each of them."""

    def observe(self, arm: Arm, units: int) -> None:
        """Count one observation."""
        self.version += 1
        sums = self.sums.setdefault(arm, [0])
        sums.append(sums[-1] + units)
        self.versions.setdefault(arm, []).append(self.version)

    def count_at(self, version: int, arm: Arm) -> int:
        """Return how often an arm had been observed at a version."""
        return bisect_right(self.versions.get(arm, ()), version)

    def sum_of(self, arm: Arm, count: int) -> int | None:
        """Return the reward sum of the first so many observations of an arm, if there were as many."""
        sums = self.sums.get(arm, [0])
        return sums[count] if count < len(sums) else None


class History:
    """All lives."""

    def __init__(self) -> None:
        self.lives: dict[tuple[AgentId, int], Life] = {}

    def of(self, agent: AgentId, boot: int) -> Life:
        """Return what a boot of an agent observed."""
        life = self.lives.get((agent, boot))
        if life is None:
            life = self.lives[agent, boot] = Life()
        return life
