"""A random leader: from time to time the leader names another one at random, who hears what everybody knows."""

from typing import Any

import cobandit
from cobandit.protocols import About, Node, plug_in, register
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario


class RandomLeader:
    """Send news to the leader. It tells all what it knows when its term ends, and who leads next."""

    about = About(
        word="random-leader",
        title="a random leader",
        told="They send news to a leader, who tells all what it knows when its term ends, and names another at random",
        survives=frozenset({"delay", "duplication", "reordering"}),
    )

    def __init__(self, node: Node, *, term: int = 100, news: int = 10) -> None:
        self.node, self.term, self.news = node, term, news
        self.leader, self.terms = 0, 0
        if node.position == self.leader:
            node.wake_in(term)

    def observed(self, arm: str, reward: float) -> None:  # the ledger has it
        """Send own news to the leader, every few pulls."""
        if self.node.own_pulls % self.news == 0 and self.leader in self.node.neighbours:
            cells = self.node.news_for(self.leader, source=self.node.position)
            self.node.send(self.leader, [self.terms, self.leader, cells], observations=len(cells))

    def tick(self) -> None:
        """End the term: name another leader, and tell everybody what is known."""
        if not self.node.neighbours or self.leader != self.node.position:
            return
        self.leader, self.terms = self.node.pick(self.node.neighbours), self.terms + 1
        for neighbour in self.node.neighbours:
            self.node.send(neighbour, [self.terms, self.leader, self.node.ledger.cells()], observations=1)

    def received(self, sender: int, message: Any) -> None:
        """Learn, and follow the leader of the latest term."""
        terms, leader, cells = message
        self.node.learn(cells, sender)
        if terms > self.terms:
            self.terms, self.leader = terms, leader
            if leader == self.node.position:
                self.node.wake_in(self.term)


if __name__ == "__main__":
    register(RandomLeader)
    agents = tuple(AgentSpec(Rate(rate)) for rate in (1.0, 0.5, 0.2, 0.1))
    world = Scenario(2_000, Arms.of([0.2, 0.5, 0.8]), agents, sharing=plug_in(RandomLeader))
    print(cobandit.simulate(world, trials=3).summary()["scenario"]["group_regret"]["mean"])
