"""How it went: counts at moments, a bounded number of them however long it takes."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from cobandit.dashboard.frame import MOST_LINES, MOST_POINTS, Line, Series

RECENT_S = 30.0
"""What is called recent."""

MOST_COUNTED = 5000
"""Arms that are counted; of those that nobody has any more, some may go."""


@dataclass(frozen=True)
class Moment:
    """What had been counted until one moment."""

    at: float
    counts: Mapping[str, int]
    """Observations by arm."""
    shares: int
    immediate: int
    is_whole: bool = True
    """Whether everybody was asked who is here. While no page is open, only one member is: its sums are too low."""


class Moments:
    """A history that gets coarser, not shorter."""

    def __init__(self) -> None:
        self._kept: list[Moment] = []
        self._recent: deque[Moment] = deque()
        """The last half minute, and the moment before it: what is kept for long gets too coarse for that."""
        self._apart_s = 0.0
        """How far apart moments are at least; the last one may be nearer, and moves on."""
        self._keys: dict[str, int] = {}
        """Of arms that have or had a line."""

    def add(self, moment: Moment) -> None:
        """Add a moment. Counts never fall: a member that answers no more does not take back what it observed."""
        if self._kept:
            last = self._kept[-1].counts
            counts = {arm: max(count, last.get(arm, 0)) for arm, count in moment.counts.items()}
            gone = islice(((arm, last[arm]) for arm in last if arm not in counts), max(0, MOST_COUNTED - len(counts)))
            moment = replace(moment, counts={**counts, **dict(gone)})
        self._recent.append(moment)
        while len(self._recent) > 1 and not 0.0 <= moment.at - self._recent[1].at < RECENT_S:
            self._recent.popleft()
        if len(self._kept) > 1 and moment.at - self._kept[-2].at < self._apart_s:
            self._kept[-1] = moment
            return
        self._kept.append(moment)
        if len(self._kept) > MOST_POINTS:
            self._kept = [*self._kept[:-1:2], self._kept[-1]]
            self._apart_s = (self._kept[-1].at - self._kept[0].at) / (len(self._kept) - 1)

    @property
    def began(self) -> float:
        """When the first one was."""
        return self._kept[0].at

    def counts(self) -> Mapping[str, int]:
        """Return the counts of the last one."""
        return self._kept[-1].counts

    def recent_counts(self) -> dict[str, int]:
        """Return the observations by arm of about the last half minute."""
        since = self._recent[0].counts
        return {arm: count - since.get(arm, 0) for arm, count in self._recent[-1].counts.items()}

    def series(self, regret_of: Callable[[Mapping[str, int]], float | None] = lambda _: None) -> Series:
        """Return all of it, for drawing.

        Args:
            regret_of: The regret of some counts, if it is known.
        """
        first, last = self._kept[0].counts, self._kept[-1].counts
        grown = sorted(last, key=lambda arm: (first.get(arm, 0) - last[arm], arm))
        own, rest = grown[:MOST_LINES], grown[MOST_LINES:]
        if len(rest) == 1:
            own, rest = grown, []
        self._give_keys(own)
        lines = [Line(arm, self._steps([arm]), key=self._keys[arm]) for arm in own]
        if rest:
            lines.append(Line("", self._steps(rest), is_rest=True))
        regrets = tuple(regret for one in self._kept if (regret := regret_of(one.counts)) is not None)
        return Series(
            at=tuple(one.at for one in self._kept),
            lines=tuple(lines),
            shares=self._sums(lambda one: one.shares),
            immediate=self._sums(lambda one: one.immediate),
            regret=regrets if len(regrets) == len(self._kept) else None,
        )

    def _sums(self, of: Callable[[Moment], int]) -> tuple[int, ...]:
        """Return a sum at each moment; between two at which everybody was asked, those on a straight line.

        Otherwise what the others sent while no page was open would seem to be sent in the moment when one is opened.
        """
        found = [of(one) for one in self._kept]
        last = 0  # what was before the first moment is not known either
        for place, one in enumerate(self._kept):
            if not one.is_whole:
                continue
            start, low = self._kept[last].at, found[last]
            for between in range(last + 1, place):
                part = (self._kept[between].at - start) / ((one.at - start) or 1.0)
                found[between] = low + round(part * (found[place] - low))
            last = place
        return tuple(found)

    def _give_keys(self, arms: list[str]) -> None:
        """Give each of these arms a key, in the order of names: a key is no rank. An arm that has one keeps it."""
        for arm in sorted(set(arms) - self._keys.keys()):
            free = sorted(set(range(1, MOST_LINES + 2)) - set(self._keys.values()))
            if not free:  # taken over from one that has no line any more
                gone = next(one for one in self._keys if one not in arms)
                free = [self._keys.pop(gone)]
            self._keys[arm] = free[0]

    def _steps(self, arms: list[str]) -> tuple[int, ...]:
        totals = [sum(one.counts.get(arm, 0) for arm in arms) for one in self._kept]
        return (0, *(after - before for before, after in pairwise(totals)))
