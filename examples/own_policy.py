"""A policy of your own: subclass, put it through the conformance suite, and let agents share what it learns."""

import math

from cobandit import IndexPolicy, on_demand
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.simulator import run
from cobandit.testing import check_policy


class Moss(IndexPolicy):
    """MOSS (Audibert and Bubeck, 2009): an arm is explored while it has less than its share of the observations."""

    def budget(self) -> float:
        """Return each arm's share of the observations."""
        return max(1, self.tally.observations) / len(self.arms)

    def index(self, mean: float, count: int, budget: float) -> float:
        """Return the mean and a bonus that ends when the arm has its share."""
        return mean + math.sqrt(max(0.0, math.log(budget / count)) / count)


check_policy(Moss)
world = Scenario(
    horizon=2000,
    arms=Arms.of([0.2, 0.5, 0.8]),
    agents=(AgentSpec(Rate(0.5)), AgentSpec(Rate(0.05)), AgentSpec(Rate(0.05))),
    policy=lambda arms, seed: Moss(arms, quantum=1.0),  # noqa: ARG005  # the seed is for policies that use chance
    sharing=on_demand(),
)
result = run(world, seed=1)
print(f"{sum(result.decisions)} decisions, {result.shares} shares, group regret {result.group_regret:.1f}")
assert result.shares < 2 * sum(result.decisions)
