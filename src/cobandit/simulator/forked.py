"""Python work in several processes at once, because threads would take turns on one core.

A process is forked, so it has everything that this one has: policies and protocols from a script or a notebook, and
lambdas. Only its return values and exceptions are sent back. Other changes, such as to a list of the user's, are not.
Where a process cannot be forked, the caller must do without (`can_fork`).

No process outlives the one that forked it, however that one ends.
"""

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from cobandit.values.errors import LocalError

Given = TypeVar("Given")
Returned = TypeVar("Returned")

SECONDS_TO_END = 1.0
"""Seconds that a process may take to end after it is told to."""

_C_LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None
_SIGNAL_AT_PARENTS_END = 1
"""`PR_SET_PDEATHSIG` of Linux's `prctl`."""

_FORKING = threading.Lock()
"""Held while forking. Otherwise a process that another thread forks would keep the sending end of the pipe open."""


def can_fork() -> bool:
    """Return whether processes can be forked: not on macOS and Windows, nor in a worker of `multiprocessing`."""
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


def in_processes(work: Callable[[Given], Returned], given: Sequence[Given], workers: int) -> Iterator[Returned]:
    """Do some work for each given item, and yield each result as soon as it is done, in no particular order.

    The thread that takes the first result must live until the last, because the processes end with it.

    Raises:
        LocalError: A process ended before its work was done.
        BaseException: An exception from the work, with a note of where it was raised.
    """
    context = multiprocessing.get_context("fork")
    turn = context.Value("q", 0)
    running: dict[Connection, Any] = {}
    """The processes, by the receiving ends of their pipes."""
    try:
        for _ in range(min(workers, len(given))):
            with _FORKING:
                receiver, sender = context.Pipe(duplex=False)
                heard_at = (*running, receiver)
                process = context.Process(
                    target=_work, args=(work, given, turn, sender, heard_at, os.getpid()), daemon=True
                )
                process.start()
                sender.close()  # so that the pipe ends when the process ends
            running[receiver] = process
        returned = 0
        while hearing := [receiver for receiver in running if not receiver.closed]:
            ready: Any = wait(hearing)
            for receiver in ready:
                try:
                    said = receiver.recv_bytes()
                except (EOFError, OSError):  # the latter if it ended in the middle of a message
                    receiver.close()
                    _check_end(running[receiver])
                    continue
                value, error = pickle.loads(said)  # noqa: S301  # from a child of this process
                if error is not None:
                    raise error
                returned += 1
                yield value
        if returned < len(given):
            raise LocalError(
                f"{len(given) - returned} of {len(given)} trials are missing: the process that ran one has ended "
                "without an error. See whether something in it calls os._exit"
            )
    finally:  # an interrupt should not wait for a trial
        for receiver, process in running.items():
            receiver.close()
            process.terminate()
        for process in running.values():
            process.join(SECONDS_TO_END)
            process.kill()
            process.join()


def _check_end(process: Any) -> None:  # noqa: ANN401  # a process of any kind
    process.join()
    if process.exitcode:
        raise LocalError(
            f"a process that ran trials ended before they were done (exit code {process.exitcode}): if memory ran out, "
            "try fewer workers"
        )


def _work(
    work: Callable[[Any], Any],
    given: Sequence[Any],
    turn: Any,  # noqa: ANN401  # a number that processes share
    sender: Connection,
    heard_at: Sequence[Connection],
    parent: int,
) -> None:
    """Process items one after another, as long as there are any and the parent process lives."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a handler of the parent would keep this process alive
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # this process ends with its parent
    if _C_LIBRARY is not None:
        _C_LIBRARY.prctl(_SIGNAL_AT_PARENTS_END, ctypes.c_ulong(signal.SIGKILL))
    for receiver in heard_at:
        receiver.close()  # so that no pipe stays open when the parent is gone
    while os.getppid() == parent:
        with turn.get_lock():
            place, turn.value = turn.value, turn.value + 1
        if place >= len(given):
            return
        try:
            said = pickle.dumps((work(given[place]), None))
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is raised on the other side
            said = pickle.dumps((None, _portable(error)))
        try:
            sender.send_bytes(said)
        except BrokenPipeError:
            return  # the parent no longer reads


def _portable(error: BaseException) -> BaseException:
    """Return an error unchanged, or as text if it cannot be sent, with a note of where it was raised."""
    note = "".join(traceback.format_exception(error))
    try:
        portable: BaseException = pickle.loads(pickle.dumps(error))  # noqa: S301  # made a line before
    except Exception:  # noqa: BLE001  # an error may be of any class
        portable = LocalError(f"{type(error).__name__}: {error}")
    portable.add_note(f"It was raised in a process that ran a trial:\n{note}")
    return portable
