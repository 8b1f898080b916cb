"""Waiting for what other threads and processes do."""

import time
from collections.abc import Callable

WITHIN = 60.0


def until(is_so: Callable[[], bool], what: Callable[[], object] = lambda: "it never came to hold") -> None:
    """Wait until something is so. If it never is, say what is."""
    deadline = time.monotonic() + WITHIN
    while not is_so():
        assert time.monotonic() < deadline, what()
        time.sleep(0.01)
