"""Work in Python in several processes at once: threads would take turns on one core.

A process is forked, so it has everything that this one has: policies and protocols of a script or a notebook, functions
without a name. Only what it returns or raises is sent back. What it changes elsewhere, such as a list of the user's, is
not. Where a process cannot be forked, the caller has to do without (`can_fork`).

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
"""How long a process may take to end when it is told to."""

_C_LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None
_SIGNAL_AT_PARENTS_END = 1
"""`PR_SET_PDEATHSIG` of Linux's `prctl`."""

_FORKING = threading.Lock()
"""Held while a process is forked: one that another thread forks then would keep the sending end of its pipe open."""


def can_fork() -> bool:
    """Return whether processes can be forked: not on macOS and Windows, and not by a worker of `multiprocessing`."""
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


def in_processes(work: Callable[[Given], Returned], given: Sequence[Given], workers: int) -> Iterator[Returned]:
    """Do some work for each that is given, and yield what it returns as soon as it is done, in no particular order.

    The thread that takes the first must live until the last: the processes end with it.

    Raises:
        LocalError: A process ended before its work was done.
        BaseException: What the work has raised, with a note of where.
    """
    context = multiprocessing.get_context("fork")
    turn = context.Value("q", 0)
    running: dict[Connection, Any] = {}
    """The processes, by the ends at which this one hears them."""
    try:
        for _ in range(min(workers, len(given))):
            with _FORKING:
                receiver, sender = context.Pipe(duplex=False)
                heard_at = (*running, receiver)
                process = context.Process(
                    target=_work, args=(work, given, turn, sender, heard_at, os.getpid()), daemon=True
                )
                process.start()
                sender.close()  # so that the end of the process is the end of what it sends
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
                value, error = pickle.loads(said)  # noqa: S301  # it comes from a process of this one
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
    """Take one after the other, as long as there are any, and the process that forked this one."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a handler of that process would keep this one alive
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # this one ends with that one
    if _C_LIBRARY is not None:
        _C_LIBRARY.prctl(_SIGNAL_AT_PARENTS_END, ctypes.c_ulong(signal.SIGKILL))
    for receiver in heard_at:
        receiver.close()  # so that nobody can be heard when that process is gone
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
            return  # nobody hears any more


def _portable(error: BaseException) -> BaseException:
    """Return an error as it is, or in words if it cannot be sent; with a note of where it was raised."""
    note = "".join(traceback.format_exception(error))
    try:
        portable: BaseException = pickle.loads(pickle.dumps(error))  # noqa: S301  # made a line before
    except Exception:  # noqa: BLE001  # an error may be of any class
        portable = LocalError(f"{type(error).__name__}: {error}")
    portable.add_note(f"It was raised in a process that ran a trial:\n{note}")
    return portable
