"""The page's stream over HTTP."""

import asyncio
from pathlib import Path

import httpx

import tacit
from tacit.dashboard.watching import page_beside
from tacit.runtime.server import Sidecar, create_app

TOKEN = "a-token-for-these-tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def test_head_of_the_stream_is_its_headers_and_takes_no_viewers_place(tmp_path: Path) -> None:
    stopping = asyncio.Event()
    with tacit.connect(f"memory://{tmp_path}", group="homepage", name="web-1", arms=["A", "B"]) as member:
        app = create_app(member, token=TOKEN, extras=page_beside(member, stopping), stopping=stopping)
        with (
            Sidecar(app, "127.0.0.1:0", stopping=stopping) as sidecar,
            httpx.Client(base_url=sidecar.url, headers=HEADERS, timeout=30.0) as client,
        ):
            heads = [client.head("/page/stream") for _ in range(40)]  # more than may watch
            assert {(one.status_code, one.headers["content-type"]) for one in heads} == {
                (200, "text/event-stream; charset=utf-8")
            }
            with client.stream("GET", "/page/stream") as stream:
                for name in ("cache-control", "content-type", "x-accel-buffering", "x-content-type-options"):
                    assert stream.headers[name] == heads[0].headers[name]
            assert client.head("/page/stream", headers={"Authorization": ""}).status_code == 401
