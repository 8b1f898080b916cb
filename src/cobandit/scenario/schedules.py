"""When an agent decides: schedules as data, and the clocks that execute them.

A schedule is a frozen description. Its clock returns the decision slots one after the other. All randomness comes from
the keys of the tape, so the same tape gives the same slots whatever the agents do. The exception is `Halving`, which
depends on what its agent does. Slots are numbered from 0. Only the engine reads clocks: agents never know when they
will decide next.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

from cobandit.scenario.csv_files import as_number, read_csv
from cobandit.values.chance import uniform
from cobandit.values.checks import (
    check_positive,
    check_probability,
    check_whole,
    is_number,
    keep_plain,
    plain_arguments,
)
from cobandit.values.errors import LocalError

NEVER = 2**62
"""A slot that no run reaches."""


class ClockKeys(NamedTuple):
    """The streams of randomness that a clock may use, and the slot at which it may stop."""

    decisions: int
    toggles: int
    horizon: int


class Clock(Protocol):
    """Returns one agent's decision slots."""

    def next_slot(self, after: int) -> int:
        """Return the first decision slot after this one, or any past the horizon. Arguments grow from call to call."""
        ...

    def decided(self, *, sent: bool) -> None:
        """Note that the agent decided, and whether it sent a share with that decision."""
        ...


class Schedule(Protocol):
    """Describes when an agent decides."""

    def clock(self, keys: ClockKeys) -> Clock:
        """Return a clock that starts before slot 0."""
        ...


def log_of_miss(rate: float) -> float:
    """Return log(1 - rate), the only function of a rate that a gap needs.

    >>> log_of_miss(1.0), log_of_miss(0.0)
    (-inf, -0.0)
    """
    return -math.inf if rate >= 1.0 else math.log1p(-rate)


def gap(chance: float, log_miss: float) -> int:
    """Return how many slots until the next success, at least one: a geometric variable by inversion.

    >>> gap(0.0, log_of_miss(0.5)), gap(0.6, log_of_miss(0.5)), gap(0.999, log_of_miss(1.0))
    (1, 2, 1)
    """
    if log_miss == 0.0:
        return NEVER
    slots = math.log(1.0 - chance) / log_miss  # 1 - chance is exact: chance is a multiple of 2^-53
    return NEVER if slots >= NEVER else 1 + int(slots)


@dataclass(frozen=True, slots=True)
class Rate:
    """Decide in each slot with the same probability."""

    rate: float

    def __post_init__(self) -> None:
        keep_plain(self, "rate")
        check_probability("rate", self.rate)

    def clock(self, keys: ClockKeys) -> Clock:
        """Return a clock."""
        return _RateClock(self.rate, keys.decisions)


@dataclass(frozen=True, slots=True)
class Halving:
    """Decide with a probability that halves after each decision in which the agent sends (Experiment 4)."""

    rate: float

    def __post_init__(self) -> None:
        keep_plain(self, "rate")
        check_probability("rate", self.rate)

    def clock(self, keys: ClockKeys) -> Clock:
        """Return a clock."""
        return _HalvingClock(self.rate, keys.decisions)


@dataclass(frozen=True, slots=True)
class Sine:
    """Decide in slot t with probability max(0, sin(phase + t / slots_per_radian)) (Experiment 7)."""

    phase: float
    slots_per_radian: float = 30.0

    def __post_init__(self) -> None:
        keep_plain(self, "phase", "slots_per_radian")
        if not (is_number(self.phase) and math.isfinite(self.phase)):
            raise LocalError(f"phase must be a number, not {self.phase!r}")
        check_positive("slots_per_radian", self.slots_per_radian)
        if not math.isfinite(self.phase + NEVER / self.slots_per_radian):
            raise LocalError(
                f"a sine cannot turn as fast as with slots_per_radian = {self.slots_per_radian!r} and phase = "
                f"{self.phase!r}: take a larger slots_per_radian, or a smaller phase"
            )

    def clock(self, keys: ClockKeys) -> Clock:
        """Return a clock."""
        return _SineClock(self, keys)


@dataclass(frozen=True, slots=True)
class OnOff:
    """Start online, toggle at the start of each slot with probability `toggle`, and decide with `rate` while online.

    An offline agent is merely silent: it sends no notice (Experiment 5).
    """

    rate: float
    toggle: float

    def __post_init__(self) -> None:
        keep_plain(self, "rate", "toggle")
        check_probability("rate", self.rate)
        check_probability("toggle", self.toggle)

    def clock(self, keys: ClockKeys) -> Clock:
        """Return a clock."""
        return _OnOffClock(self, keys)


@dataclass(frozen=True, slots=True)
class Slots:
    """Decide in exactly these slots."""

    slots: tuple[int, ...]

    def __post_init__(self) -> None:
        keep_plain(self, "slots")
        if not isinstance(self.slots, tuple):
            raise LocalError(f"explicit slots must be a tuple of whole numbers, not {self.slots!r}")
        before = -1
        for slot in self.slots:
            check_whole("a decision slot", slot, 0)
            if slot <= before:
                raise LocalError(f"decision slots must increase, but {slot} comes after {before}: sort them, once each")
            before = slot

    def clock(self, keys: ClockKeys) -> Clock:
        """Return a clock."""
        return _SlotsClock(self.slots)


@plain_arguments
def schedules_from_csv(path: Path | str, *, seconds_per_slot: float | None = None) -> dict[str, Slots]:
    """Read the decision times of a real system's agents, as one schedule per agent.

    The file has a column `agent` and either a column `slot` (whole numbers from 0) or, with `seconds_per_slot`, a
    column `time` in seconds; slot 0 is then that of the earliest time in the file. Rows may be in any order.

    Raises:
        LocalError: A cell is not a number, or an agent decides twice in one slot.
    """
    column = "slot" if seconds_per_slot is None else "time"
    rows = read_csv(path, ("agent", column))
    numbers = [as_number(path, line, column, row[column]) for line, row in rows]
    if seconds_per_slot is not None:
        check_positive("seconds_per_slot", seconds_per_slot)
        finite = [number for number in numbers if math.isfinite(number)]
        first = min(finite, default=0.0)
        numbers = [math.floor((n - first) / seconds_per_slot) if math.isfinite(n) else n for n in numbers]
    slots: dict[str, list[int]] = {}
    for (line, row), number in zip(rows, numbers, strict=True):
        if not row["agent"]:
            raise LocalError(f"{path}, line {line}: no agent is named")
        if not math.isfinite(number) or number != int(number) or number < 0:
            raise LocalError(f"{path}, line {line}: {row[column]!r} is not a {column}")
        slots.setdefault(row["agent"], []).append(int(number))
    for agent, taken in slots.items():
        taken.sort()
        for earlier, later in pairwise(taken):
            if earlier == later:
                raise LocalError(f"{path}: agent {agent} decides twice in slot {later}: use shorter slots")
    return {agent: Slots(tuple(taken)) for agent, taken in slots.items()}


class _RateClock:
    def __init__(self, rate: float, key: int) -> None:
        self._rate = rate
        self._log_miss = log_of_miss(rate)
        self._key = key
        self._drawn = 0

    def next_slot(self, after: int) -> int:
        chance = uniform(self._key, self._drawn)
        self._drawn += 1
        return after + gap(chance, self._log_miss)

    def decided(self, *, sent: bool) -> None:
        pass


class _HalvingClock(_RateClock):
    def decided(self, *, sent: bool) -> None:
        if sent:
            self._rate /= 2.0
            self._log_miss = log_of_miss(self._rate)


class _SineClock:
    def __init__(self, schedule: Sine, keys: ClockKeys) -> None:
        self._schedule = schedule
        self._keys = keys

    def next_slot(self, after: int) -> int:
        phase, slots_per_radian = self._schedule.phase, self._schedule.slots_per_radian
        for slot in range(after + 1, self._keys.horizon):
            if uniform(self._keys.decisions, slot) < math.sin(phase + slot / slots_per_radian):
                return slot
        return NEVER

    def decided(self, *, sent: bool) -> None:
        pass


class _OnOffClock:
    def __init__(self, schedule: OnOff, keys: ClockKeys) -> None:
        self._horizon = keys.horizon
        self._decisions = _RateClock(schedule.rate, keys.decisions)
        self._toggles = _RateClock(schedule.toggle, keys.toggles)
        self._online_until: int | None = None

    def next_slot(self, after: int) -> int:
        if self._online_until is None:
            self._online_until = self._toggles.next_slot(after)
        slot = self._decisions.next_slot(after)
        # A geometric gap has no memory: what remains of it after an online period is drawn anew in the next.
        while slot >= self._online_until:
            if self._online_until >= self._horizon:
                return NEVER
            online_again = self._toggles.next_slot(self._online_until)
            self._online_until = self._toggles.next_slot(online_again)
            slot = self._decisions.next_slot(online_again - 1)
        return slot

    def decided(self, *, sent: bool) -> None:
        pass


class _SlotsClock:
    def __init__(self, slots: Sequence[int]) -> None:
        self._slots = slots

    def next_slot(self, after: int) -> int:
        position = bisect_right(self._slots, after)
        return self._slots[position] if position < len(self._slots) else NEVER

    def decided(self, *, sent: bool) -> None:
        pass
