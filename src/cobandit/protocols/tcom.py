"""TCOM: an arm is shared with all when its buffer has grown by a factor, unless the arm is surely the best.

Wang, Yang, Chen, Liu, Hajiesmaili, Towsley and Lui, "Achieving near-optimal individual regret and low communications in
multi-agent bandits", ICLR 2023; the lines are those of Algorithm 1 in the authors' slides.

    source                                                       here
    line 4: pull the arm with the highest UCB                    the scenario's policy
    line 6: if it is in C(alpha), the arms k with                `_is_open`
    mean(k') + alpha sqrt(log t / n(k')) >
    mean(k) - alpha sqrt(log t / n(k)) for another arm k'
    line 7: increase N(k) by 1                                   `observed`: `_buffered`
    line 9: if N(k) >= ceil(beta N at the last broadcast of k)   `observed`
    line 10: broadcast mean, N(k) and k                          the own cell of the arm, to every neighbour
    line 11: remember the round                                  `_told_at`
    line 13: update means and counts                             `received`

Defaults are those of the authors' figures: alpha = 1.2, beta = 2. Deviations: the source's agents use only what all of
them have heard, so that all pull the same arm in every round; here rounds are not shared, and an agent uses its own
observations at once. A cell is all that was observed of the arm: what was left out while the arm seemed surely the best
goes along with the next message. t is the number of slots. Nothing is passed on in a graph.
"""

import math
from typing import Any

from cobandit.protocols.accuracy import width_of
from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_positive
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm


class Tcom:
    """Share an arm with all when its buffer has grown by the factor beta, unless it is surely the best.

    Args:
        node: The node.
        alpha: How sure is sure: the width of confidence intervals.
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

    def __init__(self, node: Node, *, alpha: float = 1.2, beta: float = 2.0) -> None:
        check_positive("alpha", alpha)
        check_positive("beta", beta)
        if beta <= 1.0:
            raise LocalError(f"beta must be above 1, not {beta!r}: counts have to grow between two messages")
        self.node, self.alpha, self.beta = node, alpha, beta
        self._buffered = dict.fromkeys(node.arms, 0)
        """N: own pulls of each arm while it was not surely the best."""
        self._told_at = dict.fromkeys(node.arms, 0)
        """N when the arm was last shared."""

    def observed(self, arm: Arm, reward: float) -> None:
        """Share the arm, if enough of it is buffered."""
        if not self._is_open(arm):
            return
        self._buffered[arm] += 1
        if self._buffered[arm] >= math.ceil(self.beta * self._told_at[arm]):
            self._told_at[arm] = self._buffered[arm]
            for neighbour in self.node.neighbours:
                self.node.tell(neighbour, [self.node.ledger.cell(self.node.position, arm)])

    def received(self, sender: int, message: Any) -> None:
        """Learn."""
        self.node.learn(message, sender)

    def _is_open(self, arm: Arm) -> bool:
        """Return whether another arm may be better: whether the arm is in C(alpha)."""
        lowest = self.node.policy.mean(arm) - self._width(arm)
        others = (other for other in self.node.arms if other != arm)
        return any(self.node.policy.mean(other) + self._width(other) > lowest for other in others)

    def _width(self, arm: Arm) -> float:
        return width_of(self.alpha, self.node.slot, self.node.policy.tally.counts[arm])
