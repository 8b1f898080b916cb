"""Virtual time: what happens next, and an event loop of `asyncio` for each process, all of them on this one thread.

A process that was killed is a loop that runs nothing more. So what ships needs no change to be killed between any two
of its steps.
"""

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from typing import Any, TypeVar, cast

T = TypeVar("T")
Act = Callable[[], object]


class Killed(BaseException):
    """Raised inside a process that ends at this very point of its program."""


class Timeline:
    """What is to happen, in order. Of two things at the same time the one that was planned first comes first."""

    def __init__(self) -> None:
        self.time = 0.0
        self.events = 0
        self._queue: list[tuple[float, int, Act]] = []
        self._planned = 0

    def at(self, time: float, act: Act) -> None:
        """Plan something."""
        self._planned += 1
        heapq.heappush(self._queue, (time, self._planned, act))

    def after(self, seconds: float, act: Act) -> None:
        """Plan something for so many seconds from now."""
        self.at(self.time + seconds, act)

    def step(self) -> None:
        """Let the next thing happen."""
        time, _, act = heapq.heappop(self._queue)
        self.time = max(self.time, time)
        self.events += 1
        act()


class ProcessLoop:
    """The event loop of one process, as far as members need one. Work for its disk takes as long as it is told."""

    def __init__(self, timeline: Timeline, disk_seconds: Callable[[], float]) -> None:
        self.timeline = timeline
        self.is_alive = True
        self.failures: list[str] = []
        """What nobody inside the process has caught."""
        self._disk_seconds = disk_seconds
        self._tasks: list[asyncio.Task[Any]] = []

    def die(self) -> None:
        """Run nothing more, and let go of what was under way, as if it had never been."""
        self.is_alive = False
        self.timeline.after(0.0, self.bury)  # not now: what was under way may be what calls this

    def time(self) -> float:
        """Return the time of the world: no process sees its clock being set in this one."""
        return self.timeline.time

    def get_debug(self) -> bool:
        """Return that nobody looks closer."""
        return False

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401  # as in asyncio
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run something as soon as what is waiting has run."""
        return self.call_at(self.timeline.time, callback, *args, context=context)

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401  # as in asyncio
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run something after a while."""
        return self.call_at(self.timeline.time + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401  # as in asyncio
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run something at some time."""
        handle = asyncio.TimerHandle(when, callback, args, self._as_loop, context)
        if self.is_alive:
            self.timeline.at(when, partial(self._run, handle))
        return handle

    def create_future(self) -> "asyncio.Future[Any]":
        """Return something to wait for."""
        return asyncio.Future(loop=self._as_loop)

    def create_task(
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> "asyncio.Task[T]":
        """Begin to do something."""
        task = asyncio.Task(coro, loop=self._as_loop, name=name, context=context)
        self._tasks = [known for known in self._tasks if not known.done()]
        self._tasks.append(task)
        return task

    def run_in_executor(
        self,
        executor: object,
        func: Callable[..., T],
        *args: Any,  # noqa: ANN401  # as in asyncio
    ) -> "asyncio.Future[T]":
        """Let the disk do something: in the middle of the time that it takes, it is done; at its end it is known."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        if self.is_alive:
            half = self._disk_seconds() / 2.0
            self.timeline.after(half, partial(self._work, future, half, partial(func, *args)))
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Note what nobody has caught."""
        if self.is_alive:
            self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    @property
    def _as_loop(self) -> asyncio.AbstractEventLoop:
        return cast("asyncio.AbstractEventLoop", self)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: what is cancelled is passed over when its time has come."""

    def _run(self, handle: asyncio.TimerHandle) -> None:
        if not self.is_alive or handle.cancelled():
            return
        asyncio._set_running_loop(self._as_loop)  # noqa: SLF001  # made for those who write event loops
        try:
            handle._run()  # noqa: SLF001  # as above
        finally:
            asyncio._set_running_loop(None)  # noqa: SLF001

    def _work(self, future: "asyncio.Future[T]", half: float, work: Callable[[], T]) -> None:
        if not self.is_alive:
            return
        try:
            result = work()
        except Killed:
            return
        except Exception as error:  # noqa: BLE001  # whoever waits for it gets it
            self.timeline.after(half, partial(self._tell, future.set_exception, error))
        else:
            self.timeline.after(half, partial(self._tell, future.set_result, result))

    def _tell(self, tell: Callable[[Any], object], what: object) -> None:
        if self.is_alive:
            tell(what)

    def bury(self) -> None:
        """End the coroutines, so that nothing is left to the garbage collector, whose time is not ours."""
        for task in self._tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  # it is meant to be
            if not task.done():
                asyncio._set_running_loop(self._as_loop)  # noqa: SLF001
                try:
                    task.get_coro().close()
                except (Killed, Exception):  # noqa: BLE001, S110  # nobody is left whom it could concern
                    pass
                finally:
                    asyncio._set_running_loop(None)  # noqa: SLF001
        self._tasks.clear()
