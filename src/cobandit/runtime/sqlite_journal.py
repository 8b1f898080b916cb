"""A journal in one SQLite file: write-ahead log, one transaction and one sync for each turn.

Another process of the same user may read it and leave mail in it at any time. Only one may run a member with it: that
one holds the lock beside it (`cobandit.runtime.state_lock`).
"""

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from cobandit.runtime.journal import (
    Batch,
    Journal,
    JournalError,
    Mail,
    NodeState,
    Stored,
    decode_batch,
    decode_state,
    encode_batch,
    encode_state,
)
from cobandit.runtime.state_lock import StateInUseError, StateLock
from cobandit.values.errors import LocalError

__all__ = ["SqliteJournal", "StateInUseError", "leave_mail", "read_history", "read_state", "read_stored"]

WAIT_MS = 5000
"""How long to wait for another process that writes into the mailbox."""

LOG_LIMIT = 1_000_000
"""So many decisions are kept in the log unless told otherwise."""

MOST_MAIL = 10_000
"""So much mail is read at once."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS snapshot (
    id INTEGER PRIMARY KEY CHECK (id = 1), after INTEGER NOT NULL, content BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS batches (
    id INTEGER PRIMARY KEY AUTOINCREMENT, entries INTEGER NOT NULL, total INTEGER NOT NULL, content BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS home (id INTEGER PRIMARY KEY CHECK (id = 1), place TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mail (id INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL, reward REAL NOT NULL);
"""
_INSERT_BATCH = """
INSERT INTO batches (entries, total, content)
VALUES (?1, ?1 + coalesce((SELECT total FROM batches ORDER BY id DESC LIMIT 1), 0), ?2)
"""
"""With the total of entries up to this batch, so that nobody has to count them."""


class SqliteJournal(Journal):
    """A journal in a file.

    Args:
        path: The file. It is made if it is not there.
        log_limit: How many decisions and rewards the log keeps at least; older ones go when a snapshot is taken.
    """

    def __init__(self, path: str | Path, *, log_limit: int = LOG_LIMIT) -> None:
        self.path = Path(path)
        self._log_limit = log_limit
        self._one_thread = threading.Lock()
        """Nobody is to use the connection while another does, nor to close it."""
        self._lock = StateLock(self.path)
        try:
            _make(self.path)
            self._database = _opened(self.path)
            self._database.executescript(_SCHEMA)
        except LocalError:
            self._lock.close()
            raise
        except sqlite3.Error as error:
            self._lock.close()
            raise _unusable(self.path, error) from error

    def read(self) -> Stored:
        with self._one_thread:
            try:
                stored = _read(self._database)
                home = self._database.execute("SELECT place FROM home").fetchone()
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from error
            is_original = home == (self._lock.found(),)
        if stored.state is not None and not is_original:  # the original may run elsewhere, or have run since
            return stored._replace(state=msgspec.structs.replace(stored.state, is_clean=False))
        return stored

    def write(self, batches: Sequence[Batch], mail_done: Sequence[int] = ()) -> None:
        with self._one_thread, _Transaction(self._database, self.path):
            self._database.executemany(
                _INSERT_BATCH, [(len(batch.decided) + len(batch.settled), encode_batch(batch)) for batch in batches]
            )
            self._database.executemany("DELETE FROM mail WHERE id = ?", [(number,) for number in mail_done])

    def replace(self, state: NodeState) -> None:
        with self._one_thread, _Transaction(self._database, self.path):
            last = self._database.execute("SELECT after FROM snapshot").fetchone()
            self._database.execute(
                "INSERT OR REPLACE INTO snapshot SELECT 1, coalesce(max(id), 0), ? FROM batches", (encode_state(state),)
            )
            self._database.execute("INSERT OR REPLACE INTO home VALUES (1, ?)", (self._lock.drawn(),))
            self._forget_old_batches(0 if last is None else last[0])

    def mail(self) -> list[Mail]:
        with self._one_thread:
            try:
                rows = self._database.execute("SELECT id, token, reward FROM mail ORDER BY id LIMIT ?", (MOST_MAIL,))
                return [Mail(*row) for row in rows]
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from error

    def history(self) -> Iterator[Batch]:
        return read_history(self.path)

    def close(self) -> None:
        with self._one_thread:
            with suppress(sqlite3.Error):
                self._database.close()
            self._lock.close()

    def _forget_old_batches(self, last: int) -> None:
        """Drop what no log shows, and the batches before the newest that hold as many entries as the log is to keep.

        Looks only at what came since the last snapshot, which ended with this batch, and at what it drops.
        """
        run = self._database.execute
        (after,) = run("SELECT after FROM snapshot").fetchone()
        run("DELETE FROM batches WHERE id > ? AND id <= ? AND entries = 0", (last, after))
        newest = run("SELECT total FROM batches ORDER BY id DESC LIMIT 1").fetchone()
        oldest = None
        for number, total in run("SELECT id, total FROM batches WHERE id <= ? ORDER BY id", (after,)):
            if total > newest[0] - self._log_limit:
                break
            oldest = number
        if oldest is not None:
            run("DELETE FROM batches WHERE id <= ?", (oldest,))


def read_history(path: str | Path) -> Iterator[Batch]:
    """Return the batches in a journal, oldest first, also while a member runs with it."""
    with closing(_opened(_existing(path))) as database:
        try:
            for (content,) in database.execute("SELECT content FROM batches ORDER BY id"):
                yield decode_batch(content)
        except sqlite3.Error as error:
            raise _unusable(Path(path), error) from error


def read_state(path: str | Path) -> NodeState:
    """Return the last snapshot in a journal, also while a member runs with it."""
    with closing(_opened(_existing(path))) as database:
        try:
            row = database.execute("SELECT content FROM snapshot").fetchone()
        except sqlite3.Error as error:
            raise _unusable(Path(path), error) from error
    if row is None:
        raise LocalError(f"{path} holds no member yet")
    return decode_state(row[0])


def read_stored(path: str | Path) -> Stored:
    """Return the last snapshot in a journal and the batches since, of one moment, also while a member runs with it."""
    with closing(_opened(_existing(path))) as database:
        try:
            database.execute("BEGIN")  # so that both are read as of the same moment
            return _read(database)
        except sqlite3.Error as error:
            raise _unusable(Path(path), error) from error


def leave_mail(path: str | Path, token: str, reward: float) -> None:
    """Put a reward into the mailbox of a journal. When it returns, it survives a power failure."""
    with closing(_opened(_existing(path))) as database, _Transaction(database, Path(path)):
        database.execute("INSERT INTO mail (token, reward) VALUES (?, ?)", (token, float(reward)))


def _read(database: sqlite3.Connection) -> Stored:
    row = database.execute("SELECT after, content FROM snapshot").fetchone()
    after, state = (0, None) if row is None else (row[0], decode_state(row[1]))
    rows = database.execute("SELECT content FROM batches WHERE id > ? ORDER BY id", (after,))
    return Stored(state, [decode_batch(content) for (content,) in rows])


class _Transaction:
    """All or nothing, with errors of the disk in words."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._database = database
        self._path = path

    def __enter__(self) -> None:
        try:
            self._database.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise _not_taken(self._path, error) from error

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if kind is None:
                self._database.execute("COMMIT")
                return
        except sqlite3.Error as failure:
            self._roll_back()
            raise _not_taken(self._path, failure) from failure
        self._roll_back()
        if isinstance(error, sqlite3.Error):
            raise _not_taken(self._path, error) from error

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")


def _opened(path: Path) -> sqlite3.Connection:
    database = None
    try:
        database = sqlite3.connect(path, isolation_level=None, timeout=WAIT_MS / 1000, check_same_thread=False)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")  # a commit has reached the disk when it returns
    except sqlite3.Error as error:
        if database is not None:
            database.close()
        raise _unusable(path, error) from error
    return database


def _make(path: Path) -> None:
    """Make the file if it is not there, for this user only: what signs decisions will be in it.

    SQLite gives the files beside it the same mode. One that is there is not opened: to close it would take away the
    locks of whoever reads it in this process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise JournalError(f"the state file {path} cannot be used: {error.strerror}") from error


def _existing(path: str | Path) -> Path:
    if not Path(path).is_file():
        raise LocalError(f"there is no journal at {path}: name the state file of a member")
    return Path(path)


def _not_taken(path: Path, error: sqlite3.Error) -> JournalError:
    cure = "free the disk, or make it writable"
    if _is_held(error):
        cure = "another process holds the file, such as a shell or a backup: let it end. A running member tries again"
    return JournalError(f"the journal {path} cannot be written ({error}): {cure}")


def _unusable(path: Path, error: sqlite3.Error) -> LocalError:
    cure = ". Another process holds it, such as a shell or a backup: let it end" if _is_held(error) else ""
    return LocalError(f"the state file {path} cannot be used: {error}{cure}")


def _is_held(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
