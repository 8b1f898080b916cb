"""The command `cobandit relay`: arguments and printing; `service` runs the relay, the sidecar if it serves HTTP."""

import argparse
import sys
from typing import TYPE_CHECKING

from cobandit.cli.running import HOW_TO_STOP, add_config, described, read_config, say_risks, say_stopped

if TYPE_CHECKING:
    from cobandit.live.drive.member import Member
    from cobandit.live.process.config import AgentConfig


def add_relay(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    add_config(parser, "docs/guides/large-fleets.md")
    parser.add_argument("--check", action="store_true", help="only check the file and the files it names, then exit")
    parser.set_defaults(command=run)


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of the command's former name."""
    add_relay(parser)
    parser.set_defaults(command=run_as_agent)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from cobandit.live.process.config import as_relay, check_files  # noqa: PLC0415  # loads only what is needed

    config = read_config(options)
    check_files(config)
    return _run(options, as_relay(config))


def run_as_agent(options: argparse.Namespace) -> int:
    """Run a member as a memory of its group: a relay, unless its file or its certificate says otherwise."""
    from cobandit.live.process.config import as_memory, check_files  # noqa: PLC0415

    config = read_config(options)
    check_files(config)
    config = as_memory(config)
    if config.member["relay"] and not options.check:
        print("cobandit: `cobandit agent` is the former name of `cobandit relay`; it still works", file=sys.stderr)
    return _run(options, config)


def _run(options: argparse.Namespace, config: "AgentConfig") -> int:
    from cobandit.live.process.config import check_state  # noqa: PLC0415
    from cobandit.live.process.service import run_agent  # noqa: PLC0415

    serves = config.serves and options.name_of_command == "relay"
    if options.check:
        check_state(config)
        say_risks(config)
        at = f", to be served at {config.serving.listen}" if serves else ""
        print(f"{options.config} is valid: {described(config)}{at}")
        return 0
    is_written = _serve(config) if serves else run_agent(config, ready=lambda member: _say_ready(member, config))
    return say_stopped(config.member["name"], is_written=is_written)


def _serve(config: "AgentConfig") -> bool:
    from cobandit.live.sidecar import check_token, run_sidecar  # noqa: PLC0415  # needs the extra `serve`

    check_token(config.serving, config.member["state"])
    from cobandit.dashboard.watching import page_beside  # noqa: PLC0415  # after what says which extra is missing

    return run_sidecar(
        config,
        ready=lambda member, sidecar: _say_ready(member, config, f", served at {sidecar.url}"),
        extras=page_beside,
    )


def _say_ready(member: "Member", config: "AgentConfig", served: str = "") -> None:
    known = member.statistics().observations
    relay = ", passes on what others observed" if config.member["relay"] else ""
    metrics = "" if config.metrics is None else f", metrics at http://{config.metrics}/metrics"
    print(
        f"{member.name} is ready: {described(config)}, {known:,} observations known{relay}{metrics}{served}. "
        f"{HOW_TO_STOP}",
        flush=True,
    )
