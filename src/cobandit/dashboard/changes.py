"""What happened between two looks at a group, in words: joins, leaves, restarts, eliminations, refusals, switches."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cobandit.dashboard.sight import Seen, Sight, State, is_restart
from cobandit.live.status.statistics import Statistics


class Change(NamedTuple):
    """One thing that happened."""

    kind: str
    """See `Event.kind`."""
    who: str
    """A member; empty for the whole group."""
    text: str
    times: int = 1
    """How often, for refusals: they are many, and added up."""


def changes(before: Sight, after: Sight) -> Iterator[Change]:
    """Return what happened from one look to the next."""
    for name, now in after.members.items():
        then = before.members.get(name)
        if then is None:
            if now.state != State.LEFT:
                yield Change("joined", name, "is new to the group")
            continue
        yield from _comings(then, now)
        if then.statistics is not None and now.statistics is not None:
            yield from _of_member(then.statistics, now.statistics)
    yield from _switches(before, after)


def _comings(then: Seen, now: Seen) -> Iterator[Change]:
    has_restarted, anew = False, "was restarted"
    if then.statistics is not None and now.statistics is not None:
        has_restarted = is_restart(then.statistics, now.statistics)
    elif None not in {then.incarnation, now.incarnation} and then.incarnation != now.incarnation:
        has_restarted, anew = True, "began anew"  # others tell of a new incarnation
    again = ", after a restart" if has_restarted else ""
    match then.state, now.state:
        case (was, is_now) if was == is_now or State.NOT_ASKED in {was, is_now}:
            if has_restarted:
                yield Change("restarted", now.name, anew)
        case (_, State.LEFT):
            yield Change("left", now.name, "is gone")
        case (_, State.SILENT):
            yield Change("silent", now.name, "does not answer and said no farewell")
        case (_, State.SUPERSEDED):
            yield Change("superseded", now.name, "also runs elsewhere, so this one decides but does not share")
        case (State.SILENT, _):
            yield Change("back", now.name, f"answers again{again}")
        case (State.LEFT, _):
            yield Change("back", now.name, f"is here again{again}")
        case _:
            yield Change("back", now.name, f"speaks for itself again{again}")


def _of_member(then: Statistics, now: Statistics) -> Iterator[Change]:
    was = {arm.arm: arm for arm in then.arms}
    for arm in now.arms:
        old = was.get(arm.arm)
        if old is None or (old.is_removed and not arm.is_removed):
            yield Change("arms", now.name, f"offers {arm.arm}")
        elif arm.is_removed and not old.is_removed:
            yield Change("arms", now.name, f"no longer offers {arm.arm}")
        elif old.is_candidate and not arm.is_candidate and not arm.is_frozen:
            yield Change("ruled out", now.name, f"will no longer choose {arm.arm}")
    refused = {} if is_restart(then, now) else then.refused
    for reason, count in now.refused.items():
        more = count - refused.get(reason, 0)
        if more > 0:
            yield Change("refused", now.name, reason.replace("_", " "), more)
    for name in sorted(set(now.quarantined) - set(then.quarantined)):
        yield Change("quarantine", now.name, f"ignores {name} for a while")
    for trouble in now.troubles:
        if trouble not in then.troubles:
            yield Change("trouble", now.name, trouble)
    for trouble in then.troubles:
        if trouble not in now.troubles:
            yield Change("settled", now.name, f"resolved: {trouble}")


def _switches(before: Sight, after: Sight) -> Iterator[Change]:
    both = before.answers.keys() & after.answers.keys()  # or who is not asked would seem to turn switches
    then, now = ([answers[name] for name in sorted(both)] for answers in (before.answers, after.answers))
    for arm in sorted(frozen(now) - frozen(then)):
        yield Change("frozen", "", f"{arm} no longer gets traffic")
    for arm in sorted(frozen(then) - frozen(now)):
        yield Change("unfrozen", "", f"{arm} may get traffic again")
    old, new = control_arm(then), control_arm(now)
    if old != new:
        text = "is off" if new is None else f"is on: every member pulls {new}"
        yield Change("kill switch", "", text)
    was, present = _bandits(then), _bandits(now)
    for name in sorted(was.keys() & present.keys()):
        yield from _switches_of_bandit(name, was[name], present[name], is_for_all=old != new)


class _Set(NamedTuple):
    """What is set of one bandit with a name, at some member."""

    frozen: set[str]
    control_arm: list[str]
    violates: dict[str, str]
    """Arms that violate the guardrail, with its metric."""


def _bandits(members: Iterable[Statistics]) -> dict[str, _Set]:
    found: dict[str, _Set] = {}
    for bandit in (bandit for member in members for bandit in member.bandits):
        one = found.setdefault(bandit.name, _Set(set(), [], {}))
        one.frozen.update(bandit.frozen)
        if bandit.control_arm is not None:
            one.control_arm.append(bandit.control_arm)
        if bandit.guardrail is not None:
            one.violates.update((arm.arm, bandit.guardrail.metric) for arm in bandit.guardrail.arms if arm.is_violated)
    return found


def _switches_of_bandit(name: str, then: _Set, now: _Set, *, is_for_all: bool) -> Iterator[Change]:
    for arm in sorted(now.frozen - then.frozen):
        why = f": it violates the guardrail on {now.violates[arm]}" if arm in now.violates else ""
        yield Change("frozen", "", f"{arm} of {name} no longer gets traffic{why}")
    for arm in sorted(then.frozen - now.frozen):
        yield Change("unfrozen", "", f"{arm} of {name} may get traffic again")
    if then.control_arm[:1] != now.control_arm[:1] and not is_for_all:
        pulls = f"on: every member pulls {now.control_arm[0]}" if now.control_arm else "off"
        yield Change("kill switch", "", f"of {name} is {pulls}")


def frozen(members: Iterable[Statistics]) -> set[str]:
    """Return the arms that are frozen at some member."""
    return {arm.arm for member in members for arm in member.arms if arm.is_frozen}


def control_arm(members: Iterable[Statistics]) -> str | None:
    """Return the arm of the kill switch, if it is on at some member."""
    return next((member.control_arm for member in members if member.control_arm is not None), None)
