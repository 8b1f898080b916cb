"""What is published to the decider: all that is known, and which of its own rewards that already includes.

This file owns where decisions are counted, and how many of the decider's rewards the agent has taken. It does not know
when to publish, and computes no odds.
"""

from collections.abc import Iterable
from typing import Protocol

from cobandit.agent import Agent
from cobandit.core.places import GUARDRAIL, PLAIN, At, apart
from cobandit.live.decide.common import Report, Settled
from cobandit.live.decide.desk import units_of
from cobandit.live.decide.full_names import split
from cobandit.live.decide.holdout import unmarked
from cobandit.live.decide.known import Known
from cobandit.live.machine.odds import Odds
from cobandit.values.errors import NotNowError
from cobandit.values.tally import Arm, ArmTally


def placed_of(agent: Agent, settled: Iterable[Settled], reports: Iterable[Report]) -> dict[At, tuple[ArmTally, ...]]:
    """Return rewards and reports, added up by place and arm.

    Args:
        agent: Knows the quantum of each bandit.
        settled: How decisions ended.
        reports: Values of guardrails' metrics.
    """
    sums: dict[At, dict[Arm, list[int]]] = {}
    counted = [(*unmarked(entry.arm), entry.units) for entry in settled if entry.units is not None]
    for at, arm, units in (*counted, *((apart(one.bandit, GUARDRAIL), one.arm, one.units) for one in reports)):
        tally = sums.setdefault(at, {}).setdefault(arm, [0, 0, 0])
        tally[0] += 1
        tally[1] += units
        tally[2] += agent.quantum_of(at[0]).square(units)
    return {at: tuple(ArmTally(arm, *tally) for arm, tally in arms.items()) for at, arms in sums.items()}


def units_in(agent: Agent, arm: str, reward: float) -> int:
    """Return a reward in quanta of the bandit in a full name, as far as the agent knows it.

    Raises:
        NotNowError: The bandit was never served here.
        LocalError: It is outside the range.
    """
    bandit = agent.bandit(name := split(arm)[0][0])
    if bandit is None:
        raise NotNowError(f"bandit {name!r} is not known to {agent.name} yet")
    return units_of(agent.quantum_of(name).units, bandit.rewards)(reward)


class Offer(Protocol):
    """What may be chosen: `Operations`, or its counterpart for one bandit."""

    @property
    def offered(self) -> tuple[Arm, ...]:
        """The arms that this member serves."""

    @property
    def available(self) -> tuple[Arm, ...]:
        """The arms to choose from."""

    @property
    def control_arm(self) -> Arm | None:
        """The only arm to choose, if the kill switch is on."""


class Knowledge:
    """What one member knows about one place, for its decider."""

    def __init__(self, agent: Agent, operations: "Offer", odds: Odds, at: At = PLAIN) -> None:
        self._agent, self._operations, self._odds, self._at = agent, operations, odds, at
        self._absorbed_counts: dict[Arm, int] = {}
        self._absorbed_sums: dict[Arm, int] = {}

    def take(self, tallies: Iterable[ArmTally]) -> None:
        """Note that the agent has taken rewards from the decider."""
        for arm, count, units, _ in tallies:
            self._absorbed_counts[arm] = self._absorbed_counts.get(arm, 0) + count
            self._absorbed_sums[arm] = self._absorbed_sums.get(arm, 0) + units

    def known(self) -> Known:
        """Return what to publish."""
        policy, candidates = self._agent.policy_at(*self._at), self._operations.available
        return Known(
            arms=policy.arms,
            counts=policy.tally.counts.copy(),
            sums=policy.tally.sums.copy(),
            observations=policy.tally.observations,
            own_pulls=policy.own_pulls,
            absorbed_counts={arm: self._absorbed_counts.get(arm, 0) for arm in policy.arms},
            absorbed_sums={arm: self._absorbed_sums.get(arm, 0) for arm in policy.arms},
            candidates=candidates,
            control_arm=self._operations.control_arm,
            odds=self._odds.last,
            draw=self._odds.draw(candidates),
            offered=self._operations.offered,
        )
