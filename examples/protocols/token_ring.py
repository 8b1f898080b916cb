"""A token ring: one token goes round, and who has it adds its news for all others and passes it on."""

from typing import Any

import cobandit
from cobandit.protocols import About, Node, plug_in, register
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario


class TokenRing:
    """Pass everything that is known to the next agent, when the token is here and a pull is made."""

    about = About(
        word="token-ring",
        title="a token ring",
        told="One token goes round; who has it and pulls passes all that it knows to the next",
        survives=frozenset({"delay", "reordering"}),
    )

    def __init__(self, node: Node) -> None:
        self.node = node
        self.has_token = node.position == 0
        self.next = (node.position + 1) % node.agents

    def observed(self, arm: str, reward: float) -> None:  # the ledger has it
        """Pass the token on, with all that the next one does not know of."""
        if self.has_token and self.next in self.node.neighbours:
            self.has_token = False
            cells = self.node.news_for(self.next)
            self.node.send(self.next, cells, observations=sum(cell.observations for cell in cells))

    def received(self, sender: int, message: Any) -> None:
        """Take the token, and learn."""
        self.has_token = True
        self.node.learn(message, sender)


if __name__ == "__main__":
    register(TokenRing)
    agents = tuple(AgentSpec(Rate(rate)) for rate in (1.0, 0.5, 0.2, 0.1))
    world = Scenario(2_000, Arms.of([0.2, 0.5, 0.8]), agents, sharing=plug_in(TokenRing))
    print(cobandit.simulate(world, trials=3).summary()["scenario"]["group_regret"]["mean"])
