"""Serving a member's metrics over HTTP, from a thread of its own. It needs the extra `metrics`."""

from types import TracebackType
from typing import Self

from cobandit.live.drive.member import Member
from cobandit.live.status.metrics import MemberCollector
from cobandit.live.transports.addresses import parse_address
from cobandit.live.transports.listening import listening_to
from cobandit.values.extras import needed_by

with needed_by("serving metrics"):
    from prometheus_client import CollectorRegistry, start_http_server


class MetricsServer:
    """Serves the metrics of a member over HTTP, until it is closed."""

    def __init__(self, member: Member, address: str) -> None:
        where = parse_address(address, what="the address for metrics")
        registry = CollectorRegistry()
        registry.register(MemberCollector(member))
        with listening_to(where, "metrics"):
            self._server, self._thread = start_http_server(where.port, where.host or "0.0.0.0", registry)  # noqa: S104  # as asked for
        self.port: int = self._server.server_port

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
    """Serve a member's metrics at `http://host:port/metrics`, from a thread of its own.

    Args:
        member: The member.
        address: Where to listen, `host:port`; port 0 picks a free one, which is the server's `port`.

    Raises:
        LocalError: The address cannot be one, or is taken.
    """
    return MetricsServer(member, address)
