"""What really happened, kept outside of every member: who decided what, which rewards were given, what was counted.

A reward belongs to its decision: whoever brings it, and however often, it is the same. So whatever is counted for a
decision can be looked up here.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from cobandit.values.tally import Arm
from lab.live_swarm.computer import Disk
from lab.live_swarm.insides import Origin


@dataclass(slots=True, eq=False)
class Made:
    """A decision that was made."""

    member: str
    number: int
    arm: Arm
    token: str
    at: float
    """When, in the time of the world."""
    units: int
    """Its reward, in quanta."""
    start: int
    """Which process made it."""
    is_withdrawn: bool = False
    is_given: bool = False
    """Whether anybody has brought its reward anywhere yet."""


class Place(NamedTuple):
    """Where a decision was counted: as the n-th of an arm, in an incarnation of its member."""

    origin: Origin
    arm: Arm
    nth: int


@dataclass(slots=True)
class ArmLog:
    """What one incarnation of a member observed of an arm, in order."""

    sums: list[int] = field(default_factory=lambda: [0])
    numbers: list[int] = field(default_factory=list)
    written: int = 0
    """So many of them were on its disk once, so that others may know of them."""


@dataclass(slots=True)
class Bounds:
    """The most that can have been observed of an arm, in the whole world."""

    count: int = 0
    most: int = 0
    """If every decision for which two rewards are possible had the higher one."""
    least: int = 0


class Truth:
    """All of it."""

    def __init__(self) -> None:
        self.decisions: dict[tuple[str, int], Made] = {}
        self.logs: dict[Origin, dict[Arm, ArmLog]] = {}
        """What each incarnation has observed."""
        self.used: dict[Origin, int] = {}
        """Which incarnations there were, and the last process that was one."""
        self.counted: defaultdict[tuple[str, int], list[Place]] = defaultdict(list)
        self.twice: list[tuple[Place, Place]] = []
        """Decisions that were counted in two incarnations, because the first was forgotten: nobody may know of both."""
        self.words: set[tuple[str, str | None, str]] = set()
        """What operators said: which control, which value, who is told to have said it."""
        self.written_words: dict[str, tuple[int, str]] = {}
        """The highest word on each control that was ever written down."""
        self.bounds: defaultdict[Arm, Bounds] = defaultdict(Bounds)
        self.promised: dict[str, list[Disk]] = {}
        """Rewards, by token, that were taken and are to be brought to the member that decided: which disks had them."""
        self.expired: set[tuple[str, int]] = set()
        self._possible: dict[tuple[str, int], tuple[int, int]] = {}

    def may_count(self, member: str, number: int, arm: Arm, units: int) -> None:
        """Take it that a decision may be counted with this reward."""
        bounds, before = self.bounds[arm], self._possible.get((member, number))
        if before is None:
            bounds.count += 1
            bounds.most += units
            bounds.least += units
            self._possible[member, number] = units, units
            return
        low, high = before
        self._possible[member, number] = min(low, units), max(high, units)
        bounds.most += max(0, units - high)
        bounds.least -= max(0, low - units)

    def observed(self, origin: Origin, arm: Arm, number: int, units: int) -> None:
        """Take it that a member has counted a decision, and will write that down."""
        log = self.logs.setdefault(origin, {}).setdefault(arm, ArmLog())
        log.numbers.append(number)
        log.sums.append(log.sums[-1] + units)
        place = Place(origin, arm, len(log.numbers))
        earlier = self.counted[origin.member, number]
        self.twice += [(other, place) for other in earlier]
        earlier.append(place)

    def wrote(self, origin: Origin) -> None:
        """Take it that all that was observed is on the disk."""
        for log in self.logs.get(origin, {}).values():
            log.written = len(log.numbers)

    def forgot(self, origin: Origin) -> None:
        """Take it that a process ended, and with it what it had not written down."""
        for arm, log in self.logs.get(origin, {}).items():
            for count in range(log.written + 1, len(log.numbers) + 1):
                place = Place(origin, arm, count)
                self.counted[origin.member, log.numbers[count - 1]].remove(place)
                self.twice = [pair for pair in self.twice if place not in pair]
            del log.numbers[log.written :], log.sums[log.written + 1 :]
