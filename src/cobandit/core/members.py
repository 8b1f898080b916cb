"""Who is here: this agent, the others of its group, the arms they serve, and those they have in common.

This file knows nothing of observations or exchanges. An agent that left stays known, as absent, because the others go
on buffering for it (Section 3.1, last paragraph).
"""

from collections.abc import Iterator, Sequence

from cobandit.core.messages import AgentId
from cobandit.core.places import Bandit, check_bandits, difference
from cobandit.values.checks import check_name
from cobandit.values.errors import LocalError, StrangerError
from cobandit.values.tally import LONGEST_NAME, Arm, checked_arms

MAX_PEERS = 100_000
"""The most other agents that one agent may know, not counting those that it has forgotten."""

MAX_FORGOTTEN = 1_000_000
"""The most other agents that one agent may have forgotten."""


class Peer:
    """Another agent, as seen from here."""

    __slots__ = (
        "arms",
        "bandits",
        "common",
        "common_set",
        "commons",
        "incarnation",
        "is_present",
        "last_heard",
        "name",
        "session",
    )

    arms: tuple[Arm, ...]
    common: tuple[Arm, ...]
    """The arms of the plain bandit that both sides serve."""
    common_set: frozenset[Arm]
    bandits: tuple[Bandit, ...]
    """The other bandits that it has said it serves."""
    commons: dict[str, frozenset[Arm]]
    """For each of those that both sides serve and define alike: the arms in common."""

    def __init__(self, name: AgentId) -> None:
        self.name = name
        self.is_present = True
        self.session: int | None = None
        """Its newest known session; `None` while only the driver has reported it."""
        self.incarnation = 0
        """The incarnation of that session, as far as is known."""
        self.last_heard: float | None = None
        self.bandits, self.commons = (), {}

    def serves(self, bandit: str, arm: Arm) -> bool:
        """Return whether both sides serve an arm. A pair never counts any other."""
        return arm in (self.commons.get(bandit, ()) if bandit else self.common_set)

    @property
    def has_common(self) -> bool:
        """Whether there is any such arm."""
        return bool(self.common or any(self.commons.values()))


class Members:
    """One agent, and the others that it knows."""

    def __init__(self, agent: AgentId, arms: Sequence[Arm], *, session: int = 0) -> None:
        check_name("an agent's name", agent, LONGEST_NAME)
        self.agent = agent
        self.arms = checked_arms(arms) if arms else ()
        """The arms of the plain bandit. An agent that serves only named bandits has none."""
        self.bandits: dict[str, Bandit] = {}
        """The other bandits that this agent serves. The plain one is here too, without its arms, if it has a window."""
        self.session = session
        """Which start of this agent's log this is. A new incarnation begins a new session, and so does a new arm."""
        self.notices = 0
        """Twice the number of times this agent has announced itself in this session; a farewell has the odd number
        after."""
        self.is_relay = False
        """Whether this agent passes on what others observed."""
        self.is_leaf = False
        """Whether this agent receives only totals of what others observed, from relays."""
        self.same_arms = True
        """Whether all known agents have the same arm set: then there is one set of candidates for all."""
        self.forgotten = 0
        """How many of the known agents are forgotten: see `Endpoint.forget`."""
        self._peers: dict[AgentId, Peer] = {}
        self._commons: dict[frozenset[Arm], tuple[frozenset[Arm], tuple[Arm, ...]]] = {}
        """The arms in common, stored once for all peers that have the same: a large group has few different sets."""

    def check(self, name: AgentId, arms: Sequence[Arm], bandits: Sequence[Bandit] = ()) -> tuple[Arm, ...]:
        """Return a peer's arms, or raise if something is wrong. It may have none if there are other bandits.

        Raises:
            LocalError: The name is this agent's own, or not a usable name; the arms are no usable arm set; or there are
                too many peers.
        """
        check_name("an agent's name", name, LONGEST_NAME)
        if name == self.agent:
            raise LocalError(f"agent {name!r} cannot be its own peer: every agent of a group needs a name of its own")
        if name not in self._peers and len(self._peers) - self.forgotten >= MAX_PEERS:
            raise LocalError(f"{MAX_PEERS} peers are known already, which is the limit")
        check_bandits(bandits)
        has_none = isinstance(arms, tuple) and not arms
        return () if has_none and (bandits or not self.arms) else checked_arms(arms)

    def join(self, name: AgentId, arms: tuple[Arm, ...], bandits: tuple[Bandit, ...] | None = None) -> Peer:
        """Mark a peer as present, with these arms and bandits, which were checked. Return it.

        If `bandits` is `None`, it keeps those that it served before.
        """
        peer = self._peers.get(name)
        if peer is None:
            peer = self._peers[name] = Peer(name)
            self._set_arms(peer, arms)
            self.same_arms = self.same_arms and self._is_same(peer)
        elif set(peer.arms) != set(arms):
            self._set_arms(peer, arms)
            self._compare()
        if bandits is not None and peer.bandits != bandits:
            peer.bandits = bandits
            self._set_bandits(peer)
        peer.is_present = True
        return peer

    def grow(self, arms: Sequence[Arm]) -> None:
        """Serve more arms than before."""
        self.arms = checked_arms(arms) if arms else ()
        self._commons.clear()
        for peer in self:
            self._set_arms(peer, peer.arms)
        self._compare()

    def serve(self, bandits: Sequence[Bandit]) -> None:
        """Serve these bandits, and no other named ones."""
        self.bandits = {bandit.name: bandit for bandit in bandits}
        for peer in self:
            self._set_bandits(peer)

    def _set_bandits(self, peer: Peer) -> None:
        peer.commons = {
            theirs.name: frozenset(theirs.arms).intersection(mine.arms)
            for theirs in peer.bandits
            if theirs.name and (mine := self.bandits.get(theirs.name)) and difference(mine, theirs) is None
        }

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

    def _set_arms(self, peer: Peer, arms: tuple[Arm, ...]) -> None:
        peer.arms = arms
        common = frozenset(arms).intersection(self.arms)
        if common not in self._commons:
            self._commons[common] = (common, tuple(arm for arm in self.arms if arm in common))
        peer.common_set, peer.common = self._commons[common]

    def _compare(self) -> None:
        self.same_arms = all(self._is_same(peer) for peer in self)

    def _is_same(self, peer: Peer) -> bool:
        return len(peer.common) == len(self.arms) == len(peer.arms)
