"""A progress line for commands, drawn only on a terminal, with the simulator's notes above it.

The line is redrawn after each trial, and once a second by a thread of its own, so that a long trial still shows
progress. The trials know nothing about it: compiled ones do not hold the interpreter's lock.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_BAR = 30


@contextmanager
def notes(stream: TextIO) -> Iterator[list[str]]:
    """Write what the simulator has to say, such as that it waits for another process, on lines of their own.

    Yields:
        What it has said so far.
    """
    told: list[str] = []
    handler = logging.StreamHandler(stream)
    over_the_bar = "\r\x1b[K" if stream.isatty() else ""
    handler.setFormatter(logging.Formatter(f"{over_the_bar}cobandit: %(message)s"))
    log = logging.getLogger("cobandit.simulator")
    handler.addFilter(lambda record: told.append(record.getMessage()) or True)  # type: ignore[func-returns-value]
    log.addHandler(handler)
    try:
        yield told
    finally:
        log.removeHandler(handler)


class Progress:
    """A bar with the time that it will take, or has taken.

    Args:
        stream: Where to draw; nothing is drawn unless it is a terminal.
        clock: Tells the time in seconds.
        every: How many seconds between two drawings while no trial ends.
        what: What is counted.
    """

    def __init__(
        self,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        every: float = 1.0,
        what: str = "trials",
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._every = every
        self._what = what
        self._shown = stream.isatty()
        self._began: tuple[float, int] | None = None
        self._told = 0.0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self.done = self.total = 0

    def __call__(self, done: int, total: int) -> None:
        """Show how many trials are done."""
        with self._lock:
            self.done, self.total = done, total
            self._told = self._clock()
            self._began = self._began or (self._told, done)
            self._draw(self._told)
        if self._shown and self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def tick(self) -> None:
        """Show that time goes by."""
        with self._lock:
            self._draw(self._clock())

    def clear(self) -> None:
        """Take the bar away."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._shown and self._began is not None:
            self._began = None
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _run(self) -> None:
        while not self._over.wait(self._every):
            self.tick()

    def _draw(self, now: float) -> None:
        if self._shown:
            filled = _BAR * self.done // self.total
            counted = f"{self.done} of {self.total} {self._what}{self._time(now)}"
            self._stream.write(f"\r\x1b[K[{'#' * filled:{_BAR}}] {counted}")
            self._stream.flush()

    def _time(self, now: float) -> str:
        """Return the time left, counted down since the last trial ended; without an estimate, the time so far."""
        assert self._began is not None
        since, before = self._began
        if self.done == self.total:
            return ""
        if self.done > before:
            left = round((self._told - since) / (self.done - before) * (self.total - self.done) - (now - self._told))
            if left > 0:
                return f", about {_told(left)} left"
        so_far = round(now - since)
        return f", {_told(so_far)} so far" if so_far else ""


def _told(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{f'{hours}:{minutes:02}' if hours else minutes}:{seconds:02}"
