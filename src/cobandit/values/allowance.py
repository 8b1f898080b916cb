"""How much of something may happen: a burst, and a rate per second. It has no clock."""


class Allowance:
    """What is left of a limit that refills with time.

    Args:
        per_second: How much comes back each second.
        at_once: The maximum, and the initial amount.

    >>> allowance = Allowance(per_second=1.0, at_once=2.0)
    >>> [allowance.take(now) for now in (0.0, 0.0, 0.0, 1.0)]
    [True, True, False, True]
    """

    __slots__ = ("at_once", "left", "per_second", "seen_at")

    def __init__(self, per_second: float, at_once: float) -> None:
        self.per_second, self.at_once, self.left = per_second, at_once, at_once
        self.seen_at: float | None = None

    def take(self, now: float, amount: float = 1.0) -> bool:
        """Take some of it if there is enough. Return whether there was."""
        self._fill(now)
        if self.left < amount:
            return False
        self.left -= amount
        return True

    def wait(self, now: float, amount: float = 1.0) -> float:
        """Take some of it, now or in advance. Return how many seconds to wait until it is available."""
        self._fill(now)
        self.left -= amount
        return max(0.0, -self.left / self.per_second)

    def is_full(self, now: float) -> bool:
        """Return whether it is as full as at the start, so that it need not be remembered."""
        self._fill(now)
        return self.left >= self.at_once

    def _fill(self, now: float) -> None:
        elapsed = 0.0 if self.seen_at is None else max(0.0, now - self.seen_at)  # the clock may have gone back
        self.left, self.seen_at = min(self.at_once, self.left + elapsed * self.per_second), now
