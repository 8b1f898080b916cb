"""A version 2 that does not exist: what a real one would put into the tables, so that upgrades can be tried today.

What is new in it: a share carries one field more, the fields of an acknowledgement are in another order, there is one
control message more; and a state file has one table more and keeps a member's state by the names of its fields. The
program around it is the present one, so what it works with are the present types, and the shapes of version 2 are
translated.
"""

import sqlite3
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

from cobandit.codec import Format, FrameCodec, StateCodec, Translated
from cobandit.codec.tables import MESSAGES, RECORDS, SNAPSHOTS, received
from cobandit.core import Acknowledgement, Received, Share
from cobandit.live.drive.background import background
from cobandit.live.drive.joining import join
from cobandit.live.drive.member import Member
from cobandit.live.drive.starting import start
from cobandit.live.machine.batch import Batch, NodeState
from cobandit.live.machine.control_messages import CONTROL_MESSAGES, ControlMessage
from cobandit.live.machine.versions import Layout, Versions
from cobandit.live.store.state_versions import rewrite_values

WEATHER = "fine"


class Remark(ControlMessage, frozen=True):
    """Something that members of version 1 cannot say."""

    text: str


def _with_weather(kind: type[Any]) -> Translated:
    """One field more, behind."""
    shape = msgspec.defstruct(
        f"{kind.__name__}2", [*get_type_hints(kind).items(), ("weather", str)], array_like=True, frozen=True
    )
    return Translated(
        shape, kind, lambda value: kind(*msgspec.structs.astuple(value)[:-1]), lambda value: (*value, WEATHER)
    )


def _backwards(kind: type[Any]) -> Translated:
    """The same fields, the last one first."""
    fields = [*get_type_hints(kind).items()][::-1]
    shape = msgspec.defstruct(f"{kind.__name__}2", fields, array_like=True, frozen=True)
    return Translated(shape, kind, lambda value: kind(*msgspec.structs.astuple(value)[::-1]), lambda value: value[::-1])


def _by_name(kind: type[Any]) -> Translated:
    """The same fields, each with its name."""
    shape = msgspec.defstruct(f"{kind.__name__}2", [*get_type_hints(kind).items()], frozen=True)
    return Translated(shape, kind, lambda value: kind(*msgspec.structs.astuple(value)), msgspec.structs.asdict)


def _with(kinds: dict[int, Any], translate: dict[type[Any], Callable[[type[Any]], Translated]]) -> dict[int, Any]:
    return {number: translate[kind](kind) if kind in translate else kind for number, kind in kinds.items()}


MESSAGES_2 = _with({**MESSAGES}, {Share: _with_weather, Acknowledgement: _backwards})
PACKETS = FrameCodec(
    Format(2, {**MESSAGES_2, **CONTROL_MESSAGES, 60: Remark}),
    Format(1, {**MESSAGES, **CONTROL_MESSAGES}),
)

RECORDS_2 = {
    number: received(Format(2, MESSAGES_2)) if isinstance(kind, Translated) and kind.meaning is Received else kind
    for number, kind in RECORDS.items()
}


def _to_2(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE remarks (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    database.execute("INSERT INTO remarks (text) VALUES ('it was version 1')")
    rewrite_values(database, LAYOUT)


LAYOUT = Layout(
    states=StateCodec("the state of a member", Format(2, {65: _by_name(NodeState)}), Format(1, {65: NodeState})),
    batches=StateCodec("a batch of a journal", Format(2, {64: Batch}), Format(1, {64: Batch})),
    snapshots=StateCodec("a snapshot of an agent", Format(2, SNAPSHOTS), Format(1, SNAPSHOTS)),
    records=StateCodec("a record", Format(2, RECORDS_2), Format(1, RECORDS)),
    migrations={1: _to_2},
)

VERSION_2 = Versions(PACKETS, LAYOUT)


def connect(*arguments: Any, **options: Any) -> Member:
    """`cobandit.connect` of a program of version 2."""
    joining, home = join(*arguments, **options), background()
    return Member(home.submit(start(joining.options, home, VERSION_2)).result(), home)
