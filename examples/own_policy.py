"""A policy of your own: subclass, put it through the conformance suite, and let agents share what it learns."""

from tacit import IndexPolicy, on_demand
from tacit.scenario import AgentSpec, Arms, Rate, Scenario
from tacit.simulator import run
from tacit.testing import check_policy


class Optimist(IndexPolicy):
    """Pull the arm with the best mean, as if one more pull had paid in full."""

    def budget(self) -> float:
        """Nothing is common to all arms here."""
        return 0.0

    def index(self, mean: float, count: int, budget: float) -> float:  # noqa: ARG002
        """Return the mean with one imagined success."""
        return (mean * count + 1.0) / (count + 1.0)


check_policy(Optimist)
world = Scenario(
    horizon=2000,
    arms=Arms.of([0.2, 0.5, 0.8]),
    agents=(AgentSpec(Rate(0.5)), AgentSpec(Rate(0.05)), AgentSpec(Rate(0.05))),
    policy=lambda arms, seed: Optimist(arms, quantum=1.0),  # noqa: ARG005  # the seed is for policies that use chance
    sharing=on_demand(),
)
result = run(world, seed=1)
print(f"{sum(result.decisions)} decisions, {result.shares} shares, group regret {result.group_regret:.1f}")
assert result.shares < 2 * sum(result.decisions)
