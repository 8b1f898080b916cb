"""Refusals as answers to clients: RFC 9457 problem details, with a text that says who must act.

This file owns which kind of error has which status. It does not know what was requested.
"""

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cobandit.values.errors import LocalError, NotNowError, StateError, UnknownError

RETRY_AFTER_S = 1
"""Seconds that a client should wait if something cannot be served now."""

MEDIA_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a request was refused (RFC 9457).

    Nothing has changed, unless the status is 500, or the detail says that something has, or still may.
    """

    title: str
    """What the status means."""
    status: int
    detail: str
    """What is wrong, and who must act."""
    type: str = "about:blank"
    """Always `about:blank`: the status says what kind of problem it is."""


class Refusal(Exception):  # noqa: N818  # it is an answer
    """Ends a request with a problem."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.problem = problem(status, detail)
        self.headers = {**(_RETRY if status == 503 else {}), **(headers or {})}


_RETRY = {"Retry-After": str(RETRY_AFTER_S)}

_STATUSES: tuple[tuple[type[LocalError], int], ...] = (
    (UnknownError, 404),
    (StateError, 409),
    (NotNowError, 503),
    (LocalError, 422),
)

TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
"""The titles of RFC 9110 and RFC 6585. Those of the standard library differ between Python versions."""


def problem(status: int, detail: str) -> Problem:
    """Return a problem.

    >>> problem(404, "there is no arm 'D'").title
    'Not Found'
    """
    return Problem(title=TITLES.get(status, "Error"), status=status, detail=detail)


def refusal_of(error: LocalError) -> Refusal:
    """Return the refusal that a client gets for an error of the member."""
    return Refusal(next(status for kind, status in _STATUSES if isinstance(error, kind)), str(error))


def answer(refusal: Refusal) -> Response:
    """Return a refusal as a response."""
    return Response(
        msgspec.json.encode(refusal.problem),
        refusal.problem.status,
        headers={"Cache-Control": "no-store", **refusal.headers},
        media_type=MEDIA_TYPE,
    )


async def refused(_: Request, error: Exception) -> Response:
    """Answer a refused request."""
    assert isinstance(error, Refusal)
    return answer(error)


async def unknown_path(request: Request, _: Exception) -> Response:
    """Answer a request for an unknown path."""
    return answer(Refusal(404, f"there is nothing at {request.url.path[:200]!r}: /openapi.json says what there is"))


async def failed(_: Request, error: Exception) -> Response:
    """Answer a request that met a bug of ours. The details go to the log, not to the client."""
    del error
    detail = "the sidecar failed at this request, which is a bug in cobandit: its operator finds it in its log"
    return answer(Refusal(500, detail, {"Connection": "close"}))  # as the server does, so nobody must send more on it
