"""A sidecar that stops finishes what is under way, ends its streams, and lets the member say farewell."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import cobandit
from cobandit.live.drive.member import Member
from cobandit.live.process.serving import Limits
from cobandit.live.sidecar import Extras, Sidecar, create_app
from cobandit.values.errors import LocalError

TOKEN = "a-token-for-these-tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
HALF = (
    f"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer {TOKEN}\r\n"
    "Content-Length: 2\r\n\r\n{"
).encode()
WITHIN = 60.0


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    with cobandit.connect(f"memory://{tmp_path}", group="homepage", name="web-1", arms=["A", "B"]) as one:
        yield one


@contextmanager
def streaming(member: Member, *, watches: bool, limits: Limits | None = None) -> Iterator[Sidecar]:
    """A sidecar with a stream of events that never ends by itself."""
    stopping = asyncio.Event()

    async def events() -> AsyncIterator[str]:
        while not (watches and stopping.is_set()):
            yield "data: tick\n\n"
            try:
                async with asyncio.timeout(0.05):
                    await (stopping if watches else asyncio.Event()).wait()
            except TimeoutError:
                pass
        yield "event: end\ndata:\n\n"

    async def stream(_: Request) -> StreamingResponse:
        return StreamingResponse(events(), media_type="text/event-stream")

    extras = Extras([Route("/events", stream)])
    with Sidecar(
        create_app(member, token=TOKEN, limits=limits, extras=extras, stopping=stopping),
        "127.0.0.1:0",
        stopping=stopping,
    ) as one:
        yield one


def is_refused(sidecar: Sidecar) -> bool:
    try:
        socket.create_connection((sidecar.address.host, sidecar.address.port), timeout=1.0).close()
    except OSError:
        return True
    return False


def test_a_stream_that_watches_is_ended_so_that_the_stop_need_not_wait(
    member: Member, caplog: pytest.LogCaptureFixture
) -> None:
    with streaming(member, watches=True) as sidecar:
        assert httpx.get(f"{sidecar.url}/events", timeout=WITHIN).status_code == 401
        with httpx.stream("GET", f"{sidecar.url}/events", headers=HEADERS, timeout=WITHIN) as answer:
            lines = answer.iter_lines()
            assert next(lines) == "data: tick"
            sidecar.close()
            assert "timeout graceful shutdown exceeded" not in caplog.text  # so it was not cut off
            assert [line for line in lines if line][-2:] == ["event: end", "data:"]
    assert is_refused(sidecar)


def test_a_stream_that_does_not_is_cut_off(
    member: Member, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("cobandit.live.sidecar.running.FINISH_WITHIN_S", 0.2)
    with (
        streaming(member, watches=False) as sidecar,
        httpx.stream("GET", f"{sidecar.url}/events", headers=HEADERS, timeout=WITHIN) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == "data: tick"
        sidecar.close()
        with pytest.raises(httpx.RemoteProtocolError):
            list(lines)
    assert "timeout graceful shutdown exceeded" in caplog.text
    assert is_refused(sidecar)


def test_streams_take_no_place_from_requests(member: Member) -> None:
    with (
        streaming(member, watches=True, limits=Limits(most_requests=1)) as sidecar,
        httpx.Client(base_url=sidecar.url, headers=HEADERS, timeout=WITHIN) as client,
    ):
        streams = [client.stream("GET", "/events") for _ in range(5)]
        for one in streams:
            one.__enter__()
        try:
            assert client.get("/v1/arms").status_code == 200
        finally:
            for one in streams:
                one.__exit__(None, None, None)


def test_a_request_under_way_is_finished_and_idle_connections_are_closed(member: Member) -> None:
    sidecar = Sidecar(create_app(member, token=TOKEN), "127.0.0.1:0")
    where = (sidecar.address.host, sidecar.address.port)
    with (
        socket.create_connection(where, timeout=WITHIN) as idle,
        socket.create_connection(where, timeout=WITHIN) as busy,
        busy.makefile("rb") as answer,
    ):
        busy.sendall(HALF)
        deadline = time.monotonic() + WITHIN
        while not sidecar._server.server_state.tasks:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        sidecar._server.should_exit = True
        while not is_refused(sidecar):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert idle.recv(1) == b""
        busy.sendall(b"}")
        assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
        assert b"connection: close\r\n" in answer.read()
    sidecar.close()
    sidecar.close()  # harmless
    assert member.statistics().decisions == 1


def test_while_it_stops_it_is_not_ready(member: Member) -> None:
    stopping = asyncio.Event()
    with Sidecar(create_app(member, token=TOKEN, stopping=stopping), "127.0.0.1:0") as sidecar:
        assert httpx.get(f"{sidecar.url}/readyz", timeout=WITHIN).status_code == 200
        stopping.set()
        answer = httpx.get(f"{sidecar.url}/readyz", timeout=WITHIN)
        assert (answer.status_code, answer.json()["detail"]) == (503, "the sidecar is stopping: ask another one")


def test_what_runs_beside_the_api_is_entered_and_left_on_its_loop(member: Member) -> None:
    happened = []

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        happened.append("entered")
        asyncio.get_running_loop()
        yield
        happened.append("left")

    with Sidecar(create_app(member, token=TOKEN, extras=Extras(running=running)), "127.0.0.1:0"):
        assert happened == ["entered"]
    assert happened == ["entered", "left"]


def test_what_cannot_start_beside_the_api_is_an_error(member: Member) -> None:
    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        if member.is_open:
            raise LocalError("the page is not there")
        yield

    with pytest.raises(LocalError, match="the sidecar did not start"):
        Sidecar(create_app(member, token=TOKEN, extras=Extras(running=running)), "127.0.0.1:0")


def test_a_taken_port_is_named(member: Member) -> None:
    app = create_app(member, token=TOKEN)
    with Sidecar(app, "127.0.0.1:0") as sidecar, pytest.raises(LocalError) as caught:
        Sidecar(app, f"127.0.0.1:{sidecar.address.port}")
    assert str(caught.value) == (
        f"listen: port {sidecar.address.port} on 127.0.0.1 is taken: stop what listens there, or listen on another"
    )


@pytest.mark.parametrize("listen", ["nowhere.invalid:80", "127.0.0.1", "a:b"])
def test_an_address_that_cannot_be_is_an_error(listen: str, member: Member) -> None:
    with pytest.raises(LocalError, match="listen"):
        Sidecar(create_app(member, token=TOKEN), listen)


def test_listening_for_other_machines_is_said_loudly(member: Member, caplog: pytest.LogCaptureFixture) -> None:
    with Sidecar(create_app(member, token=TOKEN), "127.0.0.1:0"):
        assert caplog.messages == []
    with Sidecar(create_app(member, token=TOKEN), "0.0.0.0:0") as sidecar:
        (said,) = caplog.messages
        assert said == (
            "event=sidecar_exposed "
            f"the sidecar listens on 0.0.0.0:{sidecar.address.port}, where other computers can reach it, and its "
            "traffic is NOT ENCRYPTED: the token can be read on the way. Put a proxy with TLS before it, or listen on "
            "127.0.0.1"
        )
        assert sidecar.url == f"http://127.0.0.1:{sidecar.address.port}"
