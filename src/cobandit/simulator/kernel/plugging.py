"""From a plug-in to tables, in plain Python: its parameters, who talks to whom, and room for what a node keeps.

Which plug-ins have a compiled form is here, and what a world must be like for it. How they talk is in `plugged.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from cobandit.protocols.aac import AccuracyAdaptive
from cobandit.protocols.accuracy import spend_of
from cobandit.protocols.event_hub import EventHub
from cobandit.protocols.gossip import Gossip
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.protocols.plug_in import PlugIn
from cobandit.protocols.tcom import Tcom
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.topology import Graph, Relays
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.tables import CELL, EDGE, HUB, TOLD, Record, Table, Tables, records
from cobandit.simulator.kernel.wiring import Wiring, both_ways, unwired
from cobandit.simulator.result import Communication
from cobandit.simulator.wiring import links_of

MOST_PERIOD = 2**62
"""A longer period is as good as this one."""

_Columns = dict[str, Any]


class Form(NamedTuple):
    """The compiled form of a plug-in."""

    code: int
    parameters: Callable[[Mapping[str, Any]], _Columns]
    """Takes the parameters of the plug-in, and returns columns of the table of single facts."""
    has_rows: bool = False
    """Whether a node keeps for each agent and arm what it knows of it."""
    has_tokens: bool = False
    on_graphs: bool = True


FORMS: dict[type[Any], Form] = {
    PeriodicHub: Form(codes.PERIODIC_HUB, lambda given: {"period": min(given["period"], MOST_PERIOD)}),
    EventHub: Form(codes.EVENT_HUB, lambda given: {"factor": given["alpha"], "weight": given["weight"]}),
    Gossip: Form(
        codes.GOSSIP,
        lambda given: {"period": min(given["period"], MOST_PERIOD), "pull_back": given["pull"]},
        has_rows=True,
    ),
    AccuracyAdaptive: Form(
        codes.AAC,
        lambda given: {
            "factor": given["alpha"],
            "release": given["release"],
            "others_count": given["others_count"],
        },
        has_rows=True,
        has_tokens=True,
        on_graphs=False,
    ),
    Tcom: Form(codes.TCOM, lambda given: {"factor": given["beta"], "weight": given["alpha"]}),
}
"""By class: one that is derived from them is another protocol."""


def why_not_plugged(scenario: Scenario, plugged: PlugIn) -> str:
    """Return why a plug-in has no compiled form in this world; nothing, if it has one."""
    form, all_arms = FORMS.get(plugged.build), (None, scenario.arms.names)
    if form is None:
        return f"{plugged.about.title} is a plug-in without a compiled form"
    needed = {
        f"{plugged.about.hubs} hubs": plugged.hubs == plugged.about.hubs,
        "a network without delay and faults": not scenario.delay and scenario.faults.are_none,
        "agents that are never away": not any(agent.absences for agent in scenario.agents),
        "agents that all have all arms, in one order": all(agent.arms in all_arms for agent in scenario.agents),
        "agents that talk to everybody": form.on_graphs or not isinstance(scenario.topology, Graph),
    }
    lacking = next((what for what, is_there in needed.items() if not is_there), "")
    return lacking and f"{plugged.about.title} has a compiled form only for {lacking}"


def fill_parameters(world: Record, scenario: Scenario, plugged: PlugIn) -> None:
    """Write which plug-in it is, and its parameters, into the table of single facts."""
    form = FORMS[plugged.build]
    world.plugged, world.spend = form.code, spend_of(scenario.horizon)
    for name, value in form.parameters(plugged.parameters).items():
        world[name] = value


def fill_plugged(scenario: Scenario, plugged: PlugIn) -> tuple[Wiring, Table, Table]:
    """Return who talks to whom with room for what a node knows, what it has told, and room for its tokens."""
    form, count, arms = FORMS[plugged.build], len(scenario.agents), len(scenario.arms.names)
    edges, hubs = _edges(scenario)
    rows = (count, count, arms) if form.has_rows else (0, 0, 0)
    wiring = unwired()._replace(
        edges=edges,
        hubs=hubs,
        rows=records(rows, CELL),
        totals=np.zeros((scenario.relay_count, arms), np.int64),
    )
    told = records((count, arms), TOLD)
    told.radius = 1.0
    return wiring, told, np.zeros((count, count) if form.has_tokens else (0, 0), np.int64)


def _edges(scenario: Scenario) -> tuple[Table, Table]:
    """Return the edges, by sender, then receiver, and for each node where its edges are."""
    count, nodes = len(scenario.agents), scenario.node_count
    if isinstance(scenario.layout, Graph):
        sender, receiver = both_ways(scenario.layout).T
        back = np.searchsorted(sender * nodes + receiver, receiver * nodes + sender)
    elif isinstance(scenario.layout, Relays):  # all agents with one hub
        agents = np.arange(count)
        hub = np.full(count, count)
        sender, receiver = np.concatenate((agents, hub)), np.concatenate((hub, agents))
        back = np.concatenate((agents + count, agents))
    else:
        sender = np.repeat(np.arange(count), count - 1)
        place = np.tile(np.arange(count - 1), count)
        receiver = place + (place >= sender)
        back = receiver * (count - 1) + sender - (sender > receiver)
    edges = records(len(sender), EDGE)
    edges.sender, edges.receiver, edges.back = sender, receiver, back
    edges.demanded = True
    hubs = records(nodes, HUB)
    hubs.edges_end = np.cumsum(np.bincount(sender, minlength=nodes))
    hubs.edges[1:] = hubs.edges_end[:-1]
    return edges, hubs


def communication(scenario: Scenario, tables: Tables) -> Communication:
    """Return what was sent, by pair or link."""
    edges, links, nodes = tables.edges, links_of(scenario), scenario.node_count
    said = Communication.none(len(scenario.agents), links)
    said.bytes, said.definition_bits = int(tables.world.bytes), float(tables.world.bits)
    said.agent_rounds = int(tables.world.agent_rounds)
    if links is None:
        said.shares[edges.sender, edges.receiver] = edges.shares
        said.notices[edges.sender, edges.receiver] = edges.notices
        return said
    places = np.searchsorted(edges.sender.astype(np.int64) * nodes + edges.receiver, links[:, 0] * nodes + links[:, 1])
    said.shares = edges.shares[places].astype(np.int64)
    said.notices = edges.notices[places].astype(np.int64)
    return said
