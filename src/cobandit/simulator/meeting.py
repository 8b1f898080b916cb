"""Who knows whom at the beginning of a readable run, and which relays are a leaf's homes during the run.

All nodes know their neighbours, with arms and roles, from the beginning (Appendix H.1): in a mesh all others, in a
graph the agents at the other ends of the edges, and for a leaf its relays. This file drives agents, and knows no slot
other than the one that it is given.
"""

from collections.abc import Collection

from cobandit.agent import Agent
from cobandit.core import Outcome
from cobandit.core.places import Bandit
from cobandit.policies import UCB
from cobandit.scenario.scenario import Scenario, relay_name
from cobandit.scenario.tape import Tape
from cobandit.scenario.topology import Graph, RelayAbsence, Relays


def meet(scenario: Scenario, tape: Tape) -> list[Agent]:
    """Build the agents, and then the relays. All know their neighbours."""
    sharing = scenario.exchange._replace(forwards=isinstance(scenario.topology, Graph))
    agents = [
        Agent(
            str(position),
            scenario.new_policy(position, tape.policy_seed(position)),
            sharing,
            bandits=bandits_of(scenario),
        )
        for position in range(len(scenario.agents))
    ]
    agents += [_relay(scenario, relay) for relay in range(scenario.relay_count)]
    counts_alike = len({agent.policy.quantum for agent in agents}) == 1
    for agent in agents:  # all belong to this program, so their messages are valid, unless their quanta differ
        agent.endpoint.peers.trusts = counts_alike
    for position, agent in enumerate(agents):
        for peer in scenario.peers_of(position):
            agent.peer_joined(agents[peer].name, agents[peer].arms)
    if scenario.topology is not None:
        _introduce(scenario, agents)
    return agents


def bandits_of(scenario: Scenario) -> tuple[Bandit, ...]:
    """Return the bandits that agents need for windows: none if they forget nothing."""
    return () if scenario.forgetting is None else (scenario.forgetting.bandit(scenario.arms.quantum),)


def role_of(scenario: Scenario, position: int) -> dict[str, bool]:
    """Return the role with which an agent or relay announces itself."""
    match scenario.topology:
        case Relays():
            is_relay = position >= len(scenario.agents)
            return {"is_relay": is_relay, "is_leaf": not is_relay}
        case Graph():  # each passes on what it hears
            return {"is_relay": True}
    return {}


def _relay(scenario: Scenario, relay: int, incarnation: int = 0) -> Agent:
    """Build a relay. It never decides, so its policy does not matter."""
    name, policy = relay_name(relay), UCB(scenario.arms.names, quantum=scenario.arms.quantum)
    return Agent(name, policy, scenario.exchange, incarnation=incarnation, bandits=bandits_of(scenario))


def _introduce(scenario: Scenario, agents: list[Agent]) -> None:
    """Let all nodes announce their roles before the run, without counting the messages."""
    places = {agent.name: place for place, agent in enumerate(agents)}
    for position, agent in enumerate(agents):
        for notice in agent.join(0, **role_of(scenario, position)).outgoing:
            agents[places[notice.receiver]].receive(notice, 0)
    if isinstance(scenario.topology, Relays):
        Fleet(scenario, agents).rehome((), 0)


class Fleet:
    """Assigns homes to leaves, as relays go away and come back.

    No message says that a relay is away. Its neighbours notice broken connections, and the driver tells them.
    """

    def __init__(self, scenario: Scenario, agents: list[Agent]) -> None:
        assert isinstance(scenario.topology, Relays)
        self._scenario = scenario
        self._topology = scenario.topology
        self._agents = agents
        self._leaves = len(scenario.agents)
        self._starts = [0] * scenario.relay_count

    def start(self, position: int, now: float) -> Outcome:
        """Bring a relay back: as it was, or without its knowledge. Return what it sends."""
        relay = position - self._leaves
        if not self._absence(relay, now).forgets:
            return Outcome(wake_at=self._agents[position].wake_at)
        self._starts[relay] += 1
        agent = self._agents[position] = _relay(self._scenario, relay, self._starts[relay])
        for peer in self._scenario.peers_of(position):
            agent.peer_joined(self._agents[peer].name, self._agents[peer].arms, now)
        return agent.join(now, is_relay=True)

    def _absence(self, relay: int, rejoin: float) -> RelayAbsence:
        return next(one for one in self._topology.absences if (one.relay, one.rejoin) == (relay, rejoin))

    def rehome(self, away: Collection[str], now: float) -> bool:
        """Connect leaves to their homes, and relays to each other. Return whether anything changed."""
        topology, leaves = self._topology, self._leaves
        if not topology.absences:
            return False
        gone = {relay for relay in range(topology.count) if relay_name(relay) in away}
        for leaf in range(leaves):
            homes = topology.homes_of(leaf, gone)
            for relay in topology.order(leaf):
                self._turn(leaf, leaves + relay, now, is_here=relay in homes)
                if relay not in gone:
                    self._turn(leaves + relay, leaf, now, is_here=relay in homes)
        for relay in set(range(topology.count)) - gone:
            for other in range(topology.count):
                if other != relay:
                    self._turn(leaves + relay, leaves + other, now, is_here=other not in gone)
        return True

    def _turn(self, position: int, other: int, now: float, *, is_here: bool) -> None:
        agent, peer = self._agents[position], self._agents[other]
        if is_here and not agent.peers.is_present(peer.name):
            agent.peer_joined(peer.name, peer.arms, now)
        elif not is_here and agent.peers.is_present(peer.name):
            agent.peer_left(peer.name, now)
