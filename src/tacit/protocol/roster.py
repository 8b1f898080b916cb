"""Who is here: the other agents of the group, which arms they can use, and which of those they still consider.

The roster knows nothing of observations and of exchanges. An agent that left stays on it, absent, because the others
go on buffering for it (Section 3.1, last paragraph).
"""

from collections.abc import Iterator, Sequence

from tacit.checks import check_name
from tacit.errors import LocalError, PeerError
from tacit.protocol.messages import AgentId
from tacit.tally import LONGEST_NAME, Arm, checked_arms

MOST_PEERS = 100_000
"""The largest number of other agents that one agent may know."""


class Peer:
    """One other agent, as seen from here."""

    __slots__ = ("arms", "candidates", "common", "last_heard", "name", "present")

    def __init__(self, name: AgentId, arms: tuple[Arm, ...], common: tuple[Arm, ...]) -> None:
        self.name = name
        self.arms = arms
        self.common = common
        """The arms that both sides can use: all that this pair ever counts."""
        self.candidates = set(arms)
        """The arms that the peer still considers, as far as its notices say (C_j' of Algorithm 5)."""
        self.present = True
        self.last_heard: float | None = None


class Roster:
    """The agents that one agent knows."""

    def __init__(self, agent: AgentId, arms: Sequence[Arm]) -> None:
        self.agent = checked_name(agent)
        self.arms = checked_arms(arms)
        self._peers: dict[AgentId, Peer] = {}
        self.same_arms = True
        """Whether every known agent has the same arm set: then a candidate set is shared by all."""

    def join(self, name: AgentId, arms: Sequence[Arm]) -> tuple[Peer, bool]:
        """Mark a peer as present. Return it, and whether it is new.

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
            if set(peer.arms) != offered:
                raise PeerError(
                    f"{name} joined with arms {', '.join(arms)} but had {', '.join(peer.arms)} before: "
                    "start it with the same arms, or under a new name"
                )
            peer.present = True
            return peer, False
        if len(self._peers) >= MOST_PEERS:
            raise LocalError(f"{MOST_PEERS} peers are known already, which is the limit")
        peer = Peer(name, names, tuple(arm for arm in self.arms if arm in offered))
        self._peers[name] = peer
        self.same_arms = self.same_arms and offered == set(self.arms)
        return peer, True

    def leave(self, name: AgentId) -> Peer:
        """Mark a peer as absent. Return it."""
        peer = self.get(name)
        peer.present = False
        return peer

    def get(self, name: AgentId) -> Peer:
        """Return a known peer.

        Raises:
            PeerError: No agent of that name has joined.
        """
        peer = self._peers.get(name)
        if peer is None:
            raise PeerError(f"{name!r} is not known to {self.agent}: an agent must join before it is heard")
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
