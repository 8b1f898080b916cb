"""Worlds of fleets: members that have bandits with names, with segments, ranges of rewards, windows and half-lives.

A plan of a mesh, or of relays and leaves, becomes one of these, by a stream of chance of its own; all other worlds are
what they were. Bandits are declared when a member starts and later, with more arms, and by some never again after a
restart. Where nobody is a relay, some members declare one bandit differently. If a bandit forgets, clocks differ by a
tenth of a period at most, as members ask for, but for moments in which one is far ahead; and the calendar stands still
in the end, so that there is a window to look at.
"""

from dataclasses import replace

from cobandit.live.drive.declaring import PERIODS_IN_A_HALF_LIFE, PERIODS_IN_A_WINDOW, Said
from cobandit.live.machine.controls import FURTHEST_AHEAD
from lab.live_swarm.allowed import AS_IT_IS, Allowed
from lab.live_swarm.leaf_worlds import leaf_plan
from lab.live_swarm.plan import ARMS, Incident, Kind, MemberPlan, Plan, plan
from lab.swarm.dice import Dice

_DICE_OF_BANDITS = 18

NAMES = ("x", "y", "z")
SEGMENTS = ("", "de", "fr")

LEAST_PERIOD = 1.0
"""Seconds."""

_NOT_OF_FLEETS = {Kind.REMOVE_ARM}


def bandit_plan(seed: int, allowed: Allowed = AS_IT_IS) -> Plan:
    """Return the world of a seed, with bandits that have names.

    >>> [said.name for said in bandit_plan(3).bandits] != []
    True
    """
    dice = Dice(seed, _DICE_OF_BANDITS)
    base = leaf_plan(seed, allowed) if dice.happens(0.3) else plan(seed, allowed)
    bandits = tuple(_bandit(dice, base, name) for name in NAMES[: dice.whole(1, len(NAMES))])
    alternative = None if base.relays else _declared_differently(dice, dice.pick(bandits))
    members = tuple(_member(dice, member, bandits, alternative) for member in base.members)
    incidents = [one for one in base.incidents if one.kind not in _NOT_OF_FLEETS]
    for _ in range(dice.pick((1, 2, 5))):
        kind, time = dice.pick((Kind.DECLARE, Kind.ADD_ARM, Kind.UNDECLARE)), dice.real(0.02, 0.98) * base.heals_at
        arm = dice.pick(("b0", "b1"))
        incidents.append(Incident(time, kind, dice.whole(0, len(members) - 1), amount=dice.unit(), arm=arm))
    incidents.sort(key=lambda incident: incident.time)
    made = replace(
        base,
        members=members,
        incidents=tuple(incidents),
        bandits=bandits,
        segments=SEGMENTS[: dice.whole(1, len(SEGMENTS))],
        declares_again=dice.happens(0.6),
        floors={},
    )
    periods = [length for said in (*bandits, *filter(None, (alternative,))) if (length := _period(said))]
    return _with_close_clocks(made, dice, 0.1 * min(periods)) if periods else made


def _bandit(dice: Dice, base: Plan, name: str) -> Said:
    low, high = dice.pick(((0.0, 1.0), (0.0, 200.0), (-1.0, 3.0)))
    forgets = dice.happens(0.6)
    policy = dice.pick(("ucb", "ucb", "thompson", "ucb-v", "kl-ucb", *(() if forgets else ("aae",))))
    window = half_life = None
    if forgets and dice.happens(0.7):
        window = max(PERIODS_IN_A_WINDOW * LEAST_PERIOD, base.heals_at * dice.pick((0.3, 1.0, 6.0)))
    elif forgets:
        half_life = max(PERIODS_IN_A_HALF_LIFE * LEAST_PERIOD, base.heals_at * dice.pick((0.3, 1.0)))
    return Said(
        name,
        ARMS[: dice.whole(2, 3)],
        policy,
        rewards=(low, high),
        quantum=(high - low) / dice.pick((1, 4, 1_000)),
        window=window,
        half_life=half_life,
        default_reward=dice.pick((None, low, high)) if base.rewards_come_late else None,
        max_segments=dice.pick((1000, 1000, 2)),
    )


def _declared_differently(dice: Dice, said: Said) -> Said | None:
    """Return how others declare the same bandit, in one value differently; `None` if all declare it alike."""
    if dice.happens(0.5):
        return None
    low, high = said.rewards
    quantum = said.quantum or 0.0
    wider = said._replace(
        rewards=(low, high + (high - low)),
        quantum=2.0 * quantum,
        default_reward=None if said.default_reward is None else low,
    )
    longer = said._replace(window=None if said.window is None else 2.0 * float(said.window))
    return dice.pick((wider, wider if said.window is None else longer))


def _member(dice: Dice, member: MemberPlan, bandits: tuple[Said, ...], alternative: Said | None) -> MemberPlan:
    definitions = bandits
    if alternative is not None and dice.happens(0.4):
        definitions = tuple(alternative if one.name == alternative.name else one for one in bandits)
    first = dice.some(definitions, dice.whole(1, len(definitions)))
    return member._replace(arms=(), definitions=definitions, bandits=first)


def _period(said: Said) -> float:
    if said.window is not None:
        return float(said.window) / PERIODS_IN_A_WINDOW
    return 0.0 if said.half_life is None else float(said.half_life) / PERIODS_IN_A_HALF_LIFE


def _with_close_clocks(base: Plan, dice: Dice, apart: float) -> Plan:
    """Return a world in which no two clocks are further apart than this, though they are wrong and set."""
    drift = min(1e-4, 0.2 * apart / base.heals_at)
    offsets = [_offset(dice, 0.6 * apart) for _ in base.members]
    members = tuple(
        member._replace(clock_offset=offset, clock_drift=dice.pick((0.0, drift, -drift)))
        for member, offset in zip(base.members, offsets, strict=True)
    )
    incidents: list[Incident] = []
    for incident in base.incidents:
        if incident.kind is Kind.CLOCK:
            before, offsets[incident.member] = offsets[incident.member], _offset(dice, 0.6 * apart)
            incidents.append(incident._replace(amount=offsets[incident.member] - before))
        else:
            incidents.append(incident)
    if not base.clocks_follow:  # a clock of the user's own is believed
        incidents += [_moment(dice, base, apart) for _ in range(dice.pick((0, 1, 2)))]
        incidents.sort(key=lambda incident: incident.time)
    return replace(base, members=members, incidents=tuple(incidents), calendar_stops_at=base.heals_at + 2.0 * apart)


def _moment(dice: Dice, base: Plan, apart: float) -> Incident:
    """Return that a clock is some periods ahead for a moment."""
    time, member = dice.real(0.3, 0.9) * base.heals_at, dice.whole(0, len(base.members) - 1)
    amount = min(dice.real(20.0, 300.0) * apart, 0.5 * FURTHEST_AHEAD)
    return Incident(time, Kind.CLOCK, member, lasting=dice.real(0.1, 3.0), amount=amount)


def _offset(dice: Dice, most: float) -> float:
    return dice.pick((0.0, 1.0, dice.unit())) * most
