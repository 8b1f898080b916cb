"""What time it is. Everything else in this room asks here, so that a test can say what time it is."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time in seconds since 1970."""

    def now(self) -> float:
        """Return the time."""
        ...


class SystemClock:
    """The time of day when it was made, and from there on as many seconds as have passed.

    So a correction of the machine's clock does not end or prolong any wait while the program runs; after a restart the
    protocol copes with whatever time it is.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """Return the time."""
        return self._offset + time.monotonic()


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
