"""What the decider is told: all that is known, and which of its own rewards are part of that already.

This file owns how many of the decider's rewards the agent has taken. It does not know when to publish, and computes no
odds.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from cobandit.agent import Agent
from cobandit.core import Outcome
from cobandit.core.pen_names import SettledBlock
from cobandit.core.places import PLAIN, At, Placed
from cobandit.live.decide.decider import Known, Settled
from cobandit.live.decide.holdout import HELD_OUT, unmarked
from cobandit.live.machine.odds import Odds
from cobandit.live.status.guardrail import GUARDRAIL
from cobandit.values.tally import Arm, ArmTally


def _tallies(counted: Mapping[Arm, list[int]]) -> tuple[ArmTally, ...]:
    return tuple(ArmTally(arm, *tally) for arm, tally in counted.items())


class Offer(Protocol):
    """What may be chosen: `Operations`, or the part of it that concerns one bandit."""

    @property
    def offered(self) -> tuple[Arm, ...]:
        """The arms that this member serves."""

    @property
    def available(self) -> tuple[Arm, ...]:
        """The arms to choose from."""

    @property
    def control_arm(self) -> Arm | None:
        """If the kill switch is on: the only arm to choose."""


class Knowledge:
    """What one member knows of one place, for its decider."""

    def __init__(self, agent: Agent, operations: "Offer", odds: Odds, at: At = PLAIN) -> None:
        self._agent, self._operations, self._odds, self._at = agent, operations, odds, at
        self._absorbed: dict[Arm, list[int]] = {}
        self.immediate = 0
        """Shares that immediate broadcast would have sent since this start."""

    def absorb(
        self,
        settled: Iterable[Settled],
        now: float,
        numbers: Sequence[SettledBlock] = (),
        reports: Iterable[tuple[Arm, int]] = (),
    ) -> Outcome:
        """Give the agent the rewards of decisions; of a pen's also which these were. Return what came of it.

        Args:
            settled: The rewards.
            now: The time.
            numbers: Of a pen's: which these were.
            reports: Values of the guardrail's metric, in quanta, by arm.
        """
        tallies: dict[Arm, list[int]] = {}
        held_out: dict[Arm, list[int]] = {}
        square = self._agent.policy.quantum.square
        for entry in settled:
            if entry.units is not None:
                at, arm = unmarked(entry.arm)
                tally = (tallies if at == PLAIN else held_out).setdefault(arm, [0, 0, 0])
                tally[0] += 1
                tally[1] += entry.units
                tally[2] += square(entry.units)
        reported: dict[Arm, list[int]] = {}
        for arm, units in reports:
            tally = reported.setdefault(arm, [0, 0, 0])
            tally[0] += 1
            tally[1] += units
            tally[2] += square(units)
        apart = [Placed(*at, _tallies(one)) for at, one in ((HELD_OUT, held_out), (GUARDRAIL, reported)) if one]
        if not (tallies or apart):
            return self._agent.update_all((), now, numbers) if numbers else Outcome()
        self.immediate += sum(
            tally[0] * self._agent.audience(arm) for arm, tally in (*tallies.items(), *held_out.items())
        )
        outcome = self._agent.update_all(_tallies(tallies), now, numbers, apart)
        for arm, (count, units, _) in tallies.items():
            self.absorbed(arm, count, units)
        return outcome

    def absorbed(self, arm: Arm, count: int, units: int) -> None:
        """Note that the agent has taken rewards of the decider."""
        absorbed = self._absorbed.setdefault(arm, [0, 0])
        absorbed[0] += count
        absorbed[1] += units

    def known(self) -> Known:
        """Return what to publish."""
        policy, candidates = self._agent.policy_at(*self._at), self._operations.available
        absorbed = [self._absorbed.get(arm, (0, 0)) for arm in policy.arms]
        return Known(
            arms=policy.arms,
            counts=tuple(policy.tally.counts.values()),
            sums=tuple(policy.tally.sums.values()),
            own_pulls=policy.own_pulls,
            absorbed_counts=tuple(count for count, _ in absorbed),
            absorbed_sums=tuple(units for _, units in absorbed),
            candidates=candidates,
            control_arm=self._operations.control_arm,
            odds=self._odds.last,
            draw=self._odds.draw(candidates),
            offered=self._operations.offered,
        )
