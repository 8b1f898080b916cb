"""Chance one draw after the other, from the pure functions of `cobandit.values.chance`."""

from collections.abc import Sequence
from typing import TypeVar

from cobandit.values.chance import stream, uniform

T = TypeVar("T")


class Dice:
    """A walk through one stream of chance. The same coordinates give the same draws.

    >>> Dice(7).whole(1, 6) == Dice(7).whole(1, 6)
    True
    """

    __slots__ = ("_drawn", "_key")

    def __init__(self, *coordinates: int) -> None:
        self._key = stream(*coordinates)
        self._drawn = 0

    def unit(self) -> float:
        """Draw a number in [0, 1)."""
        self._drawn += 1
        return uniform(self._key, self._drawn)

    def real(self, low: float, high: float) -> float:
        """Draw a number between two others."""
        return low + (high - low) * self.unit()

    def scale(self, low: float, high: float) -> float:
        """Draw a number whose order of magnitude is uniform."""
        return float(low * (high / low) ** self.unit())

    def whole(self, low: int, high: int) -> int:
        """Draw a whole number, both ends included."""
        return low + int(self.unit() * (high - low + 1))

    def happens(self, probability: float) -> bool:
        """Draw whether something happens."""
        return self.unit() < probability

    def pick(self, values: Sequence[T]) -> T:
        """Draw one of several values."""
        return values[int(self.unit() * len(values))]

    def some(self, values: Sequence[T], count: int) -> tuple[T, ...]:
        """Draw so many different values, in the order in which they are given."""
        left = list(range(len(values)))
        while len(left) > count:
            del left[int(self.unit() * len(left))]
        return tuple(values[position] for position in left)
