"""From a seed to a world of relays and pods: who is there, what the network does, and what befalls whom, and when."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from cobandit.core import Constant, Geometric, RetryTimers, Sharing, Threshold, on_demand
from cobandit.values.tally import Arm
from lab.swarm.dice import Dice

GROUP = "pods"
ARMS: tuple[Arm, ...] = ("a0", "a1", "a2")
DECISIONS = 90
"""About how many decisions the whole fleet makes while faults are on."""

_DICE_OF_PLANS = 21


class Kind(Enum):
    """What can befall a relay or a pod."""

    KILL_POD = "a pod is killed, and another takes its place"
    CLOSE_POD = "a pod is stopped in good order, and another takes its place"
    END_POD = "a pod is killed for good"
    ZOMBIE = "a pod is stopped in good order, and a copy of it goes on"
    CUT = "a pod is cut off"
    CUT_FROM_ONE = "a pod is cut off from one relay"
    KILL_RELAY = "a relay is killed"
    FUSE_RELAY = "a relay is killed before or after its next write"
    STOP_RELAY = "a relay is stopped in good order"
    LOSE_DISK = "a relay is killed, and its disk is lost"


class Incident(NamedTuple):
    """Something befalls somebody at some time."""

    time: float
    kind: Kind
    who: int
    lasting: float
    amount: float


class Faults(NamedTuple):
    """What the network does to packets."""

    loss: float = 0.0
    duplication: float = 0.0
    jitter: float = 0.0
    reordering: float = 0.0
    held_back: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole world."""

    seed: int
    relays: tuple[str, ...]
    pods: int
    """So many run at a time."""
    gap: float
    """The mean time between two decisions of one pod."""
    policy: str
    quantum: float
    sharing: Sharing
    lease: float
    flush_every: float
    patience: float
    expire_after: float
    delay: float
    faults: Faults
    incidents: tuple[Incident, ...]
    keeps_secret: bool
    """Whether what keys of pens are made from outlives a relay's disk."""
    max_facts: int | None
    """So few facts fit a packet, if packets are small."""
    batches_until_snapshot: int
    heals_at: float
    quiet_at: float
    ends_at: float


def plan(seed: int) -> Plan:
    """Return the world of a seed.

    >>> plan(7) == plan(7)
    True
    """
    dice = Dice(seed, _DICE_OF_PLANS)
    relays = tuple(f"r{position}" for position in range(dice.pick((1, 2, 2, 2, 3))))
    pods = dice.whole(1, 4)
    heals_at = dice.pick((60.0, 240.0, 600.0))
    retry = RetryTimers(
        first=dice.pick((1.0, 2.0)), least=0.1, growth=1.5, tick=dice.pick((3.0, 20.0)), longest=dice.pick((10.0, 60.0))
    )
    thresholds: tuple[Threshold, ...] = (Constant(1), Constant(3), Geometric(2, cap=8))
    incidents = _incidents(dice, heals_at)
    quiet_at = heals_at + 2500.0
    return Plan(
        seed=seed,
        relays=relays,
        pods=pods,
        gap=heals_at * pods / DECISIONS * dice.scale(0.5, 4.0),
        policy=dice.pick(("ucb", "thompson")),
        quantum=dice.pick((1.0, 0.25, 0.000001)),
        sharing=on_demand(dice.pick(thresholds), loss_tolerant=retry),
        lease=dice.pick((0.05, 0.2)) * heals_at + 2.0,
        flush_every=dice.pick((1.0, 10.0, 1000.0)),
        patience=dice.pick((3.0, 5.0, 30.0)),
        expire_after=dice.pick((0.5 * heals_at, 30.0 * 86_400.0, 30.0 * 86_400.0)),
        delay=dice.pick((0.01, 0.1, 0.5)),
        faults=_faults(dice, heals_at),
        incidents=incidents,
        keeps_secret=dice.happens(0.8),
        max_facts=dice.pick((None, None, 1, 3)),
        batches_until_snapshot=dice.pick((4, 30, 1000)),
        heals_at=heals_at,
        quiet_at=quiet_at,
        ends_at=quiet_at + 200.0,
    )


def _faults(dice: Dice, heals_at: float) -> Faults:
    if dice.happens(0.15):
        return Faults()
    return Faults(
        loss=dice.pick((0.0, 0.02, 0.2, 0.4)),
        duplication=dice.pick((0.0, 0.1, 0.5)),
        jitter=dice.pick((0.0, 0.1, 2.0)),
        reordering=dice.pick((0.0, 0.1, 0.3)),
        held_back=dice.pick((1.0, 10.0, heals_at / 4.0)),
    )


def _incidents(dice: Dice, heals_at: float) -> tuple[Incident, ...]:
    if dice.happens(0.05):
        return ()
    chosen = dice.some(tuple(Kind), dice.whole(2, len(Kind)))
    incidents = [
        Incident(
            dice.real(0.05, 0.98) * heals_at,
            dice.pick(chosen),
            dice.whole(0, 11),
            dice.scale(0.01, 0.6) * heals_at,
            dice.unit(),
        )
        for _ in range(dice.pick((2, 4, 8, 16)))
    ]
    return tuple(sorted(incidents, key=lambda incident: incident.time))
