"""The bearer token: where it comes from, and which requests have it.

One token allows everything that a sidecar does: its holder decides, rewards and turns the kill switch. An optional
second one only allows reading: statistics, metrics and the page.
"""

import os
import secrets
from collections.abc import Collection, Mapping
from hmac import compare_digest
from pathlib import Path
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from cobandit.live.auth.private_files import drafted, read_private
from cobandit.live.process.serving import Serving
from cobandit.live.sidecar.problems import Refusal, answer
from cobandit.values.errors import LocalError

VARIABLE, READ_ONLY_VARIABLE = "COBANDIT_TOKEN", "COBANDIT_READ_ONLY_TOKEN"

LOOKING = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""

SHORTEST_TOKEN, LONGEST_TOKEN = 16, 1024
"""Characters."""

ON_PROOF = "cobandit.on_proof"
"""The key in a request's state under which a server may leave a callback for requests with a valid token."""


class Token(NamedTuple):
    """A token, and where to find it."""

    text: str
    origin: str
    """The environment variable, or the file."""

    def __repr__(self) -> str:
        return f"Token(origin={self.origin!r})"


def find_token(serving: Serving, state: Path | None, environment: Mapping[str, str] | None = None) -> Token:
    """Return the token: from the environment variable `COBANDIT_TOKEN`, or from the named file, or else from a file
    beside the state that only its owner can read, in which a token was made before or is made now.

    Args:
        serving: The HTTP part of the agent's file.
        state: The member's state file, if it has one.
        environment: The variables to use; this process's by default.

    Raises:
        LocalError: The token cannot be read, or is invalid.
    """  # noqa: D205  # the order is the point
    variables = os.environ if environment is None else environment
    if VARIABLE in variables:
        return Token(_checked(variables[VARIABLE], VARIABLE), f"the environment variable {VARIABLE}")
    if serving.token_file is not None:
        return Token(_read(serving.token_file, "token_file"), str(serving.token_file))
    if state is None:
        raise LocalError(
            f"a member without a state file cannot make its own token: set {VARIABLE}, or token_file in its file"
        )
    file = made_token_file(state)
    if not file.exists():
        _write(file, secrets.token_urlsafe(32))
    return Token(_read(file, "the token"), str(file))


def find_read_only_token(serving: Serving, token: Token) -> str | None:
    """Return the read-only token, from the environment variable or the named file, or `None`.

    Raises:
        LocalError: It cannot be read, is invalid, or is the token that allows everything.
    """
    if READ_ONLY_VARIABLE in os.environ:
        found = _checked(os.environ[READ_ONLY_VARIABLE], READ_ONLY_VARIABLE)
    elif serving.read_only_token_file is not None:
        found = _read(serving.read_only_token_file, "read_only_token_file")
    else:
        return None
    if found == token.text:
        raise LocalError("the read-only token is the same as the token that may do everything: make another")
    return found


def check_token(serving: Serving, state: Path | None) -> None:
    """Check whether the token can be used, without making one.

    Raises:
        LocalError: It cannot be read, or is invalid.
    """
    token = Token("", "")
    is_made = state is None or made_token_file(state).exists()
    if VARIABLE in os.environ or serving.token_file is not None or is_made:
        token = find_token(serving, state)
    find_read_only_token(serving, token)


def made_token_file(state: Path) -> Path:
    """Return the file with the token that was made for a member."""
    return state.with_name(f"{state.name}.token")


class TokenCheck:
    """Passes on requests with the token, and requests for open paths.

    Args:
        app: The application that it guards.
        token: The token.
        read_only_token: Another token, which allows only reading.
        open_paths: Paths that need no token. A path that ends in `/` includes everything below it.
    """

    def __init__(
        self, app: ASGIApp, token: str, open_paths: Collection[str] = (), read_only_token: str | None = None
    ) -> None:
        self._app = app
        self._wanted = token.encode()
        self._looks = None if read_only_token is None else read_only_token.encode()
        self._open = frozenset(open_paths)
        self._open_folders = tuple(path for path in open_paths if path.endswith("/") and path != "/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        is_token = scope["type"] == "http" and self._has_token(scope, self._wanted)
        is_looking = scope["type"] == "http" and self._looks is not None and self._has_token(scope, self._looks)
        if is_token or is_looking:
            scope.get("state", {}).get(ON_PROOF, lambda: None)()
        if scope["type"] != "http" or self._is_open(scope["path"]) or is_token:
            await self._app(scope, receive, send)
            return
        if is_looking:
            may_look = self._app if scope["method"] in LOOKING else answer(Refusal(403, _ONLY_LOOKS))
            await may_look(scope, receive, send)
            return
        await answer(
            Refusal(
                401,
                "this needs the sidecar's token, as `Authorization: Bearer ...`: the sidecar's first line of "
                "output says where it is",
                {"WWW-Authenticate": 'Bearer realm="cobandit"'},
            )
        )(scope, receive, send)

    def _is_open(self, path: str) -> bool:
        return path in self._open or path.startswith(self._open_folders)

    @staticmethod
    def _has_token(scope: Scope, wanted: bytes) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(b" ")
        return scheme.lower() == b"bearer" and compare_digest(token.strip(), wanted)


_ONLY_LOOKS = "this token is read-only: the operator of the sidecar has the one that decides, rewards and operates"


def _read(file: Path, what: str) -> str:
    try:
        text = read_private(file, what).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise LocalError(
            f"{what}: cannot read {file}: {reason}. Write a token into it: openssl rand -hex 32"
        ) from error
    return _checked(text, f"{what} in {file}")


def _checked(token: str, what: str) -> str:
    """Return a token that can be sent in a header. Errors do not show it."""
    is_plain = token.isascii() and token.isprintable() and " " not in token
    if not (is_plain and SHORTEST_TOKEN <= len(token) <= LONGEST_TOKEN):
        raise LocalError(
            f"{what} must be {SHORTEST_TOKEN} to {LONGEST_TOKEN} ASCII characters without a space: make one with "
            "openssl rand -hex 32"
        )
    return token


def _write(file: Path, token: str) -> None:
    try:
        with drafted(file, f"{token}\n".encode(), 0o600) as draft:
            draft.replace(file)
    except OSError as error:
        raise LocalError(f"the token cannot be written to {file}: {error.strerror}. Set {VARIABLE} instead") from error
