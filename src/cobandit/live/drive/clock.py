"""Implementations of `cobandit.live.decide.clock.Clock`: this computer's clock, and clocks for tests."""

import time

from cobandit.live.decide.clock import Clock


def _passed() -> float:
    """Return the seconds since some moment, including time that the computer slept where the system reports it."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()  # on macOS, stands still during sleep


class SystemClock:
    """The time of day at its creation, plus the seconds that have passed since.

    So correcting the computer's clock neither ends nor prolongs a wait while the program runs. After a restart, the
    protocol copes with any time. Seconds in which the computer sleeps count too.
    """

    def __init__(self) -> None:
        self._offset = time.time() - _passed()

    def now(self) -> float:
        """Return the time for waits and ages."""
        return self._offset + _passed()

    def time_of_day(self) -> float:
        """Return the computer's present time of day."""
        return time.time()


class NeverBack:
    """Wraps a user's own clock. If that is set back, waits and ages continue from where they were.

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
        """Return the time for waits and ages."""
        now = self._clock.now()
        self._ahead = max(self._ahead, self._last - now)
        self._last = now + self._ahead
        return self._last


class VirtualClock:
    """Time that passes only when a test sets it.

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
        """Return the same time."""
        return self.time
