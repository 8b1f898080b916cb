"""Invariant 4: a share is asked for by a share, so neither side gets far ahead of the other.

fresh(j to p) is at most fresh(p to j) + 1, and 2 more for every restart or return of either. Without any, Theorem 2
holds: min(C_j, C_p) + 1.
"""

from collections import Counter

from cobandit.core import AgentId, Endpoint
from lab.pairs import largest_share_count


class ShareCounts:
    """Counts fresh shares, restarts and returns."""

    def __init__(self) -> None:
        self.fresh: Counter[tuple[AgentId, AgentId]] = Counter()
        self.starts: Counter[AgentId] = Counter()
        """How often each agent was started again, or came back."""

    def one_sided(self, sender: AgentId, receiver: AgentId) -> list[str]:
        """Return whether an agent has shared more with another than was asked for."""
        sent, received = self.fresh[sender, receiver], self.fresh[receiver, sender]
        starts = self.starts[sender] + self.starts[receiver]
        if sent <= received + 1 + 2 * starts:
            return []
        return [f"{sender} shared {sent} times with {receiver}, which shared {received} times, with {starts} restarts"]

    def beyond_theorem_2(self, sender: Endpoint, receiver: Endpoint) -> list[str]:
        """Return whether an agent has shared more often than Theorem 2 allows, if neither was ever started again."""
        sent = self.fresh[sender.name, receiver.name]
        if not sent or self.starts[sender.name] or self.starts[receiver.name]:
            return []
        threshold = sender.links[receiver.name].exchange.threshold
        bound = 1 + min(
            largest_share_count(threshold, side.replica.observations, len(side.candidates.own))
            for side in (sender, receiver)
        )
        if sent <= bound:
            return []
        return [f"{sender.name} shared {sent} times with {receiver.name}; Theorem 2 allows {bound}"]
