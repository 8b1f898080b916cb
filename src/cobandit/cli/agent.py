"""The command `cobandit agent`: arguments and printing; `cobandit.live.process.service` runs the member."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cobandit.cli.running import HOW_TO_STOP, described, say_risks, say_stopped

if TYPE_CHECKING:
    from cobandit.live.drive.member import Member
    from cobandit.live.process.config import AgentConfig


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("config", type=Path, help="what to run, as a TOML file (see docs/operating.md)")
    parser.add_argument(
        "--check", action="store_true", help="only look whether the file, and those it names, are right"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from cobandit.live.process.config import as_memory, check_files, check_state, read_config  # noqa: PLC0415  # loads only what is needed
    from cobandit.live.process.service import run_agent  # noqa: PLC0415

    config = read_config(options.config)
    check_files(config)
    config = as_memory(config)
    if options.check:
        check_state(config)
        say_risks(config)
        print(f"{options.config} is right: {described(config)}")
        return 0
    is_written = run_agent(config, ready=lambda member: _say_ready(member, config))
    return say_stopped(config.member["name"], is_written=is_written)


def _say_ready(member: "Member", config: "AgentConfig") -> None:
    known = member.statistics().observations
    relay = ", passes on what others observed" if config.member["relay"] else ""
    metrics = "" if config.metrics is None else f", metrics at http://{config.metrics}/metrics"
    print(
        f"{member.name} is ready: {described(config)}, {known:,} observations known{relay}{metrics}. {HOW_TO_STOP}",
        flush=True,
    )
