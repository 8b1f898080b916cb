"""Which versions a member reads and writes, as one value; and in which of them it writes to each peer.

A new version changes the tables that are gathered here (`cobandit.codec.tables`, `control_messages.py`, `batch.py`),
and nothing else has to know. `tests/upgrade` does it with a version that is made up.
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
"""Changes the tables, and writes the values anew (`rewrite_values`), in a transaction that it must not end."""

MIGRATIONS: Mapping[int, Migration] = {}
"""By the version that each begins with. Empty: version 1 is the first."""


class Layout(NamedTuple):
    """How a state file is written, and how one of the version before becomes one."""

    states: StateCodec = STATES
    batches: StateCodec = BATCHES
    snapshots: StateCodec = SNAPSHOT_CODEC
    records: StateCodec = RECORD_CODEC
    migrations: Mapping[int, Migration] = MIGRATIONS

    @property
    def reads(self) -> tuple[int, ...]:
        """The versions that can be read, upwards."""
        return self.states.reads

    @property
    def version(self) -> int:
        """The version that is written."""
        return self.reads[-1]


LAYOUT = Layout()


class Versions(NamedTuple):
    """What one program reads and writes."""

    packets: FrameCodec = PACKETS
    layout: Layout = LAYOUT


PRESENT = Versions()


class PeerVersions:
    """In which version each peer is written to: the newest that it reads too, and the oldest until that is known.

    What a peer reads is what its last hello said. It is not persisted: after a restart everybody says hello again.
    """

    def __init__(self, reads: tuple[int, ...]) -> None:
        self._reads = reads
        self._newest: dict[str, int] = {}

    def heard(self, peer: str, reads: Collection[int]) -> None:
        """Note that a peer reads these versions."""
        self._newest[peer] = max((version for version in self._reads if version in reads), default=self._reads[0])

    def forget(self, peer: str) -> None:
        """Keep nothing in mind for a peer that is gone: when it is back, it says hello again."""
        self._newest.pop(peer, None)

    def of(self, peer: str | None) -> int:
        """Return the version to write in: to this peer, or (`None`) to everybody, known or not."""
        return self._reads[0] if peer is None else self._newest.get(peer, self._reads[0])
