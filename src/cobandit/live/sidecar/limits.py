"""Limits on what clients may request: requests at the same time, and bytes and seconds of one body.

A request is under way until its answer begins, so a stream of events that lasts for hours takes no place from others.
"""

import asyncio
import contextlib
from collections.abc import Collection

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cobandit.live.sidecar.problems import Refusal, answer

BODY_WITHIN_S = 10.0
"""How long a client may take to send the body of one request."""

MOST_THROWN_AWAY = 64 * 2**20
THROW_AWAY_WITHIN_S = 2.0
"""Up to this many bytes, and for this long, a body refused for its length is read and discarded. Many clients look for
an answer only after sending everything, and would otherwise see a broken connection."""

MOST_CONNECTIONS = 2048
"""Connections that may be open, including idle ones. Those without a shown token give way to newcomers; if there are
none, newcomers are refused."""


class UnderWay:
    """Refuses requests while too many others are under way.

    Args:
        app: The application that it protects.
        most: How many requests may be under way.
        exempt: Paths that are always served, because a probe must not fail when there are many requests.
    """

    def __init__(self, app: ASGIApp, most: int, exempt: Collection[str] = ()) -> None:
        self._app = app
        self._most = most
        self._exempt = frozenset(exempt)
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] in self._exempt:
            await self._app(scope, receive, send)
            return
        if self._count >= self._most:
            detail = f"{self._count} requests are under way already: try again after a second, with fewer at a time"
            await answer(Refusal(503, detail))(scope, receive, send)
            return
        self._count += 1
        is_counted = True

        async def send_and_release(message: Message) -> None:
            nonlocal is_counted
            if is_counted and message["type"] == "http.response.start":
                is_counted = False
                self._count -= 1
            await send(message)

        try:
            await self._app(scope, receive, send_and_release)
        finally:
            if is_counted:
                self._count -= 1


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """Return the whole body of a request.

    Raises:
        Refusal: It is too long, which is reported as soon as it is known, or does not arrive.
        ClientDisconnect: No client waits for an answer any more.
    """
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    if declared.isdigit() and int(declared) > most:
        if int(declared) <= MOST_THROWN_AWAY:
            await _throw_away(scope, receive)
        raise _too_long(most)
    parts: list[bytes] = []
    length = 0
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            is_more = True
            while is_more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                part = message.get("body", b"")
                length += len(part)
                if length > most:
                    raise _too_long(most)
                parts.append(part)
                is_more = message.get("more_body", False)
    except TimeoutError:
        detail = f"the body did not come within {BODY_WITHIN_S:g} seconds: send it faster, or in smaller requests"
        raise Refusal(408, detail, CLOSE) from None
    return b"".join(parts)


CLOSE = {"Connection": "close"}
"""The rest of what the client sends is not read."""


def _too_long(most: int) -> Refusal:
    return Refusal(413, f"the body is longer than {most} bytes: send smaller batches, or raise `most_body`", CLOSE)


async def _throw_away(scope: Scope, receive: Receive) -> None:
    """Let a client send its body for a while, unless it waits for permission."""
    if any(name == b"expect" for name, _ in scope["headers"]):
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(THROW_AWAY_WITHIN_S):
            while (await receive()).get("more_body", False):
                pass
