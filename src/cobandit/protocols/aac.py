"""Accuracy-adaptive communication on demand (AAC): an arm is shared when it is known much better than before.

Wang, Chen, Liu, Yang, Hajiesmaili, Towsley and Lui, "Asynchronous multi-agent bandits: fully distributed vs.
leader-coordinated algorithms", Proc. ACM Meas. Anal. Comput. Syst. 9(1) (SIGMETRICS), 2025. The trigger is that of Yang
et al., "Cooperative multi-agent bandits: distributed algorithms with optimal individual regret and constant
communication costs", arXiv 2308.04314, 2023. No code is public; the rule is from the authors' slides (8 and 9).

    source                                               here
    radius sqrt(2 log T / n), clipped at 1               `accuracy.radius`, n is all that is known of the arm
    each agent holds a token of every other agent        `_asked`: the neighbours whose tokens are here
    at each active round, return held tokens             `observed`: a notice to each neighbour whose message came since
    pull, update                                         the engine
    if alpha radius_now(k) <= radius at the last sharing `_is_due`, for the arm that was pulled
    send arm k and the token to peers whose token        `_tell`: what is due goes with the token; nothing more goes
    is held here                                         there until it returns

What the slides leave open, decided here: a message that waits for a token leaves when the token returns (`release`), as
an answer does in Algorithm 1 of the on-demand paper. If another agent shares an arm, that counts as its last sharing
(`others_count`), so that agents do not all pass on the same news. Returned tokens are notices: they are not
communications, but they count in agent-rounds. Tokens return after the pull of the round, not before it.

Deviations: a message about an arm holds cumulative sums by agent. In a mesh these are the sender's own; in a graph, all
that the neighbour has not told itself.
"""

from typing import Any

from cobandit.protocols.accuracy import radius
from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.checks import check_positive
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm


class AccuracyAdaptive:
    """Share an arm with neighbours whose token is here, when it is known alpha times as well as when last shared.

    Args:
        node: The node.
        alpha: How many times as accurate; at least 1. The authors' runs have 6.
        release: Whether a message that waits for a token leaves when it returns.
        others_count: Whether an arm that another agent shares counts as shared.
    """

    about = About(
        word="aac",
        title="accuracy-adaptive communication on demand",
        told="They tell an arm when they know it much better than when it was last told, to those who asked (AAC)",
        rule=(
            "An arm is **due** when the radius of its confidence interval is 1/alpha of what it was when last told.",
            "It is told to every neighbour whose **token** is here, and the token goes along.",
            "With its next pull the neighbour returns the token: that asks for more.",
        ),
        paper="Wang et al. 2025 (SIGMETRICS)",
        survives=frozenset({"delay", "duplication", "reordering"}),
        compiled=True,
    )

    def __init__(self, node: Node, *, alpha: float = 6.0, release: bool = True, others_count: bool = True) -> None:
        check_positive("alpha", alpha)
        if alpha < 1.0:
            raise LocalError(f"alpha must be at least 1, not {alpha!r}: an arm does not get less accurate")
        self.node, self.alpha, self.release, self.others_count = node, alpha, release, others_count
        self._told_at = dict.fromkeys(node.arms, 1.0)
        """The radius of each arm when it was last shared."""
        self._asked = set(node.neighbours)
        self._held: list[int] = []
        """Whose tokens must be returned."""
        self._due: dict[int, list[Arm]] = {neighbour: [] for neighbour in node.neighbours}

    def observed(self, arm: Arm, reward: float) -> None:
        """Return tokens, and share the arm if it is due."""
        for neighbour in self._held:
            self.node.send(neighbour, None, kind="notice")
        self._held.clear()
        if self._is_due(arm):
            self._told_at[arm] = self._radius(arm)
            for neighbour, due in self._due.items():
                if arm not in due:
                    due.append(arm)
                if neighbour in self._asked:
                    self._tell(neighbour)

    def received(self, sender: int, message: Any) -> None:
        """Take a token back; or learn, and keep the token that came along until the next pull."""
        if message is None:
            self._asked.add(sender)
            if self.release:
                self._tell(sender)
            return
        self.node.learn(message, sender)
        if sender not in self._held:
            self._held.append(sender)
        if self.others_count:
            for arm in {cell[1] for cell in message}.intersection(self._told_at):
                self._told_at[arm] = min(self._told_at[arm], self._radius(arm))

    def _is_due(self, arm: Arm) -> bool:
        return self.alpha * self._radius(arm) <= self._told_at[arm]

    def _radius(self, arm: Arm) -> float:
        return radius(self.node.policy.tally.counts[arm], self.node.horizon)

    def _tell(self, neighbour: int) -> None:
        """Send a neighbour the arms that are due, with its token."""
        node, due = self.node, self._due[neighbour]
        cells = [cell for cell in node.ledger.cells() if cell.arm in due and self._is_own_part(cell.source, neighbour)]
        if cells:
            node.tell(neighbour, cells)
            self._asked.discard(neighbour)
            due.clear()

    def _is_own_part(self, source: int, neighbour: int) -> bool:
        return source == self.node.position if self.node.is_mesh else source != neighbour
