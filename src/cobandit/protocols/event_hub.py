"""An event-triggered hub: an agent synchronises when its own news is worth it.

He, Wang, Min and Gu, "A simple and provably efficient algorithm for asynchronous federated contextual linear bandits",
NeurIPS 2022 (FedLinUCB); Li and Wang, "Asynchronous upper confidence bound algorithms for federated linear bandits",
AISTATS 2022 (Async-LinUCB). K arms are K orthogonal contexts: Sigma_m = diag(known + lambda), Sigma_loc = diag(fresh).

    He et al., Algorithm 1                                        here
    det(Sigma_m + Sigma_loc) > (1 + alpha) det(Sigma_m)           `_is_worth_it`: the product over arms of
                                                                  1 + fresh / (known + lambda) exceeds 1 + alpha
    send Sigma_loc, b_loc to the server; reset them               `upload`: own cells that changed; `_fresh` is 0
    Sigma_ser += Sigma_loc, b_ser += b_loc                        `synchronise` at the hub: `learn`
    the server sends Sigma_ser, b_ser back; the agent takes them  `synchronise`: the total of the others comes down

Deviations: Li and Wang have a second trigger, at the server, for a download to every agent; this is the form of He et
al., in which a download answers an upload. `hub.py` says in which form sums travel. With delay a download may arrive
after further pulls; what it brings counts as known from then on.
"""

from typing import Any

from cobandit.protocols.hub import SURVIVES, synchronise, upload
from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_positive
from cobandit.values.tally import Arm


class EventHub:
    """Synchronise with the hub when the product over arms of 1 + fresh / (known + lambda) exceeds 1 + alpha.

    Args:
        node: The node.
        alpha: How much the news must be worth; 1 by default, which is about twice as much as was known.
        weight: Lambda: as if every arm had this many observations at the start.
    """

    about = About(
        word="event-hub",
        title="an event-triggered hub",
        told="They synchronise with a hub when their own news are worth it",
        rule=(
            (
                "An agent sends its own news to the hub when the product over arms of 1 + fresh / (known + weight) "
                "exceeds 1 + alpha: fresh is what it observed since the last upload, known what it knew then."
            ),
            "The hub answers with what all others have observed.",
        ),
        paper="He et al. 2022 (FedLinUCB); Li and Wang 2022 (Async-LinUCB)",
        hubs=1,
        survives=SURVIVES,
        compiled=True,
    )

    def __init__(self, node: Node, *, alpha: float = 1.0, weight: float = 1.0) -> None:
        check_positive("alpha", alpha)
        check_positive("weight", weight)
        self.node, self.alpha, self.weight = node, alpha, weight
        self._fresh = dict.fromkeys(node.arms, 0)

    def observed(self, arm: Arm, reward: float) -> None:
        """Upload when it is worth it and the hub is there."""
        self._fresh[arm] += 1
        if self._is_worth_it() and upload(self.node):
            self._fresh = dict.fromkeys(self.node.arms, 0)

    def received(self, sender: int, message: Any) -> None:
        """Handle a download, or at the hub an upload."""
        synchronise(self.node, sender, message)

    def _is_worth_it(self) -> bool:
        product = 1.0
        for arm, fresh in self._fresh.items():
            product *= 1.0 + fresh / (self.node.policy.tally.counts[arm] - fresh + self.weight)
        return product > 1.0 + self.alpha
