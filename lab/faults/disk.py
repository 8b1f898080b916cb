"""A small disk that can be filled, made read-only and lose its power: a file system in a file. Linux, and root."""

import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.servers import Missing, find

MEGABYTES = 8
SHUTDOWN = 0x8004587D
"""The request `EXT4_IOC_SHUTDOWN`."""
WITHOUT_FLUSHING = 2
BLOCK = 4096


class NoDisk(Missing):
    """Disks cannot be made here."""


class Disk:
    """A disk of its own. Leaving the block removes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "disk"
        self._image = folder / "disk.image"
        self._filler = self.folder / "filler"

    def __enter__(self) -> Self:
        if os.geteuid() != 0:
            raise NoDisk("a disk that can be filled and lose its power needs root")
        self.folder.mkdir()
        with self._image.open("wb") as file:
            file.truncate(MEGABYTES * 2**20)
        try:
            _run("mkfs.ext4", "-q", "-F", "-m", "0", str(self._image))
            self._mount()
        except subprocess.CalledProcessError as error:
            raise NoDisk(f"a disk cannot be mounted here: {error.stderr.decode().strip()}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _run("umount", str(self.folder))

    def fill(self) -> None:
        """Leave no room."""
        with self._filler.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * BLOCK)
            except OSError:
                return

    def free(self) -> None:
        """Give the room back."""
        self._filler.unlink()

    def set_read_only(self, state: Path, *, is_read_only: bool) -> None:
        """Let nobody write into a journal, not even who has it open; or let everybody again."""
        files = [path for path in self.folder.glob(f"{state.name}*") if path.suffix not in (".state-shm", ".lock")]
        _run("chattr", "+i" if is_read_only else "-i", *map(str, files))

    def remount_read_only(self, *, is_read_only: bool) -> None:
        """Make all of it read-only, or writable again. Nobody may have a file open."""
        _run("mount", "-o", "remount,ro" if is_read_only else "remount,rw", str(self.folder))

    def cut_power(self) -> None:
        """Lose all that is not on the disk yet. Nothing can be read or written until `restore_power`."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, SHUTDOWN, struct.pack("I", WITHOUT_FLUSHING))
        finally:
            os.close(folder)

    def restore_power(self) -> None:
        """Mount what is left. Nobody may have a file open."""
        _run("umount", str(self.folder))
        self._mount()

    def _mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.folder))


def copy_state(state: Path, to: Path) -> None:
    """Copy a journal whose process stands still or is gone: the file, and what is not yet in it."""
    for suffix in ("", "-wal"):
        source, target = state.with_name(state.name + suffix), to.with_name(to.name + suffix)
        target.unlink(missing_ok=True)
        if source.exists():
            shutil.copyfile(source, target)
    to.with_name(to.name + "-shm").unlink(missing_ok=True)


def remove_state(state: Path) -> None:
    """Lose a journal."""
    for path in state.parent.glob(f"{state.name}*"):
        path.unlink()


def _run(program: str, *arguments: str) -> None:
    subprocess.run([find(program), *arguments], capture_output=True, check=True)  # noqa: S603  # no shell, no input
