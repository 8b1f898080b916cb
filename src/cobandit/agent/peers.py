"""Views for drivers of an agent's peers: who is here, the state of each link, who lacks what. They change nothing."""

from collections.abc import Container, Iterable, Iterator
from itertools import islice

from cobandit.core import AgentId, Endpoint, LinkView, Presence
from cobandit.core.facts import CellKey, Fact, SettledKey
from cobandit.core.retransmit import Phase
from cobandit.core.snapshots import view
from cobandit.values.tally import Arm


class Peers:
    """The known peers of an agent by name, present or not, except forgotten ones.

    >>> from cobandit import UCB, Agent
    >>> j = Agent("j", UCB(["A", "B"]))
    >>> _ = j.peer_joined("p", ["B", "C"])
    >>> list(j.peers), "p" in j.peers, j.peers.common_arms("p")
    (['p'], True, ('B',))
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def __iter__(self) -> Iterator[AgentId]:
        return iter(tuple(self._endpoint.links))

    def __len__(self) -> int:
        return len(self._endpoint.links)

    def __contains__(self, name: object) -> bool:
        return name in self._endpoint.links

    def link(self, peer: AgentId) -> LinkView:
        """Return the state of the link to a peer: everything that drivers need to know about it.

        Raises:
            StrangerError: No agent of that name has joined.
        """
        return view(self._endpoint, peer)

    def is_present(self, peer: AgentId) -> bool:
        """Return whether a peer is known, has not said farewell, and is not forgotten."""
        link = self._endpoint.links.get(peer)
        return link is not None and link.peer.is_present

    def last_heard(self, peer: AgentId) -> float | None:
        """Return when a known peer was last heard; `None` for never."""
        return self._endpoint.links[peer].peer.last_heard

    @property
    def met(self) -> Container[AgentId]:
        """The names of all peers that have ever joined, forgotten or not."""
        return self._endpoint.met

    @property
    def heard_of(self) -> Container[AgentId]:
        """The names of all agents that have ever joined or whose observations are known."""
        return _HeardOf(self._endpoint)

    @property
    def relays(self) -> tuple[AgentId, ...]:
        """The peers that are here and have said that they are relays."""
        return tuple(name for name in self._endpoint.links if self.is_present(name) and self.is_relay(name))

    def is_relay(self, peer: AgentId) -> bool:
        """Return whether a peer has said that it passes on what others observed."""
        return self._endpoint.peers.is_relay(peer)

    def serve_all(self, peers: Iterable[AgentId]) -> bool:
        """Return whether those of these peers that are here serve every arm observed here, in this start or before."""
        links = (self._endpoint.links.get(peer) for peer in peers)
        here = [link.peer for link in links if link is not None and link.peer.is_present]
        name = self._endpoint.name
        observed = {(key.bandit, key.arm) for key, _ in self._endpoint.replica.cells() if key.agent == name}
        return all(any(peer.serves(bandit, arm) for peer in here) for bandit, arm in observed)

    def awaits(self, peer: AgentId) -> bool:
        """Return whether a peer that is here has not answered the last share."""
        link = self._endpoint.links.get(peer)
        if link is None or link.retransmit is None or not link.peer.is_present:
            return False
        return link.retransmit.phase is Phase.WAITING

    @property
    def gone(self) -> int:
        """How many others are forgotten, or known only by their observations."""
        endpoint = self._endpoint
        return len((endpoint.replica.agents | endpoint.forgotten.keys()) - endpoint.links.keys() - {endpoint.name})

    def last_forgotten(self, most: int) -> tuple[AgentId, ...]:
        """Return the names of the last agents that were forgotten, the latest first."""
        return tuple(islice(reversed(self._endpoint.forgotten), most))

    def observations_of(self, agent: AgentId) -> int:
        """Return how many observations of another agent are known, of all its incarnations."""
        return self._endpoint.replica.amount_of(agent)[1]

    def gone_observations(self) -> int:
        """Return how many observations are known of agents without a link: forgotten, or known only by these."""
        here = (self._endpoint.name, *self._endpoint.links)
        replica = self._endpoint.replica
        return sum(replica.amount_of(name)[1] for name in replica.agents - set(here))

    def presence_of(self, peer: AgentId) -> Presence | None:
        """Return how a peer last introduced itself, or said farewell; `None` if it has done neither."""
        return self._endpoint.replica.presence_of(peer)

    @property
    def lacking(self) -> tuple[AgentId, ...]:
        """The peers that are here and have not acknowledged everything they can use."""
        endpoint = self._endpoint
        return tuple(name for name, link in endpoint.links.items() if endpoint.agenda.has_unsaid(link))

    def lacking_until(self, number: int) -> tuple[AgentId, ...]:
        """Return those of them that have not acknowledged this agent's log up to a number."""
        return tuple(peer for peer in self.lacking if self._endpoint.links[peer].acknowledged < number)

    def acknowledged_by(self, peer: AgentId) -> int:
        """Return the number of this agent's log up to which a known peer holds what it wants."""
        link = self._endpoint.met.get(peer)
        return 0 if link is None else link.acknowledged

    def held_of(self, peer: AgentId, session: int) -> int:
        """Return the number of a peer's log, in the given session, up to which this agent holds what it wants."""
        link = self._endpoint.met.get(peer)
        return 0 if link is None or link.peer.session != session else link.held

    def last_wanted_by(self, peer: AgentId) -> int:
        """Return the number of the last change of the observations that a peer wants; 0 if there is none."""
        link, replica = self._endpoint.met.get(peer), self._endpoint.replica
        if link is None:
            return 0
        logs = (None,) if link.told_of is None else tuple((agent,) for agent in link.told_of)
        newest = (_last_observed(replica.wanted(0, link.wants, log)) for log in logs)
        return max(newest)

    def common_arms(self, peer: AgentId) -> tuple[Arm, ...]:
        """Return the arms that this agent and a known peer both serve."""
        return self._endpoint.members.get(peer).common

    def observations_at(self, peer: AgentId, number: int) -> int:
        """Return how many observations of this incarnation a peer has that holds the log up to a number."""
        retransmit = self._endpoint.links[peer].retransmit
        return 0 if retransmit is None else retransmit.observations_at(number)

    def audience(self, arm: Arm, bandit: str = "") -> int:
        """Return how many peers that are here serve an arm."""
        peers = (link.peer for link in self._endpoint.links.values())
        return sum(peer.is_present and peer.serves(bandit, arm) for peer in peers)


def _last_observed(facts: Iterable[Fact]) -> int:
    """Return the number of the first fact about observations; 0 if there is none."""
    return next((fact.number for fact in facts if isinstance(fact.key, CellKey | SettledKey)), 0)


class _HeardOf:
    """The names of all agents that an endpoint has met, or has observations of."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def __contains__(self, name: object) -> bool:
        return name in self._endpoint.met or name in self._endpoint.replica.agents
