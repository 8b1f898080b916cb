"""How many observations a buffer must hold before it may be shared: f(c) of the paper.

A threshold is a positive, non-decreasing function of the share number c = 1, 2, 3, ... It may also use how many
candidate arms are left. This file owns those functions and nothing else. They saturate, so that a pair that has
talked for years neither overflows nor slows down.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cobandit.values.checks import check_whole
from cobandit.values.errors import LocalError

LARGEST_THRESHOLD = 2**62
"""Thresholds stop growing here: no agent will ever buffer as much, and it still fits 64 bits."""

TABULATED_SHARES = 4096
"""How many values of a user's own function are taken."""

TRIED_SHARES = 64
"""How many values of a threshold class are looked at before it is used."""

_DOUBLINGS_TO_LARGEST = 62


class Threshold(Protocol):
    """When a buffer is large enough to be shared."""

    @property
    def answers_advance(self) -> bool:
        """Whether a share sent in answer to a share moves c on, as Algorithm 1 prints it."""
        ...

    def at(self, share_number: int, candidate_count: int) -> int:
        """Return f(c) for the next share, with this many candidate arms left."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """f(c) = size: every share carries at least `size` observations.

    >>> [Constant(3).at(c, candidate_count=16) for c in (1, 2, 3)]
    [3, 3, 3]
    """

    size: int = 1
    answers_advance: bool = True

    def __post_init__(self) -> None:
        check_whole("a constant threshold", self.size, 1, LARGEST_THRESHOLD)

    def at(self, share_number: int, candidate_count: int) -> int:
        return self.size


@dataclass(frozen=True, slots=True)
class Geometric:
    """f(c) = base^(c-1), up to `cap`: base 2 is the paper's doubling.

    >>> [Geometric(2, cap=8).at(c, candidate_count=16) for c in (1, 2, 3, 4, 5, 6)]
    [1, 2, 4, 8, 8, 8]
    """

    base: int = 2
    cap: int = LARGEST_THRESHOLD
    answers_advance: bool = True

    def __post_init__(self) -> None:
        check_whole("the base of a geometric threshold", self.base, 2, LARGEST_THRESHOLD)
        check_whole("the cap of a threshold", self.cap, 1, LARGEST_THRESHOLD)

    def at(self, share_number: int, candidate_count: int) -> int:
        power: int = self.base ** min(share_number - 1, _DOUBLINGS_TO_LARGEST)
        return min(power, self.cap)


@dataclass(frozen=True, slots=True)
class PerCandidate:
    """f(c) = |C| 2^(c-1), up to `cap`, with |C| the candidate arms left (Remark 4 and Appendix B.3).

    >>> [PerCandidate().at(c, candidate_count=16) for c in (1, 2, 3)]
    [16, 32, 64]
    """

    cap: int = LARGEST_THRESHOLD
    answers_advance: bool = True

    def __post_init__(self) -> None:
        check_whole("the cap of a threshold", self.cap, 1, LARGEST_THRESHOLD)

    def at(self, share_number: int, candidate_count: int) -> int:
        return min(candidate_count << min(share_number - 1, _DOUBLINGS_TO_LARGEST), self.cap)


class FromFunction:
    """Any f(c) of your own. It is tabulated once, so a bad value shows here and not in the middle of a run.

    >>> squares = FromFunction(lambda c: c * c)
    >>> [squares.at(c, candidate_count=16) for c in (1, 2, 3)]
    [1, 4, 9]

    The first `TABULATED_SHARES` values are taken; from there on the threshold stays at the last of them.

    Raises:
        LocalError: A value is not a whole number, is below one, or is below the one before it.
    """

    __slots__ = ("answers_advance", "values")

    def __init__(self, function: Callable[[int], int], *, answers_advance: bool = True) -> None:
        self.answers_advance = answers_advance
        values: list[int] = []
        for share_number in range(1, TABULATED_SHARES + 1):
            value = function(share_number)
            check_whole(f"threshold f({share_number})", value, 1)
            if values and value < values[-1]:
                raise LocalError(
                    f"threshold f({share_number}) = {value} is below f({share_number - 1}) = {values[-1]}: "
                    "a threshold must never decrease"
                )
            values.append(min(value, LARGEST_THRESHOLD))
        self.values = tuple(values)

    def at(self, share_number: int, candidate_count: int) -> int:
        return self.values[min(share_number, TABULATED_SHARES) - 1]

    def __repr__(self) -> str:
        return f"FromFunction({', '.join(map(str, self.values[:8]))}, ...)"


def checked_threshold(threshold: Threshold | None) -> Threshold:
    """Return the threshold, or one observation if there is none.

    Raises:
        LocalError: It is not a threshold.
    """
    if threshold is None:
        return Constant(1)
    if isinstance(threshold, type) or not (hasattr(threshold, "at") and hasattr(threshold, "answers_advance")):
        raise LocalError(f"{threshold!r} is not a threshold: write Constant(2), Geometric(2) or FromFunction(f)")
    before = 1
    for share_number in range(1, TRIED_SHARES + 1):
        value = threshold.at(share_number, 1)
        check_whole(f"threshold f({share_number})", value, before)
        before = value
    return threshold
