"""From HTTP to operations and back: the form of requests and of answers.

A resource is one path with its operations. This file owns bodies, content types and arms in paths. It does not know
what an operation does.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from cobandit.live.process.serving import Limits
from cobandit.live.sidecar.api import Api
from cobandit.live.sidecar.contract import JSON, Operation
from cobandit.live.sidecar.limits import read_body
from cobandit.live.sidecar.problems import Refusal, refusal_of
from cobandit.values.errors import LocalError

Call = Callable[[Scope, Receive], Awaitable[Response]]

_UTF_8 = (b"utf-8", b"utf8")

_HALF_CHARACTER = re.compile(
    rb"\\u[dD][89abAB][\da-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][\da-fA-F]{2})\\u[dD][c-fC-F]"
)
"""Only together do two such escapes stand for a character. For one alone, the decoder says that the body is cut off."""

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def routes_of(api: Api, operations: Sequence[Operation], limits: Limits) -> list[Route]:
    """Return one route for each path, so that the answer to a wrong method lists all right ones."""
    paths: dict[str, dict[str, Call]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = _call(api, operation, limits)
    return [Route(path, _Resource(calls), methods=list(calls)) for path, calls in paths.items()]


class _Resource:
    """One path, as an ASGI application."""

    def __init__(self, calls: dict[str, Call]) -> None:
        self._calls = calls
        if "GET" in calls:
            self._calls["HEAD"] = calls["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._calls[scope["method"]](scope, receive)
        except LocalError as error:
            raise refusal_of(error) from error
        await response(scope, receive, send)


def _call(api: Api, operation: Operation, limits: Limits) -> Call:
    """Return a function that calls an operation."""
    method: Callable[..., Awaitable[Any]] = getattr(api, operation.name)
    respond = _RESPONSES.get(operation.name, _json if operation.given is not None else _nothing)
    if operation.taken is not None:
        decoder = msgspec.json.Decoder(operation.taken)

        async def call_with_body(scope: Scope, receive: Receive) -> Response:
            return respond(await method(_decoded(decoder, await _body(scope, receive, limits.most_body))))

        return call_with_body
    if "{arm}" in operation.path:

        async def call_with_arm(scope: Scope, _: Receive) -> Response:
            return respond(await method(_arm(scope)))

        return call_with_arm

    async def call(_: Scope, __: Receive) -> Response:
        return respond(await method())

    return call


async def _body(scope: Scope, receive: Receive, most: int) -> bytes:
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    media_type, _, parameters = kind.partition(b";")
    if media_type.strip().lower() != b"application/json":
        raise Refusal(415, "the body must be JSON: send it with `Content-Type: application/json`", {"Accept": JSON})
    for parameter in parameters.split(b";"):
        name, _, value = parameter.partition(b"=")
        if name.strip().lower() == b"charset" and value.strip(b' \t"').lower() not in _UTF_8:
            raise Refusal(
                415, "the body must be JSON in UTF-8: send it so, and leave the charset out", {"Accept": JSON}
            )
    return await read_body(scope, receive, most)


def _decoded(decoder: "msgspec.json.Decoder[Any]", body: bytes) -> Any:  # noqa: ANN401  # whatever the decoder makes
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Refusal(422, f"{error}: see /openapi.json for what is allowed") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if _HALF_CHARACTER.search(body):
            raise Refusal(
                400, "the body is not JSON: it has half of a surrogate pair, which is no character"
            ) from error
        raise Refusal(400, f"the body is not JSON: {error}") from error


def _arm(scope: Scope) -> str:
    """Return the arm in a path."""
    given = scope["path_params"]["arm"]
    try:
        return unquote(given, errors="strict")
    except UnicodeDecodeError as error:
        raise Refusal(404, f"there is no arm {given[:200]!r}: write its name as UTF-8, percent-encoded") from error


# Answers.


def _json(content: object, status: int = 200, **headers: str) -> Response:
    return Response(msgspec.json.encode(content), status, headers={**HEADERS, **headers}, media_type=JSON)


def _nothing(_: None) -> Response:
    return Response(status_code=204, headers=HEADERS)


def _new_arm(found: tuple[bool, Any]) -> Response:
    is_new, arm = found
    return _json(arm, 201, Location=f"/v1/arms/{quote(arm.arm, safe='')}") if is_new else _json(arm)


def _fleet(fleet: Any) -> Response:  # noqa: ANN401  # a Fleet
    return Response(fleet.to_json(), headers=HEADERS, media_type=JSON)


def _metrics(text: bytes) -> Response:
    return Response(text, headers=HEADERS, media_type="text/plain; version=0.0.4; charset=utf-8")


_RESPONSES: dict[str, Callable[[Any], Response]] = {"add_arm": _new_arm, "fleet": _fleet, "metrics": _metrics}
