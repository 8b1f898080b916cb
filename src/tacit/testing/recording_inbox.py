"""An inbox that remembers, and a way to wait for what shall happen without guessing how long it takes."""

import asyncio
from collections.abc import Callable

from tacit.runtime.transports.base import Refusal

PATIENCE = 20.0
"""Seconds until a test gives up. None takes so long unless it fails."""


class RecordingInbox:
    """Remembers everything it is told."""

    def __init__(self) -> None:
        self.frames: list[tuple[bytes, str | None]] = []
        self.peers: list[str | None] = []
        self.refusals: list[tuple[Refusal, str | None]] = []
        self.troubles: list[str | None] = []
        self._changed = asyncio.Event()

    def frame(self, frame: bytes, sender: str | None) -> None:
        self.frames.append((frame, sender))
        self._changed.set()

    def reachable(self, peer: str | None) -> None:
        self.peers.append(peer)
        self._changed.set()

    def refused(self, reason: Refusal, sender: str | None) -> None:
        self.refusals.append((reason, sender))
        self._changed.set()

    def trouble(self, what: str | None) -> None:
        self.troubles.append(what)
        self._changed.set()

    def reasons(self) -> list[Refusal]:
        return [reason for reason, _ in self.refusals]

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something that comes in makes the condition true."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def hears(self, *frames: bytes) -> None:
        await self.until(lambda: {frame for frame, _ in self.frames} >= set(frames))
