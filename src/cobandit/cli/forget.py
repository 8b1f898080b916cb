"""The command `cobandit forget`: tell a whole fleet that members are gone for good, and show which members know."""

import argparse
import sys
import time

from cobandit.cli.status import NOBODY, add_connection, connection

HEARD_WITHIN = 10.0
"""Seconds to wait before naming the members that have not forgotten them."""

NOT_HEARD = 1
"""The exit code if a name cannot be forgotten, or a member did not hear of it in time."""


def add_forget(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("url", help="network address, as for `cobandit status`")
    parser.add_argument("names", nargs="+", metavar="NAME", help="a member that no longer runs")
    add_connection(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from cobandit.live.machine.controls import GONE, MAX_NAMES_TO_FORGET, forgetting  # noqa: PLC0415

    names = tuple(dict.fromkeys(options.names))
    if len(names) > MAX_NAMES_TO_FORGET:
        return _refuse(
            f"{len(names)} names are too many at once: at most {MAX_NAMES_TO_FORGET}. Members that have been silent "
            "for forget_after seconds are forgotten without this"
        )
    with connection(options) as asker:
        fleet = asker.ask()
        here = [member.name for member in fleet.members]
        if not here:
            print(
                "cobandit: no member answered: `cobandit status` with the same options says what to check",
                file=sys.stderr,
            )
            return NOBODY
        if running := [name for name in names if name in here]:
            return _refuse(f"{', '.join(running)} answered: only members that are not running can be forgotten")
        known = {peer.name for member in fleet.members for peer in member.peers}
        if unknown := [name for name in names if name not in known]:
            return _refuse(f"no member knows {', '.join(unknown)}: never seen, or already forgotten")
        settings = [asker.setting(forgetting(name), GONE, fleet) for name in names]
        deadline = time.monotonic() + HEARD_WITHIN
        while True:
            asker.tell(*settings)
            members = asker.ask(expected=here).members
            others = [member.name for member in members if any(peer.name in names for peer in member.peers)]
            if not others or time.monotonic() > deadline:
                break
    what = "1 name" if len(names) == 1 else f"{len(names)} names"
    print(f"{len(members) - len(others)} of {len(members)} members have forgotten {what}. What they observed counts.")
    return _refuse(f"not yet: {', '.join(others)}. The others will go on telling them") if others else 0


def _refuse(why: str) -> int:
    print(f"cobandit: {why}", file=sys.stderr)
    return NOT_HEARD
