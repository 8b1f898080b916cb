"""State files of other versions: which are refused, and how a file of the previous version is migrated.

A file's header says that it is a member's state, and its version. A file of a later version is refused and not touched.
A file of the previous version is migrated when its member starts: a copy is kept beside it, and then all changes are
made in one transaction, so that a crash leaves either the old or the new state. This file knows no version. A table has
the migrations.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from cobandit.codec.stored import not_read
from cobandit.live.machine.batch import Batch, NodeState
from cobandit.live.machine.versions import Layout
from cobandit.live.store.damage import WAIT_S, looked_at, sync, with_checksum
from cobandit.live.store.journal import JournalError
from cobandit.values.errors import LocalError

APPLICATION = int.from_bytes(b"cobn")
"""The application id in the header of every state file."""

ROWS_AT_ONCE = 1000


def kept_copy(path: Path, version: int) -> Path:
    """Return the path for the copy of a state file in this version."""
    return path.with_name(f"{path.name}.version-{version}")


def version_of_file(path: Path) -> int | None:
    """Return the version of a state file without changing it; `None` if nothing was ever written to it.

    Raises:
        LocalError: It is not a member's state.
    """
    with closing(looked_at(path)) as database:
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
    if not tables:
        return None
    if application != APPLICATION:
        raise LocalError(f"{path} is not the state file of a member: name another file")
    return int(version)


def check_version(path: Path, layout: Layout) -> int | None:
    """Return the version of a state file that can be read here, directly or after a migration.

    Raises:
        LocalError: It is of another version. The message says which cobandit reads it.
    """
    version = version_of_file(path)
    if version is None or version in layout.reads:
        return version
    copy = kept_copy(path, layout.version)
    way_back = f", or go back to {copy}" if version > layout.version and copy.is_file() else ""
    raise LocalError(f"the state file {path} has {not_read(version, layout.reads)}{way_back}")


def mark_as(database: sqlite3.Connection, version: int) -> None:
    """Mark the file, within the transaction, as a state file of this version."""
    database.execute(f"PRAGMA application_id = {APPLICATION:d}")
    database.execute(f"PRAGMA user_version = {version:d}")


def bring_up_to_date(path: Path, layout: Layout) -> None:
    """Migrate a state file of the previous version, after keeping a copy. Only its member's process may do so.

    Raises:
        LocalError: It is of another version, or something in it cannot be read. The file is unchanged.
        JournalError: The disk does not accept the changes. The file is unchanged.
    """
    version = check_version(path, layout)
    if version is None or version == layout.version:
        return
    about = (
        f"the state file {path} cannot be brought from state version {version} to {layout.version}, and is as it was"
    )
    try:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=WAIT_S)) as database:
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")  # no process can leave mail between the copy and the migration
            try:
                _keep_copy(path, kept_copy(path, version))
                migrate(database, version, layout)
                database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise
    except (sqlite3.Error, OSError) as error:
        raise JournalError(f"{about} ({error}): free the disk, or make it writable, and start it again") from error
    except LocalError as error:
        raise LocalError(f"{about}: {error}") from error


def migrated_in_memory(path: Path, layout: Layout) -> sqlite3.Connection:
    """Return a migrated copy, in memory, of a state file of the previous version. The file stays as it is."""
    version = version_of_file(path)
    assert version is not None
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with closing(looked_at(path)) as source:
            source.backup(database)
        migrate(database, version, layout)
    except BaseException:
        database.close()
        raise
    return database


def migrate(database: sqlite3.Connection, version: int, layout: Layout) -> None:
    """Migrate the tables and values of a state from one version to the next."""
    layout.migrations[version](database)
    mark_as(database, version + 1)


def rewrite_values(database: sqlite3.Connection, layout: Layout) -> None:
    """Rewrite every snapshot, batch and record in the present version. This is part of every migration."""

    def state_anew(content: bytes) -> bytes:
        state: NodeState = layout.states.decode(content)
        agent = layout.snapshots.encode(layout.snapshots.decode(state.agent))
        return layout.states.encode(msgspec.structs.replace(state, agent=agent))

    def batch_anew(content: bytes) -> bytes:
        batch: Batch = layout.batches.decode(content)
        records = tuple(layout.records.encode(layout.records.decode(record)) for record in batch.records)
        return layout.batches.encode(msgspec.structs.replace(batch, records=records))

    for after, home, content in database.execute("SELECT after, home, content FROM snapshot").fetchall():
        row = with_checksum(after, home, state_anew(content))
        database.execute("UPDATE snapshot SET content = ?, checksum = ?", row[2:])
    for rows in _batches(database):
        changed = [with_checksum(*row, batch_anew(content)) for *row, content in rows]
        database.executemany(
            "UPDATE batches SET content = ?, checksum = ? WHERE id = ?", [(*row[3:], row[0]) for row in changed]
        )


def _batches(database: sqlite3.Connection) -> Iterator[list[tuple[int, int, int, bytes]]]:
    last = 0
    query = "SELECT id, entries, total, content FROM batches WHERE id > ? ORDER BY id LIMIT ?"
    while rows := database.execute(query, (last, ROWS_AT_ONCE)).fetchall():
        yield rows
        last = rows[-1][0]


def _keep_copy(path: Path, name: Path) -> None:
    """Copy a state file for this user only. The copy is complete or absent, and on the disk when this returns."""
    unfinished = name.with_name(f"{name.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with closing(looked_at(path)) as source, closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # keep it in one file
        sync(unfinished)
        unfinished.replace(name)
        sync(name.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
