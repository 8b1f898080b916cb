"""Who has the token may do everything; who has not may do nothing, and learns nothing."""

import errno
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from cobandit.live.process.serving import Serving
from cobandit.live.sidecar import Sidecar, Token, find_token
from cobandit.live.sidecar.contract import OPERATIONS
from cobandit.live.sidecar.tokens import TokenCheck
from cobandit.values.errors import LocalError

Served = Any  # of conftest.py, which cannot be imported

GUARDED = [(one.method, one.path.replace("{arm}", "red")) for one in OPERATIONS if not one.is_open]


WITHOUT: list[list[tuple[str, str]]] = [
    [],
    [("Authorization", "Bearer a-token-for-these-test")],
    [("Authorization", "Bearer a-token-for-these-testsx")],
    [("Authorization", "Bearer A-token-for-these-tests")],
    [("Authorization", "Bearer")],
    [("Authorization", "Basic a-token-for-these-tests")],
    [("Authorization", "a-token-for-these-tests")],
    [("Authorization", "Bearer wrong"), ("Authorization", "Bearer a-token-for-these-tests")],
    [("Authorization", "Bearer a-token-for-these-tests"), ("Authorization", "Bearer wrong")],
]


@pytest.mark.parametrize(("method", "path"), [*GUARDED, ("GET", "/nowhere"), ("GET", "/")])
def test_without_the_token_nothing_is_done(method: str, path: str, served: Served) -> None:
    before = served.facts()
    for headers in WITHOUT:
        answer = httpx.request(method, served.sidecar.url + path, headers=headers, json={"arm": "violet"}, timeout=60.0)
        assert (answer.status_code, answer.headers["www-authenticate"], answer.json()) == (
            401,
            'Bearer realm="cobandit"',
            {
                "title": "Unauthorized",
                "status": 401,
                "detail": "this needs the sidecar's token, as `Authorization: Bearer ...`: the sidecar's first line "
                "of output says where it is",
                "type": "about:blank",
            },
        )
    assert served.facts() == before


def test_probes_and_the_document_are_open(served: Served) -> None:
    paths = ("/healthz", "/readyz", "/openapi.json")
    assert [httpx.get(served.sidecar.url + path, timeout=60.0).status_code for path in paths] == [200, 200, 200]


def test_the_scheme_is_read_in_any_case(served: Served) -> None:
    headers = {"Authorization": "bearer  a-token-for-these-tests"}
    assert httpx.get(f"{served.sidecar.url}/v1/arms", headers=headers, timeout=60.0).status_code == 200


def test_a_folder_may_be_open_and_what_is_beside_it_is_not() -> None:
    async def text(_: object) -> PlainTextResponse:
        return PlainTextResponse("here")

    app = Starlette(
        routes=[Route("/{path:path}", text)],
        middleware=[Middleware(TokenCheck, "a-token-for-these-tests", {"/", "/assets/", "/page"})],
    )
    with Sidecar(app, "127.0.0.1:0") as sidecar:
        paths = ["/", "/assets/", "/assets/a.css", "/page", "/assets", "/page/", "/pages", "/x"]
        assert [httpx.get(sidecar.url + path, timeout=60.0).status_code for path in paths] == [200] * 4 + [401] * 4


# Where it comes from.


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    state, file = tmp_path / "web-1.db", tmp_path / "web-1.db.token"
    made = find_token(Serving(), state, {})
    assert made == Token(file.read_text(encoding="utf-8").strip(), str(file))
    assert len(made.text) == 43
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert find_token(Serving(), state, {}) == made
    assert sorted(path.name for path in tmp_path.iterdir()) == ["web-1.db.token"]
    assert made.text not in repr(made)
    assert find_token(Serving(), tmp_path / "web-2.db", {}).text != made.text


def test_a_named_file_comes_before_the_made_one_and_the_variable_before_both(tmp_path: Path) -> None:
    state, file = tmp_path / "web-1.db", tmp_path / "token"
    file.write_text("a token of the operator's\n".replace(" ", "-"), encoding="utf-8")
    named = Serving(token_file=file)
    assert find_token(named, state, {}) == Token("a-token-of-the-operator's", str(file))
    given = {"COBANDIT_TOKEN": "0123456789abcdef"}
    assert find_token(named, state, given) == Token("0123456789abcdef", "the environment variable COBANDIT_TOKEN")
    assert not (tmp_path / "web-1.db.token").exists()


@pytest.mark.parametrize(
    "text", ["", "short", "with a space in it", "ümlaut-ümlaut-ümlaut", "x" * 1025, "new\nline-new-line"]
)
def test_what_cannot_be_a_token_is_refused_without_being_shown(text: str, tmp_path: Path) -> None:
    with pytest.raises(LocalError) as caught:
        find_token(Serving(), tmp_path / "web-1.db", {"COBANDIT_TOKEN": text})
    assert str(caught.value) == (
        "COBANDIT_TOKEN must be 16 to 1024 ASCII characters without a space: make one with openssl rand -hex 32"
    )


def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "nothing"
    with pytest.raises(LocalError) as caught:
        find_token(Serving(token_file=file), tmp_path / "web-1.db", {})
    assert str(caught.value) == (
        f"token_file: cannot read {file}: No such file or directory. Write a token into it: openssl rand -hex 32"
    )


def test_the_folder_of_the_state_is_made(tmp_path: Path) -> None:
    state = tmp_path / "not" / "yet" / "web-1.db"
    made = find_token(Serving(), state, {})
    assert made.origin == f"{state}.token"
    assert find_token(Serving(), state, {}) == made


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    state = tmp_path / "file" / "web-1.db"
    with pytest.raises(LocalError) as caught:
        find_token(Serving(), state, {})
    assert str(caught.value) == (
        f"the token cannot be written to {state}.token: File exists. Set COBANDIT_TOKEN instead"
    )


def test_a_token_that_cannot_be_put_in_its_place_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path, __: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(LocalError, match="No space left on device"):
        find_token(Serving(), tmp_path / "web-1.db", {})
    assert list(tmp_path.iterdir()) == []
