"""The commands on a member's state file: `cobandit log`, `cobandit reward`, `cobandit snapshot`. They only print."""

import argparse
import csv
import os
import re
import secrets
import sys
import time
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cobandit.scenario.words import count_of
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from cobandit.live.store.history import LogEntry

FOLLOW_EVERY = 1.0
"""Seconds between two looks for what was decided since."""


SETTLED = 1
"""The exit code if a reward would not count."""


def add_log(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    _add_state(parser)
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--csv", action="store_true", help="print CSV with a header instead of JSON lines")
    shape.add_argument("--parquet", type=Path, metavar="FILE", help="write a Parquet file instead; it must not exist")
    parser.add_argument(
        "--since",
        type=_time,
        default=0.0,
        metavar="TIME",
        help="only decisions made since a time, such as 2026-03-01T12:00 (UTC by default), or 90s, 15m, 12h, 7d ago",
    )
    add_place(parser, "only decisions of")
    parser.add_argument(
        "--follow", action="store_true", help="keep printing new decisions; rewarded decisions are printed again"
    )
    parser.set_defaults(command=_log)


def add_place(parser: argparse.ArgumentParser, what: str) -> None:
    """Give a parser the arguments that say of which bandit of a fleet something is wanted, and of which segment."""
    parser.add_argument("--bandit", metavar="NAME", help=f"in a fleet: {what} this bandit")
    parser.add_argument("--segment", metavar="NAME", help=f"{what} this segment of it; '' for the unnamed one")


def place_of(options: argparse.Namespace) -> tuple[str | None, str | None]:
    """Return of which bandit and segment something is wanted; `None` for any.

    Raises:
        LocalError: A segment is named, and no bandit.
    """
    if options.segment is not None and options.bandit is None:
        raise LocalError("--segment needs --bandit: say which bandit it belongs to")
    return options.bandit, options.segment


def add_reward(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    _add_state(parser)
    parser.add_argument("id", help="id of the decision")
    parser.add_argument("reward", type=float, help="number in the bandit's range, [0, 1] by default")
    parser.set_defaults(command=_reward)


def add_snapshot(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    _add_state(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to write; it must not exist")
    parser.set_defaults(command=_snapshot)


def _add_state(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", type=Path, help="state file of a member; the member may be running")


def _log(options: argparse.Namespace) -> int:
    from cobandit.live.store.history import LogEntry  # noqa: PLC0415  # loads only what is needed
    from cobandit.live.store.state_file import LogReader  # noqa: PLC0415

    reader, rows = LogReader(options.state), csv.writer(sys.stdout, lineterminator="\n")
    bandit, segment = place_of(options)
    if bandit is not None:
        reader.bandits.of(bandit)  # refuses one that there is not

    def more() -> list[LogEntry]:
        return [
            entry
            for entry in reader.more()
            if entry.at >= options.since and bandit in (None, entry.bandit) and segment in (None, entry.segment)
        ]

    if options.parquet is not None:
        return _write_parquet(more(), options)
    try:
        if options.csv:
            rows.writerow(field.encode_name for field in msgspec.structs.fields(LogEntry))
        while True:
            entries = more()
            if options.csv:
                rows.writerows(map(_plain, msgspec.to_builtins(entry).values()) for entry in entries)
            else:
                for entry in entries:
                    print(entry.to_json().decode())
            sys.stdout.flush()
            if not options.follow:
                return 0
            time.sleep(FOLLOW_EVERY)
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:  # that is how one stops following
        pass
    return 0


def _write_parquet(entries: "Sequence[LogEntry]", options: argparse.Namespace) -> int:
    from cobandit.live.store.history import to_parquet  # noqa: PLC0415

    if options.follow:
        raise LocalError("a Parquet file is written once: use --follow with JSON lines or --csv")
    _write_anew(options.parquet, to_parquet(entries), "--parquet")
    print(f"{options.parquet} holds {count_of(len(entries), 'decision')}.")
    return 0


def _time(text: str) -> float:
    """Return a time in seconds since 1970: a date, or so long ago."""
    if (found := _AGO.fullmatch(text)) is not None:
        return time.time() - int(found["count"]) * _SECONDS[found["unit"]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a time, such as 2026-03-01T12:00, nor an age, such as 90s, 15m, 12h or 7d"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_AGO = re.compile(r"(?P<count>[0-9]{1,9})(?P<unit>[smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def _plain(value: object) -> object:
    """Return a cell that is safe for a terminal: control characters are escaped, as in JSON."""
    if not isinstance(value, str):
        return value
    return "".join(repr(one)[1:-1] if unicodedata.category(one) == "Cc" else one for one in value)


def _reward(options: argparse.Namespace) -> int:
    from cobandit.live.drive.joining import reward  # noqa: PLC0415

    if not reward(options.state, options.id, options.reward):
        print(
            "cobandit: this decision was already rewarded or has expired, so this reward is dropped: `cobandit log` "
            "shows the reward it counted with",
            file=sys.stderr,
        )
        return SETTLED
    print("The reward is in the mailbox. The member takes it within seconds, or when it next starts.")
    return 0


def _snapshot(options: argparse.Namespace) -> int:
    from cobandit.live.store.state_file import read_copy  # noqa: PLC0415

    copy = read_copy(options.state)
    _write_anew(options.out, copy.content, "--out")
    print(
        f"{options.out} holds what {copy.member} knows: {copy.observations:,} observations. "
        f"Start others from it with snapshot = {str(options.out)!r}."
    )
    if copy.newer_batches:
        print(
            f"cobandit: {copy.member} uses its own way to share, so its last {copy.newer_batches} steps are missing: "
            "to include them, stop it first, or call member.snapshot() in its program",
            file=sys.stderr,
        )
    return 0


def _write_anew(path: Path, content: bytes, option: str) -> None:
    """Write a file so that readers never see half of it, and never overwrite an existing one."""
    if path.is_dir():  # "." has no name to put a draft beside
        raise LocalError(f"{path} is a folder: name a file in it with {option}")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        draft.write_bytes(content)
        os.link(draft, path)
    except FileExistsError as error:
        raise LocalError(f"{path} already exists: remove it first, or choose another with {option}") from error
    except OSError as error:
        raise LocalError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
