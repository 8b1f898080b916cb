"""A journal in one SQLite file: write-ahead log, one transaction and one sync for each step.

Another process of the same user may read it and leave mail in it at any time. Only one may run a member with it: the
process that holds the lock beside it (`cobandit.live.store.state_lock`).
"""

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from cobandit.live.auth.private_files import warn_of_readers
from cobandit.live.machine.batch import Batch, Mail, NodeState
from cobandit.live.machine.versions import LAYOUT, Layout
from cobandit.live.store.damage import (
    BROKEN,
    INSERT_BATCH,
    INSERT_MAIL,
    INSERT_SNAPSHOT,
    SCHEMA,
    SELECT_BATCHES,
    SELECT_MAIL,
    SELECT_SNAPSHOT,
    WAIT_S,
    find_damage,
    is_held,
    is_whole,
    looked_at,
    recover,
    with_checksum,
)
from cobandit.live.store.journal import Journal, JournalError, Stored
from cobandit.live.store.state_lock import StateInUseError, StateLock, Written, written_beside
from cobandit.live.store.state_versions import bring_up_to_date, check_version, mark_as, migrated_in_memory
from cobandit.values.errors import LocalError, NotNowError

__all__ = ["SqliteJournal", "StateInUseError", "check_whole", "leave_mail", "read_history", "read_state", "read_stored"]

LOG_LIMIT = 1_000_000
"""How many decisions the log keeps by default."""

MOST_MAIL = 10_000
"""How much mail is read at once."""

_NO_LIMIT = 2**63 - 1


class SqliteJournal(Journal):
    """A journal in a file.

    Args:
        path: The file. It is created if it does not exist.
        log_limit: Minimum number of decisions and rewards in the log. Older ones are dropped with each new snapshot.
        layout: Its format. A file of the previous version is migrated, and a copy of it is kept.
    """

    def __init__(self, path: str | Path, *, log_limit: int = LOG_LIMIT, layout: Layout = LAYOUT) -> None:
        self.path = checked_place(Path(path))
        self.name = f"the state {path}"
        self._layout = layout
        self._log_limit = log_limit
        self._one_thread = threading.Lock()
        """Protects the connection from use, or closing, by two threads at once."""
        self._lock = StateLock(self.path)
        with ExitStack() as undo:
            undo.callback(self._lock.close)
            self.damage = self._looked_after()
            try:
                bring_up_to_date(self.path, layout)
                self._database = _opened(self.path)
                undo.callback(self._database.close)
                _begin(self._database, layout)
                self._inode = _inode(self.path)
                self._last, self._total = _newest(self._database)
                self.remark = self._what_is_less()
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from error
            undo.pop_all()

    def read(self) -> Stored:
        with self._one_thread:
            try:
                stored = _read(self._database, self._layout)
                home = self._database.execute("SELECT home FROM snapshot").fetchone()
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from error
            is_original = home == (self._lock.found(),)
        if stored.state is not None and not is_original:  # the original may be running elsewhere, or have run since
            return stored._replace(state=msgspec.structs.replace(stored.state, is_clean=False))
        return stored

    def write(self, batches: Sequence[Batch], mail_done: Sequence[int] = ()) -> None:
        last, total, rows = self._last, self._total, []
        for batch in batches:
            entries = len(batch.decided) + len(batch.settled)
            last, total = last + 1, total + entries
            rows.append(with_checksum(last, entries, total, self._layout.batches.encode(batch)))
        with self._one_thread:
            with _Transaction(self._database, self.path):
                self._database.executemany(INSERT_BATCH, rows)
                self._database.executemany("DELETE FROM mail WHERE id = ?", [(number,) for number in mail_done])
            self._last, self._total = last, total
            self._note()

    def replace(self, state: NodeState) -> None:
        with self._one_thread:
            with _Transaction(self._database, self.path):
                before = self._database.execute("SELECT after FROM snapshot").fetchone()
                row = with_checksum(self._last, self._lock.drawn(), self._layout.states.encode(state))
                self._database.execute(INSERT_SNAPSHOT, row)
                self._forget_old_batches(0 if before is None else before[0])
            self._has_snapshot = True
            self._note()
            _empty_log(self._database)

    def mail(self) -> list[Mail]:
        if _inode(self.path) != self._inode:  # SQLite goes on writing to the file that nobody finds any more
            raise LocalError(
                f"the state file {self.path} was removed or replaced while its member runs: what it writes is lost "
                "with its next start, but for what peers return, and rewards that are left there are not found. Put "
                "the file back, or stop the member and start it again"
            )
        with self._one_thread:
            try:
                rows = self._database.execute(f"{SELECT_MAIL} LIMIT ?", (MOST_MAIL,)).fetchall()
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from error
        if not all(is_whole(row[:-1]) for row in rows):
            raise LocalError(
                f"the mailbox in {self.path} is damaged: start the member anew, which says what is missing"
            )
        return [Mail(number, token, reward) for token, reward, _, number in rows]

    def history(self) -> Iterator[Batch]:
        return read_history(self.path, self._layout)

    def close(self) -> None:
        with self._one_thread:
            with suppress(sqlite3.Error):
                self._database.close()
            self._lock.close()

    def _looked_after(self) -> str | None:
        """Create a missing file; recover the intact content of a damaged one. Return what is missing then."""
        written = self._lock.written()
        self._has_snapshot = written is not None and written.has_snapshot
        if _make(self.path):
            if written is None:
                return None
            return f"the state file {self.path} is gone, with {written.last:,} steps: the member starts anew"
        try:
            check_version(self.path, self._layout)
        except BROKEN as error:
            if _is_foreign(self.path, error):
                raise _unusable(self.path, error) from error
        damage = find_damage(self.path, written)
        if damage is None:
            return None
        words = recover(self.path, damage)
        self._lock.note(Written(damage.last, self._has_snapshot))
        return words

    def _what_is_less(self) -> str | None:
        written = self._lock.written()
        if self.damage is not None or written is None or self._last >= written.last:
            return None
        less = written.last - self._last
        return (
            f"the state file {self.path} holds {less:,} steps less than were written here last, so "
            "it is an older copy that was put back: its peers return what they know of its observations"
        )

    def _note(self) -> None:
        self._lock.note(Written(self._last, self._has_snapshot))

    def _forget_old_batches(self, before: int) -> None:
        """Drop batches that no log shows, and old ones once newer ones have as many entries as the log should keep.

        Looks only at batches since the previous snapshot, which ended with this batch, and at those that it drops.
        """
        run = self._database.execute
        run("DELETE FROM batches WHERE id > ? AND entries = 0", (before,))
        oldest = None
        for number, total in run("SELECT id, total FROM batches ORDER BY id"):
            if total > self._total - self._log_limit:
                break
            oldest = number
        if oldest is not None:
            run("DELETE FROM batches WHERE id <= ?", (oldest,))


def read_history(path: str | Path, layout: Layout = LAYOUT) -> Iterator[Batch]:
    """Yield the batches in a journal, oldest first, even while a member runs with it."""
    return (batch for _, batch in read_numbered(path, 0, layout))


def read_numbered(path: str | Path, after: int, layout: Layout = LAYOUT) -> Iterator[tuple[int, Batch]]:
    """Yield the batches in a journal after the one with this number, each with its own number."""
    with closing(_readable(path, layout)) as database:
        try:
            for row in database.execute(SELECT_BATCHES, (after, _NO_LIMIT)):
                yield row[0], _batch(row, layout)
        except sqlite3.Error as error:
            raise _unusable(Path(path), error) from error


def read_state(path: str | Path, layout: Layout = LAYOUT) -> NodeState:
    """Return the last snapshot in a journal, even while a member runs with it."""
    state = read_stored(path, layout).state
    if state is None:
        raise LocalError(f"{path} holds no member yet")
    return state


def read_stored(path: str | Path, layout: Layout = LAYOUT) -> Stored:
    """Return a journal's last snapshot and the batches since, as of one moment, even while a member runs with it."""
    with closing(_readable(path, layout)) as database:
        try:
            database.execute("BEGIN")  # read both as of one moment
            return _read(database, layout)
        except sqlite3.Error as error:
            raise _unusable(Path(path), error) from error


def check_whole(path: str | Path) -> None:
    """Check every row in a journal, even while a member runs with it.

    Raises:
        LocalError: Something is damaged or missing. The message says how much, and what to do.
    """
    damage = find_damage(_existing(path), written_beside(Path(path)))
    if damage is not None:
        cure = "" if damage.is_total else ". Start its member, which keeps a copy and goes on with the rest"
        raise LocalError(f"{damage.words(Path(path))}{cure}")


def leave_mail(path: str | Path, token: str, reward: float, layout: Layout = LAYOUT) -> None:
    """Put a reward into a journal's mailbox. When it returns, the reward survives a power failure."""
    version, written = _version(_existing(path), layout), written_beside(Path(path))
    if version not in {None, layout.version}:
        raise NotNowError(
            f"the state file {path} has state version {version}, and this program writes {layout.version}: leave the "
            "reward again when its member was upgraded too"
        )
    with closing(_readable(path, layout)) as database:  # writing to a damaged file would hide what is missing
        is_less = version is not None and written is not None and _newest(database)[0] < written.last
    if is_less:
        raise NotNowError(
            f"the state file {path} holds less than was written into it: start its member, which says what is missing, "
            "and leave the reward again"
        )
    with closing(_opened(Path(path))) as database, _Transaction(database, Path(path)):
        database.execute(INSERT_MAIL, with_checksum(token, float(reward)))


def _read(database: sqlite3.Connection, layout: Layout) -> Stored:
    row = database.execute(SELECT_SNAPSHOT).fetchone()
    if row is not None and not is_whole(row):
        raise LocalError(_CHANGED)
    after, state = (0, None) if row is None else (row[0], layout.states.decode(row[2]))
    rows = database.execute(SELECT_BATCHES, (after, _NO_LIMIT))
    return Stored(state, [_batch(row, layout) for row in rows])


def _batch(row: tuple[Any, ...], layout: Layout) -> Batch:
    if not is_whole(row):
        raise LocalError(_CHANGED)
    batch: Batch = layout.batches.decode(row[3])
    return batch


_CHANGED = "the state file is damaged: start its member, which says what is missing"


def _newest(database: sqlite3.Connection) -> tuple[int, int]:
    """Return the number of the last step, and the number of log entries up to it."""
    (after,) = database.execute("SELECT coalesce(max(after), 0) FROM snapshot").fetchone()
    row = database.execute("SELECT id, total FROM batches ORDER BY id DESC LIMIT 1").fetchone()
    return (after, 0) if row is None else (max(after, row[0]), row[1])


def _empty_log(database: sqlite3.Connection) -> None:
    """Move the write-ahead log into the file, unless a reader is active, so that snapshots do not depend on it."""
    with suppress(sqlite3.Error):
        database.execute("PRAGMA busy_timeout = 0")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute(f"PRAGMA busy_timeout = {1000 * WAIT_S:.0f}")


def _begin(database: sqlite3.Connection, layout: Layout) -> None:
    """Create the tables if there are none."""
    if database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        database.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA:
            database.execute(statement)
        mark_as(database, layout.version)
        database.execute("COMMIT")


def _readable(path: str | Path, layout: Layout) -> sqlite3.Connection:
    """Open a journal that another process may be using: itself, or a migrated copy in memory."""
    version = _version(_existing(path), layout)
    try:
        return looked_at(Path(path)) if version in {None, layout.version} else migrated_in_memory(Path(path), layout)
    except sqlite3.Error as error:
        raise _unusable(Path(path), error) from error


def _version(path: Path, layout: Layout) -> int | None:
    try:
        return check_version(path, layout)
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


class _Transaction:
    """A transaction: all or nothing. Puts errors of the disk into words."""

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
        database.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
    except sqlite3.Error as error:
        if database is not None:
            database.close()
        raise _unusable(path, error) from error
    return database


def _make(path: Path) -> bool:
    """Create a missing file for this user only, because it will contain the signing key. Return whether it was made.

    SQLite gives the same mode to the files beside it. An existing file is not opened, because closing it would drop the
    locks of readers in this process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        warn_of_readers(path, "the state file", path.stat())
        return False
    except OSError as error:
        raise JournalError(f"the state file {path} cannot be used: {error.strerror}") from error
    return True


def _inode(path: Path) -> tuple[int, int] | None:
    """Return which file is at a place; `None` if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalError(f"the state file {path} cannot be used: {error.strerror}") from error
    return found.st_dev, found.st_ino


def checked_place(path: Path) -> Path:
    """Return where a state file is, or may be.

    Raises:
        LocalError: A folder is there, or something else that is no file; or nobody can look.
    """
    try:
        path.stat()
    except FileNotFoundError:
        return path
    except OSError as error:  # the name is too long, or the folder is closed
        raise LocalError(f"the state file {path} cannot be used: {error.strerror}") from error
    if path.is_dir():
        raise LocalError(f"{path} is a folder: name a state file, such as {path / 'NAME.db'}")
    if not path.is_file():  # a device, or a pipe
        raise LocalError(f"{path} is no file: name a state file, such as {path.with_name('NAME.db')}")
    return path


def _existing(path: str | Path) -> Path:
    if not checked_place(Path(path)).is_file():
        raise LocalError(f"there is no journal at {path}: name the state file of a member")
    return Path(path)


def _not_taken(path: Path, error: sqlite3.Error) -> JournalError:
    cure = "free the disk, or make it writable"
    if is_held(error):
        cure = "another process holds the file, such as a shell or a backup: let it end. A running member tries again"
    elif _is_damaged(error):
        cure = "it is damaged, so stop the member and start it again, which goes on with what is whole"
    return JournalError(f"the journal {path} cannot be written ({error}): {cure}")


def _unusable(path: Path, error: Exception) -> LocalError:
    if _is_foreign(path, error):
        return LocalError(f"{path} is no state file, or has lost its beginning: name the state file of a member")
    if str(error).startswith("no such table"):  # for example an empty file
        return LocalError(f"{path} holds no member yet: start it once")
    cure = ""
    if is_held(error):
        cure = ". Another process holds it, such as a shell or a backup: let it end"
    elif _is_damaged(error):
        cure = ". It is damaged: start its member, which says what is missing"
    return LocalError(f"the state file {path} cannot be used: {error}{cure}")


def _is_foreign(path: Path, error: Exception) -> bool:
    """Return whether a file is not a database, and nothing suggests that a member has written to it."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB and written_beside(path) is None


def _is_damaged(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
