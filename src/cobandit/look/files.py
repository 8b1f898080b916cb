"""A file that is there is whole: it is written beside its place and then moved there."""

import os
from pathlib import Path

from cobandit.values.errors import LocalError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, or leave what was there.

    Raises:
        LocalError: It cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        try:
            part.write_bytes(content.encode() if isinstance(content, str) else content)
            os.replace(part, path)  # noqa: PTH105  # says what it is for
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise LocalError(f"cannot write {path}: {error.strerror or error}") from error
