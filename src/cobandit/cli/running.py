"""What `relay`, `serve` and `health` share: reading a member's file, and describing the member."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cobandit.values.masking import masked

if TYPE_CHECKING:
    from cobandit.live.process.config import AgentConfig

HOW_TO_STOP = "What goes wrong is logged with what to do; SIGTERM or Ctrl-C stops it."


def add_config(parser: argparse.ArgumentParser, document: str) -> None:
    """Give a parser the file of a member, and changes to it."""
    parser.add_argument("config", type=Path, help=f"TOML file of the member (see {document})")
    parser.add_argument(
        "--set",
        action="append",
        type=_change,
        default=[],
        metavar="KEY=TEXT",
        help="override a text in the file, such as name=relay-0; repeatable",
    )


def read_config(options: argparse.Namespace) -> "AgentConfig":
    """Return what the file says, with the changes."""
    from cobandit.live.process import config  # noqa: PLC0415  # loads only what is needed

    return config.read_config(options.config, changes=dict(options.set))


def _change(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=TEXT, such as name=relay-0")
    return key, value


def described(config: "AgentConfig") -> str:
    """Return what runs, in a few words."""
    member = config.member
    if member["fleet"] is None:
        what = f"group {member['group']}, {len(member['arms'])} arms, {member['policy'].name}"
    else:
        declared = f"bandits {', '.join(config.bandits)}" if config.bandits else "no bandit of its own"
        what = f"fleet {member['fleet']}, {declared}"
    kept = member["state"] or "without a name and a state of its own"
    return f"{what}, {masked(config.url)}, {kept}"


def say_risks(config: "AgentConfig") -> None:
    """Say what is not safe about it, if anything is."""
    from cobandit.live.process.config import risks  # noqa: PLC0415  # loads only what is needed

    if (what := risks(config)) is not None:
        print(f"cobandit: {config.member['name'] or 'a member without a name'}: {what}", file=sys.stderr)


def say_stopped(name: str | None, *, is_written: bool) -> int:
    """Say that a member has stopped, and whether everything is written down. Return the command's exit status."""
    if name is None:
        print("The member has stopped.", flush=True)
        return 0
    if is_written:
        print(f"{name} has stopped, with everything written down.", flush=True)
        return 0
    print(
        f"cobandit: {name} has stopped, but its disk did not take everything: see the log. It can start again; its "
        "peers return what they know",
        file=sys.stderr,
    )
    return 1
