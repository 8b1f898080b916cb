"""The declared range of a reward: money, cost, latency, of either sign.

Inside, rewards are shares of their range, from 0 (the lowest) to 1 (the highest), because the formulas of all policies
are for [0, 1]. This file converts both ways. `cobandit.values.quantum` defines how a share is counted.
"""

from dataclasses import dataclass

from cobandit.values.checks import is_number, keep_plain
from cobandit.values.errors import LocalError

LARGEST_REWARD = 1e12
"""The largest reward in either direction: a million times a million."""

SMALLEST_RANGE = 1e-9


@dataclass(frozen=True, slots=True)
class RewardRange:
    """Every reward is a number from `low` to `high`.

    >>> money = RewardRange(-1.0, 5.0)
    >>> money.share_of(2.0), money.reward_of(0.5)
    (0.5, 2.0)
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        keep_plain(self, "low", "high")
        for bound in (self.low, self.high):
            if not (is_number(bound) and -LARGEST_REWARD <= bound <= LARGEST_REWARD):
                raise LocalError(
                    f"the range of rewards must be two numbers from {-LARGEST_REWARD:g} to {LARGEST_REWARD:g}, the "
                    f"lowest and the highest, not {bound!r}"
                )
        if not self.high - self.low >= SMALLEST_RANGE:
            raise LocalError(
                f"rewards from {self.low:g} to {self.high:g} have no range: give the lowest, then a higher highest"
            )
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @property
    def width(self) -> float:
        """How far the highest reward is above the lowest."""
        return self.high - self.low

    def holds(self, value: object) -> bool:
        """Return whether the value is a number in the range."""
        return is_number(value) and self.low <= value <= self.high  # type: ignore[operator]

    def check(self, what: str, value: object) -> None:
        """Raise `LocalError` unless the value is a number in the range."""
        if not self.holds(value):
            raise LocalError(f"{what} must be a number in [{self.low:g}, {self.high:g}], not {value!r}")

    def share_of(self, reward: float) -> float:
        """Return the position of a reward in the range: 0 is the lowest, 1 the highest."""
        return (reward - self.low) / self.width

    def reward_of(self, share: float) -> float:
        """Return the reward at a position in the range."""
        return self.low + share * self.width


def as_range(value: object) -> RewardRange:
    """Return the range that a value describes: a `RewardRange`, or its two ends.

    Raises:
        LocalError: It describes none.
    """
    if isinstance(value, tuple | list) and len(value) == 2:
        return RewardRange(*value)
    if not isinstance(value, RewardRange):
        raise LocalError(f"rewards must be two numbers, the lowest reward and the highest, not {value!r}")
    return value


UNIT = RewardRange()
"""Rewards from 0 to 1: the default."""
