"""Listening on a port, and network errors in words for the person who must act."""

import errno
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cobandit.live.transports.addresses import Address
from cobandit.values.errors import LocalError


@contextmanager
def listening_to(address: Address, what: str) -> Iterator[None]:
    """If this computer cannot listen there, raise an error that says why.

    Args:
        address: The address.
        what: The name of the listener in its configuration.

    Raises:
        LocalError: It cannot listen. The message says what to do.
    """
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise LocalError(f"{what}: {listening_problem(address, error)}") from error


def listening_socket(found: tuple[Any, ...], backlog: int) -> socket.socket:
    """Return a socket bound to an address that `getaddrinfo` found."""
    family, kind, protocol, _, where = found
    taken = socket.socket(family, kind, protocol)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(where)
        taken.listen(backlog)
    except BaseException:
        taken.close()
        raise
    return taken


def listening_problem(address: Address, error: OSError | UnicodeError) -> str:
    """Return why this computer cannot listen there, and what to do."""
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {address.port} on {address.host} is taken: stop what listens there, or listen on another"
    reason = why(error) if isinstance(error, OSError) else "not a host's name"
    return f"cannot listen on {address}: {reason}"


def why(error: OSError) -> str:
    """Return what a network error means, in a few words."""
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, socket.gaierror) or error.errno is None:
        return (error.strerror or str(error)).lower()
    if isinstance(error, ssl.SSLError):
        return "what is there does not speak TLS 1.3"
    return os.strerror(error.errno).lower()
