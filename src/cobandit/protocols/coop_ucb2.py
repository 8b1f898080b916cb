"""coop-UCB2: running consensus on counts and sums of rewards, in every slot, over a graph.

Landgren, Srivastava and Leonard, "Distributed cooperative decision-making in multiarmed bandits: frequentist and
Bayesian algorithms", CDC 2016; "Distributed cooperative decision making in multi-agent multi-armed bandits", Automatica
125, 2021.

    source                                                       here
    n(t+1) = P (n(t) + xi(t)), s(t+1) = P (s(t) + r(t))          `tick` sends n + xi and s + r; `_estimates` is P of it
    P = I - (kappa / d_max) L                                    `consensus.py`: kappa = d_max / (d_max + 1)
    Q = s/n + sigma sqrt((2 gamma / G(eta)) (n + f(t-1)) / (M n)  `_index`
        ln(t-1) / n), G(eta) = 1 - eta^2 / 16, f(t) = sqrt(ln t)
    in the first rounds every agent pulls each arm once          an arm of which nothing is known has the highest index

Deviations: agents are asynchronous, and an agent that does not pull in a slot has xi = r = 0 and still averages.
Rewards are 0 or 1, so sigma is 1/2 by default. The papers' simulations set gamma close to 1; it must be above 1.
Arguments of logarithms are at least 2.
"""

import math
from typing import Any

from cobandit.protocols.consensus import Rounds, Vector, mixed, places_of, step_of
from cobandit.protocols.node import Node, best_arm
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_positive
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm


class CoopUcb2:
    """Running consensus.

    Args:
        node: The node.
        gamma: How much to explore, above 1.
        eta: Between 0 and 4.
        sigma: How widely rewards spread: 1/2 for rewards from 0 to 1.
    """

    about = About(
        word="coop-ucb2",
        title="running consensus (coop-UCB2)",
        told="In every slot they average their estimates with their neighbours (coop-UCB2)",
        rule=(
            "Every agent has an estimate of how often each arm was pulled, and with which rewards.",
            "In every slot it tells its neighbours, and moves towards what they tell.",
        ),
        paper="Landgren et al. 2016, 2021",
        observations=False,
        survives=frozenset(),
    )

    def __init__(self, node: Node, *, gamma: float = 1.01, eta: float = 2.0, sigma: float = 0.5) -> None:
        if not gamma > 1.0:
            raise LocalError(f"gamma must be above 1, not {gamma!r}")
        if not 0.0 < eta < 4.0:
            raise LocalError(f"eta must be between 0 and 4, not {eta!r}")
        check_positive("sigma", sigma)
        self.node, self.gamma, self.eta, self.sigma = node, gamma, eta, sigma
        self._place = places_of(node)
        self._step = step_of(node.graph())
        self._told: Vector = [0.0] * (2 * len(node.arms))
        """What it sent in this slot: counts, then sums."""
        self._fresh: Vector = [0.0] * (2 * len(node.arms))
        self._rounds, self._round = Rounds(), 0
        """A round is a slot: its number is the slot."""
        node.wake_in(1)

    def tick(self) -> None:
        """Average the messages of the previous slot, add own news, and send the result."""
        self._told = [value + news for value, news in zip(self._estimates(), self._fresh, strict=True)]
        self._fresh = [0.0] * len(self._fresh)
        self._rounds.end(self._round)
        self._round = self.node.slot
        for neighbour in self.node.neighbours:
            self.node.send(neighbour, (self._round, self._told))
        self.node.wake_in(1)

    def received(self, sender: int, message: Any) -> None:
        """Store a neighbour's message."""
        self._rounds.take(sender, message)

    def observed(self, arm: Arm, reward: float) -> None:
        """Keep the observation for the next slot."""
        self._fresh[self._place[arm]] += 1.0
        self._fresh[len(self._place) + self._place[arm]] += reward

    def select_arm(self) -> Arm:
        """Return the arm with the highest index."""
        values, count = self._estimates(), len(self._place)
        return best_arm({arm: self._index(values[place], values[count + place]) for arm, place in self._place.items()})

    def _estimates(self) -> Vector:
        return mixed(self._told, self._rounds.of(self._round), self._step)

    def _index(self, count: float, reward_sum: float) -> float:
        if count <= 0.0:
            return math.inf
        log = math.log(max(2, self.node.slot))
        spread = 2.0 * self.gamma / (1.0 - self.eta**2 / 16.0)
        bonus = spread * (count + math.sqrt(log)) / (self.node.agents * count) * log / count
        return reward_sum / count + self.sigma * math.sqrt(bonus)
