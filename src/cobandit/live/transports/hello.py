"""What members of a mesh tell each other besides frames: where they listen, and where others do.

Only content from proved members of the group gets here. All the same, it is read strictly and is bounded.
"""

import msgspec

from cobandit.codec.serializer import NotSoError, reader, write
from cobandit.live.transports.addresses import LONGEST_ADDRESS, Address, parse_address
from cobandit.values.tally import LONGEST_NAME

MOST_TOLD = 1000
"""Members in one hello. A larger mesh takes several hellos."""


class Hello(msgspec.Struct, array_like=True, frozen=True):
    """What a member says about itself and others."""

    boot: int
    """Differs between two processes with one name, and between two starts of one."""
    address: str
    """Where it listens; without a host if it does not know how it can be reached."""
    others: dict[str, str]
    """Names and addresses of the members that it is connected to."""
    name: str = ""
    """Its own name, if its certificate proves only a prefix."""
    is_leaf: bool = False
    """Whether it talks only to relays, so that the others need not hear of it."""


_read = reader(Hello)


def write_hello(hello: Hello) -> bytes:
    """Return a hello as bytes."""
    return write(hello)


def read_hello(content: bytes, *, seen_at: str) -> Hello | None:
    """Return the content, or `None` if it is not a hello. If it names no host, insert the one it was seen at."""
    try:
        hello = _read(content)
        address = parse_address(hello.address) if hello.address else None
        told = [parse_address(there) for there in hello.others.values()]
    except (NotSoError, ValueError):
        return None
    if (
        len(told) > MOST_TOLD
        or len(hello.name) > LONGEST_NAME
        or any(len(name) > LONGEST_ADDRESS for name in hello.others)
        or 0 in (a.port for a in told)
    ):
        return None
    if address is not None and address.is_wildcard:
        address = Address(seen_at, address.port)
    return msgspec.structs.replace(hello, address="" if address is None else str(address))
