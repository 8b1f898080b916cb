"""What the protocol says and keeps: the tables of its kinds, one for each version that is read.

Within a version: append, never reorder, and add fields only behind, with defaults. Anything else is a new version. Then
the tables here are of the new one, and those of the one before stay beside them, with `Translated` for every kind whose
shape or meaning has changed. Numbers below 16 are messages and from 32 to 63 what an agent keeps; live members have
those from 16 (`cobandit.live.machine.control_messages`) and from 64 (`cobandit.live.machine.batch`).
"""

from typing import NamedTuple

import msgspec

from cobandit.codec.brevity import brief, brief_message, brief_snapshot
from cobandit.codec.format import Format, Kinds, Translated
from cobandit.core import (
    Acknowledgement,
    Adopted,
    Began,
    Flushed,
    Forgot,
    Introduced,
    Limited,
    Notice,
    Observed,
    PeerJoined,
    PeerLeft,
    Received,
    Share,
    Turned,
    Woke,
)
from cobandit.core.state import Snapshot

WIRE_VERSION = 1
"""What is said between agents."""

STATE_VERSION = 1
"""What is kept. A record holds a message, so a new version of the wire is a new one of the state too."""

MESSAGES: Kinds = {
    0: Translated(Share, Share, None, brief_message),
    1: Translated(Notice, Notice, None, brief_message),
    2: Acknowledgement,
}


class KeptMessage(NamedTuple):
    """A message that was received, as it is kept: a message in the shapes of the state's version."""

    kind: int
    body: msgspec.Raw
    now: float


def received(messages: Format) -> Translated:
    """Return how the receipt of a message is kept, with the messages of a format."""

    def kept(record: Received) -> tuple[int, object, float]:
        return *messages.numbered(record.message), record.now

    return Translated(KeptMessage, Received, lambda one: Received(messages.read(one.kind, one.body), one.now), kept)


RECORDS: Kinds = {
    32: Translated(Observed, Observed, None, brief),
    33: received(Format(WIRE_VERSION, MESSAGES)),
    34: PeerJoined,
    35: PeerLeft,
    36: Introduced,
    37: Woke,
    38: Flushed,
    39: Translated(Began, Began, None, brief),
    40: Forgot,
    41: Adopted,
    42: Turned,
    43: Limited,
}

SNAPSHOTS: Kinds = {48: Translated(Snapshot, Snapshot, None, brief_snapshot)}
