"""How a whole fleet forgets: a window, or a half-life, in slots.

Time is cut into periods that are the same for everybody. Every observation belongs to the period in which it was
made, and counts once. A policy reads the sum of the periods inside the window, or counts older ones for less; what is
outside is dropped by everybody by the same rule, without a message (`cobandit.core.places`). This file says how long
periods are.
"""

from dataclasses import dataclass

from cobandit.core.places import Bandit
from cobandit.values.checks import check_positive, check_whole, keep_plain
from cobandit.values.errors import LocalError
from cobandit.values.quantum import Quantum

PERIODS_PER_WINDOW = 10
"""A window slides by a tenth of its length, as that of a live fleet does: it holds between nine and ten of these."""

PERIODS_PER_HALF_LIFE = 4
HALF_LIVES = 6
"""What is older than so many half-lives counts for less than a sixtieth, and is dropped."""

LONGEST_WINDOW = 2**40


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What counts of the past: what lies in a window, or everything, the older the less.

    Args:
        window: How many slots count: between nine tenths of it and all of it, as the window slides by a tenth.
        half_life: After how many slots an observation counts half.

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
        """How many slots a period has."""
        if self.window is not None:
            return self.window / min(PERIODS_PER_WINDOW, self.window)
        assert self.half_life is not None
        return max(1.0, self.half_life / PERIODS_PER_HALF_LIFE)

    @property
    def periods(self) -> int:
        """How many of them count, the present one included."""
        if self.window is not None:
            return min(PERIODS_PER_WINDOW, self.window)
        return PERIODS_PER_HALF_LIFE * HALF_LIVES

    def bandit(self, quantum: float) -> Bandit:
        """Return the bandit without a name, with this window: what agents of the core are told."""
        per_reward = Quantum(quantum).per_reward
        return Bandit("", (), per_reward, self.period, self.periods, float(self.half_life or 0.0))
