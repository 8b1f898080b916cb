"""From a seed to a whole world: who is there, how they talk, what the network does, and what befalls whom, and when.

A plan is a pure function of its seed and is plain data, so that a failing seed is all that must be kept.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from cobandit.core import Bandit, Constant, Geometric, PerCandidate, Sharing, Threshold, on_demand
from cobandit.core.retransmit import RetryTimers
from cobandit.scenario.faults import Faults, Partition
from cobandit.values.tally import Arm
from lab.swarm.dice import Dice

NEW_ARMS = ("b0", "b1")
"""Arms that nobody has at first."""

PULLS = 900
"""About how many pulls the whole group makes while faults are on."""

_DICE_OF_PLANS, _DICE_OF_GROWTH, _DICE_OF_RELAYS, _DICE_OF_PLACES = 1, 6, 7, 8

_NEVER = 1e9


class Kind(Enum):
    """What can befall an agent."""

    CRASH = "crashes"
    FUSE = "crashes while it sends"
    ROLL_BACK = "crashes, and its disk is rolled back"
    LOSE_DISK = "crashes, and its disk is lost"
    STOP = "stops in good order"
    LEAVE = "leaves"
    JUMP = "has its clock set"
    DOUBLE = "is started a second time"
    GROW = "is given more arms while it runs"
    GROW_UNCLEANLY = "crashes, to come back with more arms"
    SHRINK = "crashes, its disk is lost, and it has its first arms again"
    SERVE = "serves another bandit, or one less"
    DECLARE = "declares a bandit with one more arm"
    CALENDAR = "has its calendar set"


class Incident(NamedTuple):
    """Something befalls an agent at some time."""

    time: float
    kind: Kind
    agent: int
    lasting: float = 0.0
    """How long it is down, away or doubled."""
    amount: float = 0.0
    """By how much the clock jumps, or what a calendar is ahead then; how much of a sending gets out; how far back the
    disk goes; which bandit it is."""


class Member(NamedTuple):
    """One agent."""

    arms: tuple[Arm, ...]
    joins_at: float
    gap: float
    """The mean time between two of its pulls."""
    stops_at: float
    """When it stops pulling."""
    pulls_when_healed: bool
    forgets: bool
    """Whether its disk says that it has written what it has not (a missing fsync)."""
    further_arms: tuple[Arm, ...] = ()
    """Arms that it may come back with, in this order."""
    bandits: tuple[Bandit, ...] = ()
    """The bandits with names that it serves at first; and the plain one, if that has a window."""
    definitions: tuple[Bandit, ...] = ()
    """How it declares each bandit with a name, when it does."""
    calendar: float = 0.0
    """By how much its calendar is ahead."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole world."""

    seed: int
    members: tuple[Member, ...]
    means: dict[Arm, float]
    eliminates: bool
    alpha: float
    sharing: Sharing
    patience: RetryTimers
    delay: int
    faults: Faults
    incidents: tuple[Incident, ...]
    heals_at: float
    stops_at: float
    ends_at: float
    """Long after everything must be quiet."""
    relays: frozenset[int] = frozenset()
    """Who passes on what others observed."""
    has_leaves: bool = False
    """Whether all others are leaves, who know only relays. Then nobody talks to a leaf but they."""
    bandits: tuple[Bandit, ...] = ()
    """All bandits with names, as most declare them."""
    window: Bandit | None = None
    """The plain bandit, if it has a window."""
    has_plain: bool = True
    """Whether there is a plain bandit."""
    segments: tuple[str, ...] = ("", "s")
    """Of bandits with names."""
    most_places: int = 1
    """In so many places at most something is observed at once."""

    @property
    def latest_calendar(self) -> float:
        """By how much any calendar is ever ahead."""
        set_to = (incident.amount for incident in self.incidents if incident.kind is Kind.CALENDAR)
        return max((*(member.calendar for member in self.members), *set_to))

    @property
    def first_session(self) -> int:
        """The session of first starts: not 0 where there is more to say of an agent than the operators know."""
        return int(bool(self.bandits))

    def are_linked(self, one: int, other: int) -> bool:
        """Return whether two agents talk to each other."""
        return one != other and (not self.has_leaves or one in self.relays or other in self.relays)


def plan(seed: int) -> Plan:
    """Return the world of a seed.

    >>> plan(7) == plan(7)
    True
    """
    dice = Dice(seed, _DICE_OF_PLANS)
    count = dice.pick((2, 2, 3, 3, 4, 5, 6))
    arm_count = dice.whole(2, 6)
    heals_at = dice.pick((400.0, 1000.0, 2500.0))
    patience = _patience(dice)
    members = _members(dice, count, arm_count, heals_at)
    incidents = _incidents(dice, count, heals_at, patience)
    relaying = Dice(seed, _DICE_OF_RELAYS)
    relays = relaying.some(range(count), relaying.pick((1, 1, 2))) if relaying.happens(0.3) else ()
    has_leaves = bool(relays) and len(relays) < count and relaying.happens(0.5)
    growth = Dice(seed, _DICE_OF_GROWTH)
    if growth.happens(0.4):
        members = tuple(_with_further_arms(growth, member, arm_count) for member in members)
        incidents = tuple(sorted((*incidents, *_growth(growth, count, heals_at)), key=lambda incident: incident.time))
    placing = Dice(seed, _DICE_OF_PLACES)
    bandits = _bandits(placing, heals_at) if placing.happens(0.3) else ()
    if bandits:
        members = tuple(_with_bandits(placing, member, bandits) for member in members)
        incidents = tuple(sorted((*incidents, *_serving(placing, count, heals_at)), key=lambda incident: incident.time))
    jumps = sum(abs(incident.amount) for incident in incidents if incident.kind is Kind.JUMP)
    stops_at = heals_at + dice.pick((0.0, 100.0, 300.0))
    return Plan(
        seed=seed,
        members=members,
        means={f"a{arm}": dice.real(0.05, 0.95) for arm in range(arm_count)}
        | {arm: growth.real(0.05, 0.95) for arm in NEW_ARMS},
        eliminates=dice.happens(0.5) and not has_leaves,  # who rules arms out tells only whom it knows
        alpha=dice.pick((0.2, 1.0, 3.0)),
        sharing=on_demand(_threshold(dice), loss_tolerant=patience),
        patience=patience,
        delay=dice.pick((1, 1, 3, 10)),
        faults=_faults(dice, count, heals_at),
        incidents=incidents,
        heals_at=heals_at,
        stops_at=stops_at,
        ends_at=stops_at + jumps + 60.0 * (patience.longest + patience.tick),
        relays=frozenset(relays),
        has_leaves=has_leaves,
        bandits=bandits,
    )


def _bandits(dice: Dice, heals_at: float) -> tuple[Bandit, ...]:
    """Return bandits, of which most have a window: with periods that end while faults are on."""
    return tuple(
        Bandit(
            name,
            ("c0", "c1"),
            1,
            period=heals_at / dice.pick((2.0, 5.0, 12.0)) if dice.happens(0.7) else 0.0,
            periods=dice.pick((1, 2, 3)),
        )
        for name in dice.some(("x", "y"), dice.whole(1, 2))
    )


def _with_bandits(dice: Dice, member: Member, bandits: tuple[Bandit, ...]) -> Member:
    served = dice.some(bandits, dice.whole(0 if len(bandits) > 1 else 1, len(bandits)))
    shortest = min((bandit.period for bandit in bandits if bandit.period), default=0.0)
    return member._replace(bandits=served, definitions=bandits, calendar=dice.real(0.0, 0.1) * shortest)


def _serving(dice: Dice, count: int, heals_at: float) -> list[Incident]:
    return [
        Incident(dice.real(0.05, 0.98) * heals_at, Kind.SERVE, dice.whole(0, count - 1), amount=dice.unit())
        for _ in range(dice.pick((0, 1, 3)))
    ]


def _patience(dice: Dice) -> RetryTimers:
    least = dice.pick((1.0, 2.0, 5.0))
    first = dice.pick((5.0, 12.0, 40.0, 150.0))
    return RetryTimers(
        first=first,
        least=least,
        growth=dice.pick((1.25, 1.5, 2.0)),
        tick=dice.pick((20.0, 60.0, 200.0)),
        longest=first * dice.pick((2.0, 10.0)),
    )


def _threshold(dice: Dice) -> Threshold:
    choices: tuple[Threshold, ...] = (
        Constant(1),
        Constant(1),
        Constant(3),
        Geometric(2),
        Geometric(2, cap=8),
        PerCandidate(cap=24),
    )
    return dice.pick(choices)


def _members(dice: Dice, count: int, arm_count: int, heals_at: float) -> tuple[Member, ...]:
    arms = tuple(f"a{arm}" for arm in range(arm_count))
    same_arms = dice.happens(0.6)
    forgets = dice.happens(0.25)
    least = dice.pick((0.01, 0.3))  # rates of very different scales, or of the same
    members: list[Member] = []
    for position in range(count):
        own = arms
        if not same_arms and position != 0:
            # The first agent has all arms and the second has not, so that nobody ever takes the sets to be the same.
            own = dice.some(arms, dice.whole(1, arm_count - (position == 1)))
        pulls = max(2.0, dice.scale(least, 2.0) * PULLS / count)
        stops = dice.happens(0.25)
        active = heals_at * (dice.scale(0.02, 1.0) if stops else 1.0)
        members.append(
            Member(
                arms=own,
                joins_at=dice.real(0.0, 0.8 * heals_at) if position >= 2 and dice.happens(0.25) else 0.0,
                gap=active / pulls,
                stops_at=active if stops else _NEVER,
                pulls_when_healed=dice.happens(0.3 if stops else 0.9),
                forgets=forgets and dice.happens(0.7),
            )
        )
    return tuple(members)


def _faults(dice: Dice, count: int, heals_at: float) -> Faults:
    if dice.happens(0.1):
        return Faults()
    return Faults(
        loss=dice.pick((0.0, 0.02, 0.2, 0.4, 0.6)),
        duplication=dice.pick((0.0, 0.1, 0.5)),
        jitter=dice.pick((0, 2, 20)),
        reordering=dice.pick((0.0, 0.1, 0.3)),
        held_back=dice.pick((8, 60, int(heals_at / 4))),
        partitions=tuple(_partition(dice, count, heals_at) for _ in range(dice.pick((0, 0, 1, 2, 3)))),
    )


def _partition(dice: Dice, count: int, heals_at: float) -> Partition:
    start = dice.whole(0, int(0.9 * heals_at))
    length = max(1, int(dice.scale(0.01, 1.0) * heals_at))
    senders = dice.some(range(count), dice.whole(1, count - 1))
    receivers = tuple(agent for agent in range(count) if agent not in senders)
    return Partition(start, min(start + length, int(heals_at)), senders, receivers, one_way=dice.happens(0.5))


_COMMON = (Kind.CRASH, Kind.FUSE, Kind.ROLL_BACK, Kind.LOSE_DISK, Kind.STOP, Kind.LEAVE, Kind.JUMP, Kind.DOUBLE)


def _incidents(dice: Dice, count: int, heals_at: float, patience: RetryTimers) -> tuple[Incident, ...]:
    if dice.happens(0.2):
        return ()
    kinds = dice.some(_COMMON, dice.whole(1, len(_COMMON)))
    incidents = [
        _incident(dice, dice.pick(kinds), dice.whole(0, count - 1), heals_at, patience)
        for _ in range(dice.pick((1, 2, 4, 8)))
    ]
    if dice.happens(0.15):  # everybody at once
        time, lasting = dice.real(0.1, 0.9) * heals_at, dice.pick((0.5, 5.0, 100.0))
        incidents += [Incident(time, Kind.CRASH, agent, lasting) for agent in range(count)]
    if dice.happens(0.15):  # again and again, faster than a message can be answered
        time, agent, period = dice.real(0.1, 0.8) * heals_at, dice.whole(0, count - 1), dice.scale(0.5, 10.0)
        kind = dice.pick((Kind.CRASH, Kind.CRASH, Kind.ROLL_BACK))
        incidents += [
            Incident(time + turn * period, kind, agent, 0.4 * period, dice.unit()) for turn in range(dice.whole(3, 8))
        ]
    return tuple(sorted(incidents, key=lambda incident: incident.time))


def _with_further_arms(dice: Dice, member: Member, arm_count: int) -> Member:
    lacking = [f"a{arm}" for arm in range(arm_count) if f"a{arm}" not in member.arms]
    further = (*lacking, *NEW_ARMS) if dice.happens(0.5) else (*NEW_ARMS, *lacking)
    return member._replace(further_arms=further)


def _growth(dice: Dice, count: int, heals_at: float) -> list[Incident]:
    kinds = (Kind.GROW, Kind.GROW, Kind.GROW_UNCLEANLY, Kind.GROW_UNCLEANLY, Kind.SHRINK)
    incidents = [
        Incident(
            dice.real(0.05, 0.98) * heals_at,
            dice.pick(kinds),
            dice.whole(0, count - 1),
            dice.scale(0.2, 0.3 * heals_at),
            dice.unit(),
        )
        for _ in range(dice.pick((1, 2, 4, 8)))
    ]
    if dice.happens(0.4):  # everybody gets the new arms, one after the other or at once
        time, step = dice.real(0.1, 0.7) * heals_at, dice.pick((0.0, 0.5, 30.0))
        incidents += [
            Incident(time + step * agent, dice.pick(kinds[:4]), agent, dice.pick((0.5, 5.0)), 0.99)
            for agent in range(count)
        ]
    return incidents


def _incident(dice: Dice, kind: Kind, agent: int, heals_at: float, patience: RetryTimers) -> Incident:
    time = dice.real(0.05, 0.98) * heals_at
    lasting = dice.scale(0.2, heals_at)
    if kind is Kind.LEAVE and dice.happens(0.3):
        lasting = _NEVER
    amount = dice.unit()
    if kind is Kind.JUMP:
        amount = dice.pick((-1.0, 1.0)) * dice.scale(1.0, 20.0 * patience.longest)
    return Incident(time, kind, agent, lasting, amount)
