"""Work in Python in several processes at once: threads would take turns on one core.

A process is forked, so it has everything that this one has: policies and protocols of a script or a notebook, functions
without a name. Only what it returns or raises is sent back. What it changes elsewhere, such as a list of the user's, is
not. Where a process cannot be forked, the caller has to do without (`can_fork`).
"""

import multiprocessing
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from cobandit.values.errors import LocalError

Given = TypeVar("Given")
Returned = TypeVar("Returned")


def can_fork() -> bool:
    """Return whether processes can be forked: not on macOS and Windows, and not by a worker of `multiprocessing`."""
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


def in_processes(work: Callable[[Given], Returned], given: Sequence[Given], workers: int) -> Iterator[Returned]:
    """Do some work for each that is given, and yield what it returns as soon as it is done, in no particular order.

    Raises:
        LocalError: A process was ended from outside.
        Exception: What the work has raised, with a note of where.
    """
    context = multiprocessing.get_context("fork")
    turn = context.Value("q", 0)
    running: dict[Any, Any] = {}
    """The processes, by the ends at which this one hears them."""
    try:
        for _ in range(min(workers, len(given))):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(work, given, turn, sender), daemon=True)
            with warnings.catch_warnings():  # of threads, which do not go on in a process that is forked
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            sender.close()  # so that the end of the process is the end of what it sends
            running[receiver] = process
        ended = 0
        while ended < len(running):
            ready: Any = wait([receiver for receiver in running if not receiver.closed])
            for receiver in ready:
                try:
                    returned, error = receiver.recv()
                except EOFError:
                    receiver.close()
                    ended += 1
                    _check_end(running[receiver])
                    continue
                if error is not None:
                    raise error
                yield returned
    finally:  # an interrupt should not wait for a trial
        for receiver, process in running.items():
            process.terminate()
            process.join()
            receiver.close()


def _check_end(process: Any) -> None:  # noqa: ANN401  # a process of any kind
    process.join()
    if process.exitcode:
        raise LocalError(
            f"a process that ran trials was ended from outside (exit code {process.exitcode}): if memory ran out, try "
            "fewer workers"
        )


def _work(work: Callable[[Any], Any], given: Sequence[Any], turn: Any, sender: Connection) -> None:  # noqa: ANN401
    """Take one after the other, as long as there are any."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # this process ends with the one that forked it
    while True:
        with turn.get_lock():
            place, turn.value = turn.value, turn.value + 1
        if place >= len(given):
            return
        try:
            sender.send((work(given[place]), None))
        except BrokenPipeError:
            return  # the one that forked it is gone
        except Exception as error:  # noqa: BLE001  # whatever it is, it is raised on the other side
            sender.send((None, _portable(error)))


def _portable(error: Exception) -> Exception:
    """Return an error as it is, or in words if it cannot be sent; with a note of where it was raised."""
    note = "".join(traceback.format_exception(error))
    try:
        portable: Exception = pickle.loads(pickle.dumps(error))  # noqa: S301  # made a line before
    except Exception:  # noqa: BLE001  # an error may be of any class
        portable = LocalError(f"{type(error).__name__}: {error}")
    portable.add_note(f"It was raised in a process that ran a trial:\n{note}")
    return portable
