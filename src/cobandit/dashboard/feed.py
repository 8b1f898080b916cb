"""The newest frame, for everybody who watches. A slow one misses frames, and never holds up the others."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from threading import Lock

from cobandit.dashboard.framing import Framing
from cobandit.live.status.fleet import Fleet

MOST_VIEWERS = 32
"""Pages that may watch one server at a time."""

HEARTBEAT_S = 15.0
"""After so long without a frame a viewer gets a comment, so that both ends notice when the other is gone."""


class TooManyViewersError(Exception):
    """As many watch as may."""


class Feed:
    """Takes looks at a fleet, from any thread, and gives frames to viewers, each on its own event loop.

    Args:
        every_s: How often a look is shown, about.
        seen_from: The member that looks, if it is one.
        true_means: Of all arms, if they are known.
        now: What time it is, in seconds since 1970.
    """

    def __init__(
        self,
        *,
        every_s: float,
        seen_from: str | None = None,
        true_means: Mapping[str, float] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._every_s = every_s
        self._framing = Framing(seen_from=seen_from, true_means=true_means)
        self._now = now
        self._lock = Lock()
        self._viewers: set[_Viewer] = set()
        self._newest: bytes | None = None
        self._has_ended = False
        self.on_viewer: Callable[[], None] = lambda: None
        """Called when a watcher comes, on its event loop."""

    @property
    def viewers(self) -> int:
        """How many watch."""
        return len(self._viewers)

    def show(self, fleet: Fleet, *, is_whole: bool = True, is_last: bool = False) -> None:
        """Show a fleet. From any thread.

        Args:
            fleet: Who answered, and what.
            is_whole: Whether everybody was asked.
            is_last: Whether nothing will follow.
        """
        with self._lock:
            frame = self._framing.frame(fleet, self._now(), next_s=self._every_s, is_whole=is_whole, has_ended=is_last)
            self._newest = frame.to_json()
        self._call_all()

    def end(self) -> None:
        """End every stream, and those that would begin. From any thread."""
        self._has_ended = True
        self._call_all()

    async def events(self) -> AsyncIterator[bytes]:
        """Return a stream of server-sent events: the newest frame at once, then each that follows.

        Raises:
            TooManyViewersError: As many watch as may.
        """
        if len(self._viewers) >= MOST_VIEWERS:
            raise TooManyViewersError
        viewer = _Viewer()
        self._viewers.add(viewer)
        self.on_viewer()
        shown: bytes | None = None
        try:
            yield b"retry: 1000\n\n"
            while True:
                viewer.event.clear()
                if self._newest is not shown and self._newest is not None:
                    shown = self._newest
                    yield b"event: frame\ndata: " + shown + b"\n\n"
                    continue
                if self._has_ended:
                    yield b"event: end\ndata: {}\n\n"
                    return
                if not await viewer.is_called(HEARTBEAT_S):
                    yield b": still here\n\n"
        finally:
            self._viewers.discard(viewer)

    def _call_all(self) -> None:
        for viewer in tuple(self._viewers):
            viewer.call()


class _Viewer:
    """A watcher, on an event loop."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def call(self) -> None:
        with suppress(RuntimeError):  # its loop is closed, and it with it
            self._loop.call_soon_threadsafe(self.event.set)

    async def is_called(self, within_s: float) -> bool:
        try:
            async with asyncio.timeout(within_s):
                await self.event.wait()
        except TimeoutError:
            return False
        return True
