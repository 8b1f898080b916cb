"""What every policy is: a rule that chooses an arm from what is known about the arms.

A policy knows tallies, not peers. It has a tally of everything known (own and received), the number of its own pulls,
and the arms it still considers. Nothing else may influence a choice, so a policy can be rebuilt from those three at any
time. A policy that needs more, such as the weights of EXP3, declares it (`stateful`): it changes its state only in
`noticed`, and `state` returns it as plain values, from which the policy can still be rebuilt.
`cobandit.testing.check_policy` checks this for any policy.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from cobandit.policies.matching import Posterior
from cobandit.values.errors import LocalError
from cobandit.values.quantum import MILLIONTH, Quantum
from cobandit.values.tally import Arm, ArmTally, Tally, checked_arms

State = dict[str, Any]
"""Plain values by name: anything that JSON can hold."""


class Policy(ABC):
    """Chooses arms. Subclass it and implement `select_arm`; the rest is bookkeeping.

    Args:
        arms: The names of the arms.
        quantum: The smallest step of a reward; 1 for rewards that are 0 or 1.
    """

    draws = False
    """Whether a choice is a random draw. Its propensity cannot be logged unless the policy has `posteriors`."""

    eliminates = False
    """Whether the policy rules out arms for good. If so, pairs of agents fall silent when one arm is left."""

    stateful = False
    """Whether choices depend on more than tallies. If so, implement `noticed`, `state` and `set_state`."""

    def __init__(self, arms: Sequence[Arm], *, quantum: float = MILLIONTH) -> None:
        self.arms = checked_arms(arms)
        self.quantum = Quantum(quantum)
        self.tally = Tally(self.arms)
        """Every observation known, own and received."""
        self.own_pulls = 0
        self.candidates: tuple[Arm, ...] = self.arms
        """The arms still considered, in the order of `arms`."""
        self.owner: str | None = None
        """The agent that decides with it. Two agents with one policy would count everything twice."""

    @abstractmethod
    def select_arm(self) -> Arm:
        """Return the arm to pull next. Changes nothing: asked twice, it gives the same answer."""

    def update(self, arm: Arm, reward: float) -> None:
        """Record the reward of an own pull.

        Raises:
            LocalError: The arm is not one of `arms`, or the reward is not a number in [0, 1].
        """
        self._check_arm(arm)
        self.update_units(arm, self.quantum.units(reward))

    def update_units(self, arm: Arm, units: int) -> None:
        """Record the reward of an own pull, in quanta. Arms that the decision ruled out stay ruled out for good."""
        self.candidates = self.survivors()
        square = units * units // self.quantum.square_unit
        self.tally.add(arm, 1, units, square)
        self.own_pulls += 1
        if self.stateful:
            self.noticed((ArmTally(arm, 1, units, square),), own=True)

    def update_all(self, tallies: Iterable[ArmTally]) -> None:
        """Record the rewards of several own pulls, in quanta, as `update_units` does for one."""
        self.candidates = self.survivors()
        self.learn(tallies, own=True)

    def posteriors(self) -> list[Posterior] | None:
        """Return the Beta distribution of every candidate's mean if choices are draws from them; otherwise `None`.

        From these, live members compute in the background how likely each arm is the best, and draw accordingly.
        """
        return None

    def survivors(self) -> tuple[Arm, ...]:
        """Return the candidates that remain, given everything known now: all of them, unless a policy overrides this.

        It does not matter whether one pull or a hundred happened since the last call, hence the separate method.
        """
        return self.candidates

    def learn(self, news: Iterable[ArmTally], *, own: bool = False) -> None:
        """Take observations in bulk: other agents', or (`own`) this agent's when it is rebuilt.

        Observations that leave a window arrive with negative counts. Own pulls are never taken back: draws depend on
        their number, so a repeated number would repeat the draw.
        """
        entries = tuple(news)
        self.tally.add_all(entries)
        if own:
            self.own_pulls += sum(max(0, entry.observations) for entry in entries)
        if self.stateful and entries:
            self.noticed(entries, own=own)

    def noticed(self, tallies: Sequence[ArmTally], *, own: bool) -> None:  # noqa: B027  # most have nothing to do
        """Take what was just counted, from own pulls or others'. A policy with state changes it here and only here.

        In a fleet that forgets, observations that leave the window arrive with negative counts.
        """

    def state(self) -> State:
        """Return the policy's state, if it has one, as plain values: numbers, texts, and lists and tables of them."""
        return {}

    def set_state(self, state: State) -> None:  # noqa: B027  # most have none
        """Restore a state returned by `state`, after all known observations have been counted."""

    def eliminate(self, arm: Arm) -> None:
        """Stop considering an arm because another agent has ruled it out.

        Raises:
            LocalError: The arm is not one of `arms`, or it is the last one considered.
        """
        self._check_arm(arm)
        if self.candidates == (arm,):
            raise LocalError(f"arm {arm!r} is the last candidate and cannot be eliminated")
        self.candidates = tuple(candidate for candidate in self.candidates if candidate != arm)

    def change_arms(self, arms: Sequence[Arm]) -> None:
        """Change the arm set. New arms are candidates; what is known about the others does not change.

        Raises:
            LocalError: The arm set is invalid, or it lacks an arm that has observations.
        """
        names = checked_arms(arms)
        known, ruled_out = self.tally.entries(), set(self.arms) - set(self.candidates)
        if missing := [entry.arm for entry in known if entry.arm not in names]:
            raise LocalError(f"there are observations of {', '.join(missing)}: an arm set may only grow")
        self.arms, self.tally = names, Tally(names)
        self.tally.add_all(known)
        self.candidates = tuple(arm for arm in names if arm not in ruled_out)

    def mean(self, arm: Arm) -> float:
        """Return an arm's mean reward over all known observations; 0 if there are none."""
        count = self.tally.counts[arm]
        return self.tally.sums[arm] / (count * self.quantum.per_reward) if count else 0.0

    def rewards(self, arm: Arm) -> float:
        """Return the sum of an arm's rewards, each as a fraction of the range, from 0 to 1."""
        return self.tally.sums[arm] / self.quantum.per_reward

    def squares(self, arm: Arm) -> float:
        """Return the sum of the squares of an arm's rewards."""
        return self.tally.squares[arm] * self.quantum.square_size

    def variance(self, arm: Arm) -> float:
        """Return the variance of an arm's rewards over all known observations; 0 if there are none."""
        count = self.tally.counts[arm]
        return variance_of(self.mean(arm), self.squares(arm), count) if count else 0.0

    def _check_arm(self, arm: Arm) -> None:
        if not isinstance(arm, str) or arm not in self.tally.counts:
            raise LocalError(f"arm {arm!r} is not one of {', '.join(self.arms)}")


def variance_of(mean: float, squares: float, count: float) -> float:
    """Return the variance of rewards with this mean and sum of squares; rounding never makes it negative.

    >>> variance_of(mean=0.5, squares=3.0, count=8)
    0.125
    """
    return max(0.0, squares / count - mean * mean)


def no_number(arm: Arm, count: int) -> LocalError:
    """Return the error for an index that is not a number."""
    times = "1 observation" if count == 1 else f"{count} observations"
    return LocalError(f"the index of arm {arm!r} with {times} is not a number (NaN): let the index function return one")


class IndexPolicy(Policy):
    """Pulls the candidate with the highest index; the lowest position wins a tie.

    An arm without observations has an infinite index. A subclass implements `budget`, called once per decision, and
    `index`, called once per arm.
    """

    def select_arm(self) -> Arm:
        """Return the candidate with the highest index."""
        counts, sums, per_reward = self.tally.counts, self.tally.sums, self.quantum.per_reward
        budget = self.budget()
        best, best_index = self.candidates[0], -math.inf
        for arm in self.candidates:
            count = counts[arm]
            if not count:
                return arm
            index = self.index(sums[arm] / (count * per_reward), count, budget)
            if math.isnan(index):  # comparisons with it are false: it would never be chosen, or hide the others
                raise no_number(arm, count)
            if index > best_index:
                best, best_index = arm, index
        return best

    @abstractmethod
    def budget(self) -> float:
        """Return the part that all arms' indices share in this decision, such as alpha log(1/delta)."""

    @abstractmethod
    def index(self, mean: float, count: int, budget: float) -> float:
        """Return the index of an arm with this mean over this many observations."""
