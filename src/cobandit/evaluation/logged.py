"""Logged decisions, as an evaluation needs them: read from files, each once, and without those that say nothing.

This file owns which rows count and what is said of one that cannot be right. It does not know what they are used for.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from cobandit.values.checks import is_number, plain
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

Row = Mapping[str, object]
"""One decision, as in a line of `cobandit log`: arm, propensity, reward, subject, id, and your own columns."""

_CERTAIN = 1.0 - 1e-12

MAX_NAMED = 20
"""Of more bandits than this, only so many are named."""


class Logged(NamedTuple):
    """One decision that counts."""

    arm: str
    propensity: float
    reward: float
    unit: object
    """What is independent of all others: the subject, or the decision itself."""
    row: Row


class LoggedDecisions(NamedTuple):
    """The decisions of a log that can be evaluated."""

    decisions: list[Logged]
    """The decisions that count: drawn at random, with a known propensity, and rewarded. In the order of the log."""
    arms: tuple[str, ...]
    unrewarded: int
    """How many were left out because they have no reward."""
    certain: int
    """How many were left out because only one arm was possible: kill switch on, or no other arm on offer."""
    untold: int
    """How many were left out because their propensity is unknown."""


def read_decisions(*paths: str | Path) -> list[Row]:
    """Read decisions from files that `cobandit log` wrote: JSON lines, or Parquet if the name ends in `.parquet`.

    Raises:
        LocalError: There is no such file, or a line of it is not a decision.
    """
    return [row for path in paths for row in _rows(Path(path))]


def decisions_of(rows: Iterable[Row | msgspec.Struct], *, unrewarded: float | None = None) -> LoggedDecisions:
    """Return what a log says, every decision once, as it was logged last.

    Args:
        rows: As `read_decisions` or `Member.log` gives them.
        unrewarded: The reward of decisions that have none; by default they are left out.

    Raises:
        LocalError: A row cannot be right, or none of them says anything about another policy.
    """
    if not isinstance(rows, Iterable):
        raise LocalError(f"decisions must be rows of a log, as read_decisions(path) gives them, not {rows!r}")
    latest: dict[object, Row] = {}
    bandits: set[str] = set()
    for position, row in enumerate(rows, 1):
        entry: Row = msgspec.to_builtins(row) if isinstance(row, msgspec.Struct) else row
        latest[_key(entry, position)] = entry
        bandits.add(str(entry.get("bandit") or ""))
    if len(bandits) > 1:
        raise LocalError(
            f"this log has decisions of {len(bandits)} bandits ({_some(sorted(bandits))}): evaluate one at a time, "
            "with `cobandit evaluate --bandit NAME`, or with the rows of one of them"
        )
    found: list[Logged] = []
    left_out = {"unrewarded": 0, "certain": 0, "untold": 0}
    for position, (key, entry) in enumerate(latest.items(), 1):
        decision = _checked(entry, position, key, unrewarded)
        if isinstance(decision, Logged):
            found.append(decision)
        else:
            left_out[decision] += 1
    impossible = next((one for one in found if not one.propensity), None)
    if not any(one.propensity for one in found):
        left_out["certain"] += len(found)  # 0, so another was certain
        raise _nothing_said(**left_out)
    if impossible is not None:
        raise LocalError(
            f"arm {impossible.arm!r} was chosen with propensity 0, which is impossible: check how this log was written"
        )
    arms = tuple(sorted({decision.arm for decision in found}))
    return LoggedDecisions(found, arms, **left_out)


def _key(row: Row, position: int) -> object:
    """Return what tells a decision from others: it is logged again when it is rewarded, and logs are put together."""
    if not isinstance(row, Mapping):
        raise LocalError(f"decision {position} is {row!r}, not one of a log: a row has arm, propensity and reward")
    return row.get("id") or (position if row.get("number") is None else ("number", row["number"]))


def _checked(row: Row, position: int, key: object, unrewarded: float | None) -> Logged | str:
    """Return a decision, or why it is left out."""
    arm, propensity, reward = row.get("arm"), plain(row.get("propensity")), plain(row.get("reward"))
    if not isinstance(arm, str):
        raise LocalError(f"decision {position} has no arm: {_short(row)}")
    if propensity is None:
        return "untold"
    if not is_number(propensity) or not 0.0 <= propensity <= 1.0 + 1e-9:
        raise LocalError(f"decision {position} has propensity {propensity!r}, which is none: {_short(row)}")
    if reward is None:
        reward = plain(unrewarded)
    if reward is None:
        return "unrewarded"
    if not is_number(reward) or not abs(reward) <= sys.float_info.max:
        raise LocalError(f"decision {position} has reward {reward!r}, which is no number: {_short(row)}")
    chance = float(propensity)
    if chance > _CERTAIN:
        return "certain"
    subject = row.get("subject")
    return Logged(arm, chance, float(reward), key if subject is None else ("subject", subject), row)


def _some(names: list[str]) -> str:
    shown = ", ".join(name or "one without a name" for name in names[:MAX_NAMED])
    return shown if len(names) <= MAX_NAMED else f"{shown} and {len(names) - MAX_NAMED} more"


def _short(row: Row) -> str:
    text = repr(dict(row))
    return text if len(text) <= 200 else text[:199] + "…"


def _nothing_said(*, unrewarded: int, certain: int, untold: int) -> LocalError:
    if certain:
        return LocalError(
            "every propensity of this log is 0 or 1: its policy left nothing to chance, so the log does not say what "
            "another would have brought. Log with the policy 'thompson', with floors, or with a hold-out"
        )
    if untold:
        return LocalError("no decision of this log has a propensity: its policy draws, and does not tell its odds")
    if unrewarded:
        return LocalError("no decision of this log has a reward: count them with a reward of 0, or wait for rewards")
    return LocalError("this log has no decisions")


def _rows(path: Path) -> Iterator[Row]:
    if path.suffix == ".parquet":
        with needed_by("reading Parquet"):
            import pyarrow as pa  # noqa: PLC0415
            import pyarrow.parquet as pq  # noqa: PLC0415
        try:
            yield from pq.read_table(path).to_pylist()
        except pa.ArrowInvalid as error:
            raise LocalError(f"{path} is no Parquet file: {error}") from error
        return
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _decoded(line, path, number)
    except OSError as error:
        raise LocalError(f"{path} cannot be read: {error.strerror}") from error


def _decoded(line: bytes, path: Path, number: int) -> Row:
    if number == 1 and line.startswith(b"SQLite format"):
        raise LocalError(
            f"{path} is the state file of a member: an evaluation reads what `cobandit log {path}` prints. Both at "
            f"once: cobandit log {path} | cobandit evaluate -"
        )
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LocalError(
            f"{path}, line {number} is no JSON ({error}): an evaluation reads what `cobandit log` prints without --csv"
        ) from error
    if not isinstance(row, dict):
        raise LocalError(f"{path}, line {number} is no decision: {line[:80].decode(errors='replace')!r}")
    return row
