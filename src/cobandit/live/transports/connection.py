"""One connection of a mesh: splits a byte stream into frames, and writes frames to it, with bounds on both.

Each frame follows its length in four bytes. The highest bit marks a frame between the transports rather than for the
member (`Word`). This file does not know the other end: its callers prove that.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import cast

from cobandit.live.auth.refusal import Refusal
from cobandit.live.transports.base import LARGEST_FRAME

LARGEST_BACKLOG = 4 * LARGEST_FRAME
"""Bytes that may wait for a peer that reads slowly. Further frames are lost, as on a congested network."""

_PREFIX = 4
_WORD = 0x80000000
LARGEST_WORD = 2**20
"""Bytes of a hello: a thousand members with long names."""


class Word(IntEnum):
    """The messages between transports: the first byte of a frame that is not for the member."""

    HELLO = 1
    RETIRE = 2
    """Use another connection from now on, and close this one."""


class Connection(asyncio.Protocol):
    """Carries frames in both directions. The callbacks never raise."""

    def __init__(
        self,
        *,
        on_made: "Callable[[Connection], None]",
        on_frame: "Callable[[Connection, bytes], None]",
        on_word: "Callable[[Connection, Word, bytes], None]",
        on_refused: "Callable[[Connection, Refusal], None]",
        on_lost: "Callable[[Connection, Exception | None], None]",
    ) -> None:
        self.peer: str | None = None
        """The name that the other end has proved. Frames are for the member once this and `is_ready` are set."""
        self.place: str | None = None
        """The address that was dialled; `None` if the other end dialled."""
        self.refusal: Refusal | None = None
        """Why the other end's proof is not accepted."""
        self.complaint: str | None = None
        """Why the other end hung up before it said hello, as far as that can be known here."""
        self.boot: int | None = None
        self.is_ready = False
        """Whether the other end has said hello."""
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self._on_made, self._on_lost = on_made, on_lost
        self._on_frame, self._on_word, self._on_refused = on_frame, on_word, on_refused
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self._have = 0
        self._want = _PREFIX

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        # The high-water mark only says when to pause. `send` enforces the bound on what waits.
        self._transport.set_write_buffer_limits(high=LARGEST_BACKLOG)
        # At once: data from the other end may be delivered before a task that awaits the connection runs.
        self._on_made(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self.lost.done():
            self.lost.set_result(exc)
        self._on_lost(self, exc)

    def data_received(self, data: bytes) -> None:
        """Split incoming data into frames. A large frame arrives in many parts, which are joined once."""
        self._have += len(data)
        if self._have < self._want:
            self._parts.append(data)
            return
        if self._parts:
            self._parts.append(data)
            data = b"".join(self._parts)
            self._parts = []
        at, end = 0, len(data)
        while end - at >= _PREFIX:
            length = int.from_bytes(data[at : at + _PREFIX])
            is_word = length & _WORD
            length &= ~_WORD
            if length > (LARGEST_WORD if is_word else LARGEST_FRAME):
                self._refuse(Refusal.OVERSIZED)
                return
            if end - at - _PREFIX < length:
                self._keep(data[at:], want=_PREFIX + length)
                return
            at += _PREFIX
            content = data[at : at + length]
            at += length
            if is_word:
                self._take_word(content)
            elif self.is_ready:
                self._on_frame(self, content)
            else:
                self._refuse(Refusal.MALFORMED)
            if self._transport is None or (self._transport.is_closing() and not self.is_ready):
                return
        self._keep(data[at:], want=_PREFIX)

    def send(self, frame: bytes) -> bool:
        """Send a frame. Return whether it is on its way; it is not if the peer reads too slowly."""
        transport = self._transport
        if transport is None or transport.is_closing() or transport.get_write_buffer_size() > LARGEST_BACKLOG:
            return False
        transport.write(len(frame).to_bytes(_PREFIX) + frame)
        return True

    def say(self, word: Word, content: bytes = b"") -> None:
        """Send a message to the other transport. If the peer reads nothing, drop it."""
        transport = self._transport
        if transport is None or transport.is_closing() or transport.get_write_buffer_size() > LARGEST_BACKLOG:
            return
        transport.write((_WORD | 1 + len(content)).to_bytes(_PREFIX) + bytes((word,)) + content)

    def close(self) -> None:
        """Write what waits, then close."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def watch_silence(self, options: "Iterable[tuple[int | None, int]]") -> None:
        """Let the operating system detect that the other computer has gone, as far as it has these options."""
        raw = self._transport.get_extra_info("socket") if self._transport is not None else None
        if raw is None:
            return
        with contextlib.suppress(OSError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in options:
                if option is not None:
                    raw.setsockopt(socket.IPPROTO_TCP, option, value)

    @property
    def certificate(self) -> bytes | None:
        """The certificate that the other end presented, checked by TLS."""
        security = self._transport.get_extra_info("ssl_object") if self._transport is not None else None
        return None if security is None else cast("bytes | None", security.getpeercert(binary_form=True))

    @property
    def host(self) -> str:
        """The host of the other end, as this computer sees it."""
        there = self._transport.get_extra_info("peername") if self._transport is not None else None
        return str(there[0]) if there else ""

    def _keep(self, rest: bytes, *, want: int) -> None:
        self._parts, self._have, self._want = [rest] if rest else [], len(rest), want

    def _take_word(self, content: bytes) -> None:
        try:
            word = Word(content[0])
        except (ValueError, IndexError):
            return  # a later version may say more
        self._on_word(self, word, content[1:])

    def _refuse(self, reason: Refusal) -> None:
        self._on_refused(self, reason)
        self.abort()
