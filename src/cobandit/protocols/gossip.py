"""Gossip: occasionally an agent sends a random neighbour everything that it has not sent it.

Demers et al., "Epidemic algorithms for replicated database maintenance", PODC 1987 (push and push-pull anti-entropy);
Boyd, Ghosh, Prabhakar and Shah, "Randomized gossip algorithms", IEEE Transactions on Information Theory 52(6), 2006 (a
node wakes, and talks to one neighbour at random).

    source                                                here
    Boyd, Section I-A: a node's clock ticks               after every `period` own pulls (`observed`)
    Boyd: it contacts a neighbour with probability P_ij   `node.pick(node.here)`: each that is here is equally likely
    Demers, Section 1.3, push: send what the other lacks  `news_for`: what changed since the last message, but not by it
    Demers, push-pull: the other sends its part, too      with `pull`, the receiver of a first message answers

Deviations: Boyd averages numbers; here observations are passed on, by agent and arm, so that nothing counts twice.
Demers compares whole databases; a node here sends what it has not sent to this neighbour, which may know it from
others.
"""

from typing import Any

from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_whole
from cobandit.values.tally import Arm


class Gossip:
    """Push gossip, or with `pull` push-pull.

    Args:
        node: The node.
        period: How many own pulls lie between two messages.
        pull: Whether the receiver answers with what it has not sent.
    """

    about = About(
        word="gossip",
        title="gossip",
        told="They gossip: now and then each tells a neighbour at random all that it has not told it",
        rule=(
            "After every `period` own pulls an agent picks a neighbour at random.",
            "It tells it everything that it has not told it, its own news and what it heard.",
            "With `pull` the neighbour answers in the same way.",
        ),
        paper="Demers et al. 1987; Boyd et al. 2006",
        survives=frozenset({"delay", "loss", "duplication", "reordering"}),
        compiled=True,
    )

    def __init__(self, node: Node, *, period: int = 4, pull: bool = False) -> None:
        check_whole("period", period, 1)
        self.node, self.period, self.pull = node, period, pull

    def observed(self, arm: Arm, reward: float) -> None:
        """After every `period` pulls, push."""
        if self.node.own_pulls % self.period == 0 and self.node.here:
            self._push(self.node.pick(self.node.here), asks=self.pull)

    def received(self, sender: int, message: Any) -> None:
        """Learn, and answer if asked."""
        asks, cells = message
        self.node.learn(cells, sender)
        if asks:
            self._push(sender, asks=False)

    def _push(self, to: int, *, asks: bool) -> None:
        """Send what is new. A request is sent even without news; an answer without news is not sent."""
        cells = self.node.news_for(to)
        if cells or asks:
            self.node.send(to, (asks, cells), observations=sum(cell.observations for cell in cells))
