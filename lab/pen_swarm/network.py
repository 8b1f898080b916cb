"""The network of a world: packets from name to name, which are lost, doubled, late and out of order; and its time."""

import heapq
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Protocol

from lab.pen_swarm.plan import Faults, Plan
from lab.swarm.dice import Dice
from lab.swarm.transcript import Transcript

_DICE_OF_NETWORK = 22
START = 1_800_000_000.0
"""When worlds begin, in seconds since 1970."""


class Receiver(Protocol):
    """Who can be reached under a name."""

    process: object

    def receive(self, packet: bytes, sender: str) -> None:
        """Take a packet."""


class Network:
    """What happens next, and who can be reached."""

    def __init__(self, plan: Plan, transcript: Transcript) -> None:
        self.time = 0.0
        self.events = self.packets = 0
        self.faults = plan.faults
        self.doors: defaultdict[str, list[Receiver]] = defaultdict(list)
        """Who listens under which name: a copy of a process listens beside the next that has its name."""
        self.cuts: list[tuple[object, str | None, float]] = []
        """Which process is cut off, from one relay or from all, until when."""
        self.unquiet: list[str] | None = None
        self._plan = plan
        self._dice = Dice(plan.seed, _DICE_OF_NETWORK)
        self._transcript = transcript
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._planned = 0

    # Time.

    def at(self, time: float, act: Callable[[], object]) -> None:
        """Plan something."""
        self._planned += 1
        heapq.heappush(self._queue, (max(time, self.time), self._planned, act))

    def step(self) -> None:
        """Let the next thing happen."""
        self.time, _, act = heapq.heappop(self._queue)
        self.events += 1
        act()

    def now(self) -> float:
        """Return the time as clocks have it: all are right here."""
        return START + self.time

    time_of_day = now

    # Packets.

    def carry(self, process: object, sender: str, receiver: str, packet: bytes, what: str) -> None:
        """Carry a packet, or not."""
        self.packets += 1
        dice, faults = self._dice, self.faults
        self._transcript.note(self.time, sender, f"to {receiver}: {what}", packet)
        if self.unquiet is not None:
            self.unquiet.append(f"{sender} sends {what} to {receiver}")
        copies = 2 if dice.happens(faults.duplication) else 1
        for _ in range(copies):
            if dice.happens(faults.loss):
                continue
            late = self._plan.delay * dice.real(0.9, 1.1) + dice.real(0.0, faults.jitter)
            if dice.happens(faults.reordering):
                late += dice.real(0.0, faults.held_back)
            self.at(self.time + late, partial(self._deliver, process, sender, receiver, packet))

    def _deliver(self, process: object, sender: str, receiver: str, packet: bytes) -> None:
        for door in tuple(self.doors[receiver]):
            if not self._is_cut(process, receiver) and not self._is_cut(door.process, sender):
                door.receive(packet, sender)

    def _is_cut(self, process: object, other: str) -> bool:
        return any(process is who and relay in (None, other) and self.time < until for who, relay, until in self.cuts)

    def heal(self) -> None:
        """Do nothing wrong any more."""
        self.faults = Faults()
        self.cuts.clear()
