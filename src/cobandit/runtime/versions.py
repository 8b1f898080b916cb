"""Which versions a member reads and writes, as one value; and in which of them it writes to each peer.

A new version changes the tables that are gathered here (`cobandit.codec.tables`, `letters.py`, `journal.py`), and
nothing else has to know. `tests/upgrade` does it with a version that is made up.
"""

from collections.abc import Collection
from typing import NamedTuple

from cobandit.codec import FrameCodec
from cobandit.runtime.letters import PACKETS
from cobandit.runtime.state_versions import LAYOUT, Layout


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

    def of(self, peer: str | None) -> int:
        """Return the version to write in: to this peer, or (`None`) to everybody, known or not."""
        return self._reads[0] if peer is None else self._newest.get(peer, self._reads[0])
