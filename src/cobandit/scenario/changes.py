"""Arms whose means change: they switch, drift, follow a sine, walk at random, or come from a file.

All changes become one value: a `Course`, with means that hold from one slot to the next. A drift moves in steps, so a
course is small even if the horizon is not, and both engines use the same one. The arms of a world are part of it, so
they do not change with the seed of the trials. `cobandit.scenario.paying` says what an arm pays, given its mean.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cobandit.scenario.csv_files import as_number, read_csv
from cobandit.values.chance import normal, stream
from cobandit.values.checks import check_positive, check_whole, is_number, keep_plain
from cobandit.values.errors import LocalError
from cobandit.values.reward_range import RewardRange
from cobandit.values.tally import Arm

MAX_STEPS = 100_000
"""Maximum number of times at which means change."""

MAX_MEANS = 4_000_000
"""Maximum number of steps times arms."""

USUAL_STEPS = 1_000
"""The default number of steps of a drift."""

STEPS_PER_PERIOD = 100
"""The default number of steps of a sine in each of its periods."""

FAR = 2.0**65
"""No course has as many slots, nor as many radians."""

Means = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """The means of all arms over time: those of `means[i]` hold from slot `starts[i]` on, and the first from slot 0."""

    starts: tuple[int, ...]
    means: tuple[Means, ...]


@dataclass(frozen=True, slots=True)
class Switches:
    """Means that switch at given slots.

    Args:
        steps: For each switch, its slot and the means of all arms from that slot on.
    """

    steps: tuple[tuple[int, Means], ...]

    def __post_init__(self) -> None:
        keep_plain(self, "steps")
        last = -1
        for step in self.steps:
            if not isinstance(step, tuple | list) or len(step) != 2 or not isinstance(step[1], tuple | list):
                raise LocalError(f"a switch is a slot and the means from it on, not {step!r}")
            check_whole("the slot of a switch", step[0], 0)
            if step[0] <= last:
                raise LocalError(f"switches must be in the order of their slots, but {step[0]} comes after {last}")
            last = step[0]
        if not self.steps:
            raise LocalError("there are no switches: give at least one slot with its means")
        object.__setattr__(self, "steps", tuple((slot, tuple(means)) for slot, means in self.steps))

    def course(self, means: Means, horizon: int) -> Iterator[tuple[int, Sequence[float]]]:
        """Yield slots and means."""
        yield 0, means
        yield from ((slot, later) for slot, later in self.steps if slot < horizon)

    @classmethod
    def from_csv(cls, path: Path | str, arms: Sequence[Arm], means: Sequence[float]) -> "Switches":
        """Read a file with the columns `slot`, `arm` and `mean`. An arm keeps its mean until its next row."""
        known: dict[Arm, float] = dict(zip(arms, means, strict=True))
        steps: dict[int, Means] = {}
        last = 0
        for line, row in read_csv(path, ("slot", "arm", "mean")):
            slot, arm = as_number(path, line, "slot", row["slot"]), row["arm"]
            if not (math.isfinite(slot) and slot == int(slot) and slot >= last):
                raise LocalError(
                    f"{path}, line {line}: slot must be a whole number of at least {last}, not {row['slot']!r}: sort "
                    "the rows by slot"
                )
            if arm not in known:
                raise LocalError(f"{path}, line {line}: arm {arm!r} is not one of {', '.join(list(arms)[:20])}")
            last = int(slot)
            known[arm] = as_number(path, line, "mean", row["mean"])
            steps[last] = tuple(known.values())
        return cls(tuple(steps.items()))


@dataclass(frozen=True, slots=True)
class Linear:
    """Means that drift along a line and then stay constant.

    Args:
        to: The mean of each arm at the end of the drift.
        start: The slot in which the drift begins.
        stop: The slot in which the drift has ended; the horizon by default.
        every: The number of slots between two steps; a thousandth of the drift by default.
    """

    to: Means
    start: int = 0
    stop: int | None = None
    every: int | None = None

    def __post_init__(self) -> None:
        keep_plain(self, "to", "start", "stop", "every")
        check_whole("the start of a drift", self.start, 0)
        if self.stop is not None:
            check_whole("the stop of a drift", self.stop, self.start + 1)
        _check_every(self.every)

    def course(self, means: Means, horizon: int) -> Iterator[tuple[int, Sequence[float]]]:
        """Yield slots and means."""
        _check_count("to", self.to, means)
        stop = horizon if self.stop is None else self.stop
        length = max(1, stop - self.start)
        every = self.every or -(-length // USUAL_STEPS)
        yield 0, means
        for slot in range(self.start + every, min(stop, horizon), every):
            part = (slot - self.start) / length
            yield slot, [mean + part * (end - mean) for mean, end in zip(means, self.to, strict=True)]
        if stop < horizon:
            yield stop, self.to


@dataclass(frozen=True, slots=True)
class Sinusoid:
    """Means that go up and down: mean + amplitude sin(2 pi slot / period + phase).

    Args:
        amplitudes: The amplitude of each arm; one number means the same for all.
        period: The period, in slots.
        phases: The phase at which each arm starts, in radians; spread evenly over the circle by default.
        every: The number of slots between two steps; a hundredth of the period by default.
    """

    amplitudes: Means | float
    period: float
    phases: Means | None = None
    every: int | None = None

    def __post_init__(self) -> None:
        keep_plain(self, "amplitudes", "period", "phases", "every")
        check_positive("the period of a sine", self.period)
        if not math.isfinite(FAR / self.period):
            raise LocalError(f"a sine cannot turn as fast as with period = {self.period!r}: take a larger period")
        _check_every(self.every)

    def course(self, means: Means, horizon: int) -> Iterator[tuple[int, Sequence[float]]]:
        """Yield slots and means."""
        arms = len(means)
        far = (float(self.amplitudes),) * arms if is_number(self.amplitudes) else tuple(self.amplitudes)  # type: ignore[arg-type]
        _check_count("amplitudes", far, means)
        phases = tuple(2.0 * math.pi * arm / arms for arm in range(arms)) if self.phases is None else self.phases
        _check_count("phases", phases, means)
        every = self.every or max(1, round(self.period / STEPS_PER_PERIOD))
        for slot in range(0, horizon, every):
            turn = 2.0 * math.pi * slot / self.period
            yield slot, [mean + a * math.sin(turn + phase) for mean, a, phase in zip(means, far, phases, strict=True)]


@dataclass(frozen=True, slots=True)
class Walk:
    """Means that follow a random walk: normal steps, reflected at the ends of the range.

    Args:
        sd: The standard deviation of a step, in units of the reward.
        every: The number of slots between two steps; a thousandth of the horizon by default.
        seed: The seed of the walk. It is part of the world and does not depend on the seed of the trials.
    """

    sd: float
    every: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        keep_plain(self, "sd", "every", "seed")
        check_positive("the sd of a walk", self.sd)
        _check_every(self.every)
        check_whole("the seed of a walk", self.seed, 0)

    def course(self, means: Means, horizon: int, rewards: RewardRange) -> Iterator[tuple[int, Sequence[float]]]:
        """Yield slots and means."""
        every = self.every or -(-horizon // USUAL_STEPS)
        here = list(means)
        yield 0, means
        for step, slot in enumerate(range(every, horizon, every)):
            for arm, mean in enumerate(here):
                moved = mean + self.sd * normal(stream(self.seed, 0x3A1C, arm, step))
                here[arm] = _thrown_back(moved, rewards)
            yield slot, tuple(here)


Changes = Switches | Linear | Sinusoid | Walk
KINDS = (Switches, Linear, Sinusoid, Walk)


def course_of(changes: Changes, names: Sequence[Arm], means: Means, rewards: RewardRange, horizon: int) -> Course:
    """Return the means of all arms over time.

    Raises:
        LocalError: A mean leaves the range of rewards, the number of means differs from that of arms, or there are too
            many steps.

    >>> course_of(Switches(((50, (0.9, 0.1)),)), ("A", "B"), (0.2, 0.8), RewardRange(), 100)
    Course(starts=(0, 50), means=((0.2, 0.8), (0.9, 0.1)))
    """
    most = min(MAX_STEPS, MAX_MEANS // len(names))
    yielded = changes.course(means, horizon, rewards) if isinstance(changes, Walk) else changes.course(means, horizon)
    steps: Mapping[int, Means] = _gathered(yielded, most)
    for slot, later in steps.items():
        _check_count("means", later, means)
        for arm, mean in zip(names, later, strict=True):
            if not rewards.holds(mean):
                raise LocalError(
                    f"arm {arm!r} would have the mean {mean!r} in slot {slot}, but rewards are in [{rewards.low:g}, "
                    f"{rewards.high:g}]: let it change less, or declare a wider range"
                )
    return Course(tuple(steps), tuple(steps.values()))


def step_at(starts: Sequence[int], slot: int, step: int) -> int:
    """Return the step that a slot is in. Begin the search at an earlier step."""
    while step + 1 < len(starts) and starts[step + 1] <= slot:
        step += 1
    return step


def _gathered(yielded: Iterator[tuple[int, Sequence[float]]], most: int) -> dict[int, Means]:
    steps: dict[int, Means] = {}
    for slot, means in yielded:
        steps[slot] = tuple(means)
        if len(steps) > most:
            raise LocalError(f"means change more than {most:,} times: let them change less often (every)")
    return steps


def _thrown_back(mean: float, rewards: RewardRange) -> float:
    """Return a mean after reflection: as far inside the range as it would be outside, and never outside."""
    if mean < rewards.low:
        mean = 2.0 * rewards.low - mean
    elif mean > rewards.high:
        mean = 2.0 * rewards.high - mean
    return min(rewards.high, max(rewards.low, mean))


def _check_every(every: int | None) -> None:
    if every is not None:
        check_whole("every", every, 1)


def _check_count(what: str, numbers: object, means: Sequence[float]) -> None:
    fits = isinstance(numbers, tuple | list) and len(numbers) == len(means) and all(map(is_number, numbers))
    if not fits:
        raise LocalError(f"{what} must be {len(means)} numbers, one for each arm, not {numbers!r}")
