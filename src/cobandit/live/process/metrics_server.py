"""Serves a member's metrics over HTTP, from a bounded number of its own threads. This needs the extra `metrics`.

Any client that can connect may ask. So every newcomer is admitted, and another one goes when all places are taken
(`Door`). This file owns those connections, and does not know what the metrics say.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from socketserver import ThreadingMixIn
from types import TracebackType
from typing import Any, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from cobandit.live.drive.member import Member
from cobandit.live.status.metrics import MemberCollector
from cobandit.live.transports.addresses import Address, parse_address
from cobandit.live.transports.door import Door
from cobandit.live.transports.listening import listening_to
from cobandit.values.extras import needed_by

with needed_by("serving metrics"):
    from prometheus_client import CollectorRegistry, make_wsgi_app

MAX_METRICS_CONNECTIONS = 32
"""Connections at the same time. A scrape takes milliseconds."""

METRICS_WITHIN_S = 10.0
"""How long the other end may be silent."""


class _Connection(WSGIRequestHandler):
    """One request."""

    timeout = METRICS_WITHIN_S

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as it is called there
        """Log nothing: others could fill the log."""


class _Server(ThreadingMixIn, WSGIServer):
    """One thread for each connection, up to a limit."""

    daemon_threads = True

    def __init__(self, where: Address, app: Callable[..., Any]) -> None:
        host = where.host or "0.0.0.0"  # noqa: S104  # as asked for
        self.address_family = socket.getaddrinfo(host, where.port, type=socket.SOCK_STREAM)[0][0]
        self._lock = threading.Lock()
        self._door: Door[socket.socket] = Door(lambda connection, _: _hang_up(connection))
        super().__init__((host, where.port), _Connection)
        self.set_app(app)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # as it is there
        with self._lock:
            self._door.come(request, str(client_address[0]), MAX_METRICS_CONNECTIONS)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        with self._lock:
            self._door.leave(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Log nothing: the other end was too slow, or has gone."""


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # its thread notices this, and closes it


class MetricsServer:
    """Serves the metrics of a member over HTTP, until it is closed."""

    def __init__(self, member: Member, address: str) -> None:
        where = parse_address(address, what="the address for metrics")
        registry = CollectorRegistry()
        registry.register(MemberCollector(member))
        with listening_to(where, "metrics"):
            self._server = _Server(where, make_wsgi_app(registry))
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve_metrics(member: Member, address: str) -> MetricsServer:
    """Serve a member's metrics at `http://host:port/metrics`, from their own thread.

    Args:
        member: The member.
        address: Where to listen, `host:port`; port 0 picks a free one, which is the server's `port`.

    Raises:
        LocalError: The address is invalid or taken.
    """
    return MetricsServer(member, address)
