"""The OpenAPI document, generated from the table of operations and the types that decode and encode."""

from functools import cache
from typing import Any

import msgspec

from cobandit.live.sidecar.contract import JSON, OPERATIONS, REFUSED, Operation
from cobandit.live.sidecar.problems import MEDIA_TYPE, RETRY_AFTER_S, TITLES, Problem, problem
from cobandit.values.tally import LONGEST_NAME

API_VERSION = "1.0.0"
"""Increased when the API changes: the last number for wording, the middle one for additions, the first for anything
that can break a client, together with the prefix of the paths."""

DESCRIPTION = """Decide, reward and operate one member of a group of bandits that learn together.

A decision is made in microseconds, inside the sidecar. Its id can be rewarded now or weeks later, also after a restart,
and counts once, however often the reward is repeated. Every refusal is a problem of RFC 9457 whose detail says who must
act; a request that was refused has changed nothing, unless its detail says that it has, or may have. A key that is not
in this document is refused."""


@cache
def openapi_json() -> bytes:
    """Return the document as JSON."""
    return msgspec.json.format(msgspec.json.encode(document()), indent=2) + b"\n"


def document() -> dict[str, Any]:
    """Return the document."""
    types = dict.fromkeys(kind for one in OPERATIONS for kind in (one.taken, one.given) if kind is not None)
    _, schemas = msgspec.json.schema_components([*types, Problem], ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    for path, described in paths.items():
        if "{arm}" in path:
            described["parameters"] = [_ARM]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cobandit sidecar",
            "version": API_VERSION,
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "http://127.0.0.1:8700", "description": "The default: for programs on the same machine."}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {_response_name(status): _refusal(status) for status in REFUSED},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The sidecar's token; its first line says where it is.",
                }
            },
        },
    }


_ARM = {
    "name": "arm",
    "in": "path",
    "required": True,
    "description": "The name of an arm, percent-encoded: a slash is %2F.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "example": "red",
}


_ID = {"id": "$response.body#/id"}
_NAMED = {"arm": "$response.body#/arm"}
_LINKS = {
    "select": {
        "reward": {"operationId": "update", "requestBody": {**_ID, "reward": 1.0}},
        "withdraw": {"operationId": "withdraw", "requestBody": _ID},
    },
    "add_arm": {
        "freeze": {"operationId": "freeze_arm", "parameters": _NAMED},
        "remove": {"operationId": "remove_arm", "parameters": _NAMED},
        "kill": {"operationId": "kill", "requestBody": {"control_arm": "$response.body#/arm"}},
    },
}
"""What a client can do next with an answer."""


def _described(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {"operationId": operation.name, "summary": operation.summary}
    if operation.description:
        described["description"] = operation.description
    if operation.is_open:
        described["security"] = []
    if operation.taken is not None:
        described["requestBody"] = {
            "required": True,
            "content": {JSON: {"schema": _reference(operation.taken), "example": operation.example}},
        }
    answers = (operation.status,) if operation.also is None else (operation.also, operation.status)
    described["responses"] = {
        **{str(status): _answer(operation, status) for status in answers},
        **{str(status): {"$ref": f"#/components/responses/{_response_name(status)}"} for status in operation.statuses},
    }
    return described


_ANSWERED = {200: "Done.", 201: "Done: it is new.", 204: "Done. There is no content."}


def _answer(operation: Operation, status: int) -> dict[str, Any]:
    described: dict[str, Any] = {"description": _ANSWERED[status]}
    if status == 201:
        described["headers"] = {"Location": {"description": "Where the arm is.", "schema": {"type": "string"}}}
    if operation.answer is not None:
        schema = {"type": "string"} if operation.given is None else _reference(operation.given)
        described["content"] = {operation.media_type: {"schema": schema, "example": operation.answer}}
    if operation.name in _LINKS:
        described["links"] = _LINKS[operation.name]
    return described


def _refusal(status: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": REFUSED[status],
        "content": {MEDIA_TYPE: {"schema": _reference(Problem), "example": problem(status, REFUSED[status])}},
    }
    if status == 401:
        described["headers"] = {"WWW-Authenticate": {"required": True, "schema": {"type": "string"}}}
    if status == 503:
        described["headers"] = {
            "Retry-After": {
                "description": "Seconds.",
                "required": True,
                "schema": {"type": "string"},
                "example": str(RETRY_AFTER_S),
            }
        }
    return described


def _reference(kind: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _response_name(status: int) -> str:
    return TITLES[status].replace(" ", "")
