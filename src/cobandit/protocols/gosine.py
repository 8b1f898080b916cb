"""GosInE: agents play few arms each, and occasionally ask a random neighbour for the name of its best arm.

Chawla, Sankararaman, Ganesh and Shakkottai, "The gossiping insert-eliminate algorithm for multi-agent bandits", AISTATS
2020. The authors' program (ronshee/gosine, Synch.py) was read beside the paper.

    source (synchronous version)                              here
    sticky arms: ceil(K/N) from i ceil(K/N) on; then U and L  `_sets`
    UCB over the set: mean + sqrt(alpha ln t / n), own pulls  `_index`
    phase j ends after slot j^3                               `tick`, at the beginning of slot j^3
    of U and L keep the one that was played more              `_end_phases`
    ask a neighbour at random                                 a notice to `node.pick`
    it answers with the arm that it played most in the phase  `received`: a share with the arm's name
    if that is not in the set, it takes the place of L        `received`

Deviations: agents are asynchronous, so t is the agent's own number of pulls, and slots end phases for all. A set that
would have more than K arms has K. alpha is 4 as in the program (the paper asks for more than 3).
"""

import math
from collections import Counter
from typing import Any

from cobandit.protocols.node import Node, best_arm
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_positive
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm


class Gosine:
    """Gossiping insert-eliminate.

    Args:
        node: The node.
        alpha: How much to explore.
        power: Phase j ends after slot j to this power, above 1.
    """

    about = About(
        word="gosine",
        title="gossiping insert-eliminate (GosInE)",
        told="Each plays few arms, and now and then asks a neighbour at random for its best arm (GosInE)",
        rule=(
            "An agent plays some **sticky** arms, which are its own share of all, and two more.",
            "When a phase ends, it drops the one of the two that it played less.",
            "It asks a neighbour at random for the arm that it played most, and takes that one.",
        ),
        paper="Chawla et al. 2020",
        observations=False,
        survives=frozenset({"delay", "loss", "duplication", "reordering"}),
    )

    def __init__(self, node: Node, *, alpha: float = 4.0, power: float = 3.0) -> None:
        check_positive("alpha", alpha)
        if not 1.0 < power < 10.0:
            raise LocalError(f"power must be between 1 and 10, not {power!r}")
        self.node, self.alpha, self.power = node, alpha, power
        self.phase = 1
        self._set = _sets(node.arms, node.agents, node.position)
        """Sticky arms, then U and L."""
        self._played: Counter[Arm] = Counter()
        self._best = self._set[0]
        """The arm that it played most in the last finished phase."""
        node.wake_in(self._end() - node.slot)

    def tick(self) -> None:
        """End the phase, and ask a neighbour."""
        self._end_phases()
        if self.node.here:
            self.node.send(self.node.pick(self.node.here), None, kind="notice")
        self.node.wake_in(self._end() - self.node.slot)

    def received(self, sender: int, message: Any) -> None:
        """Answer with the best arm; or let a received one replace L."""
        if message is None:
            self._end_phases()
            self.node.send(sender, self._best)
        elif message in self.node.arms and message not in self._set:
            self._set[-1] = message

    def observed(self, arm: Arm, reward: float) -> None:
        """Count an arm played in this phase."""
        self._played[arm] += 1

    def select_arm(self) -> Arm:
        """Return the arm of its set with the highest index."""
        return best_arm({arm: self._index(arm) for arm in self._set})

    def _end(self) -> int:
        end: float = self.phase**self.power
        return math.ceil(end)

    def _end_phases(self) -> None:
        """End the phases that are over: its own tick may come after a neighbour's question."""
        while self.node.slot >= self._end():
            if self._played[self._set[-2]] < self._played[self._set[-1]]:
                self._set[-2:] = self._set[-1], self._set[-2]
            self._best = max(self._set, key=self._played.__getitem__)
            self._played.clear()
            self.phase += 1

    def _index(self, arm: Arm) -> float:
        policy = self.node.policy
        count = policy.tally.counts[arm]
        if not count:
            return math.inf
        return policy.mean(arm) + math.sqrt(self.alpha * math.log(policy.own_pulls + 1) / count)


def _sets(arms: tuple[Arm, ...], agents: int, position: int) -> list[Arm]:
    """Return the arms with which an agent begins: its sticky ones, and the two after them.

    >>> [_sets(tuple("ABCDEF"), 3, agent) for agent in range(3)]
    [['A', 'B', 'C', 'D'], ['C', 'D', 'E', 'F'], ['E', 'F', 'A', 'B']]
    """
    sticky = -(-len(arms) // agents)
    size = max(2, min(len(arms), sticky + 2))
    return [arms[(position * sticky + place) % len(arms)] for place in range(size)]
