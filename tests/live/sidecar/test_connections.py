"""What a client may do before its token is known: headers of a limited length, within a limited time."""

import json
import socket
import threading
import time
from contextlib import ExitStack
from typing import Any, BinaryIO

import pytest

from cobandit.live.sidecar.connections import MOST_HEAD

Served = Any  # of conftest.py, which cannot be imported

WITHIN = 60.0
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
CONNECTIONS = "cobandit.live.sidecar.connections"


def refused(file: BinaryIO) -> tuple[bytes, dict[bytes, bytes], dict[str, Any]]:
    """What is answered on a connection that is closed then: the first line, the headers, and the problem."""
    head, _, body = file.read().partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    headers = dict(line.split(b": ", 1) for line in lines)
    assert headers[b"content-type"] == b"application/problem+json"
    assert headers[b"connection"] == b"close"
    assert int(headers[b"content-length"]) == len(body)
    return first, headers, json.loads(body)


def padded(length: int) -> bytes:
    """A head of this length, as the limit counts it: without the method and the version."""
    rest = length - len(b"/healthz") - len(b"Host: x\r\n") - len(b"X: \r\n")
    return GET + b"X: " + b"a" * rest + b"\r\n\r\n"


def test_a_head_of_the_greatest_length_is_taken_and_one_byte_more_is_not(served: Served) -> None:
    with served.connection() as (stream, file):
        stream.sendall(padded(MOST_HEAD))
        assert file.readline() == b"HTTP/1.1 200 OK\r\n"
    with served.connection() as (stream, file):
        stream.sendall(padded(MOST_HEAD + 1))
        first, _, problem = refused(file)
    assert first == b"HTTP/1.1 431 Request Header Fields Too Large"
    assert problem == {
        "title": "Request Header Fields Too Large",
        "status": 431,
        "detail": "the headers are longer than 65536 bytes: the client must send less",
        "type": "about:blank",
    }


@pytest.mark.parametrize("part", [b"a" * 1000, b"X-Name: a\r\n" * 100], ids=["one header", "many headers"])
def test_a_head_without_an_end_is_refused_as_soon_as_it_is_too_long(part: bytes, served: Served) -> None:
    with served.connection() as (stream, file):
        stream.sendall(GET + b"X: ")
        for _ in range(MOST_HEAD // len(part) + 1):
            stream.sendall(part)
        first, _, _ = refused(file)
    assert first == b"HTTP/1.1 431 Request Header Fields Too Large"


def test_who_goes_on_sending_headers_is_cut_off_and_fills_no_memory(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{CONNECTIONS}.THROW_AWAY_WITHIN_S", 0.2)
    with served.connection() as (stream, _), pytest.raises((BrokenPipeError, ConnectionResetError)):
        send_for_ever(stream, GET + b"X: ", b"a" * 2**16)


def send_for_ever(stream: socket.socket, first: bytes, then: bytes) -> None:
    stream.sendall(first)
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        stream.sendall(then)


def test_who_says_nothing_is_not_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{CONNECTIONS}.HEAD_WITHIN_S", 0.05)
    with served.connection() as (_, file):
        assert file.read() == b""


@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["first", "second"])
def test_a_head_that_does_not_end_is_not_waited_for(
    before: bytes, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not before:
        monkeypatch.setattr(f"{CONNECTIONS}.HEAD_WITHIN_S", 1.0)
    with served.connection() as (stream, file):
        stream.sendall(before)
        if before:
            while file.readline() != b"\r\n":
                pass
            assert file.read(len(b'{"status":"alive"}')) == b'{"status":"alive"}'
            monkeypatch.setattr(f"{CONNECTIONS}.HEAD_WITHIN_S", 1.0)  # from the first byte of the second head on
        stream.sendall(GET)
        first, _, problem = refused(file)
    assert first == b"HTTP/1.1 408 Request Timeout"
    assert problem["detail"] == "the headers did not come within 1 seconds: send them at once"


def test_a_request_that_is_under_way_is_not_ended_by_the_clock_of_its_head(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{CONNECTIONS}.HEAD_WITHIN_S", 1.0)
    with served.connection() as (stream, file):
        stream.sendall(b"POST /v1/select HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + served.token)
        stream.sendall(b"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{")
        with served.connection() as (_, other):
            assert other.read() == b""  # so the clock would have rung
        stream.sendall(b"}")
        assert file.readline() == b"HTTP/1.1 200 OK\r\n"


def test_a_connection_whose_request_was_answered_before_its_end_is_closed_when_it_is_idle(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served.connection() as (stream, file):
        stream.sendall(b"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
        assert file.readline() == b"HTTP/1.1 401 Unauthorized\r\n"
        (connection,) = served.sidecar._server.server_state.connections
        monkeypatch.setattr(connection, "timeout_keep_alive", 1.0)
        served.wait_for(lambda: connection.timeout_keep_alive_task is not None)
        stream.sendall(b"{}")
        assert file.read().endswith(b'"type":"about:blank"}')


def requested(served: Served, path: bytes) -> bytes:
    token: bytes = served.token
    return b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + b"\r\n\r\n"


def test_who_shows_no_token_gives_way_to_who_comes_next(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{CONNECTIONS}.MOST_CONNECTIONS", 5)
    with ExitStack() as stack:
        client, answers = stack.enter_context(served.connection())
        client.sendall(requested(served, b"/healthz"))
        assert answers.readline() == b"HTTP/1.1 200 OK\r\n"
        outsiders = [stack.enter_context(served.connection()) for _ in range(20)]
        for stream, file in outsiders[-2:]:  # they ask for what is open, and keep their connections
            stream.sendall(GET + b"\r\n")
            assert file.readline() == b"HTTP/1.1 200 OK\r\n"
        with served.connection() as (stream, file):
            stream.sendall(requested(served, b"/v1/arms"))
            assert file.readline() == b"HTTP/1.1 200 OK\r\n"
        served.wait_for(lambda: len(served.sidecar._server.server_state.connections) <= 5)
        assert [served.client.get(path).status_code for path in ("/readyz", "/v1/arms")] == [200, 200]
        client.sendall(requested(served, b"/v1/arms"))
        assert any(answers.readline().endswith(b"HTTP/1.1 200 OK\r\n") for _ in range(10))  # it has kept its place


def test_if_clients_take_all_connections_others_are_refused_and_it_says_that_it_is_not_ready(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{CONNECTIONS}.MOST_CONNECTIONS", 3)
    with ExitStack() as stack:
        clients = [stack.enter_context(served.connection()) for _ in range(3)]
        for stream, file in clients:
            stream.sendall(requested(served, b"/v1/arms"))
            assert file.readline() == b"HTTP/1.1 200 OK\r\n"
        with served.connection() as (stream, file):
            stream.sendall(requested(served, b"/healthz"))
            assert file.readline() == b"HTTP/1.1 200 OK\r\n"
        for path in (b"/v1/arms", b"/readyz"):
            with served.connection() as (stream, file):
                stream.sendall(requested(served, path))
                first, headers, problem = refused(file)
            assert (first, headers[b"retry-after"]) == (b"HTTP/1.1 503 Service Unavailable", b"1")
            assert problem["detail"] == "more than 3 connections are open: use one for many requests, and try again"
        clients[0][0].shutdown(socket.SHUT_RDWR)
        served.wait_for(lambda: len(served.sidecar._server.server_state.connections) <= 2)
        assert [served.client.get(path).status_code for path in ("/readyz", "/v1/arms")] == [200, 200]


def test_what_is_not_http_is_refused_in_words_at_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{CONNECTIONS}.THROW_AWAY_WITHIN_S", 600.0)
    with served.connection() as (stream, file):
        stream.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        first, _, problem = refused(file)
    assert first == b"HTTP/1.1 400 Bad Request"
    assert problem["detail"] == "Invalid HTTP request received. The client must send HTTP/1.1"


def test_a_body_that_is_not_http_is_refused_in_words(served: Served) -> None:
    before = served.facts()
    with served.connection() as (stream, file):
        stream.sendall(b"POST /v1/select HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + served.token)
        stream.sendall(b"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nnot a length\r\n")
        first, _, _ = refused(file)
    assert first == b"HTTP/1.1 400 Bad Request"
    assert served.facts() == before


def test_a_head_that_is_refused_behind_a_request_is_no_answer_to_that(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, may_answer = served.member.fleet(), threading.Event()
    monkeypatch.setattr(served.member, "fleet", lambda wait_s: may_answer.wait(wait_s + WITHIN) and fleet)
    with served.connection() as (stream, file):
        stream.sendall(b"GET /v1/fleet HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + served.token + b"\r\n\r\n")
        served.wait_for(lambda: len(served.sidecar._server.server_state.tasks) == 1)
        stream.sendall(GET + b"X: " + b"y" * MOST_HEAD)
        try:
            assert file.read() == b""
        except ConnectionResetError:  # what came last was not read any more
            pass
        finally:
            may_answer.set()


def test_many_requests_may_be_sent_before_the_first_is_answered(served: Served) -> None:
    one = GET + b"X: " + b"a" * 1000 + b"\r\n\r\n"
    with served.connection() as (stream, file):
        stream.sendall(one * 200 + one[:-2])
        stream.sendall(one[-2:])
        answers = 0
        while answers < 201:
            answers += file.readline().endswith(b"HTTP/1.1 200 OK\r\n")
