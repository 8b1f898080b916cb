"""The command `cobandit serve`: arguments and printing; `cobandit.live.sidecar` runs the sidecar."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from cobandit.cli.running import HOW_TO_STOP, add_config, described, read_config, say_risks, say_stopped

if TYPE_CHECKING:
    from cobandit.live.drive.member import Member
    from cobandit.live.process.config import AgentConfig
    from cobandit.live.sidecar import Sidecar


def add_serve(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    add_config(parser, "docs/guides/sidecar.md")
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="address to serve HTTP on (default: from the file, or 127.0.0.1:8700)"
    )
    parser.add_argument("--check", action="store_true", help="only check the file and the files it names, then exit")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from cobandit.live.process.config import check_files, check_state  # noqa: PLC0415  # loads only what is needed
    from cobandit.live.sidecar import check_token, run_sidecar  # noqa: PLC0415

    config = _configured(options)
    check_files(config)
    check_token(config.serving, config.member["state"])
    if options.check:
        check_state(config)
        say_risks(config)
        print(f"{options.config} is valid: {described(config)}, to be served at {config.serving.listen}")
        return 0
    from cobandit.dashboard.watching import page_beside  # noqa: PLC0415  # after what says which extra is missing

    is_written = run_sidecar(
        config, ready=lambda member, sidecar: _say_ready(member, sidecar, config), extras=page_beside
    )
    return say_stopped(config.member["name"], is_written=is_written)


def _configured(options: argparse.Namespace) -> "AgentConfig":
    from cobandit.live.transports.addresses import parse_address  # noqa: PLC0415

    config = read_config(options)
    if options.listen is None:
        return config
    parse_address(options.listen, what="--listen")
    return replace(config, serving=replace(config.serving, listen=options.listen))


def _say_ready(member: "Member", sidecar: "Sidecar", config: "AgentConfig") -> None:
    assert sidecar.token is not None
    print(
        f"{member.name} is ready at {sidecar.url}: {described(config)}. The token is in {sidecar.token.origin}. "
        f"{HOW_TO_STOP}",
        flush=True,
    )
