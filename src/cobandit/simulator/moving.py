"""What was offered and what was taken where the means of arms change: the data for regret.

The number of pulls of an arm no longer determines their cost, because the same arm was good and then bad. So three sums
are kept for each agent: what its pulls paid on average, what each arm would have paid in the same slots, and how far
below the best arm of the moment it was. Both engines add them in the order of decisions, with bit-identical results.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cobandit.scenario.scenario import Scenario

Numbers = npt.NDArray[np.float64]


@dataclass(slots=True)
class Moving:
    """The sums of a run, in total and by checkpoint."""

    gained: Numbers
    """By agent: the average payments of the arms it pulled, added up over its decisions."""
    offered: Numbers
    """By agent and arm: what the arm would have paid on average over the same decisions; minus infinity if the agent
    does not have the arm."""
    dynamic: Numbers
    """By agent: how far each pulled arm was below the best arm of the moment, added up."""
    gained_at: Numbers
    best_at: Numbers
    """By checkpoint and agent: the most that one arm would have paid."""
    dynamic_at: Numbers

    @property
    def best(self) -> Numbers:
        """By agent: the most that one arm would have paid over its decisions."""
        best: Numbers = self.offered.max(axis=1)
        return best

    def __eq__(self, other: object) -> bool:
        """Return whether two runs have exactly the same sums."""
        if not isinstance(other, Moving):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # it is compared, not used as a key


class Account:
    """The sums of the readable engine, while it runs."""

    def __init__(self, scenario: Scenario, expected: Sequence[Sequence[float]]) -> None:
        """Take the world, and the average payments of its arms, by step of their course."""
        count = len(scenario.agents)
        self._expected = np.array(expected)
        self._offered = offered_at_first(scenario)
        has = self._offered == 0.0
        sets, self._set = np.unique(has, axis=0, return_inverse=True)
        self._best = [[float(row[own].max()) for own in sets] for row in self._expected]
        """By step and set of arms: the payment of the best arm of the moment."""
        self._gained, self._dynamic = np.zeros((2, count))
        self._kept: list[tuple[Numbers, Numbers, Numbers]] = []

    def add(self, agent: int, arm: int, step: int) -> None:
        """Count a pull."""
        mean = self._expected[step, arm]
        self._gained[agent] += mean
        self._offered[agent] += self._expected[step]
        self._dynamic[agent] += self._best[step][self._set[agent]] - mean

    def remember(self) -> None:
        """Record the sums at a checkpoint."""
        self._kept.append((self._gained.copy(), self._offered.max(axis=1), self._dynamic.copy()))

    def moving(self) -> Moving:
        """Return the sums so far."""
        at = np.array(self._kept).reshape(-1, 3, len(self._gained))
        return Moving(self._gained, self._offered, self._dynamic, at[:, 0], at[:, 1], at[:, 2])


def offered_at_first(scenario: Scenario) -> Numbers:
    """Return what each arm has offered each agent before slot 0: 0, or minus infinity for arms it does not have."""
    where = {name: place for place, name in enumerate(scenario.arms.names)}
    offered = np.full((len(scenario.agents), len(where)), -np.inf)
    for agent in range(len(scenario.agents)):
        offered[agent, [where[arm] for arm in scenario.arms_of(agent)]] = 0.0
    return offered
