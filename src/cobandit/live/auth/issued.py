"""Which files a group has made, for which names, and of which kind.

The list is `group-issued.jsonl` in the group's folder, with a line of JSON for each file. It contains no secret and
grants no right. With it, `cobandit keys` notices misspelt names, and can make a file again of the same kind. This file
does not know certificates and revocations.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from cobandit.live.auth.certificates import Names
from cobandit.values.errors import LocalError

ISSUED = "group-issued.jsonl"


class Issued(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that was made."""

    name: str
    is_prefix: bool = False
    may_relay: bool = False


class IssuedFiles:
    """All files that were made with a group's folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ISSUED

    def add(self, made: Issued) -> None:
        """Record a file. Raises `LocalError` if that cannot be written."""
        try:
            with self.path.open("ab") as file:
                file.write(msgspec.json.encode(made) + b"\n")
        except OSError as error:
            raise LocalError(f"cannot write {self.path}: {error.strerror}") from error

    def all(self) -> Sequence[Issued]:
        """Return every file that was made, in order. Raises `LocalError` if the list cannot be read."""
        try:
            return msgspec.json.Decoder(Issued).decode_lines(self.path.read_bytes())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise LocalError(f"cannot read {self.path}: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise LocalError(
                f"{self.path} has a line that cobandit did not write: restore the file from a copy"
            ) from error

    def last(self, name: str) -> Issued | None:
        """Return the last file that was made for a name or prefix; `None` if there was none."""
        return next((made for made in reversed(self.all()) if made.name == name), None)

    def concerns(self, name: str, *, is_prefix: bool) -> bool:
        """Return whether revoking this name, or all names with this prefix, would affect any file."""
        return any(
            made.name.startswith(name)
            if is_prefix
            else made.name == name or (made.is_prefix and Names("", made.name, is_prefix=True).proves(name))
            for made in self.all()
        )
