"""TCOM: an arm is told to all when its own count has grown by a factor, unless it is surely the best.

Wang, Yang, Chen, Liu, Hajiesmaili, Towsley and Lui, "Achieving near-optimal individual regret and low communications in
multi-agent bandits", ICLR 2023.

    source                                               here
    N(k) >= ceil(beta N at the last sharing of k)        `observed`, for the arm that was pulled; N is the own count
    only arms that are not clearly the best              `_is_surely_best`: its lower bound is above all upper bounds
    broadcast the statistics of arm k                    the own cell of the arm, to every neighbour

Deviations and decisions: the source counts rounds in which all agents pull; here everybody has its own count.
Confidence bounds are mean +- sqrt(2 log T / n), at most 1, over all that is known. Beta is 2 by default: the text that
we could read asks for any beta above 1. The first pull of an arm is told. Nothing is passed on in a graph.
"""

import math
from typing import Any

from cobandit.protocols.accuracy import interval
from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_positive
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm


class Tcom:
    """Tell an arm to all when its own count has grown by the factor beta, unless it is surely the best.

    Args:
        node: The node.
        beta: The factor, above 1.
    """

    about = About(
        word="tcom",
        title="TCOM",
        told="They tell an arm to all when they have pulled it so many times as often, unless it is surely best (TCOM)",
        rule=(
            "An agent tells an arm to everybody when it has pulled it beta times as often as when it last told it.",
            "An arm that is surely the best is not told: nobody needs to know it better.",
        ),
        paper="Wang et al. 2023 (ICLR)",
        survives=frozenset({"delay", "loss", "duplication", "reordering"}),
        compiled=True,
    )

    def __init__(self, node: Node, *, beta: float = 2.0) -> None:
        check_positive("beta", beta)
        if beta <= 1.0:
            raise LocalError(f"beta must be above 1, not {beta!r}: counts have to grow between two messages")
        self.node, self.beta = node, beta
        self._told_at = dict.fromkeys(node.arms, 0)
        """The own count of each arm when it was last told."""

    def observed(self, arm: Arm, reward: float) -> None:
        """Tell the arm, if its count has grown enough."""
        own = self.node.ledger.cell(self.node.position, arm)
        if own.observations < max(1, math.ceil(self.beta * self._told_at[arm])) or self._is_surely_best(arm):
            return
        self._told_at[arm] = own.observations
        for neighbour in self.node.neighbours:
            self.node.tell(neighbour, [own])

    def received(self, sender: int, message: Any) -> None:
        """Learn."""
        self.node.learn(message, sender)

    def _is_surely_best(self, arm: Arm) -> bool:
        policy, horizon = self.node.policy, self.node.horizon
        lower, _ = interval(policy, arm, horizon)
        others = [interval(policy, other, horizon)[1] for other in self.node.arms if other != arm]
        return bool(others) and lower > max(others)
