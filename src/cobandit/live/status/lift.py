"""Does the bandit help? Compares its rewards with those of the hold-out, which chooses evenly, with an interval.

Both come from what a member knows about the whole fleet. The interval is the normal one for a difference of means, with
two added rewards on each side, a 0 and a 1 (Agresti and Caffo 2000), so that it is not too short for a small hold-out.
This file owns that interval and its words.
"""

import math
from collections.abc import Collection, Mapping
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cobandit.agent import Agent
from cobandit.core.places import HELD_OUT
from cobandit.values.quantum import Quantum
from cobandit.values.tally import Arm

_Z = 1.959963984540054
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Reward = Annotated[float, Meta(ge=-1e16, le=1e16)]


class Lift(msgspec.Struct, frozen=True):
    """How much more the bandit brings than the hold-out, as far as a member knows."""

    observations: _Count
    """The number of rewards of the bandit's decisions."""
    mean: _Reward | None
    """In the range of the bandit's rewards, like everything that follows."""
    held_out: _Count
    """The number of rewards of held-out decisions."""
    held_out_mean: _Reward | None
    lift: _Reward | None
    """The difference of the means; `None` if one of them is unknown."""
    low: _Reward | None
    high: _Reward | None
    """The upper end of its 95 % interval, which begins at `low`."""
    text: Annotated[str, Meta(max_length=2000)]


class Rewards(NamedTuple):
    """Rewards from 0 to 1, added up."""

    number: int
    total: float
    squares: float


def rewards_by_bandit(agent: Agent, what: str) -> dict[str, dict[Arm, Rewards]]:
    """Return the rewards of each arm of each bandit, over all members and segments, as far as an agent knows.

    Args:
        agent: Knows them.
        what: Which rewards: one of `cobandit.core.places.APART`, or empty for those that bandits learn from.
    """
    found: dict[str, dict[Arm, list[int]]] = {}
    for change in agent.knowledge.of_kind(what):
        arm, *tally = change.tally
        sums = found.setdefault(change.bandit, {}).setdefault(arm, [0, 0, 0])
        for place, more in enumerate(tally):
            sums[place] += more
    return {
        bandit: {arm: _rewards(sums, agent.quantum_of(bandit)) for arm, sums in arms.items()}
        for bandit, arms in found.items()
    }


def lifts_of(agent: Agent, holding_out: Collection[str]) -> dict[str, Lift]:
    """Return how much more each bandit brings than its hold-out, if it has one, here or elsewhere.

    Args:
        agent: Knows the rewards.
        holding_out: The bandits that have a hold-out here.
    """
    held_out = rewards_by_bandit(agent, HELD_OUT)
    bandits = {*held_out, *holding_out}
    learned = rewards_by_bandit(agent, "") if bandits else {}
    lifts = {}
    for bandit in sorted(bandits):
        served = agent.bandit(bandit)
        rewards = (0.0, 1.0) if served is None else served.rewards
        lifts[bandit] = lift_of(_together(learned.get(bandit, {})), _together(held_out.get(bandit, {})), rewards)
    return lifts


def _rewards(sums: list[int], quantum: Quantum) -> Rewards:
    return Rewards(sums[0], sums[1] / quantum.per_reward, sums[2] * quantum.square_size)


def _together(arms: Mapping[Arm, Rewards]) -> Rewards:
    return Rewards(*(sum(one[place] for one in arms.values()) for place in range(3)))  # type: ignore[arg-type]


def lift_of(bandit: Rewards, held_out: Rewards, rewards: tuple[float, float] = (0.0, 1.0)) -> Lift:
    """Return how much more a bandit brings than its hold-out.

    >>> lift_of(Rewards(1900, 114.0, 114.0), Rewards(100, 4.0, 4.0)).text
    'The bandit earns 0.060 per decision, the hold-out 0.040: a lift of 0.020 (-0.032 to 0.055), which may be chance.'

    Args:
        bandit: Its rewards.
        held_out: The rewards of the hold-out.
        rewards: The smallest and the largest reward of the bandit, which define the range of the lift.
    """
    smallest, width = rewards[0], rewards[1] - rewards[0]
    mean, held_out_mean = (
        smallest + width * min(1.0, one.total / one.number) if one.number else None for one in (bandit, held_out)
    )
    if mean is None or held_out_mean is None:
        which = "the hold-out" if held_out_mean is None else "the bandit"
        text = f"There is no lift yet: no reward of {which} is known."
        return Lift(bandit.number, mean, held_out.number, held_out_mean, None, None, None, text)
    (middle, variance), (held_out_middle, held_out_variance) = _mean_and_variance(bandit), _mean_and_variance(held_out)
    lift, centre = mean - held_out_mean, width * (middle - held_out_middle)
    half = width * _Z * math.sqrt(variance + held_out_variance)
    low, high = min(lift, centre - half), max(lift, centre + half)
    sure = "so it helps" if low > 0.0 else "so it harms" if high < 0.0 else "which may be chance"
    said = [_said(number, width) for number in (mean, held_out_mean, lift, low, high)]
    text = (
        f"The bandit earns {said[0]} per decision, the hold-out {said[1]}: a lift of {said[2]} "
        f"({said[3]} to {said[4]}), {sure}."
    )
    return Lift(
        observations=bandit.number,
        mean=mean,
        held_out=held_out.number,
        held_out_mean=held_out_mean,
        lift=lift,
        low=low,
        high=high,
        text=text,
    )


def _said(number: float, width: float) -> str:
    """Return a reward with three or four significant digits for a range of this width.

    >>> _said(0.05, 1.0), _said(12.5, 200.0), _said(-3.25, 20_000.0)
    ('0.050', '12.5', '-3')
    """
    return f"{number:.{max(0, 3 - math.floor(math.log10(width)))}f}"


def _mean_and_variance(rewards: Rewards) -> tuple[float, float]:
    """Return the mean of the rewards together with the two added ones, and the variance of that mean."""
    count = rewards.number + 2
    mean = (rewards.total + 1.0) / count
    return mean, max(0.0, (rewards.squares + 1.0) / count - mean * mean) / count
