"""The command `cobandit control`: turn a switch for a whole fleet, and see who has obeyed."""

import argparse
import sys
import time
from typing import TYPE_CHECKING

from cobandit.cli.status import NOBODY, add_connection

if TYPE_CHECKING:
    from cobandit.live.status.statistics import Statistics

OBEYED_WITHIN = 10.0
"""Seconds until who has not obeyed is named."""

DISOBEYED = 1
"""The exit code if a switch cannot be turned, or a member did not obey in time."""

UNANSWERED = 3
"""The exit code if all who answered obeyed, and a member that they know did not answer."""

MAX_NAMED = 20
"""Of more members than this, only so many are named."""


def add_control(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("url", help="the network, as `cobandit status` takes it")
    add_connection(parser)
    switches = parser.add_subparsers(required=True, metavar="switch", dest="switch")
    for name, what in (
        ("freeze", "give an arm no more traffic"),
        ("unfreeze", "give an arm back to the policy"),
        ("kill", "let everybody pull this arm and no other"),
    ):
        switches.add_parser(name, help=what).add_argument("arm")
    switches.add_parser("lift", help="turn the kill switch off")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from cobandit.cli.status import connection  # noqa: PLC0415  # loads only what is needed
    from cobandit.live.machine.controls import FROZEN, FURTHEST_AHEAD, KILL, freezing  # noqa: PLC0415

    arm: str = getattr(options, "arm", "")
    key = KILL if options.switch in ("kill", "lift") else freezing(arm)
    value = {"kill": arm, "lift": None, "freeze": FROZEN, "unfreeze": None}[options.switch]

    def obeys(member: "Statistics") -> bool:
        if key == KILL:
            return member.control_arm == value
        return not any(one.arm == arm and one.is_frozen != (value is not None) for one in member.arms)

    with connection(options) as asker:
        fleet = asker.ask()
        known = fleet.members
        if not known:
            print(
                "cobandit: nobody answered: `cobandit status` with the same options says what to check", file=sys.stderr
            )
            return NOBODY
        if arm and not any(one.arm == arm for member in known for one in member.arms):
            print(f"cobandit: no member has an arm {arm!r}", file=sys.stderr)
            return DISOBEYED
        if options.switch == "freeze" and (stuck := [member.name for member in known if _is_last(arm, member)]):
            print(
                f"cobandit: arm {arm!r} is the last one that is not frozen, at {_named(stuck)}: give another one back "
                "first with `unfreeze`, or let everybody pull one arm with `kill`",
                file=sys.stderr,
            )
            return DISOBEYED
        ahead = time.time() - max(member.at for member in known)
        if ahead > FURTHEST_AHEAD:
            print(
                f"cobandit: the clock here is {ahead / 60.0:.0f} minutes ahead of all members, so none would obey: set "
                "it",
                file=sys.stderr,
            )
            return DISOBEYED
        setting = asker.setting(key, value, fleet)
        deadline = time.monotonic() + OBEYED_WITHIN
        while True:
            asker.tell(setting)
            now = asker.ask(expected=[member.name for member in known])
            leaves = [leaf for leaf in now.leaves if leaf.is_present]
            others = [member.name for member in now.members if not obeys(member)]
            others += [leaf.name for leaf in leaves if leaf.lacks_settings]
            if not others or time.monotonic() > deadline:
                break
    obeyed = [member.name for member in now.members if obeys(member)]
    obeyed += [leaf.name for leaf in leaves if not leaf.lacks_settings]
    silent = sorted({*now.silent, *(member.name for member in known)} - {member.name for member in now.members})
    switch = f"{options.switch} {arm}" if arm else options.switch
    total = len(now.members) + len(leaves) + len(silent)
    print(f"{len(obeyed)} of {total} members have turned the switch: {switch}", end="")
    print(f" ({_named(obeyed)})" if obeyed else "")
    if others:
        print(f"cobandit: not yet: {_named(others)}. The others will go on telling them", file=sys.stderr)
    if silent:
        have = "has" if len(silent) == 1 else "have"
        print(
            f"cobandit: {_named(silent)} {have} not answered, and may not have heard it. The others will go on "
            "telling; `cobandit forget` is for members that are gone for good",
            file=sys.stderr,
        )
    return DISOBEYED if others else UNANSWERED if silent else 0


def _named(names: list[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _is_last(arm: str, member: "Statistics") -> bool:
    """Whether a member that has this arm could choose no other if it was frozen."""
    offered = {one.arm for one in member.arms if not one.is_removed}
    return arm in offered and not offered - {one.arm for one in member.arms if one.is_frozen} - {arm}
