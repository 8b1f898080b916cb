"""EXP3 (Auer, Cesa-Bianchi, Freund and Schapire, 2002): rewards that an adversary may choose. A policy with state.

An arm's estimate is its reward divided by how likely it was pulled, so only own pulls count. `python exp3.py` tries it.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import cobandit
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.testing import check_policy
from cobandit.values.chance import stream, uniform
from cobandit.values.tally import Arm, ArmTally


class Exp3(cobandit.Policy):
    """Pulls arms with probabilities that follow the exponential of their estimated rewards."""

    draws = stateful = True

    def __init__(self, arms: Sequence[Arm], *, seed: int, gamma: float = 0.1, quantum: float = 1e-6) -> None:
        super().__init__(arms, quantum=quantum)
        self.seed, self.gamma = seed, gamma
        self.log_weights: dict[Arm, float] = {}

    def chances(self) -> dict[Arm, float]:
        """Return how likely each candidate is pulled."""
        top = max(self.log_weights.get(arm, 0.0) for arm in self.candidates)
        weights = {arm: math.exp(self.log_weights.get(arm, 0.0) - top) for arm in self.candidates}
        total, even = sum(weights.values()), self.gamma / len(weights)
        return {arm: (1.0 - self.gamma) * weight / total + even for arm, weight in weights.items()}

    def select_arm(self) -> Arm:
        """Return a draw, which depends on the seed and the number of own pulls."""
        chances, luck = list(accumulate(self.chances().values())), uniform(stream(self.seed, self.own_pulls), 0)
        return self.candidates[min(bisect_right(chances, luck), len(chances) - 1)]

    def noticed(self, tallies: Sequence[ArmTally], *, own: bool) -> None:
        """Move the weight of the arm that was pulled."""
        for arm, _, units, _ in tallies if own else ():
            scale = self.quantum.per_reward * self.chances().get(arm, 1.0) * len(self.candidates)
            self.log_weights[arm] = self.log_weights.get(arm, 0.0) + self.gamma * units / scale

    def state(self) -> dict[str, Any]:
        """Return the weights."""
        return dict(self.log_weights)

    def set_state(self, state: dict[str, Any]) -> None:
        """Take the weights."""
        self.log_weights = dict(state)


if __name__ == "__main__":
    check_policy(lambda arms: Exp3(arms, seed=7))
    agents = (AgentSpec(Rate(0.5), settings={"gamma": 0.05}), AgentSpec(Rate(0.1), settings={"gamma": 0.2}))
    world = Scenario(2_000, Arms.of([0.2, 0.5, 0.8]), agents, lambda arms, seed, **own: Exp3(arms, seed=seed, **own))
    print(cobandit.simulate(world, trials=3, seed=1).summary()["scenario"]["group_regret"])
