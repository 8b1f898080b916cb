"""Turns counters from another system into a snapshot that members can start from.

No member made the observations in such counters. They are attributed to an additional agent that never runs: the
*source*. A member that starts from the snapshot holds them as the source's, so members that meet do not count them
again. This file does not know where counters come from.
"""

from collections.abc import Mapping

from cobandit.agent import Agent
from cobandit.codec import encode_snapshot
from cobandit.core import on_demand
from cobandit.policies import UCB
from cobandit.values.checks import check_name, is_number
from cobandit.values.errors import LocalError
from cobandit.values.quantum import MILLIONTH, Quantum, square_unit
from cobandit.values.tally import LONGEST_NAME, Arm, ArmTally

ONLY_INCARNATION = 1
"""The source's incarnation is always the same, so that the same counters never count twice, wherever they are
imported."""


def snapshot_of(
    counts: Mapping[Arm, int], sums: Mapping[Arm, float], *, source: str, quantum: float = MILLIONTH
) -> bytes:
    """Turn another system's counts into a snapshot for `cobandit.join` and `cobandit.connect` to start from.

    Give the same snapshot to every member. Members tell each other only what they observed themselves, so a member that
    starts without the snapshot never hears of it.

    Args:
        counts: The number of observations of each arm. Include every arm that the members will have; 0 is allowed.
        sums: The sum of the rewards of each arm, each reward in [0, 1].
        source: A name for the counters. No member may have this name.
        quantum: The smallest step of a reward, as configured for the members.

    Raises:
        LocalError: The counts and sums cannot be those of rewards in [0, 1].

    >>> import cobandit
    >>> snapshot = snapshot_of({"A": 100, "B": 50}, {"A": 20.0, "B": 25.0}, source="redis")
    >>> with cobandit.connect("memory://m", group="g", name="ann", arms=["A", "B"], snapshot=snapshot) as member:
    ...     [(arm.arm, arm.observations, arm.mean) for arm in member.statistics().arms]
    [('A', 100, 0.2), ('B', 50, 0.5)]
    """
    check_name("the source of counters", source, LONGEST_NAME)
    if set(sums) != set(counts):
        different = ", ".join(sorted(map(repr, set(sums) ^ set(counts))))
        raise LocalError(f"counts and sums must be of the same arms, and differ in {different}")
    per_reward = Quantum(quantum).per_reward
    agent = Agent(
        source, UCB(tuple(counts), quantum=quantum), on_demand(loss_tolerant=True), incarnation=ONLY_INCARNATION
    )
    observed = []
    for arm, count in counts.items():
        units = _units(arm, count, sums[arm], per_reward)
        if count:  # the squares are unknown: assume rewards of 0 and 1, which have the largest possible variance
            observed.append(ArmTally(arm, count, units, units * per_reward // square_unit(per_reward)))
    if observed:
        agent.update_all(observed, 0.0)
    return encode_snapshot(agent.snapshot())


def _units(arm: Arm, count: int, total: float, per_reward: int) -> int:
    """Return a sum of rewards in quanta. Rounding errors of floats are corrected; impossible sums are refused."""
    is_count = isinstance(count, int) and not isinstance(count, bool) and count >= 0
    if is_count and is_number(total) and 0.0 <= total <= count:
        return round(total * per_reward)
    raise LocalError(
        f"arm {arm!r} has {count!r} observations with rewards of {total!r} together: there must be a whole number of "
        "them, and each reward is in [0, 1], so divide the rewards by the largest possible one"
    )
