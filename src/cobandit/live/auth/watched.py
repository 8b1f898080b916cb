"""Files that may be replaced while a member runs: whether one has changed, and the result of reading it again.

This file owns when to read. It does not know what is in the files.
"""

from pathlib import Path
from typing import NamedTuple


class Reread(NamedTuple):
    """The result of rereading the credential files."""

    changes: tuple[str, ...] = ()
    """What was put to use, in words."""
    troubles: tuple[str, ...] = ()
    """What is wrong at present, in words for the person who has to act. The last good content stays in use."""
    is_renewed: bool = False
    """Whether the member uses another certificate from now on."""


class Watched:
    """A file that is read again after each change, until its content could be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._used: tuple[int, ...] | None = None
        self._seen: tuple[int, ...] | None = None

    @property
    def is_due(self) -> bool:
        """Whether it should be read. Call `use` afterwards, unless the content cannot be used."""
        try:
            found = self.path.stat()
        except OSError:
            self._seen = None  # reading it gives the reason
        else:
            self._seen = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        return self._seen is None or self._seen != self._used

    def use(self) -> None:
        """Note that the content at the time of `is_due` is in use."""
        self._used = self._seen
