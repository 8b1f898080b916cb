"""Who says what time it is: this computer, or a test. The question is `cobandit.live.decide.clock.Clock`."""

import time

from cobandit.live.decide.clock import Clock


def _passed() -> float:
    """Return the seconds since some moment, those in which the computer slept included where it can say so."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()  # stands still on macOS while it sleeps


class SystemClock:
    """The time of day when it was made, and from there on as many seconds as have passed.

    So a correction of the computer's clock does not end or prolong any wait while the program runs; after a restart the
    protocol copes with whatever time it is. Seconds in which the computer sleeps have passed, too.
    """

    def __init__(self) -> None:
        self._offset = time.time() - _passed()

    def now(self) -> float:
        """Return the time by which waits and ages are counted."""
        return self._offset + _passed()

    def time_of_day(self) -> float:
        """Return what the computer says now."""
        return time.time()


class NeverBack:
    """A clock of the user's own. If it is set back, waits and ages go on from where they were.

    >>> mine = VirtualClock()
    >>> mine.time = 100.0
    >>> clock = NeverBack(mine)
    >>> mine.time = 40.0
    >>> mine.time, clock.now(), clock.time_of_day()
    (40.0, 100.0, 40.0)
    >>> mine.time = 41.0
    >>> clock.now()
    101.0
    """

    def __init__(self, clock: Clock) -> None:
        self.time_of_day = clock.time_of_day
        self._clock = clock
        self._ahead = 0.0
        self._last = clock.now()

    def now(self) -> float:
        """Return the time by which waits and ages are counted."""
        now = self._clock.now()
        self._ahead = max(self._ahead, self._last - now)
        self._last = now + self._ahead
        return self._last


class VirtualClock:
    """Time that passes only when told to.

    >>> clock = VirtualClock()
    >>> clock.time = 12.5
    >>> clock.now()
    12.5
    """

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """Return the time."""
        return self.time

    def time_of_day(self) -> float:
        """Return the same."""
        return self.time
