"""The list of what happened: bounded, numbered, newest first."""

from collections import deque
from collections.abc import Iterable

import msgspec

from cobandit.dashboard.changes import Change
from cobandit.dashboard.frame import MOST_EVENTS, Event

TOGETHER_S = 60.0
"""What a member refuses for one reason within so many seconds is one event, or a flood would wash the others away."""


class Events:
    """What happened, as far back as there is room."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self._refusals: dict[tuple[str, str], tuple[int, float, int]] = {}
        """For each member and reason: the number of the last event, when it began, and how many it counts."""
        self._last = 0

    def add(self, changes: Iterable[Change], at: float) -> None:
        """Add what happened."""
        for change in changes:
            if change.kind == "refused":
                self._add_refusals(change, at)
            else:
                self._append(Event(0, at, change.kind, change.who, change.text))

    def newest_first(self) -> tuple[Event, ...]:
        """Return all that are kept."""
        return tuple(reversed(self._events))

    def _add_refusals(self, change: Change, at: float) -> None:
        number, began, count = self._refusals.get((change.who, change.text), (0, at, 0))
        place = next((place for place, event in enumerate(self._events) if event.number == number), None)
        if place is None or not 0.0 <= at - began < TOGETHER_S:
            began, count = at, 0
        else:
            del self._events[place]
        count += change.times
        packets = "a packet" if count == 1 else f"{count:,} packets"
        self._append(Event(0, at, change.kind, change.who, f"refused {packets}: {change.text}"))
        self._refusals[change.who, change.text] = (self._last, began, count)

    def _append(self, event: Event) -> None:
        self._last += 1
        self._events.append(msgspec.structs.replace(event, number=self._last))
