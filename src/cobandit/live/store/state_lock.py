"""The lock beside a state file: one process at a time, a mark that tells the file from its copies, and a count.

The system releases the lock however the process ends. The lock file holds a mark, which is drawn anew at every start
and also written to the state. So a state that was restored or copied has a different mark from the lock beside it. The
mark is followed by how much was written to the state. This is noted after each write, without syncing. So it is never
more than what the disk has accepted, and a state with less has lost something. This file does not know what states
contain.
"""

import errno
import fcntl
import os
import re
import secrets
import weakref
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from cobandit.live.store.journal import JournalError
from cobandit.values.errors import LocalError

_MARK = 16
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NOTE = re.compile(rb" ([0-9]{19}) ([01]) ([0-9a-f]{8})\n")


class StateInUseError(LocalError):
    """Another process runs with this state file."""


class Written(NamedTuple):
    """What was written to a state."""

    last: int
    """The number of the last step."""
    has_snapshot: bool
    mark: str = ""
    """The start of its snapshot's home. A different one belongs to another state, such as an older copy."""


def written_beside(path: Path) -> Written | None:
    """Return what was written to a state file, according to the lock beside it, even while a member runs with it.

    `None` if there is no lock, or it does not say.
    """
    try:
        lock = os.open(_name(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _written(lock)
    finally:
        os.close(lock)


class StateLock:
    """A lock that is held from creation until it is closed.

    Args:
        path: The state file. The lock file beside it is created if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._drawn: str | None = None
        self._file: int | None = _locked(path)
        _HELD.add(self)

    def found(self) -> str:
        """Return the home that the state must have to be the one left here: mark and place."""
        return f"{self._mark()} {_place(self._path)}"

    def drawn(self) -> str:
        """Return the home for the state from now on. The first call draws its mark, and writes it to the lock."""
        if self._drawn is None:
            mark = secrets.token_hex(_MARK)
            try:
                assert self._file is not None
                os.pwrite(self._file, mark.encode(), 0)
                os.fsync(self._file)
            except OSError as error:
                raise JournalError(
                    f"the lock beside {self._path} cannot be written ({error.strerror}): free the disk, or make it "
                    "writable"
                ) from error
            self._drawn = mark
        return f"{self._drawn} {_place(self._path)}"

    def written(self) -> Written | None:
        """Return what was written to the state; `None` if nothing was, or the lock is new or damaged."""
        assert self._file is not None
        return _written(self._file)

    def note(self, written: Written) -> None:
        """Note what was written to the state. If that fails, the lock records less than there is."""
        assert self._file is not None
        text = b"%019d %d" % (written.last, written.has_snapshot)
        with suppress(OSError):
            os.pwrite(self._file, b" %s %08x\n" % (text, crc32(text)), 2 * _MARK)

    def close(self) -> None:
        """Release it, even if a forked process still has it open. Does nothing if it is closed already."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self.let_go()

    def let_go(self) -> None:
        """Close the file without releasing the lock, which the parent of this forked process holds."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _mark(self) -> str:
        assert self._file is not None
        return os.pread(self._file, 2 * _MARK, 0).decode("ascii", "replace")


_HELD: "weakref.WeakSet[StateLock]" = weakref.WeakSet()


def _after_fork() -> None:
    for lock in tuple(_HELD):
        lock.let_go()


os.register_at_fork(after_in_child=_after_fork)


def _name(path: Path) -> Path:
    """Return where the lock is: beside the file itself, whatever link leads to it, or two could hold one each."""
    real = Path(os.path.realpath(path))
    return real.with_name(f"{real.name}.lock")


def _written(lock: int) -> Written | None:
    mark, note = (content := os.pread(lock, 128, 0))[: 2 * _MARK], content[2 * _MARK :]
    found = _NOTE.fullmatch(note)
    if found is None or crc32(found[0][1:21] + found[2]) != int(found[3], 16):
        return None
    return Written(int(found[1]), found[2] == b"1", mark.decode("ascii", "replace"))


def _locked(path: Path) -> int:
    try:
        _name(path).parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(_name(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise LocalError(
                f"the lock {_name(path)} is a link, which could lead to any file: remove it, and start the member again"
            ) from error
        raise JournalError(f"the state file {path} cannot be used: {error.strerror} ({error.filename})") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise StateInUseError(
            f"another process runs with the state file {path}: every member needs its own, so stop that one or name "
            "another file (a star in name and state, as in web-*, finds a free one)"
        ) from error
    return lock


def _place(path: Path) -> str:
    """Return a file's device, its inode, and the boot of the computer: a lock may be copied with its state."""
    try:
        found, since = path.stat(), _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else ""
    except OSError as error:
        raise JournalError(f"the state file {path} cannot be used: {error.strerror}") from error
    return f"{found.st_dev} {found.st_ino} {since}"
