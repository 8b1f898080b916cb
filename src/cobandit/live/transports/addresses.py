"""Addresses to dial: `host:port` as people write it, and the pause between two attempts."""

from ipaddress import ip_address
from typing import NamedTuple
from zlib import crc32

from cobandit.values.chance import stream, uniform
from cobandit.values.errors import LocalError
from cobandit.values.masking import masked

LONGEST_ADDRESS = 300
"""Characters. A host name has at most 253."""

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Maximum seconds between two attempts, for the first while."""
LONGEST_PAUSE_FOR_GONE = 60.0
ATTEMPTS_UNTIL_GONE = 64
"""About five minutes of attempts. After that, the other side may be gone for good."""


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_number(self) -> bool:
        """Whether the host is an IP address, which needs no lookup."""
        try:
            ip_address(self.host)
        except ValueError:
            return False
        return True

    @property
    def is_wildcard(self) -> bool:
        """Whether the host stands for every address of a computer, and so cannot be dialled."""
        try:
            return ip_address(self.host).is_unspecified
        except ValueError:
            return not self.host


def parse_address(text: str, *, what: str = "the address") -> Address:
    """Read `host:port`.

    >>> parse_address("[::1]:7000")
    Address(host='::1', port=7000)

    Raises:
        LocalError: It is not an address.
    """
    host, colon, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    is_port = port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 2**16
    if not colon or not is_port or len(host) > LONGEST_ADDRESS or not host.isprintable() or " " in host:
        raise LocalError(
            f"{what} must be like 10.0.0.1:7000 or [::1]:7000, not {masked(text) if isinstance(text, str) else text!r}"
        )
    return Address(host, int(port))


def pause(attempt: int, *, me: str, there: str, longest: float | None = None) -> float:
    """Return how many seconds to wait after this many failed attempts: ever longer, and different for each member.

    Args:
        attempt: How many attempts have failed.
        me: The member that waits.
        there: The address that does not answer.
        longest: The maximum wait, if it should not depend on the number of attempts.

    >>> [round(pause(attempt, me="a", there="b:1"), 1) for attempt in (1, 4, 20, 200)]
    [0.1, 0.6, 3.7, 55.7]
    """
    if longest is None:
        longest = min(LONGEST_PAUSE_FOR_GONE, LONGEST_PAUSE * 1.1 ** max(0, attempt - ATTEMPTS_UNTIL_GONE))
    whole = min(longest, FIRST_PAUSE * 2.0 ** min(attempt - 1, 10))
    key = stream(*(crc32(text.encode("utf-8", "surrogatepass")) for text in (me, there)))
    return whole * (0.5 + 0.5 * uniform(key, attempt))
