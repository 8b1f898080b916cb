"""Does the bandit help? Its rewards beside those of the hold-out, which decides evenly, with an interval.

Both are what a member knows of the whole fleet. The interval is the normal one of a difference of means, with one
made-up reward of 0 and one of 1 on each side (Agresti and Caffo 2000), so that it is not too short for a small
hold-out. This file owns that interval and its words.
"""

import math
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cobandit.agent import Agent
from cobandit.core.places import At
from cobandit.values.tally import Arm

_Z = 1.959963984540054
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Unit = Annotated[float, Meta(ge=0.0, le=1.0)]
_Difference = Annotated[float, Meta(ge=-1.5, le=1.5)]


class Lift(msgspec.Struct, frozen=True):
    """What the bandit brings more than the hold-out, as far as a member knows."""

    observations: _Count
    """Rewards of the bandit's decisions."""
    mean: _Unit | None
    held_out: _Count
    """Rewards of held-out decisions."""
    held_out_mean: _Unit | None
    lift: _Difference | None
    """The difference of the means; `None` if one of them is not known."""
    low: _Difference | None
    high: _Difference | None
    """Its 95 % interval."""
    text: Annotated[str, Meta(max_length=2000)]


class Rewards(NamedTuple):
    """Rewards from 0 to 1, added up."""

    number: int
    total: float
    squares: float


def rewards_by_arm(agent: Agent, at: At) -> dict[Arm, Rewards]:
    """Return the rewards of each arm at one place, of everybody, as far as an agent knows."""
    quantum, found = agent.policy.quantum, dict[Arm, list[int]]()
    cells = [(key[3:5], entry) for key, entry in agent.endpoint.replica.cells()]
    totals = [((change.bandit, change.segment), change.tally) for change in agent.endpoint.totals.all()]
    for place, (arm, *entry) in (*cells, *totals):
        if place == at:
            found[arm] = [sum(pair) for pair in zip(found.get(arm, (0, 0, 0)), entry, strict=True)]
    square = quantum.square_unit / quantum.per_reward**2
    return {
        arm: Rewards(count, total / quantum.per_reward, squares * square)
        for arm, (count, total, squares) in found.items()
    }


def rewards_at(agent: Agent, at: At) -> Rewards:
    """Return the rewards of all arms at one place together."""
    found = rewards_by_arm(agent, at).values()
    return Rewards(*(sum(one[place] for one in found) for place in range(3)))  # type: ignore[arg-type]


def lift_of(bandit: Rewards, held_out: Rewards) -> Lift:
    """Return what a bandit brings more than its hold-out.

    >>> lift_of(Rewards(1900, 114.0, 114.0), Rewards(100, 4.0, 4.0)).text
    'The bandit brings 0.060 a decision, the hold-out 0.040: a lift of 0.020 (-0.032 to 0.055): it may be chance.'
    """
    mean, held_out_mean = (one.total / one.number if one.number else None for one in (bandit, held_out))
    if mean is None or held_out_mean is None:
        which = "the hold-out" if held_out_mean is None else "the bandit"
        text = f"There is no lift yet: no reward of {which} is known."
        return Lift(bandit.number, mean, held_out.number, held_out_mean, None, None, None, text)
    (middle, variance), (held_out_middle, held_out_variance) = _mean_and_variance(bandit), _mean_and_variance(held_out)
    lift, centre = mean - held_out_mean, middle - held_out_middle
    half = _Z * math.sqrt(variance + held_out_variance)
    low, high = min(lift, centre - half), max(lift, centre + half)
    sure = "it helps" if low > 0.0 else "it harms" if high < 0.0 else "it may be chance"
    text = (
        f"The bandit brings {mean:.3f} a decision, the hold-out {held_out_mean:.3f}: a lift of {lift:.3f} "
        f"({low:.3f} to {high:.3f}): {sure}."
    )
    return Lift(
        observations=bandit.number,
        mean=min(1.0, mean),
        held_out=held_out.number,
        held_out_mean=min(1.0, held_out_mean),
        lift=lift,
        low=max(-1.5, low),
        high=min(1.5, high),
        text=text,
    )


def _mean_and_variance(rewards: Rewards) -> tuple[float, float]:
    """Return the mean of rewards with two made-up ones, and the variance of that mean."""
    count = rewards.number + 2
    mean = (rewards.total + 1.0) / count
    return mean, max(0.0, (rewards.squares + 1.0) / count - mean * mean) / count
