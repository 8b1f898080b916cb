"""Packets that have come in and wait for the next step: how many may, and how many came.

This file owns the queue. What is in a packet, and whether to believe it, is for the machine.
"""

from collections import Counter, deque

from cobandit.live.auth.refusal import Refusal
from cobandit.live.machine.machine import Machine
from cobandit.live.transports.base import LARGEST_FRAME

MOST_PACKETS = 10_000
"""So many packets may wait to be looked at; further ones are refused."""

MOST_PACKET_BYTES = 64 * 2**20


class Receiving:
    """The packets of one member."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._packets: deque[tuple[bytes, str | None]] = deque()
        self._bytes = 0
        self.counts: Counter[str] = Counter()
        """As `Communication` names them."""

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to look at."""
        return bool(self._packets)

    def frame(self, frame: bytes, sender: str | None) -> bool:
        """Take a packet. Return whether it is let in."""
        machine, guard, now = self._machine, self._machine.guard, self._machine.clock.now()
        if not guard.admits(sender, now):
            return False
        if len(frame) > LARGEST_FRAME:
            machine.refuse(Refusal.OVERSIZED, sender, "a packet that is too large")
            return False
        if len(self._packets) >= MOST_PACKETS or self._bytes + len(frame) > MOST_PACKET_BYTES:
            guard.refuse(Refusal.FLOOD, None, now)
            return False
        self._packets.append((frame, sender))
        self._bytes += len(frame)
        self.counts["received"] += 1
        self.counts["bytes_received"] += len(frame)
        return True

    def take(self) -> list[tuple[bytes, str | None]]:
        """Return what waits, once."""
        packets = list(self._packets)
        self._packets.clear()
        self._bytes = 0
        return packets
