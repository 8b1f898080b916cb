"""How a member is served over HTTP, according to its file: where to listen, which token, which limits.

Values only. The server is `cobandit.live.sidecar`, which needs the extra `serve`; this file does not.
"""

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from cobandit.live.transports.addresses import Address, parse_address
from cobandit.scenario.keys import Table, located

SERVING_KEYS = ("listen", "token_file", "read_only_token_file", "drain", "most_body", "most_requests")

LISTEN = "127.0.0.1:8700"
"""Where a sidecar listens by default: only for programs on the same computer."""

MOST_BODY = 2**20
"""The default limit of a request's body, in bytes."""

LARGEST_BODY = 64 * 2**20
"""Upper limit of `most_body`. A body is held in memory as a whole."""

MOST_REQUESTS = 256
"""The default limit on requests at the same time."""

LARGEST_REQUESTS = 100_000

LONGEST_DRAIN = 3600.0
"""Seconds."""


@dataclass(frozen=True)
class Limits:
    """Limits on what clients may request from a sidecar."""

    most_body: int = MOST_BODY
    """Maximum bytes of one request's body."""
    most_requests: int = MOST_REQUESTS
    """Maximum number of requests at the same time."""


@dataclass(frozen=True)
class Serving:
    """The part of an agent's file about HTTP."""

    listen: str = LISTEN
    """`host:port`."""
    token_file: Path | None = None
    """The file with the token. Without one, the token is found as described in `cobandit.live.sidecar.tokens`."""
    read_only_token_file: Path | None = None
    """The file with the read-only token."""
    drain: float = 0.0
    """How many seconds it keeps answering after SIGTERM, while it reports that it is not ready."""
    limits: Limits = field(default_factory=Limits)


def serving_from(table: Table, folder: Path) -> Serving:
    """Return what a file says about HTTP.

    Raises:
        LocalError: A value is not allowed. The message names the key.
    """
    listen = table.text("listen") if "listen" in table else LISTEN
    with located("listen"):
        parse_address(listen)
    return Serving(
        listen=listen,
        token_file=folder / table.text("token_file") if "token_file" in table else None,
        read_only_token_file=folder / table.text("read_only_token_file") if "read_only_token_file" in table else None,
        drain=table.number("drain", low=0.0, high=LONGEST_DRAIN) if "drain" in table else 0.0,
        limits=Limits(
            most_body=table.whole("most_body", 1, LARGEST_BODY, default=MOST_BODY),
            most_requests=table.whole("most_requests", 1, LARGEST_REQUESTS, default=MOST_REQUESTS),
        ),
    )


def is_loopback(address: Address) -> bool:
    """Return whether an address can only be reached by programs on this computer.

    >>> is_loopback(Address("127.0.0.1", 8700)), is_loopback(Address("0.0.0.0", 8700))
    (True, False)
    """
    if address.host == "localhost":
        return True
    try:
        return ip_address(address.host).is_loopback
    except ValueError:
        return False
