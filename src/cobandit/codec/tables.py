"""What agents send and store: the tables of kinds, one for each version that is read.

Within a version: append, never reorder, and add fields only at the end, with defaults. Anything else requires a new
version. Then these tables become those of the new version, and those of the previous one stay beside them, with
`Translated` for every kind whose shape or meaning has changed. Numbers below 16 are messages, and 32 to 63 are what an
agent stores. Live members use those from 16 (`cobandit.live.machine.control_messages`) and from 64
(`cobandit.live.machine.batch`).
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
"""The version of messages between agents."""

STATE_VERSION = 1
"""The version of stored data. A record holds a message, so a new wire version requires a new state version."""

MESSAGES: Kinds = {
    0: Translated(Share, Share, None, brief_message),
    1: Translated(Notice, Notice, None, brief_message),
    2: Acknowledgement,
}


class KeptMessage(NamedTuple):
    """A received message as it is stored, in the shapes of the state's version."""

    kind: int
    body: msgspec.Raw
    now: float


def received(messages: Format) -> Translated:
    """Return how a `Received` record is stored, with the messages of a format."""

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
