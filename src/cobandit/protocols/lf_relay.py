"""LF-Relay: a leader explores and recommends, as in DPE2, and a new leader is drawn for every batch.

Wang, Chen, Liu, Yang, Hajiesmaili, Towsley and Lui, "Asynchronous multi-agent bandits: fully distributed vs.
leader-coordinated algorithms", SIGMETRICS 2025. No code is public; the rule is from the authors' slides (12 to 16).
Tsallis-INF: Zimmert and Seldin, JMLR 22(28), 2021, Algorithm 1 with importance weighting.

    source                                                     here
    one leader explores, and recommends an arm; the others     `dpe2.py`
    pull it
    S = 64 M^3 batches of T / S slots, one leader in each      `_batch`: at least one slot
    reward of a leader: in how many slots it was active        `tick`: loss = 1 - own pulls / slots of the batch
    Tsallis-INF: w_i = 4 (eta_t (L_i - x))^-2, sum 1,          `odds`: x by Newton's method
    eta_t = 2 / sqrt(t); L_i += loss / w_i for the leader i

What the slides leave open, decided here: the leader itself draws its successor, from its own chance. If it draws
itself, nothing is sent. Otherwise it sends the new leader all that leaders have learned: the sums of every arm, the
estimates L, the best arm and the stamp. It tells the others only the best arm and the stamp. Only leaders' pulls teach.
A batch ends with its slots, whether or not its leader was ever active. A lost message may leave no leader, or two.
"""

import math
from collections.abc import Sequence
from typing import Any

from cobandit.protocols.dpe2 import LeaderFollower
from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_whole
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm

_STEPS = 100
"""Newton's method converges in a few steps."""


class LeaderRelay:
    """Leader and followers, with a new leader drawn for every batch.

    Args:
        node: The node.
        batches: How many batches there are; 0 for the 64 M^3 of the source.
    """

    about = About(
        word="lf-relay",
        title="leaders that relay (LF-Relay)",
        told="One leader explores and recommends an arm; from batch to batch the leader is drawn anew (LF-Relay)",
        rule=(
            "The leader plays its best arm in turn with all arms that may be better. The others play its best arm.",
            "At the end of a batch the next leader is drawn: who was active as a leader is drawn more often.",
        ),
        paper="Wang et al. 2025 (SIGMETRICS)",
        observations=False,
        survives=frozenset({"delay", "reordering"}),
    )

    def __init__(self, node: Node, *, batches: int = 0) -> None:
        check_whole("batches", batches, 0)
        if not node.is_mesh:
            raise LocalError("LF-Relay needs agents that all talk to each other: leave the topology out")
        if not node.has_same_arms:
            raise LocalError("LF-Relay needs agents that can all lead: leave the arms of agents out")
        self.node = node
        self._play = LeaderFollower(node)
        self._batch = max(1, node.horizon // (batches or 64 * node.agents**3))
        self._losses = [0.0] * node.agents
        self._terms = 1
        """How many batches there have been, including this one."""
        self._odds = [1.0 / node.agents] * node.agents
        self._active = 0
        if self._play.leads:
            node.wake_in(self._batch)

    def select_arm(self) -> Arm:
        """Return the arm that the leader explores, or the best arm."""
        return self._play.select_arm()

    def observed(self, arm: Arm, reward: float) -> None:
        """Continue to lead; a follower learns nothing from its pulls."""
        self._active += 1
        self._play.observed(arm, reward)

    def tick(self) -> None:
        """End a batch that this node leads: draw the next leader, and hand over."""
        if not self._play.leads:
            return
        me = self.node.position
        self._losses[me] += (1.0 - min(1.0, self._active / self._batch)) / self._odds[me]
        self._terms += 1
        self._active = 0
        self._odds = odds(self._losses, 2.0 / math.sqrt(self._terms))
        leader = _drawn(self._odds, self.node.uniform())
        if leader == me:
            self.node.wake_in(self._batch)
            return
        self._play.leads = False
        self._play.stamp += 1
        for neighbour in self.node.neighbours:
            book = [self._losses, self._terms, self._odds, self._play.totals] if neighbour == leader else None
            self.node.send(neighbour, [self._play.stamp, self._play.best, book])

    def received(self, sender: int, message: Any) -> None:
        """Follow; or take over, with all that leaders have learned."""
        stamp, arm, *book = message
        if stamp <= self._play.stamp:
            return
        self._play.received(sender, (stamp, arm))
        if book and book[0] is not None:
            self._losses, self._terms, self._odds, totals = book[0]
            self._play.take_over(totals)
            self._active = 0
            self.node.wake_in(self._batch)


def odds(losses: Sequence[float], rate: float) -> list[float]:
    """Return w_i = 4 (rate (L_i - x))^-2 with the x below all L_i for which they add up to 1.

    >>> [round(one, 3) for one in odds([0.0, 0.0, 0.0], rate=1.0)]
    [0.333, 0.333, 0.333]
    """
    x = min(losses) - 2.0 / rate  # there the sum is at least 1, and convex in x: Newton's steps go down to the root
    for _ in range(_STEPS):
        weights = [4.0 / (rate * (loss - x)) ** 2 for loss in losses]
        excess = math.fsum(weights) - 1.0
        if abs(excess) < 1e-12:
            break
        x -= excess / (rate * math.fsum(weight**1.5 for weight in weights))
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _drawn(weights: Sequence[float], chance: float) -> int:
    for place, weight in enumerate(weights):
        chance -= weight
        if chance < 0.0:
            return place
    return len(weights) - 1
