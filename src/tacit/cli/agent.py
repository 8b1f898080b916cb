"""The command `tacit agent`: arguments and printing; `tacit.runtime.service` runs the member."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.runtime.config import AgentConfig
    from tacit.runtime.member import Member


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("config", type=Path, help="what to run, as a TOML file (see docs/operating.md)")
    parser.add_argument(
        "--check", action="store_true", help="only look whether the file, and those it names, are right"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from tacit.runtime.config import check_files, read_config  # noqa: PLC0415  # loads only what is needed
    from tacit.runtime.service import run_agent  # noqa: PLC0415

    config = read_config(options.config)
    check_files(config)
    if options.check:
        print(f"{options.config} is right: {_described(config)}")
        return 0
    name = config.member["name"]
    if run_agent(config, ready=lambda member: _say_ready(member, config)):
        print(f"{name} has stopped, with everything written down.", flush=True)
        return 0
    print(
        f"tacit: {name} has stopped, but its disk did not take everything: see the log. It can start again; its peers "
        "return what they know",
        file=sys.stderr,
    )
    return 1


def _say_ready(member: "Member", config: "AgentConfig") -> None:
    known = member.statistics().observations
    metrics = "" if config.metrics is None else f", metrics at http://{config.metrics}/metrics"
    print(
        f"{member.name} is ready: {_described(config)}, {known:,} observations known{metrics}. "
        "What goes wrong is logged with what to do; SIGTERM or Ctrl-C stops it.",
        flush=True,
    )


def _described(config: "AgentConfig") -> str:
    member = config.member
    return f"group {member['group']}, {len(member['arms'])} arms, {member['policy']}, {config.url}, {member['state']}"
