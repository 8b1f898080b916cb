"""A disk: what a process has written, and what of it would survive a power failure.

Everything on it is bytes, as on a real one.
"""

from collections.abc import Sequence

from cobandit.agent import Agent
from cobandit.codec import encode_record, encode_snapshot
from cobandit.core import InputRecord

LONGEST_JOURNAL = 48
"""After so many records a new snapshot is taken."""

MOST_COPIES = 6
"""How many older states of a disk are kept for a roll-back."""


class Disk:
    """A snapshot, and the records since."""

    __slots__ = ("copies", "forgets", "records", "snapshot", "synced")

    def __init__(self, snapshot: bytes, *, forgets: bool) -> None:
        self.snapshot = snapshot
        self.records: list[bytes] = []
        self.synced = 0
        self.forgets = forgets
        """Whether `sync` does nothing, though it says that it did."""
        self.copies: list[tuple[bytes, tuple[bytes, ...]]] = []

    def append(self, records: Sequence[InputRecord]) -> None:
        """Write records, without waiting for the disk."""
        self.records += map(encode_record, records)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        if not self.forgets:
            self.synced = len(self.records)

    def start(self, agent: Agent) -> None:
        """Put a new snapshot in the place of everything, and wait until it is on the disk."""
        self.copies.append((self.snapshot, tuple(self.records)))
        del self.copies[:-MOST_COPIES]
        self.snapshot = encode_snapshot(agent.snapshot())
        self.records.clear()
        self.synced = 0

    def compact(self, agent: Agent) -> None:
        """Take a new snapshot if the journal is long."""
        if len(self.records) >= LONGEST_JOURNAL:
            self.start(agent)

    def lose_tail(self) -> None:
        """Lose what was not synced."""
        del self.records[self.synced :]

    def roll_back(self, amount: float) -> None:
        """Go back to an older state: 0 for the oldest copy there is, nearly 1 for a short way back."""
        if not self.copies:
            del self.records[int(amount * len(self.records)) :]
        else:
            position = int(amount * len(self.copies))
            self.snapshot, records = self.copies[position]
            self.records = list(records)
            del self.copies[position:]
        self.synced = len(self.records)

    def clone(self) -> "Disk":
        """Return another disk with the same content."""
        twin = Disk(self.snapshot, forgets=self.forgets)
        twin.records, twin.synced = list(self.records), self.synced
        return twin
