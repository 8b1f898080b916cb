"""The folder that a command writes to."""

from pathlib import Path

from cobandit.values.errors import LocalError


def make_folder(folder: Path) -> None:
    """Make a folder if it is not there.

    Raises:
        LocalError: There is a file of that name, or it cannot be made.
    """
    if folder.exists() and not folder.is_dir():
        raise LocalError(f"out must be a folder or a new name, but {folder} is a file")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalError(f"cannot write {folder}: {error.strerror}") from error
