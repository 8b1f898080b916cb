"""Files that only their owner should read: a warning if others can, and a refusal if any user can write them.

They are written here too, so that no other user can ever read them, see a partial one, or lose an earlier one.
"""

import contextlib
import logging
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from cobandit.live.log_events import LogEvent, log_event
from cobandit.values.errors import LocalError

LARGEST_SECRET = 2**16
"""Bytes. A larger file is something else, or a device without an end."""

_said: set[tuple[str, int]] = set()


def read_private(path: Path, what: str, most: int = LARGEST_SECRET) -> bytes:
    """Return the content of a file with a secret.

    Raises:
        LocalError: Any user can write to it, or it is too long.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        warn_of_readers(path, what, os.fstat(file.fileno()), may_be_written=False)
        content = file.read(most + 1)
    if len(content) > most:
        raise LocalError(f"{what} {path} is longer than {most:,} bytes, so it is another file: name the right one")
    return content


def warn_of_readers(path: Path, what: str, found: os.stat_result, *, may_be_written: bool = True) -> None:
    """Log, once, that users other than its owner can use a file.

    Raises:
        LocalError: Any user can write to it, and that is not allowed.
    """
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISREG(found.st_mode) or not mode & 0o077:
        return
    if mode & stat.S_IWOTH and not may_be_written:
        raise LocalError(
            f"every user on this computer can write to {what} {path} (mode {mode:o}), so it proves nothing: make it "
            f"anew, and then chmod 600 {path}"
        )
    if (str(path), mode) not in _said:
        _said.add((str(path), mode))
        said = f"other users of this computer can use {what} {path} (mode {mode:o}): chmod 600 {path}"
        log_event(logging.WARNING, LogEvent.FILE_EXPOSED, said)


def check_free(path: Path, remedy: str) -> None:
    """Raise `LocalError` if the file exists."""
    if path.exists():
        raise LocalError(f"{path} already exists: {remedy}")


def write_private(path: Path, content: bytes) -> None:
    """Write a new file with a secret. Raises `LocalError` if it exists already, or cannot be written."""
    try:
        with drafted(path, content, 0o600) as draft:
            try:
                os.link(draft, path)  # unlike a rename, this fails if the file was made meanwhile
            except FileExistsError as error:
                raise LocalError(f"{path} already exists: remove it first, or choose another with --out") from error
    except OSError as error:
        raise LocalError(f"cannot write {path}: {error.strerror}") from error


def replace_public(path: Path, content: bytes) -> None:
    """Write a file that any user may read, in place of the existing one. Raises `LocalError`."""
    try:
        with drafted(path, content, 0o644) as draft:
            draft.replace(path)
    except OSError as error:
        raise LocalError(f"cannot write {path}: {error.strerror}") from error


@contextlib.contextmanager
def drafted(path: Path, content: bytes, mode: int) -> Iterator[Path]:
    """Write a file's content beside its place, for the caller to move. A draft that was not moved is removed."""
    draft = path.with_name(f".{secrets.token_hex(8)}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
