"""A sidecar as a process: the application in a real server, on its own thread, until the process is told to stop.

While it drains, it reports that it is not ready, but keeps answering. To stop, it releases the port, ends the streams,
finishes requests under way, and only then lets the member say farewell.
`cobandit.live.process.service` handles signals and runs the member.
"""

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, cast

import uvicorn
from starlette.types import ASGIApp

from cobandit.live.drive.member import Member
from cobandit.live.log_events import LogEvent, log_event
from cobandit.live.process.config import AgentConfig
from cobandit.live.process.service import run_agent
from cobandit.live.process.serving import is_loopback
from cobandit.live.sidecar.app import Extras, create_app
from cobandit.live.sidecar.connections import Connections
from cobandit.live.sidecar.tokens import Token, find_read_only_token, find_token
from cobandit.live.transports.addresses import Address, parse_address
from cobandit.live.transports.listening import listening_socket, listening_to
from cobandit.values.errors import LocalError

FINISH_WITHIN_S = 8
"""How long requests under way may take when it stops. After that they are cut off."""

KEEP_ALIVE_S = 75
"""How long a connection may be idle: longer than in clients' pools, so that the clients close it first."""

BACKLOG = 1024
"""How many connections may wait to be accepted."""

ExtrasOf = Callable[[Member, asyncio.Event], Extras]
"""Creates what is served beside the API, for a member. The event is set when streams must end."""


def run_sidecar(
    config: AgentConfig, *, ready: Callable[[Member, "Sidecar"], None], extras: ExtrasOf | None = None
) -> bool:
    """Run a member and serve it over HTTP until the process is told to stop, by SIGTERM or SIGINT.

    Args:
        config: What to run.
        ready: Called when it serves.
        extras: What else to serve.

    Returns:
        Whether everything is on the disk. If not, the log says why.

    Raises:
        LocalError: It cannot start. Everything opened was closed again.
    """
    token = find_token(config.serving, config.member["state"])
    read_only_token, draining = find_read_only_token(config.serving, token), threading.Event()
    sidecars: list[Sidecar] = []

    def serve(member: Member) -> Sidecar:
        stopping = asyncio.Event()
        app = create_app(
            member,
            token=token.text,
            read_only_token=read_only_token,
            limits=config.serving.limits,
            extras=None if extras is None else extras(member, stopping),
            stopping=stopping,
            draining=draining,
        )
        sidecars.append(Sidecar(app, config.serving.listen, token=token, stopping=stopping))
        return sidecars[0]

    return run_agent(
        config,
        ready=lambda member: ready(member, sidecars[0]),
        beside=serve,
        logs_of=("uvicorn", "asyncio"),
        drain=config.serving.drain,
        on_drain=draining.set,
    )


class Sidecar:
    """Serves an application from its own thread, until it is closed.

    Args:
        app: The application.
        listen: Where to listen, `host:port`; port 0 picks a free one.
        token: The application's token, for callers that report where it is.
        stopping: Set when it is about to stop.

    Raises:
        LocalError: The address cannot be used for listening.
    """

    def __init__(
        self, app: ASGIApp, listen: str, *, token: Token | None = None, stopping: asyncio.Event | None = None
    ) -> None:
        address = parse_address(listen, what="the address to listen on")
        self.token = token
        self._stopping = stopping or asyncio.Event()
        self._socket = _listening(address)
        self.address = Address(address.host, self._socket.getsockname()[1])
        """Where it listens."""
        if not is_loopback(address):
            log_event(
                logging.WARNING,
                LogEvent.SIDECAR_EXPOSED,
                f"the sidecar listens on {self.address}, where other computers can reach it, and its traffic is NOT "
                "ENCRYPTED: the token can be read on the way. Put a proxy with TLS before it, or listen on 127.0.0.1",
            )
        self._server = _Server(
            uvicorn.Config(
                app,
                loop="uvloop" if _has_uvloop() else "asyncio",
                http=cast("type[asyncio.Protocol]", Connections()),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=FINISH_WITHIN_S,
            )
        )
        self._failures: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="cobandit-http", daemon=True)
        self._thread.start()
        self._server.is_up.wait()
        if self._failures:
            self._socket.close()
            raise LocalError("the sidecar did not start, and the log says why") from self._failures[0]

    @property
    def url(self) -> str:
        """The address for a program or a browser on this computer."""
        host = self.address.host
        if self.address.is_wildcard:
            host = "::1" if ":" in host else "127.0.0.1"
        return f"http://{Address(host, self.address.port)}"

    def close(self) -> None:
        """Accept no more requests, finish those under way, and stop. Does nothing if it is closed already."""
        self._server.should_exit = True
        with contextlib.suppress(RuntimeError):  # its loop has ended by itself
            self._server.loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except BaseException as error:  # noqa: BLE001  # the thread that started this one gets it
            self._failures.append(error)
        finally:
            self._server.is_up.set()


class _Server(uvicorn.Server):
    """Reports when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = threading.Event()
        self.loop: asyncio.AbstractEventLoop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self.is_up.set()


def _listening(address: Address) -> socket.socket:
    """Return a socket bound to the port."""
    with listening_to(address, "listen"):
        found = socket.getaddrinfo(address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return listening_socket(found[0], BACKLOG)


def _has_uvloop() -> bool:
    try:
        import uvloop  # noqa: F401, PLC0415  # not on every system
    except ImportError:
        return False
    return True
