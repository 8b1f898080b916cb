"""The command `tacit serve`: arguments and printing; `tacit.runtime.server` runs the sidecar."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.runtime.config import AgentConfig
    from tacit.runtime.member import Member
    from tacit.runtime.server import Sidecar


def add_serve(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("config", type=Path, help="what to run, as a TOML file (see docs/guides/sidecar.md)")
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="where to serve HTTP (default: `listen` of the file, or 127.0.0.1:8700)"
    )
    parser.add_argument(
        "--check", action="store_true", help="only look whether the file, and those it names, are right"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from tacit.runtime.config import check_files  # noqa: PLC0415  # loads only what is needed
    from tacit.runtime.server import check_token, run_sidecar  # noqa: PLC0415

    config = _configured(options)
    check_files(config)
    check_token(config.serving, config.member["state"])
    if options.check:
        print(f"{options.config} is right: {_described(config)}, to be served at {config.serving.listen}")
        return 0
    from tacit.dashboard.watching import page_beside  # noqa: PLC0415  # after what says which extra is missing

    name = config.member["name"]
    if run_sidecar(config, ready=lambda member, sidecar: _say_ready(member, sidecar, config), extras=page_beside):
        print(f"{name} has stopped, with everything written down.", flush=True)
        return 0
    print(
        f"tacit: {name} has stopped, but its disk did not take everything: see the log. It can start again; its peers "
        "return what they know",
        file=sys.stderr,
    )
    return 1


def _configured(options: argparse.Namespace) -> "AgentConfig":
    from tacit.runtime.config import read_config  # noqa: PLC0415
    from tacit.runtime.transports.addresses import parse_address  # noqa: PLC0415

    config = read_config(options.config)
    if options.listen is None:
        return config
    parse_address(options.listen, what="--listen")
    return replace(config, serving=replace(config.serving, listen=options.listen))


def _say_ready(member: "Member", sidecar: "Sidecar", config: "AgentConfig") -> None:
    assert sidecar.token is not None
    print(
        f"{member.name} is ready at {sidecar.url}: {_described(config)}. The token is in {sidecar.token.origin}. "
        "What goes wrong is logged with what to do; SIGTERM or Ctrl-C stops it.",
        flush=True,
    )


def _described(config: "AgentConfig") -> str:
    member = config.member
    return f"group {member['group']}, {len(member['arms'])} arms, {member['policy']}, {config.url}, {member['state']}"
