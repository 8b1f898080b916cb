"""A tree of relays with agents as its leaves, in virtual time: enough of one to hold the bounds of theory to.

Leaves decide, relays observe nothing and pass on what they hear. Every directed edge has the `Exchange` of the core,
so when to talk is Algorithm 1 and nothing else; what is buffered for a neighbour is what came from elsewhere. This file
owns who passes what to whom in a tree. It is no engine: no faults, no churn, plain Python.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from cobandit.core import Threshold, on_demand
from cobandit.core.exchange import Exchange
from cobandit.policies import UCB, Horizon
from cobandit.scenario.tape import Stream, Tape, bernoulli_reward
from cobandit.values.chance import uniform
from cobandit.values.errors import LocalError
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import ArmTally

Counts = dict[str, tuple[int, int]]
"""Observations and rewards by arm."""

Watch = Callable[["TreeRun"], None]
"""Called whenever the tree has become quiet."""


@dataclass(frozen=True)
class Tree:
    """Who is below whom: the first nodes are the leaves, and the last one is the root.

    Args:
        rates: For each leaf, the probability that it decides in a slot.
        parents: For every node but the root, the position of the relay above it, which comes later.

    >>> Tree.star([0.5, 0.5, 0.1]).parents
    (3, 3, 3)
    """

    rates: tuple[float, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        for node, parent in enumerate(self.parents):
            if not max(node, len(self.rates) - 1) < parent <= len(self.parents):
                raise LocalError(f"the parent of node {node} must be a relay that comes later, not {parent}")

    @classmethod
    def star(cls, rates: Sequence[float]) -> "Tree":
        """Return leaves around one relay."""
        return cls(tuple(rates), (len(rates),) * len(rates))

    def below(self, decisions: Sequence[int]) -> list[int]:
        """Return N_e for every edge, which is named by its lower node: the decisions of all leaves below it."""
        total = [*decisions, *[0] * (len(self.parents) + 1 - len(decisions))]
        for node, parent in enumerate(self.parents):
            total[parent] += total[node]
        return total[:-1]


@dataclass
class TreeRun:
    """One run, from its beginning to its end.

    Args:
        tree: Who is below whom.
        means: The mean of every arm.
        horizon: How many slots there are.
        up: The thresholds of every node towards its parent.
        down: The thresholds of every relay towards what is below it.
        seed: The seed of all chance.
        delay: How many slots a message takes.
        watch: Called whenever nothing is left to be said in a slot.

    >>> from cobandit.core import Constant
    >>> run = TreeRun(Tree.star([1.0, 1.0]), (0.2, 0.8), 10, Constant(1), Constant(1), seed=1).run()
    >>> run.decisions, run.shares
    ([10, 10], 40)
    """

    tree: Tree
    means: tuple[float, ...]
    horizon: int
    up: Threshold
    down: Threshold
    seed: int
    delay: int = 0
    watch: Watch | None = None
    exchanges: dict[tuple[int, int], Exchange] = field(init=False)
    """By sender and receiver."""
    decisions: list[int] = field(init=False)
    pulls: list[list[int]] = field(init=False)
    """By leaf and arm."""
    policies: list[UCB] = field(init=False)
    """Of the leaves: what each of them knows."""

    def __post_init__(self) -> None:
        self.exchanges = {}
        self._news: dict[tuple[int, int], Counts] = {}
        self._neighbours: list[list[int]] = [[] for _ in range(len(self.tree.parents) + 1)]
        for node, parent in enumerate(self.tree.parents):
            for edge, threshold in (((node, parent), self.up), ((parent, node), self.down)):
                self.exchanges[edge], self._news[edge] = Exchange(on_demand(threshold)), {}
            self._neighbours[node].append(parent)
            self._neighbours[parent].append(node)
        leaves = range(len(self.tree.rates))
        self._arms = tuple(str(arm) for arm in range(len(self.means)))
        self._slots = _slots(self.tree.rates, self.horizon, self.seed)
        total = max(1, sum(map(len, self._slots)))
        self.policies = [UCB(self._arms, alpha=3.0, confidence=Horizon(total), quantum=BERNOULLI) for _ in leaves]
        self._reward_keys = [Tape(self.seed).key(leaf, Stream.REWARDS) for leaf in leaves]
        self.decisions = [0 for _ in leaves]
        self.pulls = [[0] * len(self.means) for _ in leaves]
        self._outbox: deque[tuple[int, int, Counts]] = deque()
        self._mail: list[tuple[int, int, int, int, Counts]] = []
        self._numbers = count()

    @property
    def shares(self) -> int:
        """All shares of all edges, both ways."""
        return sum(exchange.shares_sent for exchange in self.exchanges.values())

    @property
    def group_regret(self) -> float:
        """The pseudo-regret of all leaves together."""
        best = max(self.means)
        return sum((best - mean) * pulls for row in self.pulls for mean, pulls in zip(self.means, row, strict=True))

    def waiting(self) -> int:
        """Return how many leaves have sent a share up and heard nothing since."""
        return sum(not self.exchanges[leaf, self.tree.parents[leaf]].demanded for leaf in range(len(self.decisions)))

    def run(self) -> "TreeRun":
        """Walk through all slots, and return the run."""
        due = sorted((slot, leaf) for leaf, slots in enumerate(self._slots) for slot in slots)
        for slot, leaf in due:
            self._arrive(until=slot)
            self._decide(leaf)
            self._settle(slot)
        return self

    def _decide(self, leaf: int) -> None:
        policy, pull = self.policies[leaf], self.decisions[leaf]
        arm = policy.select_arm()
        position = int(arm)
        reward = bernoulli_reward(self._reward_keys[leaf], pull, self.means[position])
        policy.update(arm, float(reward))
        self.decisions[leaf] += 1
        self.pulls[leaf][position] += 1
        self._learn(leaf, {arm: (1, reward)}, teller=None)

    def _learn(self, node: int, news: Counts, teller: int | None) -> None:
        """Keep news for every neighbour but the one that told it, and share where the table says so."""
        for other in self._neighbours[node]:
            if other != teller:
                waiting = self._news[node, other]
                for arm, (observations, rewards) in news.items():
                    before = waiting.get(arm, (0, 0))
                    waiting[arm] = (before[0] + observations, before[1] + rewards)
                observed = sum(observations for observations, _ in news.values())
                if self.exchanges[node, other].observe(1, observed):
                    self._share(node, other)

    def _share(self, sender: int, receiver: int) -> None:
        self._outbox.append((sender, receiver, self._news[sender, receiver]))
        self._news[sender, receiver] = {}

    def _settle(self, slot: int) -> None:
        """Send what is in the outbox; without a delay go on until all is quiet."""
        while self._outbox:
            sender, receiver, news = self._outbox.popleft()
            if self.delay:
                heapq.heappush(self._mail, (slot + self.delay, next(self._numbers), sender, receiver, news))
            else:
                self._receive(sender, receiver, news)
        if self.watch is not None:
            self.watch(self)

    def _arrive(self, until: int) -> None:
        while self._mail and self._mail[0][0] <= until:
            slot, _, sender, receiver, news = heapq.heappop(self._mail)
            self._receive(sender, receiver, news)
            self._settle(slot)

    def _receive(self, sender: int, receiver: int, news: Counts) -> None:
        if receiver < len(self.policies):
            tallies = [ArmTally(arm, observations, rewards, rewards) for arm, (observations, rewards) in news.items()]
            self.policies[receiver].learn(tallies)
        self._learn(receiver, news, teller=sender)
        if self.exchanges[receiver, sender].share_received(1):
            self._share(receiver, sender)


def _slots(rates: Sequence[float], horizon: int, seed: int) -> list[list[int]]:
    """Return in which slots each leaf decides."""
    tape = Tape(seed)
    keys = [tape.key(leaf, Stream.DECISIONS) for leaf in range(len(rates))]
    return [
        [slot for slot in range(horizon) if uniform(key, slot) < rate] for key, rate in zip(keys, rates, strict=True)
    ]
