"""Which versions a member reads and writes, as one value, and the version in which it writes to each peer.

A new version changes the tables that are gathered here (`cobandit.codec.tables`, `control_messages.py`, `batch.py`),
and nothing else. `tests/upgrade` does so with an invented version.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cobandit.codec import FrameCodec
from cobandit.codec.stored import RECORD_CODEC, SNAPSHOT_CODEC, StateCodec
from cobandit.live.machine.batch import BATCHES, STATES
from cobandit.live.machine.control_messages import PACKETS

if TYPE_CHECKING:
    import sqlite3

Migration = Callable[["sqlite3.Connection"], None]
"""Changes the tables and rewrites the values (`rewrite_values`), in a transaction that it must not end."""

MIGRATIONS: Mapping[int, Migration] = {}
"""Migrations by the version from which each starts. Empty, because version 1 is the first."""


class Layout(NamedTuple):
    """How a state file is written, and how a file of an older version is migrated."""

    states: StateCodec = STATES
    batches: StateCodec = BATCHES
    snapshots: StateCodec = SNAPSHOT_CODEC
    records: StateCodec = RECORD_CODEC
    migrations: Mapping[int, Migration] = MIGRATIONS

    @property
    def reads(self) -> tuple[int, ...]:
        """The versions that can be read, in ascending order."""
        return self.states.reads

    @property
    def version(self) -> int:
        """The version that is written."""
        return self.reads[-1]


LAYOUT = Layout()


class Versions(NamedTuple):
    """The versions that one program reads and writes."""

    packets: FrameCodec = PACKETS
    layout: Layout = LAYOUT


PRESENT = Versions()


class PeerVersions:
    """The version to write to each peer: the newest that both read, or the oldest until that is known.

    A peer's last hello says what it reads. That is not persisted: after a restart, all members say hello again.
    """

    def __init__(self, reads: tuple[int, ...]) -> None:
        self._reads = reads
        self._newest: dict[str, int] = {}

    def heard(self, peer: str, reads: Collection[int]) -> None:
        """Note that a peer reads these versions."""
        self._newest[peer] = max((version for version in self._reads if version in reads), default=self._reads[0])

    def forget(self, peer: str) -> None:
        """Forget a peer that is gone. When it is back, it says hello again."""
        self._newest.pop(peer, None)

    def of(self, peer: str | None) -> int:
        """Return the version for messages to this peer, or (`None`) to all members, known or not."""
        return self._reads[0] if peer is None else self._newest.get(peer, self._reads[0])
