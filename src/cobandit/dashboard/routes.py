"""The page over HTTP: its files, which are open, and the stream of frames, which is not."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from cobandit.dashboard.feed import Feed, TooManyViewersError
from cobandit.dashboard.places import Places
from cobandit.live.sidecar.problems import Refusal
from cobandit.look import style_sheet
from cobandit.values.errors import UnknownError

STREAM = "/page/stream"
PLACE = "/page/place"

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""A page that shows other members' words runs no script but its own, and loads nothing from elsewhere."""


_STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}


class _File(NamedTuple):
    content: bytes
    media_type: str
    tag: str


def _file(content: bytes, name: str) -> _File:
    media_type = _TYPES[name[name.rindex(".") :]]
    return _File(content, media_type, f'"{blake2b(content, digest_size=8).hexdigest()}"')


def _files() -> dict[str, _File]:
    """Return every file of the page, by its path."""
    folder = files("cobandit.dashboard") / "page"
    found = {
        f"/page/{one.name}": _file(one.read_bytes(), one.name)
        for one in folder.iterdir()
        if one.name.endswith(tuple(_TYPES))
    }
    return {
        **found,
        "/": found["/page/index.html"],
        "/page/look.css": _file(style_sheet().encode(), "look.css"),
    }


_FILES = _files()

OPEN_PATHS = frozenset(_FILES)
"""What needs no token: the page itself says nothing of the fleet."""


def page_routes(feed: Feed, places: Places | None = None) -> list[Route]:
    """Return the routes of the page, with its stream; and with segments of bandits, if there is a member to ask."""

    async def stream(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(headers=_STREAM_HEADERS, media_type="text/event-stream")
        events = feed.events()
        try:
            first = await anext(events)
        except TooManyViewersError:
            raise Refusal(503, "the maximum number of pages is open: close one", {"Retry-After": "5"}) from None
        return StreamingResponse(
            _all(first, events),
            media_type="text/event-stream",
            headers=_STREAM_HEADERS,
        )

    async def place(request: Request) -> Response:
        assert places is not None
        bandit, segment = request.query_params.get("bandit", ""), request.query_params.get("segment")
        try:
            found = await asyncio.to_thread(places.place, bandit, segment)
        except UnknownError as error:
            raise Refusal(404, str(error)) from None
        return Response(found.to_json(), headers=_STREAM_HEADERS, media_type="application/json")

    routes = [*(Route(path, _serve, methods=["GET"]) for path in _FILES), Route(STREAM, stream, methods=["GET"])]
    return routes if places is None else [*routes, Route(PLACE, place, methods=["GET"])]


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for event in rest:
        yield event


async def _serve(request: Request) -> Response:
    file = _FILES[request.url.path]
    headers = {**_HEADERS, "ETag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
