"""Servers for tests start, stop and start again on one port, and say so if they cannot."""

import os
import socket

import pytest

from cobandit import LocalError
from lab import servers
from lab.servers import HOST, Missing, Server, nats_server


@pytest.mark.parametrize("name", ["nats", "mqtt", "redis"])
def test_a_server_keeps_its_port_when_it_is_started_again(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)
    assert server.url == f"{name}://{HOST}:{server.port}"
    first = server.pid
    os.kill(first, 0)
    server.stop()
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, server.port))
    with pytest.raises(LocalError, match="does not run"):
        _ = server.pid
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    server.start()
    server.start()
    socket.create_connection((HOST, server.port)).close()


def test_a_program_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "FOLDERS", ())
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Missing, match="there is no nats-server on this machine"), nats_server():
        pass


def test_a_server_that_does_not_start_shows_what_it_said(nats: Server) -> None:  # noqa: ARG001 - so that there is one
    with pytest.raises(LocalError, match=r"did not start: .*flag provided but not defined: -nonsense"):
        nats_server("--nonsense").__enter__()
