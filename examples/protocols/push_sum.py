"""Push-sum gossip (Kempe, Dobra and Gehrke, FOCS 2003): halves of sums travel, and ratios come to agree."""

from typing import Any

import cobandit
from cobandit.protocols import About, Node, best_arm, plug_in, register
from cobandit.scenario import AgentSpec, Arms, Graph, Rate, Scenario
from cobandit.values.checks import check_positive


class PushSum:
    """Keep half of all sums and weights, and push the other half to a neighbour at random, every few slots."""

    about = About(
        word="push-sum",
        title="push-sum gossip",
        told="Now and then each keeps half of its sums, and pushes the other half to a neighbour at random",
        paper="Kempe et al. 2003",
        observations=False,
    )

    def __init__(self, node: Node, *, every: int = 5, bonus: float = 0.5) -> None:
        check_positive("bonus", bonus)
        self.node, self.every, self.bonus = node, every, bonus
        self.counts = dict.fromkeys(node.arms, 0.0)
        self.sums = dict.fromkeys(node.arms, 0.0)
        node.wake_in(every)

    def tick(self) -> None:
        """Push half."""
        if self.node.neighbours:
            for table in (self.counts, self.sums):
                table.update({arm: value / 2 for arm, value in table.items()})
            self.node.send(self.node.pick(self.node.neighbours), [self.counts, self.sums])
        self.node.wake_in(self.every)

    def received(self, sender: int, message: Any) -> None:  # whose half it is does not matter
        """Add what was pushed."""
        for table, told in zip((self.counts, self.sums), message, strict=True):
            table.update({arm: table[arm] + value for arm, value in told.items()})

    def observed(self, arm: str, reward: float) -> None:
        """Add what was observed."""
        self.counts[arm] += 1.0
        self.sums[arm] += reward

    def select_arm(self) -> str:
        """Return the arm with the highest mean and bonus."""
        return best_arm({arm: self._index(self.counts[arm], self.sums[arm]) for arm in self.node.arms})

    def _index(self, count: float, total: float) -> float:
        return float("inf") if count == 0.0 else total / count + self.bonus / count**0.5


if __name__ == "__main__":
    register(PushSum)
    agents = tuple(AgentSpec(Rate(rate)) for rate in (1.0, 0.5, 0.2, 0.1))
    world = Scenario(2_000, Arms.of([0.2, 0.5, 0.8]), agents, sharing=plug_in(PushSum), topology=Graph.ring(4))
    print(cobandit.simulate(world, trials=3).summary()["scenario"]["group_regret"]["mean"])
