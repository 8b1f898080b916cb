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

from cobandit.runtime.journal import Batch, Journal, JournalError, Mail, NodeState, Stored
from cobandit.runtime.state_lock import StateInUseError, StateLock
from cobandit.runtime.state_versions import (
    LAYOUT,
    WAIT_S,
    Layout,
    bring_up_to_date,
    check_version,
    mark_as,
    migrated_in_memory,
)
from cobandit.values.errors import LocalError, NotNowError

__all__ = ["SqliteJournal", "StateInUseError", "leave_mail", "read_history", "read_state", "read_stored"]

LOG_LIMIT = 1_000_000
"""So many decisions are kept in the log by default."""

MOST_MAIL = 10_000
"""So much mail is read at once."""

_SCHEMA = (
    "CREATE TABLE snapshot (id INTEGER PRIMARY KEY CHECK (id = 1), after INTEGER NOT NULL, content BLOB NOT NULL)",
    """CREATE TABLE batches (
        id INTEGER PRIMARY KEY AUTOINCREMENT, entries INTEGER NOT NULL, total INTEGER NOT NULL, content BLOB NOT NULL
    )""",
    "CREATE TABLE home (id INTEGER PRIMARY KEY CHECK (id = 1), place TEXT NOT NULL)",
    "CREATE TABLE mail (id INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL, reward REAL NOT NULL)",
)
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
        layout: How it is written. A file of the version before is brought up to date, and a copy of it is kept.
    """

    def __init__(self, path: str | Path, *, log_limit: int = LOG_LIMIT, layout: Layout = LAYOUT) -> None:
        self.path = Path(path)
        self._layout = layout
        self._log_limit = log_limit
        self._one_thread = threading.Lock()
        """Nobody is to use the connection while another does, nor to close it."""
        self._lock = StateLock(self.path)
        try:
            _make(self.path)
            bring_up_to_date(self.path, layout)
            self._database = _opened(self.path)
            _begin(self._database, layout)
        except LocalError:
            self._lock.close()
            raise
        except sqlite3.Error as error:
            self._lock.close()
            raise _unusable(self.path, error) from error

    def read(self) -> Stored:
        with self._one_thread:
            try:
                stored = _read(self._database, self._layout)
                home = self._database.execute("SELECT place FROM home").fetchone()
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from error
            is_original = home == (self._lock.found(),)
        if stored.state is not None and not is_original:  # the original may run elsewhere, or have run since
            return stored._replace(state=msgspec.structs.replace(stored.state, is_clean=False))
        return stored

    def write(self, batches: Sequence[Batch], mail_done: Sequence[int] = ()) -> None:
        with self._one_thread, _Transaction(self._database, self.path):
            encode = self._layout.batches.encode
            self._database.executemany(
                _INSERT_BATCH, [(len(batch.decided) + len(batch.settled), encode(batch)) for batch in batches]
            )
            self._database.executemany("DELETE FROM mail WHERE id = ?", [(number,) for number in mail_done])

    def replace(self, state: NodeState) -> None:
        with self._one_thread, _Transaction(self._database, self.path):
            last = self._database.execute("SELECT after FROM snapshot").fetchone()
            self._database.execute(
                "INSERT OR REPLACE INTO snapshot SELECT 1, coalesce(max(id), 0), ? FROM batches",
                (self._layout.states.encode(state),),
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
        return read_history(self.path, self._layout)

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


def read_history(path: str | Path, layout: Layout = LAYOUT) -> Iterator[Batch]:
    """Return the batches in a journal, oldest first, also while a member runs with it."""
    with closing(_readable(path, layout)) as database:
        try:
            for (content,) in database.execute("SELECT content FROM batches ORDER BY id"):
                yield layout.batches.decode(content)
        except sqlite3.Error as error:
            raise _unusable(Path(path), error) from error


def read_state(path: str | Path, layout: Layout = LAYOUT) -> NodeState:
    """Return the last snapshot in a journal, also while a member runs with it."""
    with closing(_readable(path, layout)) as database:
        try:
            row = database.execute("SELECT content FROM snapshot").fetchone()
        except sqlite3.Error as error:
            raise _unusable(Path(path), error) from error
    if row is None:
        raise LocalError(f"{path} holds no member yet")
    state: NodeState = layout.states.decode(row[0])
    return state


def read_stored(path: str | Path, layout: Layout = LAYOUT) -> Stored:
    """Return the last snapshot in a journal and the batches since, of one moment, also while a member runs with it."""
    with closing(_readable(path, layout)) as database:
        try:
            database.execute("BEGIN")  # so that both are read as of the same moment
            return _read(database, layout)
        except sqlite3.Error as error:
            raise _unusable(Path(path), error) from error


def leave_mail(path: str | Path, token: str, reward: float, layout: Layout = LAYOUT) -> None:
    """Put a reward into the mailbox of a journal. When it returns, it survives a power failure."""
    version = _version(_existing(path), layout)
    if version not in {None, layout.version}:
        raise NotNowError(
            f"the state file {path} has state version {version}, and this program writes {layout.version}: leave the "
            "reward again when its member was upgraded too"
        )
    with closing(_opened(Path(path))) as database, _Transaction(database, Path(path)):
        database.execute("INSERT INTO mail (token, reward) VALUES (?, ?)", (token, float(reward)))


def _read(database: sqlite3.Connection, layout: Layout) -> Stored:
    row = database.execute("SELECT after, content FROM snapshot").fetchone()
    after, state = (0, None) if row is None else (row[0], layout.states.decode(row[1]))
    rows = database.execute("SELECT content FROM batches WHERE id > ? ORDER BY id", (after,))
    return Stored(state, [layout.batches.decode(content) for (content,) in rows])


def _begin(database: sqlite3.Connection, layout: Layout) -> None:
    """Make the tables if there are none."""
    if database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        database.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            database.execute(statement)
        mark_as(database, layout.version)
        database.execute("COMMIT")


def _readable(path: str | Path, layout: Layout) -> sqlite3.Connection:
    """Open a journal that others may be running with: itself, or what it will be once it is brought up to date."""
    version = _version(_existing(path), layout)
    if version in {None, layout.version}:
        return _opened(Path(path))
    try:
        return migrated_in_memory(Path(path), layout)
    except sqlite3.Error as error:
        raise _unusable(Path(path), error) from error


def _version(path: Path, layout: Layout) -> int | None:
    try:
        return check_version(path, layout)
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


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
        database = sqlite3.connect(path, isolation_level=None, timeout=WAIT_S, check_same_thread=False)
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
    locks of readers in this process.
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
