"""Results on disk: a folder is either complete and undamaged, or says that it is not.

    journal.jsonl      what the run is (first line), then one line for each finished trial, as it finishes; in a sweep,
                       which may get more points, also a line for each scenario, before its trials
    *.parquet          the frames, written under other names and then renamed
    manifest.json      written last: what the run was, and a hash of each frame

A folder without a manifest is not a result, whatever the reason: a killed run, a full disk, a power failure. Running
the same again takes the finished trials from the journal. Whatever cannot be read, or belongs to another run, is left
unchanged. This file knows bytes and folders, not frames.
"""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cobandit.simulator.trials import Trial
from cobandit.values.errors import LocalError

FORMAT = 2
"""The format that is written. Trials of format 1 have fewer columns: results are read, but no run continues them."""

READABLE = {"result": (1, 2), "journal": (2,)}
JOURNAL = "journal.jsonl"
MANIFEST = "manifest.json"
SYNC_EVERY = 32
"""Lines of the journal between two syncs. Only a crash of the machine loses what is in between."""

_WORLD = b'{"world":'

Identity = dict[str, Any]
"""What must be equal for two runs to be the same apart from the number of trials; plain JSON values."""


class Journal:
    """The finished trials of one run, kept as they finish.

    A forked process does not have it, because the lock must not outlive the process that writes.
    """

    def __init__(
        self,
        folder: Path,
        identity: Identity,
        *,
        trials: int,
        resumable: bool,
        worlds: Mapping[str, Any] | None = None,
    ) -> None:
        """Open the journal of a folder, or begin one.

        Args:
            folder: The folder. It is created if it does not exist.
            identity: What the run is.
            trials: The number of trials of the run.
            resumable: Whether the identity contains everything that matters about the run.
            worlds: In a sweep, what each scenario is; plain JSON values.

        Raises:
            LocalError: The folder contains another run, something unreadable or other files, or is in use. Nothing in
                it was changed.
        """
        self.path = folder / JOURNAL
        self.done: dict[tuple[str, int], Trial] = {}
        self.worlds: dict[str, Any] = {}
        """In a sweep, all scenarios of the folder, in the order in which they were added."""
        self._unsynced = 0
        _make(folder)
        _check_folder(folder)
        manifest = read_manifest(folder)
        if manifest is not None:
            check_same(folder, manifest["identity"], identity)
            check_not_shorter(folder, manifest, trials)
            if not self.path.exists():
                raise LocalError(f"{folder} holds a saved result without its journal: choose another folder")
        with _failing(self.path):
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            self._take(identity, resumable=resumable)
            self._add(worlds or {})
        except BaseException:
            os.close(self._file)
            raise
        _OPEN.add(self)

    def leave(self) -> None:
        """Leave the file to the parent of this forked process. The lock stays."""
        _OPEN.discard(self)
        os.close(self._file)
        self._file = -1

    def _take(self, identity: Identity, *, resumable: bool) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise LocalError(f"{self.path.parent} is in use: another run is writing its results there") from error
        header = _line({"cobandit": "journal", "format": FORMAT, "identity": identity})
        content = self.path.read_bytes()
        if header.startswith(content) and content != header:  # new, or cut off before it had a trial
            with _failing(self.path):
                os.ftruncate(self._file, 0)
                _write_all(self._file, header)
                os.fsync(self._file)
            return
        first, *lines = content[: content.rfind(b"\n") + 1].splitlines(keepends=True) or [b""]
        if first != header:
            header_there = _stamped(self.path, first, "journal", ("identity",))
            check_same(self.path.parent, header_there["identity"], identity)
        if not resumable:
            raise LocalError(
                f"{self.path.parent} holds an earlier run, and of a scenario with a lambda, or with something else "
                "whose source cannot be read, nobody can tell whether it is the same: give it a name with def, and "
                "choose another folder"
            )
        for number, line in enumerate(lines, start=2):
            if line.startswith(_WORLD):
                self.worlds.update(json.loads(line)["world"])
                continue
            trial = _read_trial(self.path, number, line)
            self.done.setdefault((trial.name, trial.trial), trial)
        with _failing(self.path):
            os.ftruncate(self._file, len(first) + sum(map(len, lines)))  # the incomplete line of a killed run

    def _add(self, worlds: Mapping[str, Any]) -> None:
        """Add the new scenarios of a sweep, unless one has the name of a different earlier one."""
        for name, world in worlds.items():
            held = self.worlds.get(name, world)
            if held != world:
                raise LocalError(
                    f"{self.path.parent} holds another scenario as {name!r} (different: {_differing(held, world)}): "
                    "choose another folder"
                )
        with _failing(self.path):
            for name, world in worlds.items():
                if name not in self.worlds:
                    _write_all(self._file, _line({"world": {name: world}}))
                    self.worlds[name] = world

    def append(self, trial: Trial) -> None:
        """Keep a finished trial.

        Raises:
            LocalError: It cannot be written, for example because the disk is full. What was kept before is still there.
        """
        with _failing(self.path, "the trials before this one are kept: run the same again to go on"):
            _write_all(self._file, _line(vars(trial)))
            self._unsynced += 1
            if self._unsynced >= SYNC_EVERY:
                os.fsync(self._file)
                self._unsynced = 0
        self.done[trial.name, trial.trial] = trial

    def close(self) -> None:
        """Release the folder."""
        if self in _OPEN:
            with suppress(OSError):
                os.fsync(self._file)
            self.leave()


_OPEN: set[Journal] = set()


def _leave_all() -> None:
    for journal in tuple(_OPEN):
        journal.leave()


os.register_at_fork(after_in_child=_leave_all)


def save(folder: Path, frames: Mapping[str, bytes], about: Mapping[str, Any], identity: Identity) -> None:
    """Write a complete result: the frames under other names, then the renames, then the manifest.

    Args:
        folder: The folder. It is created if it does not exist.
        frames: The content of each file, by name.
        about: Everything that is recorded about the run.
        identity: What the run is.

    Raises:
        LocalError: The folder contains something else or cannot be written. Its earlier content is still there.
    """
    _make(folder)
    _check_folder(folder)
    manifest = read_manifest(folder)
    if manifest is not None:
        check_same(folder, manifest["identity"], identity)
        check_not_shorter(folder, manifest, about["trials"])
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in frames.items()}
    content = {"cobandit": "result", "format": FORMAT, "files": hashes, "identity": identity, "about": dict(about)}
    for name, data in frames.items():
        _write_aside(folder / name, data)
    with _failing(folder):
        (folder / MANIFEST).unlink(missing_ok=True)
        for name in frames:
            _aside(folder / name).replace(folder / name)
        _sync_folder(folder)
    _write_aside(folder / MANIFEST, json.dumps(content, indent=1).encode() + b"\n")
    with _failing(folder):
        _aside(folder / MANIFEST).replace(folder / MANIFEST)
        _sync_folder(folder)


def load(folder: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the content of each frame, and what is recorded about the run.

    Raises:
        LocalError: The folder contains no complete result, or a damaged one.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        if (folder / JOURNAL).exists():
            raise LocalError(f"{folder} holds an unfinished run: run the same again to finish it")
        raise LocalError(f"{folder} holds no result: it has no {MANIFEST}")
    frames: dict[str, bytes] = {}
    for name, digest in manifest["files"].items():
        with _failing(folder / name, verb="read"):
            frames[name] = (folder / name).read_bytes()
        if hashlib.sha256(frames[name]).hexdigest() != digest:
            raise LocalError(f"{folder / name} is damaged: it is not the file that {MANIFEST} tells of")
    return frames, manifest["about"]


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder, or `None` if it has none. An unreadable one is an error."""
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path) from error
    return _stamped(path, content, "result", ("files", "identity", "about"))


def check_same(folder: Path, theirs: Mapping[str, Any], ours: Identity) -> None:
    """Raise an error that says what differs, unless a folder's run is the same as ours."""
    different = [key for key in {**ours, **theirs} if theirs.get(key) != ours.get(key)]
    if different:
        told = [
            f"{key} {theirs[key]!r} in place of {ours[key]!r}" if _is_short(ours.get(key), theirs.get(key)) else key
            for key in different
        ]
        raise LocalError(f"{folder} holds another run ({', '.join(told)}): choose another folder")


def _differing(held: object, ours: object) -> str:
    """Return which keys of two values differ; nested keys are joined by dots."""
    if not (isinstance(held, dict) and isinstance(ours, dict)):
        return f"{held!r} in place of {ours!r}" if _is_short(held, ours) else "its text"
    keys = [key for key in {**held, **ours} if held.get(key) != ours.get(key)]
    return ", ".join(
        f"{key}.{_differing(held[key], ours[key])}"
        if isinstance(held.get(key), dict) and isinstance(ours.get(key), dict)
        else str(key)
        for key in keys
    )


def check_not_shorter(folder: Path, manifest: Mapping[str, Any], trials: int) -> None:
    """Raise if a complete result would be replaced by a smaller one."""
    held = manifest["about"].get("trials", 0)
    if held > trials:
        raise LocalError(f"{folder} holds the same run with {held} trials, more than {trials}: choose another folder")


def _is_short(*values: object) -> bool:
    return all(isinstance(value, int | str) for value in values)


def _check_folder(folder: Path) -> None:
    """Refuse a folder that contains files not written by a run of ours."""
    if (folder / JOURNAL).exists() or (folder / MANIFEST).exists():
        return
    with _failing(folder, verb="read"):
        others = sorted(file.name for file in folder.iterdir() if not re.fullmatch(r"\..*\.tmp", file.name))
    if others:
        raise LocalError(f"{folder} holds other files ({', '.join(others[:3])}): choose an empty or a new folder")


def _stamped(path: Path, content: bytes, kind: str, tables: tuple[str, ...]) -> dict[str, Any]:
    """Return a JSON object that cobandit wrote, with these tables in it. Anything else is an error."""
    try:
        found = dict(json.loads(content))
        stamp = (found["cobandit"], found["format"])
        for table in tables:
            found[table] = dict(found[table])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(path) from error
    if stamp[0] != kind or stamp[1] not in READABLE[kind]:
        raise LocalError(f"{path} was written by another version of cobandit: choose another folder")
    return found


def _unreadable(path: Path, where: str = "") -> LocalError:
    return LocalError(f"{path}{where} cannot be read: it is left as it is; choose another folder")


def _read_trial(path: Path, number: int, line: bytes) -> Trial:
    try:
        return Trial(**json.loads(line))
    except (ValueError, TypeError, RecursionError) as error:
        raise _unreadable(path, f", line {number}") from error


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _make(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise LocalError(f"out must be a folder or a new name, but {folder} is a file")
    with _failing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")


def _write_aside(path: Path, content: bytes) -> None:
    with _failing(path):
        try:
            file = os.open(_aside(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                _write_all(file, content)
                os.fsync(file)
            finally:
                os.close(file)
        except OSError:
            with suppress(OSError):
                _aside(path).unlink()
            raise


def _write_all(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def _failing(path: Path, advice: str = "", *, verb: str = "write") -> Iterator[None]:
    """Turn errors of the operating system into errors that say what to do."""
    try:
        yield
    except OSError as error:
        why = f"cannot {verb} {path}: {error.strerror or error}"
        raise LocalError(f"{why}; {advice}" if advice else why) from error
