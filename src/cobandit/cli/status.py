"""The command `cobandit status`: arguments and printing; `cobandit.live.drive.asking` asks the fleet."""

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cobandit.values.masking import masked

if TYPE_CHECKING:
    from cobandit.live.drive.asking import Asker
    from cobandit.live.status.fleet import Fleet

REDRAW_EVERY = 2.0
"""Seconds."""

WAIT = 4.0
"""As `cobandit.live.drive.asking.WAIT`, which is not loaded for other commands."""

NOBODY = 1
"""The exit code if no member answered."""


def add_status(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument(
        "url", help="network address, as members have it: nats://host:4222; for tls:// and udp://, any member's address"
    )
    add_connection(parser)
    parser.add_argument("--watch", action="store_true", help=f"redraw every {REDRAW_EVERY:g} seconds")
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON, one line per update")
    parser.add_argument(
        "--wait", type=float, default=WAIT, metavar="S", help="seconds to wait for answers (default: %(default)s)"
    )
    parser.set_defaults(command=run)


def add_connection(parser: argparse.ArgumentParser, *, needs_group: bool = True) -> None:
    """Give a parser the arguments that say which group to ask, and with which credentials."""
    parser.add_argument("--group", required=needs_group, help="name of the group")
    proof = parser.add_mutually_exclusive_group()
    proof.add_argument(
        "--keys", type=Path, metavar="FILE", help="your own key file, from `cobandit keys agent`; not a member's"
    )
    proof.add_argument("--secret", metavar="TEXT", help="the group's secret, if its members have one")
    proof.add_argument(
        "--secret-file", type=Path, metavar="FILE", help="file with the secret, which keeps it out of the process list"
    )
    parser.add_argument("--trust", type=Path, help="the group's trust file, with --keys")
    parser.add_argument(
        "--peers", action="append", metavar="HOST:PORT", help="for tls:// and udp://: another member; repeatable"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    with connection(options) as asker:
        try:
            return _watch(asker, options) if options.watch else _once(asker, options)
        except KeyboardInterrupt:
            if options.watch:  # that is how one stops watching
                return 0
            raise


def connection(options: argparse.Namespace) -> "Asker":
    """Return an asker of the fleet that the options name."""
    from cobandit.live.drive.asking import Asker  # noqa: PLC0415  # loads only what is needed

    return Asker(
        options.url,
        group=options.group,
        peers=options.peers or [],
        keys=options.keys,
        trust=options.trust,
        secret=options.secret,
        secret_file=options.secret_file,
    )


def _once(asker: "Asker", options: argparse.Namespace) -> int:
    fleet = asker.ask(options.wait)
    if not fleet.members:
        print(f"cobandit: {_nobody(asker, options)}", file=sys.stderr)
        return NOBODY
    _show(fleet, options)
    return 0


def _watch(asker: "Asker", options: argparse.Namespace) -> int:
    is_drawn = sys.stdout.isatty() and not options.json
    while True:
        begun = time.monotonic()
        fleet = asker.ask(options.wait)
        if is_drawn:
            sys.stdout.write("\x1b[H\x1b[J")  # to the top, and clear
        if fleet.members:
            _show(fleet, options, is_cut=is_drawn)
        elif not options.json:
            print(_nobody(asker, options))
        print(end="" if is_drawn or options.json else "\n", flush=True)
        time.sleep(max(0.0, begun + REDRAW_EVERY - time.monotonic()))


def _show(fleet: "Fleet", options: argparse.Namespace, *, is_cut: bool = False) -> None:
    if options.json:
        print(fleet.to_json().decode(), flush=True)
        return
    from cobandit.cli.fleet_table import fleet_lines  # noqa: PLC0415

    size = shutil.get_terminal_size()
    lines = fleet_lines(fleet, size.columns)
    if is_cut and len(lines) >= size.lines:
        hidden = len(lines) - size.lines + 2
        lines = [*lines[: size.lines - 2], f"... {hidden} more lines: use a taller window, or leave out --watch"]
    print("\n".join(lines))


def _nobody(asker: "Asker", options: argparse.Namespace) -> str:
    lines = [f"no member of group {options.group!r} answered at {masked(options.url)} within {options.wait:g} seconds"]
    if asker.network_trouble is not None:
        lines.append(f"  the network: {asker.network_trouble}")
    if asker.refusals:
        refused = ", ".join(f"{count} {reason.value}" for reason, count in asker.refusals.items())
        lines.append(f"  refused: {refused}; do --group, --keys, --trust or --secret match the members'?")
    lines += [
        "  check that a member is running and ready, with the same `group` and `url`;",
        "  members with `keys` or `secret` answer only if you pass --keys or --secret;",
        *_trust_hint(options),
        "  on a slow network, wait longer with --wait",
    ]
    return "\n".join(lines)


def _trust_hint(options: argparse.Namespace) -> list[str]:
    if options.keys is None or options.trust is not None:
        return []
    return ["  while the group's authority is being replaced, --keys needs --trust, or a new file;"]
