"""SE-AAC-ODC, the authors' successor of AAE-ODC: successive elimination with accuracy-adaptive communication on demand.

Wang et al., "Asynchronous multi-agent bandits: fully distributed vs. leader-coordinated algorithms", SIGMETRICS 2025.
No code is public; the rule is from the authors' slides (8 to 10).

    source                                                 here
    round-robin over the candidate arms                    `select_arm`
    return held tokens, pull, update                       `AccuracyAdaptive.observed`, the engine
    eliminate arms whose upper bound is below the highest  `_eliminate`, radius sqrt(2 log T / n), at most 1
    lower bound, and tell the others                       a notice with the arm to every neighbour
    if the pulled arm is alpha times as accurate, ...      `aac.py`, with what the slides leave open

Deviations: an agent that hears of an elimination drops the arm too, and does not pass that on (on a graph each agent
draws its own conclusion, as with AAE). Where agents have different arms it does not drop it: the sender may have ruled
the arm out because of one that the receiver does not have. The last candidate stays. Round-robin continues after the
arm that was pulled last, in the order of the arm set.
"""

from typing import Any

from cobandit.protocols.aac import AccuracyAdaptive
from cobandit.protocols.accuracy import interval
from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.values.tally import Arm


class EliminateAdaptively:
    """Successive elimination with accuracy-adaptive communication on demand. The scenario's policy only counts.

    Args:
        node: The node.
        alpha: How many times as accurate an arm must have become to be shared; the authors' runs have 6.
        release: Whether a message that waits for a token leaves when it returns.
        others_count: Whether an arm that another agent shares counts as shared.
    """

    about = About(
        word="se-aac-odc",
        title="successive elimination with accuracy-adaptive communication on demand",
        told="They eliminate arms, and tell one when they know it much better than when it was last told (SE-AAC-ODC)",
        rule=(
            "Candidates are pulled in turn. Who finds one surely worse than another drops it, and tells everybody.",
            *AccuracyAdaptive.about.rule,
        ),
        paper="Wang et al. 2025 (SIGMETRICS)",
        survives=frozenset({"delay", "duplication", "reordering"}),
    )

    def __init__(self, node: Node, *, alpha: float = 6.0, release: bool = True, others_count: bool = True) -> None:
        self.node = node
        self._sharing = AccuracyAdaptive(node, alpha=alpha, release=release, others_count=others_count)
        self._last = len(node.arms) - 1
        """The position of the arm that was pulled last."""

    def select_arm(self) -> Arm:
        """Return the next candidate."""
        arms, count = self.node.arms, len(self.node.arms)
        turn = (arms[(self._last + step) % count] for step in range(1, count + 1))
        return next(arm for arm in turn if arm in self.node.policy.candidates)

    def observed(self, arm: Arm, reward: float) -> None:
        """Eliminate, then share."""
        self._last = self.node.arms.index(arm)
        for gone in self._eliminate():
            for neighbour in self.node.neighbours:
                self.node.send(neighbour, gone, kind="notice")
        self._sharing.observed(arm, reward)

    def received(self, sender: int, message: Any) -> None:
        """Drop an arm, or handle a message of AAC."""
        candidates = self.node.policy.candidates
        if not isinstance(message, str):
            self._sharing.received(sender, message)
        elif self.node.has_same_arms and message in candidates and len(candidates) > 1:
            self.node.policy.eliminate(message)

    def _eliminate(self) -> list[Arm]:
        policy, horizon = self.node.policy, self.node.horizon
        bounds = {arm: interval(policy, arm, horizon) for arm in policy.candidates}
        highest = max(lower for lower, _ in bounds.values())
        gone = [arm for arm, (_, upper) in bounds.items() if upper < highest]
        for arm in gone:
            policy.eliminate(arm)
        return gone
