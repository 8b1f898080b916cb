"""The interface of a clock. All packages use it; `cobandit.live.drive.clock` implements it, and so do tests."""

from typing import Protocol


class Clock(Protocol):
    """Tells the time in seconds since 1970."""

    def now(self) -> float:
        """Return the time for waits and ages. It never goes back, and setting the clock does not change it."""
        ...

    def time_of_day(self) -> float:
        """Return the time of day, for comparison with other members' times. It follows every correction."""
        ...
