"""How many observations a buffer must hold before it may be shared: f(c) of the paper.

A threshold is a positive, non-decreasing function of the share number c = 1, 2, 3, ... It may also depend on how many
candidate arms are left. This file contains those functions and nothing else. They saturate, so that a pair that has
talked for years neither overflows nor slows down.

Three options change what the paper prints; all are off by default. `answers_advance=False`: a share sent in answer does
not advance c. `answers_wait=False`: an answer needs one observation, not f(c). `phases=True` of `Geometric`: every pair
of agents has a phase theta in [1, 2), and f(c) = theta base^(c-1), so that pairs of equal speed do not all exchange at
the same moments.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cobandit.values.checks import check_whole, keep_plain, plain
from cobandit.values.errors import LocalError

LARGEST_THRESHOLD = 2**62
"""Thresholds stop growing here: no agent will ever buffer that much, and it still fits 64 bits."""

TABULATED_SHARES = 4096
"""How many values of a user's own function are computed."""

PHASE_BITS = 16
"""A phase is one of 2^16 steps from 1 to 2, so that all arithmetic on it fits 64 bits."""

TRIED_SHARES = 64
"""How many values of a threshold class are checked before it is used."""

_DOUBLINGS_TO_LARGEST = 62


class Threshold(Protocol):
    """Decides when a buffer is large enough to be shared.

    It may also have `answers_wait`: whether an answer waits for f(c) observations, as Algorithm 1 is printed.
    """

    @property
    def answers_advance(self) -> bool:
        """Whether a share sent in answer to a share advances c, as Algorithm 1 is printed."""
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
    answers_wait: bool = True

    def __post_init__(self) -> None:
        keep_plain(self, "size")
        check_whole("a constant threshold", self.size, 1, LARGEST_THRESHOLD)

    def at(self, share_number: int, candidate_count: int) -> int:
        return self.size


@dataclass(frozen=True, slots=True)
class Geometric:
    """f(c) = base^(c-1), up to `cap`: base 2 is the paper's doubling.

    >>> [Geometric(2, cap=8).at(c, candidate_count=16) for c in (1, 2, 3, 4, 5, 6)]
    [1, 2, 4, 8, 8, 8]

    With `phases`, every pair of agents has its own threshold, which is never below this one.

    >>> pair = Geometric(2, cap=100, phases=True).between("j", "p")
    >>> [pair.at(c, candidate_count=16) for c in (1, 2, 3, 4, 5, 6, 7, 8)]
    [1, 2, 5, 11, 23, 47, 95, 100]
    """

    base: int = 2
    cap: int = LARGEST_THRESHOLD
    answers_advance: bool = True
    answers_wait: bool = True
    phases: bool = False

    def __post_init__(self) -> None:
        keep_plain(self, "base", "cap")
        check_whole("the base of a geometric threshold", self.base, 2, LARGEST_THRESHOLD)
        check_whole("the cap of a threshold", self.cap, 1, LARGEST_THRESHOLD)

    def at(self, share_number: int, candidate_count: int) -> int:
        power: int = self.base ** min(share_number - 1, _DOUBLINGS_TO_LARGEST)
        return min(power, self.cap)

    def between(self, one: str, other: str) -> Threshold:
        """Return the threshold for a pair of agents, the same in both directions."""
        if not self.phases:
            return self
        return _Phased(self, (phase_key(one) + phase_key(other)) % (1 << PHASE_BITS))


@dataclass(frozen=True, slots=True)
class _Phased:
    """A geometric threshold with the phase of one pair: theta = 1 + phase / 2^16."""

    whole: Geometric
    phase: int

    @property
    def answers_advance(self) -> bool:
        return self.whole.answers_advance

    @property
    def answers_wait(self) -> bool:
        return self.whole.answers_wait

    def at(self, share_number: int, candidate_count: int) -> int:
        return min(phased(self.whole.at(share_number, candidate_count), self.phase), self.whole.cap)


def phased(size: int, phase: int) -> int:
    """Return floor(theta size) with theta = 1 + phase / 2^16, without leaving 64 bits.

    >>> [phased(size, 1 << 15) for size in (1, 2, 3, 2**62)] == [1, 3, 4, 3 * 2**61]
    True
    """
    return size + (size >> 16) * phase + ((size & 0xFFFF) * phase >> 16)


def phase_key(name: str) -> int:
    """Return what an agent's name adds to the phases of its pairs: a hash of `PHASE_BITS` bits."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=PHASE_BITS // 8).digest(), "big")


@dataclass(frozen=True, slots=True)
class PerCandidate:
    """f(c) = |C| 2^(c-1), up to `cap`, with |C| the candidate arms left (Remark 4 and Appendix B.3).

    >>> [PerCandidate().at(c, candidate_count=16) for c in (1, 2, 3)]
    [16, 32, 64]
    """

    cap: int = LARGEST_THRESHOLD
    answers_advance: bool = True
    answers_wait: bool = True

    def __post_init__(self) -> None:
        keep_plain(self, "cap")
        check_whole("the cap of a threshold", self.cap, 1, LARGEST_THRESHOLD)

    def at(self, share_number: int, candidate_count: int) -> int:
        return min(candidate_count << min(share_number - 1, _DOUBLINGS_TO_LARGEST), self.cap)


class FromFunction:
    """Your own f(c). It is tabulated once, so a bad value shows up here and not in the middle of a run.

    >>> squares = FromFunction(lambda c: c * c)
    >>> [squares.at(c, candidate_count=16) for c in (1, 2, 3)]
    [1, 4, 9]

    The first `TABULATED_SHARES` values are used; after that, the threshold stays at the last of them.

    Raises:
        LocalError: A value is not a whole number, is below one, or is below the one before it.
    """

    __slots__ = ("answers_advance", "answers_wait", "values")

    def __init__(
        self, function: Callable[[int], int], *, answers_advance: bool = True, answers_wait: bool = True
    ) -> None:
        self.answers_advance = answers_advance
        self.answers_wait = answers_wait
        values: list[int] = []
        for share_number in range(1, TABULATED_SHARES + 1):
            value = plain(function(share_number))
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


def answers_wait(threshold: Threshold) -> bool:
    """Return whether an answer waits for f(c) observations. By default it does, as the paper prints it."""
    return bool(getattr(threshold, "answers_wait", True))


def threshold_between(threshold: Threshold, one: str, other: str) -> Threshold:
    """Return the threshold for a pair of agents: with phases each pair has its own."""
    return threshold.between(one, other) if isinstance(threshold, Geometric) else threshold


def is_bounded(threshold: Threshold) -> bool:
    """Return whether every share takes f(c) observations out of its sender's buffer, as Theorem 2 counts.

    With a constant f it does not matter whether answers advance c; with f = 1, nor whether they wait.
    """
    is_constant = isinstance(threshold, Constant)
    waits = answers_wait(threshold) or (is_constant and threshold.at(1, 1) == 1)
    return waits and (is_constant or threshold.answers_advance)


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
