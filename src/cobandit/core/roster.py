"""Who is here: the other agents of the group, which arms they can use, and which of those they still consider.

The roster knows nothing of observations and of exchanges. An agent that left stays on it, absent, because the others
go on buffering for it (Section 3.1, last paragraph).
"""

from collections.abc import Iterator, Sequence

from cobandit.core.messages import AgentId
from cobandit.values.checks import check_name
from cobandit.values.errors import LocalError, PeerError, StrangerError
from cobandit.values.tally import LONGEST_NAME, Arm, checked_arms

MOST_PEERS = 100_000
"""The largest number of other agents that one agent may know."""


class Peer:
    """One other agent, as seen from here."""

    __slots__ = ("arms", "candidates", "common", "common_set", "last_heard", "name", "present")

    arms: tuple[Arm, ...]
    common: tuple[Arm, ...]
    """The arms that both sides can use: all that this pair ever counts."""
    common_set: frozenset[Arm]

    def __init__(self, name: AgentId, arms: tuple[Arm, ...]) -> None:
        self.name = name
        self.arms = arms
        self.candidates = set(arms)
        """The arms that the peer still considers, as far as its notices say (C_j' of Algorithm 5)."""
        self.present = True
        self.last_heard: float | None = None

    def arms_include(self, some: Sequence[Arm]) -> bool:
        """Return whether these are some of its arms, and not all."""
        return set(some) < set(self.arms)


class Roster:
    """The agents that one agent knows."""

    def __init__(self, agent: AgentId, arms: Sequence[Arm]) -> None:
        self.agent = checked_name(agent)
        self.arms = checked_arms(arms)
        self._peers: dict[AgentId, Peer] = {}
        self._commons: dict[frozenset[Arm], tuple[frozenset[Arm], tuple[Arm, ...]]] = {}
        """The arms in common, once for all peers that have the same: a large group has few different sets."""
        self.same_arms = True
        """Whether every known agent has the same arm set: then a candidate set is shared by all."""

    def join(self, name: AgentId, arms: Sequence[Arm], *, may_change: bool = False) -> tuple[Peer, bool]:
        """Mark a peer as present. Return it, and whether it is new.

        Args:
            name: Its name.
            arms: Its arms.
            may_change: Whether a known peer may come back with other arms. It then considers all of them.

        Raises:
            LocalError: The name is this agent's own, or not a usable name; the arms are no usable arm set; or there are
                too many peers.
            PeerError: A known peer comes back with another arm set.
        """
        if checked_name(name) == self.agent:
            raise LocalError(f"agent {name!r} cannot be its own peer: every agent of a group needs a name of its own")
        names = checked_arms(arms)
        offered = set(names)
        peer = self._peers.get(name)
        if peer is not None:
            if set(peer.arms) != offered and not may_change:
                raise PeerError(
                    f"{name} joined with arms {', '.join(arms)} but had {', '.join(peer.arms)} before: "
                    "start it with the same arms, or under a new name"
                )
            peer.present = True
            if set(peer.arms) != offered:
                peer.arms, peer.candidates = names, offered
                self._find_common(peer)
                self._compare()
            return peer, False
        if len(self._peers) >= MOST_PEERS:
            raise LocalError(f"{MOST_PEERS} peers are known already, which is the limit")
        peer = self._peers[name] = Peer(name, names)
        self._find_common(peer)
        self.same_arms = self.same_arms and self._is_same(peer)
        return peer, True

    def grow(self, arms: Sequence[Arm]) -> None:
        """Take it that this agent can use more arms."""
        self.arms = checked_arms(arms)
        self._commons.clear()
        for peer in self:
            self._find_common(peer)
        self._compare()

    def _find_common(self, peer: Peer) -> None:
        common = frozenset(peer.arms).intersection(self.arms)
        if common not in self._commons:
            self._commons[common] = (common, tuple(arm for arm in self.arms if arm in common))
        peer.common_set, peer.common = self._commons[common]

    def _compare(self) -> None:
        self.same_arms = all(self._is_same(peer) for peer in self)

    def _is_same(self, peer: Peer) -> bool:
        return len(peer.common) == len(self.arms) == len(peer.arms)

    def leave(self, name: AgentId) -> Peer:
        """Mark a peer as absent. Return it."""
        peer = self.get(name)
        peer.present = False
        return peer

    def get(self, name: AgentId) -> Peer:
        """Return a known peer.

        Raises:
            StrangerError: No agent of that name has joined.
        """
        peer = self._peers.get(name)
        if peer is None:
            raise StrangerError(f"{name!r} is not known to {self.agent}: an agent must join before it is heard")
        return peer

    def __iter__(self) -> Iterator[Peer]:
        return iter(self._peers.values())

    def __len__(self) -> int:
        return len(self._peers)

    def __contains__(self, name: AgentId) -> bool:
        return name in self._peers


def checked_name(name: AgentId) -> AgentId:
    """Return a usable agent name, or say why it is not one."""
    check_name("an agent's name", name, LONGEST_NAME)
    return name
