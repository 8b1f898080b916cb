"""What time it is, as a question. All rooms ask it; who answers is in `cobandit.live.drive.clock`, or a test."""

from typing import Protocol


class Clock(Protocol):
    """Tells the time in seconds since 1970."""

    def now(self) -> float:
        """Return the time for waits and ages: it never goes back, and the clock's being set does not change it."""
        ...

    def time_of_day(self) -> float:
        """Return the time as others have it, for what is compared with theirs. It follows every correction."""
        ...
