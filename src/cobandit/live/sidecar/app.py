"""The application: the API's routes behind the token and the limits, and anything else served beside them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cobandit.live.drive.member import Member
from cobandit.live.process.serving import Limits
from cobandit.live.sidecar.api import Api
from cobandit.live.sidecar.contract import OPERATIONS, PROBES
from cobandit.live.sidecar.limits import UnderWay
from cobandit.live.sidecar.openapi import openapi_json
from cobandit.live.sidecar.problems import Refusal, answer, failed, refused, unknown_path
from cobandit.live.sidecar.resources import HEADERS, routes_of
from cobandit.live.sidecar.tokens import TokenCheck

DOCUMENT = "/openapi.json"


class Extras(NamedTuple):
    """What is served beside the API, such as a page."""

    routes: Sequence[BaseRoute] = ()
    """They come after those of the API. All of them need the token, but for `open_paths`."""
    open_paths: frozenset[str] = frozenset()
    """Paths that need no token. A path that ends in `/` includes everything below it."""
    running: Callable[[], AbstractAsyncContextManager[object]] | None = None
    """Entered on the server's loop before the first request, and left after the last."""


def create_app(
    member: Member,
    *,
    token: str,
    read_only_token: str | None = None,
    limits: Limits | None = None,
    extras: Extras | None = None,
    stopping: asyncio.Event | None = None,
    draining: threading.Event | None = None,
) -> Starlette:
    """Return the HTTP API of a member, as an ASGI application.

    Headers and connections are limited by the server that runs it: `Sidecar` does.

    Args:
        member: The member. It is not closed with the application.
        token: The token that clients must send as `Authorization: Bearer ...`.
        read_only_token: Another token, which allows only reading.
        limits: Limits on requests.
        extras: What is served beside the API.
        stopping: Set when the server is about to stop. Streams must end then, or the stop waits for them.
        draining: Set when the application should report that it is not ready, although it still answers.
    """
    limits, extras = limits or Limits(), extras or Extras()
    api = Api(member, stopping or asyncio.Event(), draining or threading.Event())
    app = Starlette(
        routes=[
            *routes_of(api, OPERATIONS, limits),
            Route(DOCUMENT, _document, methods=["GET"]),
            *extras.routes,
        ],
        middleware=[
            Middleware(RawPaths),
            Middleware(TokenCheck, token, {*PROBES, DOCUMENT, *extras.open_paths}, read_only_token),
            Middleware(UnderWay, limits.most_requests, PROBES),  # behind the token, so that outsiders take no places
        ],
        exception_handlers={
            Refusal: refused,
            HTTPException: _refused_by_starlette,
            ClientDisconnect: _nobody_waits,
            Exception: failed,
        },
        lifespan=lambda _: _running(extras),
    )
    app.router.redirect_slashes = False  # a path exists or it does not
    return app


class RawPaths:
    """Leaves the API's paths undecoded, so that an arm's name may contain a slash, as `%2F`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http" and scope["path"].startswith("/v1/") and "raw_path" in scope:
            scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        await self._app(scope, receive, send)


@asynccontextmanager
async def _running(extras: Extras) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        if extras.running is not None:
            await stack.enter_async_context(extras.running())
        yield


async def _document(_: Request) -> Response:
    return Response(openapi_json(), headers=HEADERS, media_type="application/json")


async def _refused_by_starlette(request: Request, error: Exception) -> Response:
    """Answer a request that no route accepts."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted(map(str.strip, (error.headers or {}).get("Allow", "").split(","))))
        detail = f"{request.method} is not for {request.url.path[:200]!r}, only {allowed}"
        return answer(Refusal(405, detail, {"Allow": allowed}))
    if error.status_code == 404:
        return await unknown_path(request, error)
    return answer(Refusal(error.status_code, error.detail, error.headers))


async def _nobody_waits(_: Request, __: Exception) -> Response:
    return Response(status_code=400)  # no client reads it
