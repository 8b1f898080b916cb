"""DDUCB: decentralised delayed UCB, with accelerated consensus in stages of C slots.

Martinez-Rubio, Kanade and Rebeschini, "Decentralized cooperative stochastic bandits", NeurIPS 2019. The authors'
program (damaru2/decentralized-bandits) was read beside the paper.

    source, Algorithm 1                                            here
    C = ceil(ln(2N/eps) / sqrt(2 ln(1/|lambda_2|)))                `_stage_of`
    k* = argmax alpha_k/a_k + sqrt(2 eta sigma^2 ln(s) / (N a_k))  `_index`
    gamma, c += the reward and the pull                            `observed`: `_fresh`
    beta, b <- mix(beta, r), mix(b, r)                             `tick`, in every slot: `_mix`
    after C rounds: s <- (t - C) N; delta, d += beta, b;           `_end_stage`
    alpha, a <- delta, d; beta, b <- gamma, c; gamma, c <- 0
    source, Algorithm 2 (Chebyshev)
    w_1 = w_0/|lambda_2|; w_(r+1) = 2 w_r/|lambda_2| - w_(r-1)     `_weights`
    y_(r+1) = (2 w_r/(|lambda_2| w_(r+1))) P y_r                   `_mix`
              - (w_(r-1)/w_(r+1)) y_(r-1); y_1 = P y_0

Deviations: agents are asynchronous: one that does not pull in a slot adds nothing, and still mixes. P = I - L/(d_max +
1) on every graph (the program has another matrix for grids, which are not regular). Where P averages in one round
(lambda_2 = 0, as in a complete graph) C is 1. Until an arm has come through a stage, its own pulls over N stand in for
alpha and a, as at the paper's beginning. Rewards are 0 or 1, so sigma is 1/2 by default.
"""

import math
from typing import Any

from cobandit.protocols.consensus import Rounds, mixed, places_of, second_eigenvalue, step_of
from cobandit.protocols.node import Node, best_arm
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_positive
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm


class Dducb:
    """Decentralised delayed UCB.

    Args:
        node: The node.
        eta: How much to explore, above 1; the authors' runs have 2.
        epsilon: How exact an average must be at the end of a stage; the authors' runs have 1/22.
        sigma: How widely rewards spread: 1/2 for rewards from 0 to 1.
    """

    about = About(
        word="dducb",
        title="delayed UCB with accelerated consensus (DDUCB)",
        told="In every slot they mix sums with their neighbours, in stages that end with an average (DDUCB)",
        rule=(
            "What all agents observed in one stage is averaged in the next: in every slot each tells its neighbours.",
            "At the end of a stage the average counts, and the next stage begins.",
        ),
        paper="Martinez-Rubio et al. 2019",
        observations=False,
        survives=frozenset(),
    )

    def __init__(self, node: Node, *, eta: float = 2.0, epsilon: float = 1 / 22, sigma: float = 0.5) -> None:
        if not eta > 1.0:
            raise LocalError(f"eta must be above 1, not {eta!r}")
        if not 0.0 < epsilon < 1.0:
            raise LocalError(f"epsilon must be between 0 and 1, not {epsilon!r}")
        check_positive("sigma", sigma)
        self.node, self.eta, self.sigma = node, eta, sigma
        graph = node.graph()
        self._place = places_of(node)
        self._step, self._lambda = step_of(graph), second_eigenvalue(graph)
        self.stage = _stage_of(node.agents, epsilon, self._lambda)
        self._weights = _weights(self.stage, self._lambda)
        self._round = 0
        none = [0.0] * (2 * len(node.arms))
        self._known, self._fresh = none, list(none)  # delta and d; gamma and c
        self._before, self._mixing = none, none  # y of the previous round, and of this one: beta and b
        self._rounds, self._slot = Rounds(), 0
        """The messages of each slot, and the slot in which this node last sent."""
        self._counted = 0
        """How many slots the known observations cover: the paper's s over N."""
        node.wake_in(1)

    def tick(self) -> None:
        """Mix the messages of the previous slot, count the result if a stage ends, and send what is mixed."""
        self._mix()
        if self._round == self.stage:
            self._end_stage()
        self._rounds.end(self._slot)
        self._slot = self.node.slot
        for neighbour in self.node.neighbours:
            self.node.send(neighbour, (self._slot, self._mixing))
        self.node.wake_in(1)

    def received(self, sender: int, message: Any) -> None:
        """Store a neighbour's message."""
        self._rounds.take(sender, message)

    def observed(self, arm: Arm, reward: float) -> None:
        """Keep the observation for the next stage."""
        self._fresh[self._place[arm]] += 1.0
        self._fresh[len(self._place) + self._place[arm]] += reward

    def select_arm(self) -> Arm:
        """Return the arm with the highest index."""
        return best_arm({arm: self._index(arm) for arm in self._place})

    def _mix(self) -> None:
        new = mixed(self._mixing, self._rounds.of(self._slot), self._step)
        if self._round:
            old, now, then = self._weights[self._round - 1 : self._round + 2]
            ahead, back = 2.0 * now / (self._lambda * then), old / then
            new = [ahead * one - back * other for one, other in zip(new, self._before, strict=True)]
        self._before, self._mixing = self._mixing, new
        self._round += 1

    def _end_stage(self) -> None:
        self._known = [one + other for one, other in zip(self._known, self._mixing, strict=True)]
        self._mixing, self._fresh = self._fresh, [0.0] * len(self._fresh)
        self._round = 0
        self._counted = max(0, self.node.slot - self.stage)

    def _index(self, arm: Arm) -> float:
        place, agents = self._place[arm], self.node.agents
        count, reward_sum = self._known[place], self._known[len(self._place) + place]
        if count <= 0.0:
            tally = self.node.policy.tally
            count = tally.counts[arm] / agents
            reward_sum = tally.sums[arm] / (agents * self.node.policy.quantum.per_reward)
        if count <= 0.0:
            return math.inf
        log = math.log(max(2, agents * self._counted))
        return reward_sum / count + math.sqrt(2.0 * self.eta * (self.sigma * self.sigma) * log / (agents * count))


def _stage_of(agents: int, epsilon: float, eigenvalue: float) -> int:
    """Return how many rounds make an average exact enough.

    >>> _stage_of(100, 1 / 22, 0.998684)  # a ring of 100, as in the paper
    164
    """
    if eigenvalue == 0.0:
        return 1
    return math.ceil(math.log(2.0 * agents / epsilon) / math.sqrt(2.0 * math.log(1.0 / eigenvalue)))


def _weights(stage: int, eigenvalue: float) -> list[float]:
    """Return w_0 to w_C: Chebyshev polynomials at 1/lambda_2."""
    weights = [1.0, 1.0 if eigenvalue == 0.0 else 1.0 / eigenvalue]
    while len(weights) <= stage:
        weights.append(2.0 * weights[-1] / eigenvalue - weights[-2])
    return weights
