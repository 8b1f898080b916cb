"""The command `cobandit control`: turn a switch for a whole fleet, and see who has obeyed."""

import argparse
import sys
import time

from cobandit.cli.status import NOBODY, add_connection

OBEYED_WITHIN = 10.0
"""Seconds until who has not obeyed is named."""

DISOBEYED = 1
"""The exit code if a member did not obey in time."""


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
    from cobandit.live.status.statistics import Statistics  # noqa: PLC0415

    arm: str = getattr(options, "arm", "")
    key = KILL if options.switch in ("kill", "lift") else freezing(arm)
    value = {"kill": arm, "lift": None, "freeze": FROZEN, "unfreeze": None}[options.switch]

    def obeys(member: Statistics) -> bool:
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
            members = asker.ask(expected=[member.name for member in known]).members
            others = [member.name for member in members if not obeys(member)]
            if not others or time.monotonic() > deadline:
                break
    switch = f"{options.switch} {arm}" if arm else options.switch
    print(f"{len(members) - len(others)} of {len(members)} members have turned the switch: {switch}")
    if others:
        print(f"cobandit: not yet: {', '.join(others)}. The others will go on telling them", file=sys.stderr)
        return DISOBEYED
    return 0
