"""The command `cobandit control`: turn a switch for a whole fleet and show which members have applied it."""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cobandit.cli.status import NOBODY, add_connection, connection
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from cobandit.live.status.statistics import Statistics

OBEYED_WITHIN = 10.0
"""Seconds to wait before naming the members that have not obeyed."""

DISOBEYED = 1
"""The exit code if a switch cannot be turned, or a member did not obey in time."""

UNANSWERED = 3
"""The exit code if every member that answered obeyed, but a member that they know did not answer."""

MAX_NAMED = 20
"""Of more members than this, only so many are named."""


def add_control(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("url", help="network address, as for `cobandit status`")
    _add_options(parser)
    switches = parser.add_subparsers(required=True, metavar="switch", dest="switch")
    for name, what in (
        ("freeze", "stop sending traffic to an arm"),
        ("unfreeze", "let the policy choose an arm again"),
        ("kill", "make every member pull only this arm"),
    ):
        switch = switches.add_parser(name, help=what, argument_default=argparse.SUPPRESS)
        switch.add_argument("arm", help="the arm's name")
        _add_options(switch)
    _add_options(switches.add_parser("lift", help="turn the kill switch off", argument_default=argparse.SUPPRESS))
    parser.set_defaults(command=run)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Give a parser the options. They may stand before the switch and after it."""
    add_connection(parser, needs_group=False)
    parser.add_argument("--bandit", metavar="NAME", help="in a fleet: only for this bandit")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from cobandit.live.machine.controls import FROZEN, FURTHEST_AHEAD, KILL, freezing_in, killing  # noqa: PLC0415

    if options.group is None:
        raise LocalError("name the group, with --group")
    arm, bandit = getattr(options, "arm", ""), options.bandit or ""
    is_kill = options.switch in ("kill", "lift")
    key = (killing(bandit) if bandit else KILL) if is_kill else freezing_in(bandit, arm)
    value = {"kill": arm, "lift": None, "freeze": FROZEN, "unfreeze": None}[options.switch]

    def obeys(member: "Statistics") -> bool:
        if is_kill and not bandit:
            return member.control_arm == value
        return all(
            one.obeys_kill(value, member.control_arm) if is_kill else one.obeys_freeze(arm, value is not None)
            for one in _held(member, bandit)
        )

    with connection(options) as asker:
        fleet = asker.ask()
        known = fleet.members
        if not known:
            print(
                "cobandit: no member answered: `cobandit status` with the same options says what to check",
                file=sys.stderr,
            )
            return NOBODY
        if (why := _wrong_with(known, options.switch, arm, options.bandit)) is not None:
            print(f"cobandit: {why}", file=sys.stderr)
            return DISOBEYED
        ahead = time.time() - max(member.at for member in known)
        if ahead > FURTHEST_AHEAD:
            print(
                f"cobandit: this machine's clock is {ahead / 60.0:.0f} minutes ahead of all members, so none would "
                "obey: set it",
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
    switch += f" of {bandit}" if bandit else ""
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


class _Held(NamedTuple):
    """The arms of one bandit at one member."""

    arms: frozenset[str]
    offered: frozenset[str]
    """Those that may be chosen, if they are not frozen."""
    frozen: frozenset[str]
    control_arm: str | None = None

    def obeys_freeze(self, arm: str, is_frozen: bool) -> bool:
        """Return whether an arm is frozen as it should be, if it is here."""
        return arm not in self.arms or (arm in self.frozen) == is_frozen

    def obeys_kill(self, arm: str | None, of_all: str | None) -> bool:
        """Return whether the kill switch is as it should be; where it is off, that of the whole fleet may be on."""
        return self.control_arm == arm if arm in self.arms else self.control_arm in (None, of_all)

    def is_last(self, arm: str) -> bool:
        """Return whether no other could be chosen if this one was frozen."""
        return arm in self.offered and not self.offered - self.frozen - {arm}


def _held(member: "Statistics", bandit: str) -> list[_Held]:
    """Return the arms of a bandit at a member: of the plain one, which has no name; none if it is not served there."""
    if not bandit:
        return [
            _Held(
                frozenset(one.arm for one in member.arms),
                frozenset(one.arm for one in member.arms if not one.is_removed),
                frozenset(one.arm for one in member.arms if one.is_frozen),
            )
        ]
    return [
        _Held(frozenset(one.arms), frozenset(one.arms), frozenset(one.frozen), one.control_arm)
        for one in member.bandits
        if one.name == bandit
    ]


def _wrong_with(members: "Sequence[Statistics]", switch: str, arm: str, bandit: str | None) -> str | None:
    """Return why a switch cannot be turned; `None` if it can."""
    names = sorted({one.name for member in members for one in member.bandits})
    if bandit is not None and bandit not in names:
        there = f"only {_named(names)}" if names else "and the group has a single bandit: leave --bandit out"
        return f"no member has a bandit {bandit!r}, {there}"
    if switch == "lift":
        return None
    if bandit is None and names and switch != "kill":
        return f"this fleet has several bandits: say which one {arm!r} belongs to, with --bandit: {_named(names)}"
    wanted = names if bandit is None and names else [bandit or ""]
    if not any(arm in held.arms for member in members for name in wanted for held in _held(member, name)):
        return f"no member has an arm {arm!r}" + (f" of bandit {bandit!r}" if bandit else "")
    stuck = [member.name for member in members if any(held.is_last(arm) for held in _held(member, bandit or ""))]
    if switch == "freeze" and stuck:
        return (
            f"arm {arm!r} is the last one that is not frozen, at {_named(stuck)}: unfreeze another arm first, or make "
            "every member pull a single arm with `kill`"
        )
    return None
