"""CSV files for a scenario: rows with their line numbers, numbers, and errors that name file and line."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from cobandit.scenario.keys import read_bytes
from cobandit.values.errors import LocalError


def read_csv(path: Path | str, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV file that has at least these columns, each with its line number."""
    try:
        reader = csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8-sig"), newline=""))
        rows = [(reader.line_num, row) for row in reader]
        header = reader.fieldnames or ()
    except OSError as error:
        raise LocalError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise LocalError(f"cannot read {path}: {error}") from error
    if not rows:
        raise LocalError(f"{path} has no rows: it needs a header {','.join(columns)} and at least one row")
    for column in columns:
        if column not in header:
            raise LocalError(f"{path} has no column {column!r}: it needs {','.join(columns)}")
    for line, row in rows:
        for column in columns:
            if row[column] is None:
                raise LocalError(f"{path}, line {line}: the cell of {column} is missing: write {','.join(header)}")
        if None in row:  # holds cells without a column, such as the 5 of a mean written 0,5
            raise LocalError(f"{path}, line {line}: more cells than columns: write {','.join(header)}")
    return rows


def as_number(path: Path | str, line: int, column: str, text: str) -> float:
    """Return a cell as a number, or raise an error that says where it is not one."""
    try:
        return float(text)
    except ValueError as error:
        raise LocalError(f"{path}, line {line}: {column} must be a number, not {text!r}") from error
