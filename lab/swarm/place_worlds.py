"""Worlds in which operators and calendars do more to bandits with names than to serve another one.

`plan.py` gives three worlds in ten such bandits. Six in ten of those become *richer* here, by a stream of chance of
their own: all other worlds are what they were before there was this file. In a richer world there may be more bandits
and segments; half-lives; members that declare one bandit differently, who must share nothing of it; bandits that get
arms while they are served; calendars that are set forth and back; several places in one batch; a window of the plain
bandit, or no plain bandit at all, as in live fleets.
"""

from dataclasses import replace

from cobandit.core import Bandit
from lab.swarm.dice import Dice
from lab.swarm.plan import Incident, Kind, Member, Plan, plan

_DICE_OF_RICHER = 10

CLOCKS_APART = 0.1
"""The share of the shortest period by which calendars may differ."""

FURTHER_ARMS = ("c2", "c3")
"""Arms that bandits get while they are served, in this order."""

_OF_PLAIN = {Kind.GROW, Kind.GROW_UNCLEANLY, Kind.SHRINK}


def world_of(seed: int) -> Plan:
    """Return the whole world of a seed.

    >>> world_of(7) == world_of(7)
    True
    """
    base, dice = plan(seed), Dice(seed, _DICE_OF_RICHER)
    return richer(base, dice) if base.bandits and dice.happens(0.6) else base


def richer(base: Plan, dice: Dice) -> Plan:
    """Return a world with more in it."""
    has_plain = dice.happens(0.7)
    window = _window(dice, "", base.heals_at) if has_plain and dice.happens(0.3) else None
    bandits = (*base.bandits, *(_window(dice, name, base.heals_at) for name in ("z", "w")[: dice.whole(0, 2)]))
    differs = dice.pick(bandits) if dice.happens(0.3) else None
    alternative = None if differs is None else _declared_differently(dice, differs)
    periods = [one.period for one in (*bandits, window) if one is not None and one.period]
    apart = CLOCKS_APART * min(periods, default=0.0)
    members = tuple(
        _member(dice, member, bandits, alternative, window, apart=apart, has_plain=has_plain) for member in base.members
    )
    incidents = [one for one in base.incidents if has_plain or one.kind not in _OF_PLAIN]
    kinds = (Kind.SERVE, Kind.SERVE, Kind.DECLARE, Kind.DECLARE, *((Kind.CALENDAR,) if apart else ()))
    for _ in range(dice.pick((1, 3, 6))):
        kind, time, agent = dice.pick(kinds), dice.real(0.05, 0.98) * base.heals_at, dice.whole(0, len(members) - 1)
        amount = _share(dice) * apart if kind is Kind.CALENDAR else dice.unit()
        incidents.append(Incident(time, kind, agent, amount=amount))
    return replace(
        base,
        members=members,
        incidents=tuple(sorted(incidents, key=lambda incident: incident.time)),
        eliminates=base.eliminates and has_plain and window is None,
        bandits=bandits,
        window=window,
        has_plain=has_plain,
        segments=("", "s", "t", "u")[: dice.whole(1, 4)],
        most_places=dice.pick((1, 1, 3)),
    )


def _share(dice: Dice) -> float:
    """Return how far ahead a calendar is: as far as it may be, or not at all, or between."""
    return dice.pick((0.0, 1.0, dice.unit()))


def _window(dice: Dice, name: str, heals_at: float) -> Bandit:
    """Return a bandit that forgets: by a window or a half-life, with up to forty periods while faults are on."""
    period = heals_at / dice.pick((3.0, 12.0, 40.0))
    half_life = dice.pick((1.0, 2.5)) * period if dice.happens(0.4) else 0.0
    return Bandit(name, ("c0", "c1") if name else (), 1, period, dice.pick((1, 2, 4)), half_life)


def _declared_differently(dice: Dice, bandit: Bandit) -> Bandit:
    """Return the same bandit as others declare it, in one value differently."""
    changes = [
        bandit._replace(periods=bandit.periods + 1),
        bandit._replace(rewards=(0.0, 2.0)),
        bandit._replace(period=2.0 * bandit.period if bandit.period else 50.0),
    ]
    return dice.pick(changes)


def _member(
    dice: Dice,
    member: Member,
    bandits: tuple[Bandit, ...],
    alternative: Bandit | None,
    window: Bandit | None,
    *,
    apart: float,
    has_plain: bool,
) -> Member:
    definitions = bandits
    if alternative is not None and dice.happens(0.4):
        definitions = tuple(alternative if one.name == alternative.name else one for one in bandits)
    names = {one.name for one in dice.some(bandits, dice.whole(1, len(bandits)))}
    served = tuple(one for one in definitions if one.name in names)
    return member._replace(
        arms=member.arms if has_plain else (),
        further_arms=member.further_arms if has_plain else (),
        bandits=served if window is None else (*served, window),
        definitions=definitions,
        calendar=_share(dice) * apart,
    )
