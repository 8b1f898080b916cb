"""The command `cobandit relay`: arguments and printing; `service` runs the relay, the sidecar if it serves HTTP."""

import argparse
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


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from cobandit.live.process.config import as_relay, check_files, check_state  # noqa: PLC0415  # loads only what is needed
    from cobandit.live.process.service import run_agent  # noqa: PLC0415

    config = read_config(options)
    check_files(config)
    config = as_relay(config)
    if options.check:
        check_state(config)
        say_risks(config)
        at = f", to be served at {config.serving.listen}" if config.serves else ""
        print(f"{options.config} is valid: {described(config)}{at}")
        return 0
    is_written = _serve(config) if config.serves else run_agent(config, ready=lambda member: _say_ready(member, config))
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
    metrics = "" if config.metrics is None else f", metrics at http://{config.metrics}/metrics"
    print(
        f"{member.name} is ready: {described(config)}, {known:,} observations known, passes on what others "
        f"observed{metrics}{served}. {HOW_TO_STOP}",
        flush=True,
    )
