"""From a seed to a whole live fleet: who is there, on what computers, what people do, and what befalls whom, and when.

A plan is a pure function of its seed and is plain data, so that a failing seed is all that must be kept.
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from cobandit.core import Constant, Geometric, RetryTimers, Sharing, Threshold, on_demand
from cobandit.live.drive.declaring import Said
from cobandit.live.machine.controls import FURTHEST_AHEAD
from cobandit.values.tally import Arm
from lab.live_swarm.allowed import AS_IT_IS, Allowed
from lab.swarm.dice import Dice

GROUP = "swarm"
ARMS = ("a0", "a1", "a2", "a3")
NEW_ARMS = ("b0", "b1")
"""Arms that nobody has at first."""

DECISIONS = 110
"""About how many decisions the whole fleet makes."""

DAY = 86_400.0

_DICE_OF_PLANS, _DICE_OF_RELAYS, _DICE_OF_FORGETTING, _DICE_OF_REST = 11, 12, 16, 23


class Kind(Enum):
    """What can befall a member, or what people do to it."""

    KILL = "is killed"
    KILL_BEFORE_WRITE = "will be killed before a write"
    KILL_AFTER_WRITE = "will be killed after a write"
    KILL_WHILE_SENDING = "will be killed while it sends"
    POWER = "loses power"
    ROLL_BACK = "is killed, and its disk is rolled back"
    LOSE_DISK = "is killed, and its disk is lost"
    STOP = "is stopped in good order"
    GO = "is stopped for good"
    DIE = "is killed for good"
    CLOCK = "has its clock set"
    TWIN = "is started a second time"
    REFUSE = "has a disk that takes nothing"
    FREEZE = "is told to freeze an arm"
    UNFREEZE = "is told to give an arm back"
    KILL_SWITCH = "is told to turn the kill switch on"
    LIFT = "is told to turn the kill switch off"
    ASKED_TO_FREEZE = "gets a message: freeze an arm"
    FORGET = "is told that another one is gone"
    ADD_ARM = "gets one more arm"
    REMOVE_ARM = "is told to offer an arm no more"
    CATCH_UP = "is told to ask the others"
    FLUSH = "is told to say everything"
    DECLARE = "declares one more bandit"
    UNDECLARE = "will not declare a bandit again"


class Incident(NamedTuple):
    """Something befalls a member at some time."""

    time: float
    kind: Kind
    member: int
    lasting: float = 0.0
    """How long it is down, doubled, or without a disk."""
    amount: float = 0.0
    """By how much the clock is set, in seconds; how far back the disk goes; how late a fuse burns down; who is gone;
    which bandit it is."""
    arm: Arm = ""


class MemberPlan(NamedTuple):
    """One member and its computer."""

    name: str
    arms: tuple[Arm, ...]
    joins_at: float
    gap: float
    """The mean time between two of its decisions."""
    forgets: bool
    """Whether its disk says that it has synced what it has not."""
    clock_offset: float
    clock_drift: float
    definitions: tuple[Said, ...] = ()
    """How it declares each bandit with a name, when it does (`bandit_worlds.py`)."""
    bandits: tuple[Said, ...] = ()
    """Those that it declares when it first starts."""


class Faults(NamedTuple):
    """What the network does to packets."""

    loss: float = 0.0
    duplication: float = 0.0
    jitter: float = 0.0
    reordering: float = 0.0
    held_back: float = 0.0


class Cut(NamedTuple):
    """For a while some members are not heard by others."""

    start: float
    stop: float
    senders: frozenset[str]
    one_way: bool

    def holds(self, time: float, sender: str, receiver: str) -> bool:
        """Return whether a packet does not get through."""
        if not self.start <= time < self.stop:
            return False
        is_inside, is_to_inside = sender in self.senders, receiver in self.senders
        return is_inside and not is_to_inside if self.one_way else is_inside != is_to_inside


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole world."""

    seed: int
    members: tuple[MemberPlan, ...]
    policy: str
    quantum: float
    sharing: Sharing
    floors: dict[Arm, float]
    expire_after: float
    default_reward: float | None
    delay: float
    has_steady_delays: bool
    """Whether every packet takes exactly as long as any other when the world has healed, so that waits stay in step."""
    stays_idle: bool
    """Whether nobody decides any more when the world has healed: what was lost is told all the same."""
    disk_seconds: float
    has_broker: bool
    """Whether members are told that they can reach somebody, or each other one by one."""
    proves_senders: bool
    clocks_follow: bool
    """Whether processes notice that a clock is set while they run: those with a clock of the user's own."""
    faults: Faults
    cuts: tuple[Cut, ...]
    incidents: tuple[Incident, ...]
    mail_every: float
    batches_until_snapshot: int
    heals_at: float
    quiet_at: float
    """When everything must have been said."""
    ends_at: float
    rewards_come_late: bool
    """Whether rewards come to later starts than the one that decided, to other members, by mail, and by expiry."""
    clock_error: float
    """No two readings of one clock are further wrong than this."""
    forgiven: float
    """By so much, in seconds, a decision may expire too early."""
    keeps_controls: bool
    """Whether what operators said must be known at the end."""
    relays: frozenset[str]
    """Who passes on what others observed."""
    forget_after: float
    """Who was not heard for so many seconds is taken to be gone, though it may not be. Members say that they are here
    four times as often."""
    allowed: Allowed
    leaves: frozenset[str] = frozenset()
    """Who talks to relays only (`leaf_worlds.py`)."""
    bandits: tuple[Said, ...] = ()
    """If it is a fleet: all its bandits, as most declare them."""
    segments: tuple[str, ...] = ("",)
    """Of those."""
    declares_again: bool = True
    """Whether what was not declared after a restart is declared in the end."""
    calendar_stops_at: float = math.inf
    """From then on it stays the same time of day."""


def plan(seed: int, allowed: Allowed = AS_IT_IS) -> Plan:
    """Return the world of a seed.

    >>> plan(7) == plan(7)
    True
    """
    dice = Dice(seed, _DICE_OF_PLANS)
    count = dice.pick((2, 2, 3, 3, 4, 5, 6))
    heals_at = dice.pick((30.0, 120.0, 600.0))
    patience = _patience(dice)
    expire_after = dice.pick((0.15 * heals_at, 2.0 * heals_at, 30.0 * DAY))
    members = _members(dice, count, heals_at)
    dice_of_forgetting, dice_of_rest = Dice(seed, _DICE_OF_FORGETTING), Dice(seed, _DICE_OF_REST)
    incidents = _incidents(dice, count, heals_at)
    incidents = tuple(sorted((*incidents, *_forgettings(dice_of_forgetting, count, heals_at)), key=_time))
    is_forgetful = _is_forgetful(members, incidents)
    clock_error = sum(abs(incident.amount) for incident in incidents if incident.kind is Kind.CLOCK)
    clock_error += max(abs(member.clock_offset) for member in members)
    clocks_follow = dice.happens(0.2)
    rewards_come_late = allowed.late_rewards_after_forgetting or not is_forgetful
    kinds = {incident.kind for incident in incidents}
    quiet_at = heals_at + 3000.0 + 15.0 * (patience.longest + patience.tick)
    if kinds & _SETTINGS and clock_error > FURTHEST_AHEAD:
        quiet_at += clock_error  # what somebody has set whose clock is that far ahead is not heard before
    has_floors = dice.happens(0.2)
    return Plan(
        seed=seed,
        members=members,
        policy=dice.pick(("ucb", "ucb", "kl-ucb", "thompson", "aae")),
        quantum=dice.pick((1.0, 0.25, 0.000001)),
        sharing=on_demand(_threshold(dice), loss_tolerant=patience),
        floors={"a0": 0.2} if has_floors else {},
        expire_after=expire_after,
        default_reward=dice.pick((None, 0.0, 1.0)) if rewards_come_late else None,
        delay=dice.pick((0.01, 0.1, 1.0)),
        has_steady_delays=dice_of_rest.happens(0.5),
        stays_idle=dice_of_rest.happens(0.25),
        disk_seconds=dice.pick((0.004, 0.004, 0.1, 1.0)),
        has_broker=dice.happens(0.5),
        proves_senders=dice.happens(0.7),
        clocks_follow=clocks_follow,
        faults=_faults(dice, heals_at),
        cuts=tuple(_cut(dice, members, heals_at) for _ in range(dice.pick((0, 0, 1, 2, 3)))),
        incidents=incidents,
        mail_every=heals_at * dice.pick((0.02, 0.1)),
        batches_until_snapshot=dice.pick((8, 30, 4096)),
        heals_at=heals_at,
        quiet_at=quiet_at,
        ends_at=quiet_at + 1500.0,
        rewards_come_late=rewards_come_late,
        clock_error=clock_error,
        forgiven=clock_error if clocks_follow else 0.0,  # a clock of the user's own is believed
        keeps_controls=allowed.controls_outlive_disks or not (is_forgetful or kinds & _LOSING),
        relays=_relays(Dice(seed, _DICE_OF_RELAYS), members),
        forget_after=math.inf if quiet_at > heals_at + LONGEST_REST else _forget_after(dice_of_forgetting, heals_at),
        allowed=allowed,
    )


def _relays(dice: Dice, members: tuple[MemberPlan, ...]) -> frozenset[str]:
    if not dice.happens(0.3):
        return frozenset()
    return frozenset(dice.some([member.name for member in members], dice.pick((1, 1, 2))))


LONGEST_REST = 10_000.0
"""Seconds. In a world that takes longer to come to rest nobody is forgotten: too much would be said."""


def _forget_after(dice: Dice, heals_at: float) -> float:
    return dice.pick((math.inf, math.inf, math.inf, 60.0, 0.5 * heals_at + 60.0))


def _forgettings(dice: Dice, count: int, heals_at: float) -> tuple[Incident, ...]:
    """Return when operators are wrong about who is gone."""
    how_many = dice.pick((0, 0, 0, 1, 3))
    return tuple(_incident(dice, Kind.FORGET, dice.whole(0, count - 1), heals_at) for _ in range(how_many))


def _time(incident: Incident) -> float:
    return incident.time


_LOSING = {Kind.LOSE_DISK, Kind.GO, Kind.DIE}


def _is_forgetful(members: tuple[MemberPlan, ...], incidents: tuple[Incident, ...]) -> bool:
    kinds = {incident.kind for incident in incidents}
    return bool(kinds & {Kind.ROLL_BACK, Kind.TWIN}) or (
        Kind.POWER in kinds and any(member.forgets for member in members)
    )


def _patience(dice: Dice) -> RetryTimers:
    return RetryTimers(
        first=dice.pick((1.0, 2.0, 5.0)),
        least=dice.pick((0.1, 1.0)),
        growth=dice.pick((1.25, 1.5, 2.0)),
        tick=dice.pick((3.0, 10.0, 30.0)),
        longest=dice.pick((10.0, 60.0)),
    )


def _threshold(dice: Dice) -> Threshold:
    choices: tuple[Threshold, ...] = (Constant(1), Constant(3), Geometric(2, cap=8), Geometric(2, cap=64))
    return dice.pick(choices)


def _members(dice: Dice, count: int, heals_at: float) -> tuple[MemberPlan, ...]:
    arms = ARMS[: dice.whole(2, len(ARMS))]
    same_arms = dice.happens(0.6)
    forgets = dice.happens(0.25)
    has_wrong_clocks = dice.happens(0.4)
    least = dice.pick((0.05, 0.5))
    members: list[MemberPlan] = []
    for position in range(count):
        own = arms if same_arms or position == 0 else ("a0", *dice.some(arms[1:], dice.whole(1, len(arms) - 1)))
        decisions = max(3.0, dice.scale(least, 2.0) * DECISIONS / count)
        joins_late = position >= 1 and dice.happens(0.25)
        members.append(
            MemberPlan(
                name=f"m{position}",
                arms=own,
                joins_at=dice.real(0.0, 0.8 * heals_at) if joins_late else 0.0,
                gap=heals_at / decisions,
                forgets=forgets and dice.happens(0.7),
                clock_offset=dice.pick((-1.0, 1.0)) * dice.scale(0.1, 300.0) if has_wrong_clocks else 0.0,
                clock_drift=dice.pick((0.0, 0.0, -1e-4, 1e-4)) if has_wrong_clocks else 0.0,
            )
        )
    return tuple(members)


def _faults(dice: Dice, heals_at: float) -> Faults:
    if dice.happens(0.15):
        return Faults()
    return Faults(
        loss=dice.pick((0.0, 0.02, 0.2, 0.5)),
        duplication=dice.pick((0.0, 0.1, 0.5)),
        jitter=dice.pick((0.0, 0.1, 2.0)),
        reordering=dice.pick((0.0, 0.1, 0.3)),
        held_back=dice.pick((1.0, 10.0, heals_at / 4.0)),
    )


def _cut(dice: Dice, members: tuple[MemberPlan, ...], heals_at: float) -> Cut:
    start = dice.real(0.0, 0.9 * heals_at)
    senders = dice.some([member.name for member in members], dice.whole(1, len(members) - 1))
    stop = min(heals_at, start + dice.scale(0.01, 1.0) * heals_at)
    return Cut(start, stop, frozenset(senders), one_way=dice.happens(0.5))


_FAULTS = (
    *(Kind.KILL, Kind.KILL_BEFORE_WRITE, Kind.KILL_AFTER_WRITE, Kind.KILL_WHILE_SENDING),
    *(Kind.POWER, Kind.ROLL_BACK, Kind.LOSE_DISK, Kind.STOP, Kind.STOP, Kind.CLOCK, Kind.REFUSE),
)
_RARE = (Kind.GO, Kind.DIE, Kind.TWIN)
_WORDS = (Kind.FREEZE, Kind.UNFREEZE, Kind.KILL_SWITCH, Kind.LIFT, Kind.ASKED_TO_FREEZE)
_SETTINGS = {*_WORDS, Kind.FORGET}
_CHORES = (Kind.ADD_ARM, Kind.REMOVE_ARM, Kind.CATCH_UP, Kind.FLUSH)


def _incidents(dice: Dice, count: int, heals_at: float) -> tuple[Incident, ...]:
    kinds: list[Kind] = []
    if dice.happens(0.85):
        chosen = dice.some(_FAULTS, dice.whole(1, len(_FAULTS)))
        kinds += [dice.pick(chosen) for _ in range(dice.pick((1, 2, 4, 8)))]
    if dice.happens(0.25):
        kinds.append(dice.pick(_RARE))
    if dice.happens(0.5):
        kinds += [dice.pick(_WORDS) for _ in range(dice.pick((1, 3, 8)))]
    if dice.happens(0.4):
        kinds += [dice.pick(_CHORES) for _ in range(dice.pick((1, 3)))]
    incidents = [_incident(dice, kind, dice.whole(0, count - 1), heals_at) for kind in kinds]
    if dice.happens(0.1):  # everybody at once
        time, lasting = dice.real(0.1, 0.9) * heals_at, dice.pick((0.5, 5.0))
        incidents += [Incident(time, Kind.KILL, member, lasting) for member in range(count)]
    if dice.happens(0.1):  # again and again
        time, member, period = dice.real(0.1, 0.8) * heals_at, dice.whole(0, count - 1), dice.scale(0.5, 5.0)
        kind = dice.pick((Kind.KILL, Kind.KILL_AFTER_WRITE, Kind.ROLL_BACK))
        incidents += [
            Incident(time + turn * period, kind, member, 0.4 * period, dice.unit()) for turn in range(dice.whole(3, 6))
        ]
    return tuple(sorted(incidents, key=_time))


def _incident(dice: Dice, kind: Kind, member: int, heals_at: float) -> Incident:
    time = dice.real(0.02, 0.98) * heals_at
    lasting = dice.scale(0.1, heals_at)
    amount = dice.unit()
    arm = dice.pick(NEW_ARMS if kind is Kind.ADD_ARM else ARMS[:3])
    if kind is Kind.CLOCK:
        amount = dice.pick((-1.0, 1.0)) * dice.scale(1.0, 2.0 * DAY)
    return Incident(time, kind, member, lasting, amount, arm)
