"""One worker process, seen from the parent: start it, order it about, stop it in every way there is."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from cobandit.values.errors import LocalError
from lab.faults import orders
from lab.faults.orders import Event, GivenAway, Look, Order, Said, Spec, Synced, Twice

ROOT = str(Path(__file__).parents[2])
"""Where the laboratory is imported from, whichever folder this process is in."""

STANDS_WITHIN = 60.0
"""Seconds until a process that was told to must stand still."""

Kind = TypeVar("Kind", Look, orders.Done)

ANSWER_WITHIN = 90.0
"""Seconds: a machine that is busy with other tests is slow, and a sync may take `SYNC_WITHIN`."""


class Process:
    """A worker that runs."""

    def __init__(self, spec: Spec, inside: Sequence[str] = ()) -> None:
        self.spec = spec
        self.given_away: list[str] = []
        """Ids of decisions that another member shall reward."""
        self.twice: list[str] = []
        self.said: list[Said] = []
        self.syncs = self.failed_syncs = 0
        self.end: str | None = None
        """Why there is nothing more to hear, if so."""
        self._started: Event | None = None
        self._answers: list[Event] = []
        self._heard = threading.Condition()
        self._process = subprocess.Popen(  # noqa: S603  # this very program
            [*inside, sys.executable, "-m", "lab.faults.worker"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._write(orders.encode(spec))

    @property
    def pid(self) -> int:
        """The process. With a command around it, that one replaces itself by the worker."""
        return self._process.pid

    def wait_until_started(self) -> str | None:
        """Wait for the member. Return why it could not be started, if so."""
        self._until(lambda: self._started is not None, "start")
        if isinstance(self._started, orders.NotStarted):
            self._reap()
            return self._started.why
        return None

    def order(self, order: Order) -> str | None:
        """Let it do something, and wait until it is done. Return why it is not synced, if so."""
        self.tell(order)
        return self.settled(order.do)

    def tell(self, order: Order) -> None:
        """Let it do something, without waiting. `settled` waits."""
        self._write(orders.encode(order))

    def settled(self, do: str) -> str | None:
        """Wait until it has done what it was told. Return why it is not synced, if so."""
        return self._answer(orders.Done, lambda done: done.do == do).why_not

    def look(self) -> Look:
        """Return how its member is."""
        self.tell(Order("look"))
        return self._answer(Look, lambda _: True)

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        self._process.send_signal(signal.SIGKILL)
        self._reap()

    def close(self) -> None:
        """Let it stop as a program stops."""
        self.order(Order("close"))
        self._reap()

    def pause(self) -> None:
        """Let it stand still: no timer, no answer, and every connection stays open."""
        os.kill(self.pid, signal.SIGSTOP)

    def stand_still(self) -> None:
        """Pause, and wait until every thread stands still, outside of the system."""
        self.pause()
        deadline = time.monotonic() + STANDS_WITHIN
        while not all(map(_stands, Path(f"/proc/{self.pid}/task").iterdir())):
            if time.monotonic() > deadline:
                raise LocalError(f"the worker {self.spec.name} does not stand still")
            time.sleep(0.001)

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def take_given_away(self) -> list[str]:
        """Return the ids that it gave away since the last time."""
        with self._heard:
            taken, self.given_away = self.given_away, []
            return taken

    def _reap(self) -> None:
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):  # an order that it did not live to read
                pipe.close()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise LocalError(f"the worker {self.spec.name} has ended: {self._last_words()}") from None

    def _answer(self, kind: type[Kind], fits: Callable[[Kind], bool]) -> Kind:
        def first() -> Kind | None:
            return next((event for event in self._answers if isinstance(event, kind) and fits(event)), None)

        self._until(lambda: first() is not None, f"answer with {kind.__name__}")
        with self._heard:
            answer = first()
            assert answer is not None
            self._answers.remove(answer)
            return answer

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + ANSWER_WITHIN
        with self._heard:
            while not condition():
                if self.end is not None:
                    raise LocalError(f"the worker {self.spec.name} did not {what}, it ended: {self.end}")
                if not self._heard.wait(deadline - time.monotonic()):
                    raise LocalError(f"the worker {self.spec.name} did not {what} within {ANSWER_WITHIN} seconds")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.endswith(b"\n"):
                break  # it was killed in the middle of a word
            with self._heard:
                self._take(orders.decode_event(line))
                self._heard.notify_all()
        words = self._last_words()
        with self._heard:
            self.end = words
            self._heard.notify_all()

    def _take(self, event: Event) -> None:
        match event:
            case GivenAway():
                self.given_away += event.tokens
            case Twice():
                self.twice.append(event.token)
            case Said():
                self.said.append(event)
            case Synced():
                self.syncs += event.why_not is None
                self.failed_syncs += event.why_not is not None
            case orders.Ready() | orders.NotStarted():
                self._started = event
            case _:
                self._answers.append(event)

    def _last_words(self) -> str:
        assert self._process.stderr is not None
        try:
            return self._process.stderr.read().decode(errors="replace")[-2000:] or "without a word"
        except ValueError:
            return "without a word"


def _stands(thread: Path) -> bool:
    return (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "T"
