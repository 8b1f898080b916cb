"""One event loop on one thread for all members of a process. Callers need no loop, and cannot stall this one."""

import asyncio
import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from queue import SimpleQueue
from time import perf_counter, sleep
from typing import Any, ParamSpec, TypeVar

from cobandit.values.errors import LocalError, NotNowError

Value = TypeVar("Value")
Parameters = ParamSpec("Parameters")

DISK_THREADS = 4
"""How many journals are written at the same time."""

WORK_UNTIL_BREAK, BREAK = 0.0005, 0.0002
"""Seconds."""


class Breaks:
    """Lets other threads run during long work. Python alone would make them wait five milliseconds."""

    def __init__(self) -> None:
        self._since = perf_counter()

    def __call__(self) -> None:
        """Take a break if the last one was a while ago."""
        if perf_counter() - self._since > WORK_UNTIL_BREAK:
            sleep(BREAK)
            self._since = perf_counter()


class Threads(Executor):
    """Threads that wait for disks, or compute.

    The standard library's executors accept no work once the main program has ended. But that is when a member that was
    not closed must still write everything to disk.
    """

    def __init__(self, purpose: str, count: int) -> None:
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        for number in range(1, count + 1):
            threading.Thread(target=self._run, name=f"cobandit-{purpose}-{number}", daemon=True).start()

    def submit(
        self, fn: Callable[Parameters, Value], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> "Future[Value]":
        """Run this on one of the threads."""
        future: Future[Value] = Future()
        self._work.put((future, partial(fn, *args, **kwargs)))
        return future

    def _run(self) -> None:
        while True:
            future, work = self._work.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  # the caller that waits gets the error
                future.set_exception(error)
            else:
                future.set_result(result)
            del future, work  # keep nothing alive until the next work


class Background:
    """A loop that runs for ever on its own thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.executor = Threads("disk", DISK_THREADS)
        self.matcher = Threads("odds", 1)
        self._thread = threading.Thread(target=self.loop.run_forever, name="cobandit", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Value]) -> "Future[Value]":
        """Run a coroutine on the loop, from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def is_here(self) -> bool:
        """Return whether the caller is on the loop's thread, where waiting would block for ever."""
        return threading.current_thread() is self._thread


_background: Background | None = None
_lock = threading.Lock()
_at_end: list[Callable[[], None]] = []


def background() -> Background:
    """Return this process's loop. The first call starts it."""
    global _background  # noqa: PLW0603  # there is one per process on purpose
    with _lock:
        if _background is None:
            _background = Background()
        return _background


def result_of(future: "Future[Value]", timeout: float | None = None, *, may_cancel: bool = True) -> Value:
    """Wait for what was submitted to the background loop.

    Args:
        future: What `Background.submit` returned.
        timeout: How many seconds to wait; `None` for no limit.
        may_cancel: Whether to cancel the work after the timeout.

    Raises:
        LocalError: It timed out, or this thread is the loop's own.
    """
    if background().is_here():
        raise LocalError("this was called on cobandit's own thread, where it would wait for itself")
    try:
        return future.result(timeout)
    except FutureTimeoutError as error:
        if future.done():
            raise
        if may_cancel:  # a stopping member must not be interrupted: its disk may be at work
            future.cancel()
        raise NotNowError(f"it did not happen within {timeout} seconds: see statistics().troubles") from error


def at_end(close: Callable[[], None]) -> Callable[[], None]:
    """Call this when the interpreter ends, unless the returned function is called first."""
    _at_end.append(close)

    def forget() -> None:
        if close in _at_end:
            _at_end.remove(close)

    return forget


@atexit.register
def _close_all() -> None:
    for close in tuple(_at_end):
        close()


def _forget() -> None:
    """In a forked child the thread is gone. Let the child start its own."""
    global _background, _lock
    _background, _lock = None, threading.Lock()
    _at_end.clear()


os.register_at_fork(after_in_child=_forget)


def exit_on_sigterm() -> None:
    """Make SIGTERM end the program in an orderly way: `with` blocks are left, and open members are closed.

    Raises:
        LocalError: The program handles the signal itself, or this is not its main thread.
    """
    present = signal.getsignal(signal.SIGTERM)
    if present is _exit:
        return
    if present is not signal.SIG_DFL:
        raise LocalError("this program handles SIGTERM itself: close the member there, without close_on_sigterm")
    try:
        signal.signal(signal.SIGTERM, _exit)
    except ValueError as error:
        raise LocalError("close_on_sigterm needs the main thread: Python takes signals there") from error


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)
