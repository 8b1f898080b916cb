"""Errors of the network, in words for the person who must act."""

import errno
import os
import socket
import ssl

from tacit.runtime.transports.addresses import Address


def listening_problem(address: Address, error: OSError | UnicodeError) -> str:
    """Return why this machine cannot listen there, and what to do."""
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {address.port} on {address.host} is taken: stop what listens there, or listen on another"
    reason = why(error) if isinstance(error, OSError) else "not a host's name"
    return f"cannot listen on {address}: {reason}"


def why(error: OSError) -> str:
    """Return what an error of the network means, in a few words."""
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, socket.gaierror) or error.errno is None:
        return (error.strerror or str(error)).lower()
    if isinstance(error, ssl.SSLError):
        return "what is there does not speak TLS 1.3"
    return os.strerror(error.errno).lower()
