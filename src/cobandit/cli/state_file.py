"""The commands on a member's state file: `cobandit log`, `cobandit reward`, `cobandit snapshot`. They only print."""

import argparse
import csv
import os
import secrets
import sys
import unicodedata
from pathlib import Path

import msgspec

from cobandit.values.errors import LocalError


def add_log(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    _add_state(parser)
    parser.add_argument("--csv", action="store_true", help="a table with a header instead of JSON lines")
    parser.set_defaults(command=_log)


def add_reward(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    _add_state(parser)
    parser.add_argument("id", help="the decision's id")
    parser.add_argument("reward", type=float, help="a number in [0, 1]")
    parser.set_defaults(command=_reward)


def add_snapshot(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    _add_state(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the file to write; not one that exists"
    )
    parser.set_defaults(command=_snapshot)


def _add_state(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", type=Path, help="the state file of a member, which may be running")


def _log(options: argparse.Namespace) -> int:
    from cobandit.live.store.history import LogEntry  # noqa: PLC0415  # loads only what is needed
    from cobandit.live.store.state_file import read_log  # noqa: PLC0415

    entries = read_log(options.state)
    try:
        if options.csv:
            rows = csv.writer(sys.stdout, lineterminator="\n")
            rows.writerow(field.encode_name for field in msgspec.structs.fields(LogEntry))
            rows.writerows(map(_plain, msgspec.to_builtins(entry).values()) for entry in entries)
        else:
            for entry in entries:
                print(entry.to_json().decode())
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _plain(value: object) -> object:
    """Return a cell without what could command a terminal: control characters are spelled, as JSON does."""
    if not isinstance(value, str):
        return value
    return "".join(repr(one)[1:-1] if unicodedata.category(one) == "Cc" else one for one in value)


def _reward(options: argparse.Namespace) -> int:
    from cobandit.live.drive.member import reward  # noqa: PLC0415

    reward(options.state, options.id, options.reward)
    print("The reward is in the mailbox. Its member takes it within seconds, or when it next starts.")
    return 0


def _snapshot(options: argparse.Namespace) -> int:
    from cobandit.live.store.state_file import read_copy  # noqa: PLC0415

    copy = read_copy(options.state)
    _write_anew(options.out, copy.content)
    print(
        f"{options.out} holds what {copy.member} knows: {copy.observations:,} observations. "
        f"Start others from it with snapshot = {str(options.out)!r}."
    )
    if copy.newer_batches:
        print(
            f"cobandit: {copy.member} shares in a way of its own, so its last {copy.newer_batches} steps are not in "
            "it: for those, stop it first, or call member.snapshot() in its program",
            file=sys.stderr,
        )
    return 0


def _write_anew(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it, nor loses an earlier one."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        draft.write_bytes(content)
        os.link(draft, path)
    except FileExistsError as error:
        raise LocalError(f"{path} is there already: remove it first, or name another with --out") from error
    finally:
        draft.unlink(missing_ok=True)
