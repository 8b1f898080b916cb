"""The arms of a world: their names and the mean of their Bernoulli rewards."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cobandit.scenario.keys import read_bytes
from cobandit.values.chance import stream, uniform
from cobandit.values.checks import check_probability, check_whole, keep_plain, plain_arguments
from cobandit.values.errors import LocalError
from cobandit.values.tally import MOST_ARMS, Arm, checked_arms


@dataclass(frozen=True)
class Arms:
    """Named arms that pay 1 with a fixed probability and 0 otherwise.

    >>> arms = Arms.of([0.2, 0.7])
    >>> arms.names, arms.best(arms.names)
    (('0', '1'), 0.7)
    """

    names: tuple[Arm, ...]
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        keep_plain(self, "names", "means")
        checked_arms(self.names)
        if len(self.names) != len(self.means):
            raise LocalError(f"{len(self.names)} arm names but {len(self.means)} means: give one mean for each arm")
        for name, mean in zip(self.names, self.means, strict=True):
            check_probability(f"the mean of arm {name}", mean)

    @classmethod
    def of(cls, means: Sequence[float]) -> "Arms":
        """Name the arms 0, 1, 2, ..."""
        return cls(tuple(str(position) for position in range(len(means))), tuple(means))

    @classmethod
    @plain_arguments
    def uniform(cls, count: int, low: float, high: float, *, seed: int) -> "Arms":
        """Draw the means uniformly from [low, high]."""
        if not 0.0 <= low <= high <= 1.0:
            raise LocalError(f"means are drawn from a range inside [0, 1], not [{low!r}, {high!r}]")
        check_whole("the number of arms", count, 1, MOST_ARMS)
        key = stream(seed, 0xA12)
        return cls.of([low + (high - low) * uniform(key, position) for position in range(count)])

    @classmethod
    def from_csv(cls, path: Path | str) -> "Arms":
        """Read a file with the columns `arm` and `mean`."""
        rows = read_csv(path, ("arm", "mean"))
        return cls(
            tuple(row["arm"] for _, row in rows),
            tuple(as_number(path, line, "mean", row["mean"]) for line, row in rows),
        )

    def mean(self, arm: Arm) -> float:
        """Return the mean of one arm."""
        return self.means[self.names.index(arm)]

    def best(self, names: Sequence[Arm]) -> float:
        """Return the highest mean among these arms."""
        return max(self.mean(name) for name in names)


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
        if None in row:  # where the reader puts what no column is for, such as the 5 of a mean written 0,5
            raise LocalError(f"{path}, line {line}: more cells than columns: write {','.join(header)}")
    return rows


def as_number(path: Path | str, line: int, column: str, text: str) -> float:
    """Return a cell as a number, or say where it is not one."""
    try:
        return float(text)
    except ValueError as error:
        raise LocalError(f"{path}, line {line}: {column} must be a number, not {text!r}") from error
