"""Bytes that were written once are read for as long as their version is, and are written again exactly so.

`python tools/write_golden_frames.py` writes the files, as long as the version was not released.
"""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.golden_codec import values

from cobandit.codec import STATE_VERSION, WIRE_VERSION, decode, decode_record, decode_snapshot, encode
from cobandit.codec.stored import RECORD_CODEC, SNAPSHOT_CODEC
from cobandit.codec.tables import MESSAGES, RECORDS
from cobandit.live.machine.batch import BATCHES, STATES
from cobandit.live.machine.control_messages import CONTROL_MESSAGES, PACKETS
from cobandit.live.store.sqlite_journal import SqliteJournal, read_stored

FOLDER = Path(__file__).parent
STATE_FILE = FOLDER / f"state-{STATE_VERSION}.db"


def golden(name: str) -> dict[str, dict[str, str]]:
    content: dict[str, dict[str, str]] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return content


SAID = golden(f"wire-{WIRE_VERSION}.json")
KEPT = golden(f"state-{STATE_VERSION}.json")
OTHERS = {"snapshot": SNAPSHOT_CODEC, "batch": BATCHES, "state": STATES}


@pytest.mark.parametrize("name", SAID)
def test_a_golden_frame_is_read_as_what_it_was_and_written_again(name: str) -> None:
    frame = bytes.fromhex(SAID[name]["bytes"])
    value = PACKETS.decode(frame, values.GROUP)
    assert repr(value) == SAID[name]["value"]
    assert value == {**values.MESSAGES, **values.CONTROL_MESSAGES}[name]
    assert PACKETS.encode(value, values.GROUP, WIRE_VERSION).hex() == SAID[name]["bytes"]
    if name in values.MESSAGES:
        assert (decode(frame, values.GROUP), encode(values.MESSAGES[name], values.GROUP)) == (value, frame)


@pytest.mark.parametrize("name", values.RECORDS)
def test_a_golden_record_is_read_as_what_it_was_and_written_again(name: str) -> None:
    stored = bytes.fromhex(KEPT[name]["bytes"])
    assert repr(decode_record(stored)) == KEPT[name]["value"] == repr(values.RECORDS[name])
    assert RECORD_CODEC.encode(values.RECORDS[name]) == stored


@pytest.mark.parametrize("name", OTHERS)
def test_what_else_is_kept_is_read_as_what_it_was_and_written_again(name: str) -> None:
    stored = bytes.fromhex(KEPT[name]["bytes"])
    value = OTHERS[name].decode(stored)
    assert repr(value) == KEPT[name]["value"]
    assert OTHERS[name].encode(value) == stored


def test_the_golden_snapshot_is_read_by_the_public_function() -> None:
    assert repr(decode_snapshot(bytes.fromhex(KEPT["snapshot"]["bytes"]))) == KEPT["snapshot"]["value"]


def test_there_is_a_golden_one_of_every_kind() -> None:
    def kinds(table: dict[str, dict[str, str]]) -> set[int]:
        return {
            msgspec.msgpack.decode(bytes.fromhex(entry["bytes"])[4:])[2] for entry in table.values() if entry["bytes"]
        }

    assert kinds(SAID) == {*MESSAGES, *CONTROL_MESSAGES}
    assert kinds(KEPT) == {*RECORDS, 48, 64, 65}


def test_the_golden_state_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "member.db"
    shutil.copy(STATE_FILE, path)
    assert repr(read_stored(path)) == KEPT["state file"]["value"]
    with closing(SqliteJournal(path)) as journal:
        assert repr(journal.read().batches) in KEPT["state file"]["value"]
        assert [(mail.token, mail.reward) for mail in journal.mail()] == [("d1.mail", 0.5)]


def test_a_state_file_is_written_as_the_golden_one(tmp_path: Path) -> None:
    values.write_state_file(tmp_path / "member.db")
    shutil.copy(STATE_FILE, tmp_path / "golden.db")
    written, found = _dumped(tmp_path / "member.db"), _dumped(tmp_path / "golden.db")
    assert written == found
    assert written[0] == (int.from_bytes(b"cobn"), STATE_VERSION)


def _dumped(path: Path) -> tuple[tuple[int, int], list[str]]:
    with closing(sqlite3.connect(path)) as database:
        ask: Callable[[str], Any] = lambda what: database.execute(f"PRAGMA {what}").fetchone()[0]  # noqa: E731
        return (ask("application_id"), ask("user_version")), [*database.iterdump()]
