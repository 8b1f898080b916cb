"""Packets that wait for the next step: how many may wait, in all and from one sender, and how many arrived.

This file owns the queue. The machine judges what is in a packet, and whether to believe it.
"""

from collections import Counter, deque

from cobandit.live.auth.refusal import Refusal
from cobandit.live.machine.machine import Machine
from cobandit.live.transports.base import LARGEST_FRAME

MOST_PACKETS = 10_000
"""How many packets may wait. Further ones are refused."""

MOST_PACKET_BYTES = 64 * 2**20

MAX_PACKETS_OF_ONE, MAX_PACKET_BYTES_OF_ONE = 2_500, 16 * 2**20
"""How much of that one member may take up if its name is proved: a quarter."""


class Receiving:
    """The waiting packets of one member."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._packets: deque[tuple[bytes, str | None]] = deque()
        self._bytes = 0
        self._of: dict[str, tuple[int, int]] = {}
        """How many packets, and bytes, from each proved sender are waiting."""
        self.counts: Counter[str] = Counter()
        """Counts, by their names in `Communication`."""

    @property
    def is_waiting(self) -> bool:
        """Whether packets are waiting."""
        return bool(self._packets)

    def frame(self, frame: bytes, sender: str | None) -> bool:
        """Take a packet. Return whether it is accepted."""
        machine, guard, now = self._machine, self._machine.guard, self._machine.clock.now()
        if not guard.admits(sender, now):
            return False
        if len(frame) > LARGEST_FRAME:
            machine.refuse(Refusal.OVERSIZED, sender, "a packet that is too large")
            return False
        if len(self._packets) >= MOST_PACKETS or self._bytes + len(frame) > MOST_PACKET_BYTES:
            guard.refuse(Refusal.FLOOD, None, now)
            return False
        if sender is not None:
            packets, size = self._of.get(sender, (0, 0))
            if packets >= MAX_PACKETS_OF_ONE or size + len(frame) > MAX_PACKET_BYTES_OF_ONE:
                guard.refuse(Refusal.FLOOD, None, now)  # not the sender's fault: the disk here may be slow
                return False
            self._of[sender] = packets + 1, size + len(frame)
        self._packets.append((frame, sender))
        self._bytes += len(frame)
        self.counts["received"] += 1
        self.counts["bytes_received"] += len(frame)
        return True

    def take(self) -> list[tuple[bytes, str | None]]:
        """Return the waiting packets, and remove them."""
        packets = list(self._packets)
        self._packets.clear()
        self._of.clear()
        self._bytes = 0
        return packets
