"""From a topology to tables, in plain Python: who has a link to whom, and room for what they tell each other."""

from typing import NamedTuple

import numpy as np

from cobandit.core.protocols.rules import Input
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.topology import Graph, Relays
from cobandit.simulator.kernel.cells import ring_room
from cobandit.simulator.kernel.sizes import CELLS_FRAME
from cobandit.simulator.kernel.tables import CELL, EDGE, ENTRY, GROUP, HUB, UPLINK, Table, Tables, records
from cobandit.simulator.result import Communication
from cobandit.simulator.wiring import links_of
from cobandit.values.errors import LocalError

_FIRST_PARCELS = 1 << 16
_FIRST_QUEUES, _LEAST_QUEUE = 1 << 20, 1 << 8
"""Room for entries of parcels, of all queues, and of each. More is made where it does not suffice."""


class Wiring(NamedTuple):
    """The tables of a topology; all are empty for a mesh."""

    uplinks: Table
    heard: Table
    hubs: Table
    edges: Table
    rows: Table
    cells: Table
    queues: Table
    totals: Table
    total_at: Table
    parcels: Table
    groups: Table


def unwired() -> Wiring:
    """Return the tables of no topology at all."""
    cells = (0, 0, 0)
    return Wiring(
        records((0, 0), UPLINK),
        np.zeros(cells, np.int64),
        records(0, HUB),
        records(0, EDGE),
        records(cells, CELL),
        np.zeros((0, 0), np.int64),
        records((0, 0), ENTRY),
        np.zeros((0, 0), np.int64),
        np.zeros((0, 0), np.int64),
        records((2, 1), ENTRY),
        records(0, GROUP),
    )


def fill_wiring(scenario: Scenario, members: Table, agents: Table, *, arm_bits: int, room: int) -> Wiring:
    """Return the tables of a topology.

    Args:
        scenario: The world.
        members: By arm set and arm, whether it is in the set.
        agents: The table of agents.
        arm_bits: How much of a cell is its arm.
        room: By how much more room there is to be than at first.
    """
    count, arms, topology = len(scenario.agents), len(scenario.arms.names), scenario.topology
    if topology is None:
        return unwired()
    known = topology.known if isinstance(topology, Relays) else 0
    hubs = scenario.relay_count or count
    pairs = _pairs(scenario)
    cells = count << arm_bits
    if cells >= 2**31 or hubs * cells >= 2**40:
        raise LocalError(f"{hubs} rows for each of {count} agents and {arms} arms do not fit any memory")
    queue_room = min(room * max(_LEAST_QUEUE, _FIRST_QUEUES // max(1, len(pairs))), 2 * cells)
    parcel_room = room * _FIRST_PARCELS
    if scenario.delay and known:
        parcel_room = max(parcel_room, ring_room(room * count * min(arms, 16)))
    return Wiring(
        _uplinks(scenario, count if known else 0, known),
        np.zeros((count if known else 0, known, arms), np.int64),
        _hubs(scenario, hubs, pairs),
        _edges(scenario, pairs, members, agents.arm_set),
        records((0, 0, 0), CELL),
        np.zeros((hubs, cells), np.int64),
        records((len(pairs), queue_room), ENTRY),
        np.zeros((scenario.relay_count, arms), np.int64),
        np.zeros((scenario.relay_count, arms), np.int64),
        records((2, parcel_room), ENTRY),
        _groups(agents.name_size[:count]),
    )


def _groups(name_sizes: Table) -> Table:
    groups = records(len(name_sizes), GROUP)
    groups.head = CELLS_FRAME + name_sizes
    return groups


def _uplinks(scenario: Scenario, leaves: int, known: int) -> Table:
    uplinks = records((leaves, known), UPLINK)
    uplinks.share_number, uplinks.demanded, uplinks.present = 1, _demanded(scenario), True
    if isinstance(scenario.topology, Relays):  # the others count as absent
        left = scenario.exchange.rules[Input.LEAVE, _demanded(scenario), False]
        uplinks.present[:, scenario.topology.homes :] = False
        uplinks.demanded[:, scenario.topology.homes :] = left.demanded
    return uplinks


def _demanded(scenario: Scenario) -> bool:
    """Return whether a share is demanded at first: everybody has heard that the others are here."""
    return scenario.exchange.rules[Input.JOIN, True, False].demanded


def _pairs(scenario: Scenario) -> Table:
    """Return sender and receiver of every edge between hubs, by sender, then receiver."""
    match scenario.topology:
        case Relays(relays):
            one, other = np.nonzero(~np.eye(relays, dtype=np.bool_))
            return np.column_stack((one, other)) + len(scenario.agents)
        case Graph() as graph:
            return both_ways(graph)
    return np.zeros((0, 2), np.int64)


def both_ways(graph: Graph) -> Table:
    """Return sender and receiver of every edge of a graph, by sender, then receiver."""
    there = np.array(graph.edges, np.int64).reshape(-1, 2)
    both = np.concatenate((there, there[:, ::-1]))
    return both[np.lexsort((both[:, 1], both[:, 0]))]


def _edges(scenario: Scenario, pairs: Table, members: Table, arm_sets: Table) -> Table:
    edges = records(len(pairs), EDGE)
    sender, receiver = pairs[:, 0], pairs[:, 1]
    edges.sender, edges.receiver = sender, receiver
    width = 1 + int(pairs.max(initial=0))
    edges.back = np.searchsorted(sender * width + receiver, receiver * width + sender)
    edges.common = members.shape[1]
    if isinstance(scenario.topology, Graph):
        in_common = members.astype(np.int64) @ members.astype(np.int64).T
        edges.common = in_common[arm_sets[sender], arm_sets[receiver]]
    edges.share_number, edges.demanded, edges.present = 1, _demanded(scenario), True
    return edges


def _hubs(scenario: Scenario, count: int, pairs: Table) -> Table:
    hubs = records(count, HUB)
    first = len(scenario.agents) if scenario.relay_count else 0
    nodes = np.arange(count) + first
    hubs.edges = np.searchsorted(pairs[:, 0], nodes, side="left")
    hubs.edges_end = np.searchsorted(pairs[:, 0], nodes, side="right")
    hubs.same_arms = True
    if isinstance(scenario.topology, Graph):
        sets = [frozenset(scenario.arms_of(agent)) for agent in range(count)]
        for one, other in pairs.tolist():
            hubs.same_arms[one] &= sets[one] == sets[other]
    return hubs


def communication(scenario: Scenario, tables: Tables) -> Communication:
    """Return what was sent over every link of a topology."""
    links = links_of(scenario)
    assert links is not None
    said = Communication.none(len(scenario.agents), links)
    if isinstance(scenario.topology, Relays):
        up, edges = tables.uplinks, tables.edges
        said.shares = np.concatenate((up.shares.ravel(), up.answers.ravel(), edges.shares)).astype(np.int64)
        said.notices[: up.size] = up.notices.ravel()
    else:
        width = len(scenario.agents)
        edges = tables.edges.sender.astype(np.int64) * width + tables.edges.receiver
        places = np.searchsorted(edges, links[:, 0] * width + links[:, 1])
        said.shares = tables.edges.shares[places].astype(np.int64)
        said.notices = tables.edges.notices[places].astype(np.int64)
    said.bytes, said.definition_bits = int(tables.world.bytes), float(tables.world.bits)
    said.agent_rounds = int(tables.world.agent_rounds)
    return said
