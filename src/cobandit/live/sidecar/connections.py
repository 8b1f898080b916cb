"""One client connection, below HTTP: limits on the length and delay of a request's head. No token is known yet.

The head is the first line and the headers. uvicorn limits neither its length nor its time, so this file does. At any
time, a connection waits for a head or for the next request, or a request is under way. Each of these ends: `limits.py`
and `api.py` limit bodies and answers.

The number of connections is limited too. A connection that has not shown a token gives way to a newcomer (`Door`), so
outsiders take no places from clients. If clients themselves take all places, further clients are told so, and so are
readiness probes.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cobandit.live.sidecar.contract import HEALTH
from cobandit.live.sidecar.limits import CLOSE, MOST_CONNECTIONS, THROW_AWAY_WITHIN_S
from cobandit.live.sidecar.problems import Refusal, answer
from cobandit.live.sidecar.tokens import ON_PROOF
from cobandit.live.transports.door import Door

MOST_HEAD = 64 * 2**10
"""Bytes of the first line and the headers of a request."""

HEAD_WITHIN_S = 10.0
"""How long a client may take to send them, from connecting or, on a used connection, from their first byte."""


class Connections:
    """All connections of one server. uvicorn calls it to create the next one."""

    def __init__(self) -> None:
        self.door: Door[Connection] = Door(lambda one, _: one.give_way())
        self.proved: set[Connection] = set()

    def __call__(self, *given: Any, **options: Any) -> "Connection":  # noqa: ANN401  # uvicorn's own
        """Return a connection that is not established yet."""
        return Connection(self, *given, **options)

    @property
    def are_too_many(self) -> bool:
        """Whether clients with a valid token take all places."""
        return len(self.proved) >= MOST_CONNECTIONS


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits on what comes before a request is known."""

    def __init__(self, all_of_them: Connections, *given: Any, **options: Any) -> None:  # noqa: ANN401  # uvicorn's own
        super().__init__(*given, **options)
        self._all = all_of_them
        self._clock: asyncio.TimerHandle | None = None
        self._is_in_head = False
        self._is_refused = False
        self._read = 0
        """Bytes since those in which the last request ended. If a head has begun, it has at least this length."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Wait for the first request."""
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self._all.door.come(self, host, MOST_CONNECTIONS - len(self._all.proved))
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_clock()
        self._all.door.leave(self)
        self._all.proved.discard(self)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def give_way(self) -> None:
        """Close, because others are arriving and no token was shown here."""
        self.transport.abort()

    def _prove(self) -> None:
        self._all.door.leave(self)
        if not self.transport.is_closing():
            self._all.proved.add(self)

    def data_received(self, data: bytes) -> None:
        """Take some bytes. Most requests arrive as a whole, and start no timer."""
        if self._is_refused:
            return
        self._read += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self._is_refused:
            return
        if self._is_in_head and self._read > MOST_HEAD:
            self._refuse(_too_long())
        elif not self._is_answering:
            if self._is_in_head or self.cycle is None:
                self._start_clock()
            elif self.timeout_keep_alive_task is None:  # the rest of a body that was already answered
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )

    def on_message_begin(self) -> None:
        """Note that a head has begun."""
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that a head is complete: pass the request on, or refuse it."""
        self._is_in_head = False
        self._stop_clock()
        app = self.app
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MOST_HEAD:
            self.app = answer(_too_long())
        elif self._all.are_too_many and self not in self._all.proved:
            self.app = _Crowded(app)
        self.scope["state"][ON_PROOF] = self._prove
        super().on_headers_complete()
        self.app = app

    def on_message_complete(self) -> None:
        """Note that a request is complete."""
        self._read = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(Refusal(400, f"{msg} The client must send HTTP/1.1", CLOSE))

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_clock(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(HEAD_WITHIN_S, self._too_late)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_late(self) -> None:
        if self._is_in_head:
            detail = f"the headers did not come within {HEAD_WITHIN_S:g} seconds: send them at once"
            self._refuse(Refusal(408, detail, CLOSE))
        else:
            self.transport.close()  # it was silent

    def _refuse(self, refusal: Refusal) -> None:
        """Answer something that is not a request yet, and read no more. For a while, further input is discarded."""
        self._stop_clock()
        self._is_refused = True
        if self._is_answering:
            if not (self._is_in_head or self.pipeline or self.cycle.response_started):  # else it answers another one
                self.transport.write(_as_bytes(refusal))
            self.transport.close()
            return
        self.transport.write(_as_bytes(refusal))
        self.transport.write_eof()
        self._clock = self.loop.call_later(THROW_AWAY_WITHIN_S, self.transport.close)


class _Crowded:
    """Answers while there are too many connections: the liveness probe succeeds, and all else is refused."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        detail = f"more than {MOST_CONNECTIONS} connections are open: use one for many requests, and try again"
        app = self._app if scope["path"] == HEALTH else answer(Refusal(503, detail, CLOSE))
        await app(scope, receive, send)


def _too_long() -> Refusal:
    return Refusal(431, f"the headers are longer than {MOST_HEAD} bytes: the client must send less", CLOSE)


def _as_bytes(refusal: Refusal) -> bytes:
    response = answer(refusal)
    lines: Iterable[bytes] = (name + b": " + value + b"\r\n" for name, value in response.raw_headers)
    first = f"HTTP/1.1 {refusal.problem.status} {refusal.problem.title}\r\n".encode()
    return b"".join((first, *lines, b"\r\n", bytes(response.body)))
