"""Where compiled code is kept, who compiles, and when what is kept goes.

Numba looks only at the file of a compiled function when it decides whether a kept version is still good. Ours call
functions of other files, so what is kept goes into a folder named after a hash of all of them. A new folder takes the
place of the ones that were used longest ago. A process whose folder has gone compiles again. This file knows nothing of
what is compiled.
"""

import fcntl
import hashlib
import logging
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numba

import cobandit

MAX_KEPT = 8
"""Folders of compiled code that are kept, of this and of other versions of the package: some 7 MB each."""

UNUSED_SECONDS = 3600.0
"""A folder that was used more lately may be in use, and stays."""

PATIENCE_SECONDS = 1.0
"""How long to wait without a word for another process; one that finds everything compiled needs no longer."""

_LOOK_SECONDS = 0.02
_NAME = re.compile("[0-9a-f]{16}")
_log = logging.getLogger("cobandit.simulator")
_one_thread = threading.Lock()


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """Be the only one that compiles for a folder: others wait, and find what the first one has kept."""
    folder.mkdir(parents=True, exist_ok=True)  # another version may have removed it
    with _one_thread, lock_of(folder).open("w") as lock:
        _wait_for(lock)
        if not numba.config.DISABLE_JIT and next(folder.rglob("*.nbi"), None) is None:
            _log.warning("compiling the engine, once for this version: that takes a minute or so")
        yield


def lock_of(folder: Path) -> Path:
    """Return the file that who compiles has locked."""
    return folder / "compiling"


_NEVER_COMPILED = ("adapters", "cli", "dashboard", "live", "look", "testing", "theory")
"""Rooms of which the compiled engine has nothing: a change there need not compile it anew."""


def folder_of_this_version() -> Path:
    """Return where to keep what is compiled of this version of the package; a new folder makes an old one go."""
    package = Path(cobandit.__file__).parent
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(package.rglob("*.py")):
        if source.relative_to(package).parts[0] not in _NEVER_COMPILED:
            digest.update(source.read_bytes())
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "cobandit" / digest.hexdigest()[:16]
    if numba.config.DISABLE_JIT:  # nothing will be kept
        return folder
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)  # it is used
    except OSError:  # a read-only home: compile once a machine and boot instead
        folder = Path(tempfile.gettempdir()) / f"cobandit-{os.getuid()}-{digest.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if is_new:
        remove_old(folder.parent)
    return folder


def remove_old(home: Path) -> None:
    """Remove the folders that were used longest ago, but none that may be in use."""
    folders = [folder for folder in home.iterdir() if _NAME.fullmatch(folder.name) and folder.is_dir()]
    for folder in sorted(folders, key=_used_at, reverse=True)[MAX_KEPT:]:
        if _used_at(folder) > time.time() - UNUSED_SECONDS:
            continue
        with suppress(OSError), lock_of(folder).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)


def _used_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # another process has removed it
        return 0.0


def _wait_for(lock: IO[str]) -> None:
    patient_until = time.monotonic() + PATIENCE_SECONDS
    with suppress(OSError):  # some file systems know no locks: all compile then
        while time.monotonic() < patient_until:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOOK_SECONDS)
            else:
                return
        _log.warning("another process compiles the engine: waiting until it has, which may take a minute")
        fcntl.flock(lock, fcntl.LOCK_EX)
