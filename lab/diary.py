"""An inbox for tests: it writes down whatever a transport tells it, and a test can wait for what it reads there."""

import asyncio
from collections.abc import Callable

from cobandit.live.auth.refusal import Refusal
from cobandit.live.transports.base import Inbox, Transport

PATIENCE = 60.0
"""Seconds until something that has not happened counts as something that will not."""


class Diary(Inbox):
    """What a transport told its member.

    >>> from cobandit.live.transports.memory import Hub, MemoryTransport
    >>> async def scene() -> list[tuple[bytes, str | None]]:
    ...     hub = Hub()
    ...     ann = await Diary.of(MemoryTransport(hub), "ann", "group")
    ...     bob = await Diary.of(MemoryTransport(hub), "bob", "group")
    ...     assert ann.transport.send("bob", b"hello")
    ...     await bob.until(lambda diary: len(diary.frames) == 1)
    ...     return bob.frames
    >>> asyncio.run(scene())
    [(b'hello', 'ann')]
    """

    def __init__(self, transport: Transport | None = None) -> None:
        self._transport = transport
        self.frames: list[tuple[bytes, str | None]] = []
        self.reached: list[str | None] = []
        self.refusals: list[tuple[Refusal, str | None]] = []
        self.hosts: list[str | None] = []
        """Where that came from which was refused."""
        self.troubles: list[str | None] = []
        self._news = asyncio.Event()

    @classmethod
    async def of(cls, transport: Transport, name: str, group: str) -> "Diary":
        """Open a transport and return its member's diary."""
        diary = cls(transport)
        await transport.open(name, group, diary)
        return diary

    @property
    def transport(self) -> Transport:
        """The transport whose diary this is."""
        assert self._transport is not None, "this diary was made without a transport"
        return self._transport

    def frame(self, frame: bytes, sender: str | None) -> None:
        self.frames.append((frame, sender))
        self._news.set()

    def reachable(self, peer: str | None) -> None:
        self.reached.append(peer)
        self._news.set()

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        self.refusals.append((reason, sender))
        self.hosts.append(host)
        self._news.set()

    def trouble(self, what: str | None) -> None:
        self.troubles.append(what)
        self._news.set()

    def reasons(self) -> list[Refusal]:
        """Return why things were refused, from any sender."""
        return [reason for reason, _ in self.refusals]

    async def hears(self, *frames: bytes) -> None:
        """Wait until each of these frames has come in, from whomever."""
        await self.until(lambda _: {frame for frame, _ in self.frames} >= set(frames))

    async def until(self, happened: Callable[["Diary"], object]) -> None:
        """Wait until this is true of the diary.

        Raises:
            AssertionError: RetryTimers has ended.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                while not happened(self):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"nothing more happened in {PATIENCE:g} seconds after {self!r}") from None

    def __repr__(self) -> str:
        """Show all but the transport."""
        frames = [(frame[:40], sender) for frame, sender in self.frames[-10:]]
        return (
            f"{len(self.frames)} frames ending in {frames}, reached {self.reached}, refusals {self.refusals},"
            f" troubles {self.troubles}"
        )
