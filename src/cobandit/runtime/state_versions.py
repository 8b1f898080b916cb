"""State files of other versions: what is refused, and how a file of the version before is brought up to date.

A file says in its header that it is a member's state, and of which version. One of a later version is refused and not
touched. One of the version before is migrated when its member is started: a copy of it is kept beside it, and then all
that changes does so in one transaction, so that a crash leaves the old or the new. This file knows no version; what a
migration does is in a table.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from cobandit.codec.stored import RECORD_CODEC, SNAPSHOT_CODEC, StateCodec, not_read
from cobandit.runtime.journal import BATCHES, STATES, Batch, JournalError, NodeState
from cobandit.values.errors import LocalError

APPLICATION = int.from_bytes(b"cobn")
"""What the header of every state file says."""

WAIT_S = 5.0
"""How long to wait for another process that writes into the mailbox."""

ROWS_AT_ONCE = 1000

Migration = Callable[[sqlite3.Connection], None]
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


def kept_copy(path: Path, version: int) -> Path:
    """Return where the copy is kept of a state file as it was in this version."""
    return path.with_name(f"{path.name}.version-{version}")


def version_of_file(path: Path) -> int | None:
    """Return the version of a state file, and leave it as it is; `None` if nothing was ever written into it.

    Raises:
        LocalError: It is not the state of a member.
    """
    with closing(_looked_at(path)) as database:
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
    if not tables:
        return None
    if application != APPLICATION:
        raise LocalError(f"{path} is not the state file of a member: name another file")
    return int(version)


def check_version(path: Path, layout: Layout) -> int | None:
    """Return the version of a state file that can be read here, at once or after a migration.

    Raises:
        LocalError: It is of another version, and says which cobandit reads it.
    """
    version = version_of_file(path)
    if version is None or version in layout.reads:
        return version
    copy = kept_copy(path, layout.version)
    way_back = f", or go back to {copy}" if version > layout.version and copy.is_file() else ""
    raise LocalError(f"the state file {path} has {not_read(version, layout.reads)}{way_back}")


def mark_as(database: sqlite3.Connection, version: int) -> None:
    """Write into the header, within the transaction, that this is a state file of this version."""
    database.execute(f"PRAGMA application_id = {APPLICATION:d}")
    database.execute(f"PRAGMA user_version = {version:d}")


def bring_up_to_date(path: Path, layout: Layout) -> None:
    """Migrate a state file of the version before, after a copy of it was kept. Only its member's process may do so.

    Raises:
        LocalError: It is of another version, or something in it cannot be read. The file is as it was.
        JournalError: The disk does not take it. The file is as it was.
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
            database.execute("BEGIN IMMEDIATE")  # nobody leaves mail between the copy and the migration
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
    """Return a copy of a state file of the version before, brought up to date. The file stays as it is."""
    version = version_of_file(path)
    assert version is not None
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with closing(_looked_at(path)) as source:
            source.backup(database)
        migrate(database, version, layout)
    except BaseException:
        database.close()
        raise
    return database


def migrate(database: sqlite3.Connection, version: int, layout: Layout) -> None:
    """Bring the tables and values of a state from a version to the next one."""
    layout.migrations[version](database)
    mark_as(database, version + 1)


def rewrite_values(database: sqlite3.Connection, layout: Layout) -> None:
    """Write every snapshot, batch and record anew, in the present version: a part of every migration."""

    def state_anew(content: bytes) -> bytes:
        state: NodeState = layout.states.decode(content)
        agent = layout.snapshots.encode(layout.snapshots.decode(state.agent))
        return layout.states.encode(msgspec.structs.replace(state, agent=agent))

    def batch_anew(content: bytes) -> bytes:
        batch: Batch = layout.batches.decode(content)
        records = tuple(layout.records.encode(layout.records.decode(record)) for record in batch.records)
        return layout.batches.encode(msgspec.structs.replace(batch, records=records))

    for table, anew in (("snapshot", state_anew), ("batches", batch_anew)):
        for rows in _rows(database, table):
            changed = [(anew(content), number) for number, content in rows]
            database.executemany(f"UPDATE {table} SET content = ? WHERE id = ?", changed)  # noqa: S608  # one of two


def _rows(database: sqlite3.Connection, table: str) -> Iterator[list[tuple[int, bytes]]]:
    last = 0
    query = f"SELECT id, content FROM {table} WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608  # one of two
    while rows := database.execute(query, (last, ROWS_AT_ONCE)).fetchall():
        yield rows
        last = rows[-1][0]


def _looked_at(path: Path) -> sqlite3.Connection:
    """Open a file only to look at it. Without this care the last to close it would write what lies in its log."""
    log = path.with_name(f"{path.name}-wal")
    mode = "ro" if log.exists() and log.stat().st_size else "rw"
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=WAIT_S)


def _keep_copy(path: Path, name: Path) -> None:
    """Copy a state file: whole under its name or not there, for this user only, and on the disk when it returns."""
    unfinished = name.with_name(f"{name.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with closing(_looked_at(path)) as source, closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # so that it is one file
        _sync(unfinished)
        unfinished.replace(name)
        _sync(name.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
