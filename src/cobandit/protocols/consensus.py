"""Averaging over a graph: every node has a number, and in every round each number moves towards its neighbours'.

P = I - L / (d_max + 1), with the graph's Laplacian L and its largest degree. P is symmetric and doubly stochastic, so
the sum over all nodes stays the same. Agents know the largest degree and, where stated, the second eigenvalue of P.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from cobandit.protocols.node import Node
from cobandit.values.chance import stream, uniform
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm

Vector = list[float]

_ITERATIONS = 2_000
_EXACT = 1e-9


class Rounds:
    """Messages from neighbours by round: within a slot, some nodes send before others have ended the previous round."""

    def __init__(self) -> None:
        self._heard: dict[int, dict[int, Vector]] = {}

    def take(self, sender: int, message: tuple[int, Vector]) -> None:
        """Store a neighbour's message: the number of the round, and its vector."""
        number, vector = message
        self._heard.setdefault(number, {})[sender] = vector

    def of(self, number: int) -> dict[int, Vector]:
        """Return the vectors received in a round, by neighbour."""
        return self._heard.get(number, {})

    def end(self, number: int) -> None:
        """Forget a round and all before it."""
        self._heard = {later: told for later, told in self._heard.items() if later > number}


def places_of(node: Node) -> dict[Arm, int]:
    """Return the place of each arm in a vector, the same at every node, in the order of the node's own arms.

    Raises:
        LocalError: Agents have different arms, so that their vectors cannot be averaged.
    """
    if not node.has_same_arms:
        raise LocalError("agents that average their estimates need the same arms: leave the arms of agents out")
    places = {arm: place for place, arm in enumerate(sorted(node.arms))}
    return {arm: places[arm] for arm in node.arms}


def step_of(graph: Sequence[Sequence[int]]) -> float:
    """Return the weight of a neighbour: 1 / (largest degree + 1)."""
    return 1.0 / (1 + max(map(len, graph), default=0))


def mixed(own: Vector, heard: Mapping[int, Vector], step: float) -> Vector:
    """Return P x at one node, from its own x and those of its neighbours.

    >>> mixed([1.0], {1: [4.0], 2: [1.0]}, step=1 / 3)
    [2.0]
    """
    return [
        value + step * math.fsum(vector[place] - value for vector in heard.values()) for place, value in enumerate(own)
    ]


@lru_cache(maxsize=16)
def second_eigenvalue(graph: tuple[tuple[int, ...], ...]) -> float:
    """Return the second largest absolute value of an eigenvalue of P, by power iteration.

    >>> round(second_eigenvalue(((1, 3), (0, 2), (1, 3), (0, 2))), 6)  # a ring of four: 1, 1/3, 1/3, -1/3
    0.333333
    """
    count, step, value = len(graph), step_of(graph), 0.0
    if count < 2:
        return 0.0
    vector = [uniform(stream(count), place) - 0.5 for place in range(count)]
    for _ in range(_ITERATIONS):
        mean = math.fsum(vector) / count  # the constant vector belongs to the eigenvalue 1
        vector = [one - mean for one in vector]
        norm = math.sqrt(math.fsum(one * one for one in vector))
        if norm < _EXACT:
            return 0.0
        vector = [one / norm for one in vector]
        vector = [
            one + step * math.fsum(vector[other] - one for other in graph[place]) for place, one in enumerate(vector)
        ]
        before, value = value, math.sqrt(math.fsum(one * one for one in vector))
        if abs(value - before) < 1e-14:
            break
    return 0.0 if value < _EXACT else value
