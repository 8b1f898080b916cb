"""Incoming connections that have not proved anything yet, and which of them must go.

Places are few, but every newcomer is admitted. When all places are taken, the host with the most of them loses the one
that has waited longest. So silent outsiders displace each other, while a member, which proves its name within a
fraction of a second, finds a place. This file does not know sockets and proofs.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from ipaddress import IPv6Address, ip_address
from typing import Generic, TypeVar

MAX_UNPROVED = 256
"""How many incoming connections may be unproved."""

IPV6_HOST_BITS = 64
"""How many bits of an IPv6 address one customer can choose. All those addresses count as one host."""

Visitor = TypeVar("Visitor", bound=Hashable)


class Door(Generic[Visitor]):
    """The visitors that are waiting.

    Args:
        turn_away: Called with a visitor that must go, and its host. It may call `leave`.
    """

    def __init__(self, turn_away: Callable[[Visitor, str], None]) -> None:
        self._turn_away = turn_away
        self._waiting: dict[Visitor, str] = {}
        """Each visitor with its host, in the order of arrival."""

    def __len__(self) -> int:
        return len(self._waiting)

    def come(self, visitor: Visitor, address: str, places: int | None = None) -> None:
        """Admit a visitor. If all places are taken, turn another one away first."""
        if self._waiting and len(self._waiting) >= (MAX_UNPROVED if places is None else places):
            (crowded, _), *_ = Counter(self._waiting.values()).most_common(1)
            oldest = next(one for one, host in self._waiting.items() if host == crowded)
            del self._waiting[oldest]
            self._turn_away(oldest, crowded)
        self._waiting[visitor] = host_of(address)

    def leave(self, visitor: Visitor) -> None:
        """Note that a visitor has proved its name, or has gone. Does nothing if it is not here."""
        self._waiting.pop(visitor, None)


def host_of(address: str) -> str:
    """Return the host that an address counts for.

    >>> host_of("10.0.0.7"), host_of("2001:db8::1") == host_of("2001:db8::2")
    ('10.0.0.7', True)
    """
    try:
        number = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(number, IPv6Address):
        if number.ipv4_mapped is not None:
            return str(number.ipv4_mapped)
        return str(IPv6Address(int(number) >> IPV6_HOST_BITS << IPV6_HOST_BITS))
    return str(number)
