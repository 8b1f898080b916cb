"""The links of a topology and their order, which counts by link have in every result.

Relays come after the agents. With relays, the links are in three blocks: up, from every leaf to each relay that it
knows, in the leaf's order; down, the same links in reverse; and from every relay to every other one. In a graph, the
edges come first in the given order, then reversed.
"""

import numpy as np

from cobandit.scenario.scenario import Scenario
from cobandit.scenario.topology import Graph, Relays
from cobandit.simulator.result import Counts


def links_of(scenario: Scenario) -> Counts | None:
    """Return sender and receiver of every link; `None` for a mesh, whose counts are a square.

    >>> from cobandit.scenario import AgentSpec, Arms, Rate
    >>> world = Scenario(9, Arms.of([0.5]), (AgentSpec(Rate(1.0)),) * 2, topology=Relays(2))
    >>> links_of(world).tolist()
    [[0, 2], [1, 3], [2, 0], [3, 1], [2, 3], [3, 2]]
    """
    match scenario.layout:
        case Relays() as relays:
            leaves, known = len(scenario.agents), relays.known
            leaf = np.repeat(np.arange(leaves), known)
            home = leaves + (leaf + np.tile(np.arange(known), leaves)) % relays.count
            up = np.column_stack((leaf, home))
            one, other = np.nonzero(~np.eye(relays.count, dtype=np.bool_))
            return np.concatenate((up, up[:, ::-1], np.column_stack((leaves + one, leaves + other))))
        case Graph(edges):
            there = np.array(edges, np.int64).reshape(-1, 2)
            return np.concatenate((there, there[:, ::-1]))
    return None
