"""State files that a disk has damaged: the damage is found before anything is written, and described in words.

Every row has its own checksum, steps have consecutive numbers, and the lock beside the file records how many were
written. So both altered and missing rows are found, although SQLite silently drops the end of a damaged write-ahead
log. Intact content is copied to a new file, and the damaged one is kept. This file does not know what rows contain.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from cobandit.live.store.journal import JournalError
from cobandit.live.store.state_lock import Written
from cobandit.values.errors import LocalError

BROKEN = (sqlite3.Error, MemoryError, OverflowError)
"""What SQLite raises for a damaged file."""

WAIT_S = 5.0
"""Seconds to wait for another process that is writing to the mailbox."""

SCHEMA = (
    """CREATE TABLE snapshot (
        id INTEGER PRIMARY KEY CHECK (id = 1), after INTEGER NOT NULL, home TEXT NOT NULL, content BLOB NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE batches (
        id INTEGER PRIMARY KEY, entries INTEGER NOT NULL, total INTEGER NOT NULL, content BLOB NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE mail (
        id INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL, reward REAL NOT NULL, checksum INTEGER NOT NULL
    )""",
)
INSERT_SNAPSHOT = "INSERT OR REPLACE INTO snapshot (after, home, content, checksum, id) VALUES (?, ?, ?, ?, 1)"
INSERT_BATCH = "INSERT INTO batches (id, entries, total, content, checksum) VALUES (?, ?, ?, ?, ?)"
INSERT_MAIL = "INSERT INTO mail (token, reward, checksum) VALUES (?, ?, ?)"
SELECT_SNAPSHOT = "SELECT after, home, content, checksum FROM snapshot"
SELECT_BATCHES = "SELECT id, entries, total, content, checksum FROM batches WHERE id > ? AND id <= ? ORDER BY id"
SELECT_MAIL = "SELECT token, reward, checksum, id FROM mail ORDER BY id"

_FIRST_ROW_OF_THE_HEADER = 100
_LAST = 2**63 - 1


def with_checksum(*values: object) -> tuple[object, ...]:
    """Return the values of a row followed by their checksum.

    >>> is_whole(with_checksum("d1.x", 0.5)), is_whole(("d1.x", 0.25, with_checksum("d1.x", 0.5)[-1]))
    (True, False)
    """
    found = 0
    for value in values:
        content = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        found = crc32(content, crc32(b"%d " % len(content), found))
    return (*values, found)


def is_whole(row: tuple[object, ...]) -> bool:
    """Return whether the values of a row match the checksum after them."""
    return with_checksum(*row[:-1])[-1] == row[-1]


class Damage(NamedTuple):
    """What is wrong with a state file."""

    why: str
    is_total: bool
    """Whether no snapshot is left to start from."""
    last: int = 0
    """The last intact step. All before it since the snapshot are intact too."""
    steps: int = 0
    """How many written steps are missing after that."""
    is_log_damaged: bool = False
    mail: int = 0
    """How many rewards in the mailbox cannot be read."""

    def words(self, path: Path) -> str:
        """Return what is wrong, and what is missing."""
        if self.is_total:
            return (
                f"the state file {path} is damaged ({self.why}), and no whole state is left in it: put a backup in its "
                "place, or move it away to start anew. Then the peers return what they know, and rewards for earlier "
                "decisions are refused. It is left as it is"
            )
        missing = [f"{self.steps:,} of the steps that were written"] if self.steps else []
        missing += ["a part of the log of decisions"] if self.is_log_damaged else []
        missing += [f"{self.mail:,} of the rewards that were left for it"] if self.mail else []
        what = f"Missing: {', '.join(missing)}" if missing else "Nothing is missing"
        return f"the state file {path} is damaged ({self.why}). {what}"


def looked_at(path: Path) -> sqlite3.Connection:
    """Open a file for reading only. Otherwise the last process to close it would write its log into it."""
    log = path.with_name(f"{path.name}-wal")
    mode = "ro" if log.exists() and log.stat().st_size else "rw"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=WAIT_S,
        check_same_thread=False,
    )


def find_damage(path: Path, written: Written | None) -> Damage | None:
    """Check every row of a state file without changing anything.

    Args:
        path: The file, which exists.
        written: What was written according to the lock beside it; `None` if the lock does not say.
    """
    try:
        with closing(looked_at(path)) as database:
            database.execute("PRAGMA cell_size_check = ON")
            database.execute("BEGIN")  # read everything as of one moment
            return _damage(path, database, written)
    except BROKEN as error:
        return None if is_held(error) else Damage(str(error), is_total=True)


def _damage(path: Path, database: sqlite3.Connection, written: Written | None) -> Damage | None:
    problems = _problems(path, database)
    if database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        is_lost = written is not None or bool(problems)
        return Damage(problems[0] if problems else "it is empty", is_total=True) if is_lost else None
    snapshot = database.execute(SELECT_SNAPSHOT).fetchone()
    if snapshot is None and written is not None and written.has_snapshot:
        return Damage("the snapshot is gone", is_total=True)
    if snapshot is not None and not is_whole(snapshot):
        return Damage("the snapshot has changed", is_total=True)
    after = 0 if snapshot is None else snapshot[0]
    if written is not None and is_put_back(path, snapshot, written):
        written = None  # it counted the steps of another file
    last = max(_numbers_in_order(database, after), default=after)
    steps = max(last, _newest(database), 0 if written is None else written.last) - last
    is_log_damaged = not _is_log_whole(database, last)
    mail = _spoiled_mail(database)
    if steps:
        problems.append("steps are missing, or have changed")
    if is_log_damaged or mail:
        problems.append("rows have changed")
    if not problems:
        return None
    return Damage(problems[0], False, last, steps, is_log_damaged, mail)


def is_put_back(path: Path, snapshot: tuple[object, ...] | None, written: Written) -> bool:
    """Return whether a file is an older copy put in place of the one left here: from another start, without a log."""
    log = path.with_name(f"{path.name}-wal")
    has_log = log.exists() and log.stat().st_size > 0
    return snapshot is not None and not has_log and str(snapshot[1]).partition(" ")[0] != written.mark


def recover(path: Path, damage: Damage) -> str:
    """Keep a damaged state file under another name, and replace it with its intact content.

    Only the process of its member may do so. The new snapshot omits its home, so the next start is a new incarnation.

    Returns:
        What was wrong, and what was done.

    Raises:
        LocalError: Nothing can be recovered. The file is unchanged.
        JournalError: The disk does not accept the new file.
    """
    if damage.is_total:
        raise LocalError(damage.words(path))
    try:
        kept = _keep(path)
        anew = path.with_name(f"{path.name}.unfinished")
        anew.unlink(missing_ok=True)
        os.close(os.open(anew, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(looked_at(path)) as source, closing(sqlite3.connect(anew, isolation_level=None)) as copy:
            _take_over(source, copy, damage.last)
        sync(anew)
        for ending in ("-wal", "-shm"):  # otherwise they would be taken for the new file's
            path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)
        anew.replace(path)
        sync(path.parent)
    except (*BROKEN, OSError) as error:
        raise JournalError(
            f"{damage.words(path)}. The rest cannot be put into a new file ({error}): free the disk, or make it "
            "writable, and start it again"
        ) from error
    return (
        f"{damage.words(path)}. It is kept as {kept}. The member goes on with the rest, in a new incarnation, so that "
        "nothing counts twice, and its peers return what they know of its observations: look after the disk"
    )


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _problems(path: Path, database: sqlite3.Connection) -> list[str]:
    """Return what is wrong with the file below the level of rows."""
    with path.open("rb") as file:
        header = file.read(_FIRST_ROW_OF_THE_HEADER)
    problems = [] if header[18:20] in {b"", b"\1\1", b"\2\2"} else ["its header has changed"]
    try:
        (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except BROKEN as error:
        verdict = str(error)
    return problems if verdict == "ok" else [*problems, " ".join(verdict.split())[:200]]


def _rows(database: sqlite3.Connection, query: str, *values: int) -> Iterator[tuple[object, ...]]:
    """Yield rows until one cannot be read."""
    with suppress(*BROKEN):
        yield from database.execute(query, values)


def _numbers_in_order(database: sqlite3.Connection, after: int) -> Iterator[int]:
    """Yield the numbers of the steps after one, as long as each is intact and consecutive."""
    for number, row in enumerate(_rows(database, SELECT_BATCHES, after, _LAST), after + 1):
        if row[0] != number or not is_whole(row):
            return
        yield number


def _newest(database: sqlite3.Connection) -> int:
    for row in _rows(database, "SELECT id FROM batches ORDER BY id DESC LIMIT 1"):
        assert isinstance(row[0], int)  # a table's key is always an int
        return row[0]
    return 0


def _is_log_whole(database: sqlite3.Connection, last: int) -> bool:
    before: int | None = None
    try:
        for row in database.execute(SELECT_BATCHES, (0, last)):
            if not is_whole(row) or (before is not None and row[2] != before + row[1]):
                return False
            before = row[2]
    except BROKEN:
        return False
    return True


def _spoiled_mail(database: sqlite3.Connection) -> int:
    count = database.execute("SELECT count(*) FROM mail").fetchone()[0]
    return int(count) - sum(is_whole(row[:-1]) for row in _rows(database, SELECT_MAIL))


def _keep(path: Path) -> Path:
    """Copy a state file, unchanged, to the first free name."""
    for number in range(1, 1000):
        kept = path.with_name(f"{path.name}.damaged-{number}")
        if not kept.exists():
            break
    for ending in ("-wal", ""):  # the file last, so that its name implies a complete copy
        source, name = path.with_name(f"{path.name}{ending}"), kept.with_name(f"{kept.name}{ending}")
        if source.exists():
            os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
            shutil.copyfile(source, name)
            sync(name)
    sync(path.parent)
    return kept


def _take_over(source: sqlite3.Connection, copy: sqlite3.Connection, last: int) -> None:
    copy.execute("BEGIN")
    for statement in SCHEMA:
        copy.execute(statement)
    for header in ("application_id", "user_version"):
        (value,) = source.execute(f"PRAGMA {header}").fetchone()
        copy.execute(f"PRAGMA {header} = {value:d}")
    snapshot = source.execute(SELECT_SNAPSHOT).fetchone()
    after = 0
    if snapshot is not None:
        after, _, content, _ = snapshot
        copy.execute(INSERT_SNAPSHOT, with_checksum(after, "", content))
    total = 0
    log = _rows(source, SELECT_BATCHES, 0, after)  # may end early
    for row in chain(log, _rows(source, SELECT_BATCHES, after, last)):
        if is_whole(row):
            number, entries, _, content, _ = row
            assert isinstance(entries, int)
            total += entries
            copy.execute(INSERT_BATCH, with_checksum(number, entries, total, content))
    for row in _rows(source, SELECT_MAIL):
        if is_whole(row[:-1]):
            copy.execute(INSERT_MAIL, row[:-1])
    copy.execute("COMMIT")


def is_held(error: BaseException) -> bool:
    """Return whether another process is using the file."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
