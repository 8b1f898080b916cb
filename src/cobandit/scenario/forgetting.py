"""How a whole fleet forgets: a window, or a half-life, in slots.

Time is cut into periods that are the same for all agents. Every observation belongs to the period in which it was made,
and counts once. A policy reads the sum of the periods inside the window, or gives older ones less weight. All agents
drop what is outside by the same rule, without a message (`cobandit.core.places`). This file determines the length of
periods.
"""

from dataclasses import dataclass

from cobandit.core.places import Bandit
from cobandit.values.checks import check_positive, check_whole, keep_plain
from cobandit.values.errors import LocalError
from cobandit.values.quantum import Quantum

PERIODS_PER_WINDOW = 10
"""A window slides by a tenth of its length, as in a live fleet, so it holds between nine and ten of these."""

PERIODS_PER_HALF_LIFE = 4
HALF_LIVES = 6
"""Observations older than this many half-lives have less than a sixtieth of their weight, and are dropped."""

LONGEST_WINDOW = 2**40


@dataclass(frozen=True, slots=True)
class Forgetting:
    """How the past counts: only what is inside a window, or everything, with less weight as it gets older.

    Args:
        window: How many slots count: between nine tenths of this and all of it, because the window slides by a tenth.
        half_life: After how many slots the weight of an observation is halved.

    >>> Forgetting(window=4_000).bandit(quantum=1.0)[3:5]
    (400.0, 10)
    """

    window: int | None = None
    half_life: float | None = None

    def __post_init__(self) -> None:
        keep_plain(self, "window", "half_life")
        if (self.window is None) == (self.half_life is None):
            raise LocalError("agents forget by a window or by a half_life: give one of the two")
        if self.window is not None:
            check_whole("window", self.window, 1, LONGEST_WINDOW)
        else:
            check_positive("half_life", self.half_life)

    @property
    def period(self) -> float:
        """The number of slots in a period."""
        if self.window is not None:
            return self.window / min(PERIODS_PER_WINDOW, self.window)
        assert self.half_life is not None
        return max(1.0, self.half_life / PERIODS_PER_HALF_LIFE)

    @property
    def periods(self) -> int:
        """How many periods count, including the present one."""
        if self.window is not None:
            return min(PERIODS_PER_WINDOW, self.window)
        return PERIODS_PER_HALF_LIFE * HALF_LIVES

    def bandit(self, quantum: float) -> Bandit:
        """Return the bandit without a name, with this window, for agents of the core."""
        per_reward = Quantum(quantum).per_reward
        return Bandit("", (), per_reward, self.period, self.periods, float(self.half_life or 0.0))
