"""The addresses of a leaf's relays: DNS names are looked up, and looked up again now and then.

The name of a headless service stands for all its addresses, which change as relays come and go. This file owns when to
look names up, and tells the transport which places are wanted. `homes.py` chooses among them.
"""

import asyncio
import socket

from cobandit.live.machine.machine import Machine
from cobandit.live.transports.addresses import Address, parse_address
from cobandit.live.transports.base import Transport

LOOK_UP_EVERY = 30.0
"""Seconds between two lookups of a DNS name."""

LOOK_UP_AGAIN_AFTER = 3.0
"""The same, while no relay answers."""

LOOK_UP_WITHIN = 5.0
"""Seconds that a DNS lookup may take."""

MAX_ADDRESSES = 256
"""How many addresses one name may stand for."""


class RelayPlaces:
    """The places of one leaf's relays. Empty for a member that is not a leaf."""

    def __init__(self, machine: Machine, transport: Transport) -> None:
        self._machine, self._transport = machine, transport
        terms = machine.terms
        has_names = machine.leaf is not None and not terms.relays_have_names and any(map(_is_name, terms.relays))
        self.due_at: float | None = 0.0 if has_names else None
        """When to look names up next; `None` for never."""
        self._sought: tuple[str, ...] = ()
        self.is_cut_off = False
        """Whether no relay answers. Written here, read on any thread."""
        self._looking: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin to look names up, if it is time."""
        now = self._machine.clock.now()
        if self.due_at is None or now < self.due_at or (self._looking is not None and not self._looking.done()):
            return
        self.due_at = now + LOOK_UP_EVERY
        name = f"cobandit relays of {self._machine.terms.name}"
        self._looking = asyncio.create_task(self._look_up(), name=name)

    def seek(self) -> None:
        """Make the transport connect to the homes, if they have changed."""
        leaf = self._machine.leaf
        if leaf is None:
            return
        self.is_cut_off = leaf.homes.is_cut_off
        if self.due_at is not None and leaf.homes.is_cut_off:
            self.due_at = min(self.due_at, self._machine.clock.now() + LOOK_UP_AGAIN_AFTER)
        if leaf.homes.wanted != self._sought:
            self._sought = leaf.homes.wanted
            self._transport.seek(self._sought)

    async def end(self) -> None:
        """Stop looking names up."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look_up(self) -> None:
        found: list[str] = []
        for place in self._machine.terms.relays:
            found += await addresses_of(place)
        leaf = self._machine.leaf
        if leaf is not None and found:
            leaf.homes.offer(found)


def _is_name(place: str) -> bool:
    return not parse_address(place).is_number


async def addresses_of(place: str) -> list[str]:
    """Return all addresses of a DNS name; nothing if it cannot be looked up now."""
    there = parse_address(place)
    if there.is_number:
        return [place]
    try:
        async with asyncio.timeout(LOOK_UP_WITHIN):
            found = await asyncio.get_running_loop().getaddrinfo(there.host, there.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return []
    return [str(Address(str(where[0]), there.port)) for _, _, _, _, where in found][:MAX_ADDRESSES]
