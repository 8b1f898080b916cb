"""Epsilon-greedy with a schedule (Auer, Cesa-Bianchi and Fischer, 2002): explore less and less, each at its own pace.

It needs no state: how far the schedule is, is the number of observations. `python epsilon_greedy.py` tries it.
"""

from collections.abc import Sequence

import cobandit
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.testing import check_policy
from cobandit.values.chance import stream, uniform
from cobandit.values.tally import Arm


class EpsilonGreedy(cobandit.Policy):
    """Pulls the best arm so far; with probability c K / observations, at most 1, any candidate."""

    draws = True

    def __init__(self, arms: Sequence[Arm], *, seed: int, c: float = 5.0, quantum: float = 1e-6) -> None:
        super().__init__(arms, quantum=quantum)
        self.seed, self.c = seed, c

    def epsilon(self) -> float:
        """Return how likely it explores now."""
        return min(1.0, self.c * len(self.candidates) / max(1, self.tally.observations))

    def select_arm(self) -> Arm:
        """Return the best mean, or now and then any candidate."""
        key = stream(self.seed, self.own_pulls)
        if uniform(key, 0) < self.epsilon():
            return self.candidates[int(uniform(key, 1) * len(self.candidates))]
        return max(self.candidates, key=self.mean)


if __name__ == "__main__":
    check_policy(lambda arms: EpsilonGreedy(arms, seed=7))
    agents = (AgentSpec(Rate(0.5), settings={"c": 2.0}), AgentSpec(Rate(0.1), settings={"c": 0.5}))
    world = Scenario(
        2_000,
        Arms.of([2.0, 5.0, 8.0], rewards=(0, 10)),
        agents,
        policy=lambda arms, seed, **own: EpsilonGreedy(arms, seed=seed, **own),
    )
    print(cobandit.simulate(world, trials=3, seed=1).summary()["scenario"]["group_regret"])
