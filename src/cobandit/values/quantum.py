"""Rewards as exact integers.

A reward is a real number in [0, 1]. Sums of floats depend on the order of addition, so two agents that merged the same
observations in different orders would disagree in the last bits for ever. Therefore a group declares a *quantum*, the
smallest step of a reward, and everything inside counts whole quanta. This file does that conversion.
"""

from functools import cache

from cobandit.values.checks import check_probability, is_number
from cobandit.values.errors import LocalError

BERNOULLI = 1.0
"""The quantum of rewards that are 0 or 1."""

MILLIONTH = 1e-6
"""The default quantum: any real reward, rounded to six digits."""

SMALLEST_QUANTUM = 1e-9

LARGEST_SQUARE = 2**30
"""The largest number of square units of a reward. With 2^32 observations their sum still fits 64 bits."""


@cache
def square_unit(per_reward: int) -> int:
    """Return how many squared quanta make one unit of a sum of squares: one, unless the sum would not fit 64 bits.

    >>> square_unit(1), square_unit(100), square_unit(1_000_000)
    (1, 1, 932)
    """
    return max(1, -(-per_reward * per_reward // LARGEST_SQUARE))


class Quantum:
    """The declared step of a reward.

    >>> Quantum(0.01).units(0.25)
    25
    """

    __slots__ = ("per_reward", "square_size", "square_unit", "step")

    def __init__(self, step: float) -> None:
        if not (is_number(step) and SMALLEST_QUANTUM <= step <= 1.0):
            raise LocalError(
                f"quantum {step!r} is not a number from {SMALLEST_QUANTUM} to 1: declare the smallest step of a reward"
            )
        per_reward = round(1.0 / step)
        if abs(per_reward * step - 1.0) > 1e-9:
            raise LocalError(
                f"quantum {step!r} does not divide a reward of 1 into whole steps: use 1, 0.5, 0.1, 0.01, ..."
            )
        self.step = float(step)
        self.per_reward: int = per_reward
        """How many quanta a reward of 1 has."""
        self.square_unit: int = square_unit(per_reward)
        self.square_size: float = self.square_unit / (per_reward * per_reward)
        """One unit of a sum of squares, as a square of a reward."""

    def square(self, units: int) -> int:
        """Return the square of a reward of `units` quanta, in units of squares, rounded down.

        >>> Quantum(0.01).square(25), Quantum(1e-6).square(1_000_000)
        (625, 1072961373)
        """
        return units * units // self.square_unit

    def units(self, reward: float) -> int:
        """Convert a reward to quanta, rounding to the nearest.

        Raises:
            LocalError: The reward is not a number in [0, 1], or it is neither 0 nor 1 where only these are allowed.
        """
        check_probability("a reward", reward)
        units = round(float(reward) * self.per_reward)
        # With a quantum of 1, rounding would falsify any reward in between, so the declaration is taken literally.
        if self.per_reward == 1 and units != reward:
            raise LocalError(f"reward {reward!r} is neither 0 nor 1, as a quantum of 1 declares: use a smaller quantum")
        return units

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantum) and self.per_reward == other.per_reward

    def __hash__(self) -> int:
        return hash(self.per_reward)

    def __repr__(self) -> str:
        return f"Quantum({self.step!r})"
