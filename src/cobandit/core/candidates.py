"""Which arms are still considered, by this agent and by the others, and when a pair has nothing left to learn.

If all agents have the same arms, there is one candidate set for all (Algorithm 3): if one agent drops an arm, all drop
it. If they have different arms, each agent decides about its own (Algorithm 5) and announces it.
"""

from cobandit.core.facts import EliminationsKey
from cobandit.core.members import Members, Peer
from cobandit.core.replica import Replica
from cobandit.values.tally import Arm


class Candidates:
    """The candidate set of one agent, and what it knows of the others'."""

    def __init__(self, members: Members, replica: Replica, *, settles: bool) -> None:
        self.own: set[Arm] = set(members.arms)
        """The arms that this agent still considers (C of Algorithm 3, C_j of Algorithm 5)."""
        self._members = members
        self._replica = replica
        self._settles = settles

    @property
    def count(self) -> int:
        """The number of candidates that thresholds use, at least one.

        An agent that serves only named bandits has no plain arms. A threshold could then be 0, and a demand would be
        met by an empty share, which is never sent.
        """
        return max(1, len(self.own))

    @property
    def key(self) -> EliminationsKey:
        """The key of the fact that holds what this agent has dropped."""
        return EliminationsKey(self._members.agent, self._replica.incarnation)

    @property
    def eliminated(self) -> tuple[Arm, ...]:
        """The arms that this agent has eliminated, in order of elimination."""
        return self._replica.eliminated(*self.key)

    def of(self, peer: Peer) -> frozenset[Arm]:
        """Return the arms that a peer still considers, as far as it has said (C_j' of Algorithm 5)."""
        return frozenset(peer.arms).difference(self._replica.eliminated(peer.name, peer.incarnation))

    def are_settled(self, peer: Peer) -> bool:
        """Whether this pair has nothing left to learn (end of Section 3.3; Appendix H.2 for different arm sets)."""
        if not self._settles or len(self.own) > 1 or peer.commons:  # of other bandits there is always more to say
            return False
        return self._members.same_arms or len(self.of(peer)) <= 1

    def drop(self, arm: Arm) -> int:
        """Stop considering an arm. Return the number of the change in the log."""
        gone = (*self.eliminated, arm)
        self.own.discard(arm)
        return self._replica.put(self.key, gone)

    def follow(self, peer: Peer) -> tuple[Arm, ...]:
        """Drop what a peer has dropped, if all have the same arms. Return these arms.

        Two agents may drop each other's last arm while their notices are under way, so the last candidate stays.
        """
        dropped: list[Arm] = []
        if self._members.same_arms:
            for arm in self._replica.eliminated(peer.name, peer.incarnation):
                if arm in self.own and len(self.own) > 1:
                    self.drop(arm)
                    dropped.append(arm)
        return tuple(dropped)

    def follow_all(self, *, was_same: bool) -> tuple[Arm, ...]:
        """Drop what any peer has dropped, if all have come to have the same arms. Return these arms."""
        if was_same or not self._members.same_arms:
            return ()
        return tuple(arm for peer in self._members for arm in self.follow(peer))
