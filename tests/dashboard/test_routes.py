"""The page over HTTP: what is open and what is not, and its stream."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import cobandit
from cobandit.dashboard.routes import OPEN_PATHS
from cobandit.dashboard.watching import page_beside
from cobandit.live.sidecar import Sidecar, create_app
from cobandit.live.sidecar.contract import OPERATIONS

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "sidecar.md"
TOKEN = "a-token-for-these-tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    stopping = asyncio.Event()
    with cobandit.connect(f"memory://{tmp_path}", group="homepage", name="web-1", arms=["A", "B"]) as member:
        app = create_app(member, token=TOKEN, extras=page_beside(member, stopping), stopping=stopping)
        with (
            Sidecar(app, "127.0.0.1:0", stopping=stopping) as sidecar,
            httpx.Client(base_url=sidecar.url, timeout=60.0) as one,
        ):
            yield one


def test_what_is_open_is_what_the_guide_says(client: httpx.Client) -> None:
    rows = re.findall(r"^\| (`/.*) \| (none|needed) \|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    said = {path: token for cell, token in rows for path in re.findall(r"`(/[^`]*)`", cell)}
    open_files = {path: "none" for path in OPEN_PATHS if path.startswith("/page/")}
    assert said.pop("/page/...") == "none"
    assert said.pop("/v1/...") == "needed"
    paths = {**said, **open_files, **{one.path: "needed" for one in OPERATIONS if one.path.startswith("/v1/")}}
    assert "/" in said
    assert len(open_files) > 5
    answers = {path: "needed" if client.head(path).status_code == 401 else "none" for path in paths}
    assert answers == paths
    assert set(paths) >= OPEN_PATHS


def test_head_of_the_stream_is_its_headers_and_takes_no_viewers_place(client: httpx.Client) -> None:
    heads = [client.head("/page/stream", headers=HEADERS) for _ in range(40)]  # more than may watch
    assert {(one.status_code, one.headers["content-type"]) for one in heads} == {
        (200, "text/event-stream; charset=utf-8")
    }
    with client.stream("GET", "/page/stream", headers=HEADERS) as stream:
        for name in ("cache-control", "content-type", "x-accel-buffering", "x-content-type-options"):
            assert stream.headers[name] == heads[0].headers[name]
