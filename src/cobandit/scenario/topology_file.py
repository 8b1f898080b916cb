"""The table `network` of a scenario file: turns it into a topology or an error that names the key, and back.

docs/scenario-files.md explains the keys. `topology.py` defines topologies, and which of them cannot work.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from cobandit.scenario.keys import Table, is_whole, located, wrong
from cobandit.scenario.tape import LARGEST_SEED
from cobandit.scenario.topology import MAX_NODES, MAX_RELAYS, Graph, RelayAbsence, Relays, Topology
from cobandit.values.errors import LocalError

_KINDS = ("mesh", "relays", "ring", "grid", "random", "edges")
_BELONGS = {
    "relays": "relays",
    "homes": "relays",
    "absences": "relays",
    "degree": "random",
    "seed": "random",
    "file": "edges",
    "edges": "edges",
}
"""The topology that each key belongs to."""

_AT_ONCE = (
    "a relay answers every share of a leaf at once. With a threshold above the leaves' all could wait for ever: a "
    "relay observes nothing, and cannot fill a buffer by itself"
)


def topology_from(value: object, agents: int, horizon: int, folder: Path) -> Topology | None:
    """Return the topology that the table `network` describes; `None` for a mesh.

    Raises:
        LocalError: A key is unknown, or a value is not allowed. The message names the key.
    """
    table = Table(value, "network", ("topology", *_BELONGS, "threshold"))
    kind = table.choice("topology", _KINDS, default="mesh")
    table.refuse(("threshold",), _AT_ONCE)
    for key, owner in _BELONGS.items():
        if owner != kind:
            table.refuse((key,), f'it belongs to topology = "{owner}", and this is "{kind}"')
    if kind == "mesh":
        return None
    if kind == "relays":
        return _relays(table, horizon)
    made = _graph(table, kind, agents, folder)
    with located(table.key("topology")):
        graph = made()
        graph.check(agents)
    return graph


def _relays(table: Table, horizon: int) -> Relays:
    count = table.whole("relays", 1, MAX_RELAYS, default=Relays().count)
    homes = table.whole("homes", 1, MAX_RELAYS, default=Relays().homes)
    absences: list[RelayAbsence] = []
    if "absences" in table:
        for path, entry in table.rows("absences", "tables with relay, leave and rejoin"):
            absences.append(_absence(Table(entry, path, ("relay", "leave", "rejoin", "forgets")), count, horizon))
    with located(table.path):
        return Relays(count, homes, tuple(absences))


def _absence(table: Table, relays: int, horizon: int) -> RelayAbsence:
    leave = table.whole("leave", 0, horizon - 1)
    rejoin = None
    if "rejoin" in table:
        rejoin = table.whole("rejoin", leave + 1, horizon - 1)
    relay, forgets = table.whole("relay", 0, relays - 1), table.truth("forgets", default=False)
    with located(table.path):
        return RelayAbsence(relay, leave, rejoin, forgets)


def _graph(table: Table, kind: str, agents: int, folder: Path) -> Callable[[], Graph]:
    """Return a function that makes the graph, after checking every key."""
    if kind == "ring":
        return partial(Graph.ring, agents)
    if kind == "grid":
        return partial(Graph.grid, agents)
    if kind == "random":
        degree = table.whole("degree", 1, MAX_NODES)
        return partial(Graph.random, agents, degree, seed=table.whole("seed", 0, LARGEST_SEED, default=0))
    if table.one_of(("file", "edges")) == "file":
        return partial(Graph.from_csv, folder / table.text("file"))
    given = table.rows("edges", "pairs of agents", may_be_empty=agents == 1)  # one agent has nobody to talk to
    return partial(Graph, tuple(_edge(path, edge, agents) for path, edge in given))


def _edge(path: str, value: object, agents: int) -> tuple[int, int]:
    pair = list(value) if isinstance(value, list | tuple) else []
    if len(pair) != 2 or not all(is_whole(agent, 0, agents - 1) for agent in pair):
        raise wrong(path, f"two agents such as [0, 1], whole numbers from 0 to {agents - 1}", value)
    return pair[0], pair[1]


def topology_written(topology: Topology | None, horizon: int) -> Mapping[str, object]:
    """Return the table `network` that describes a topology; an empty one for a mesh. Graphs are written as edges."""
    match topology:
        case Relays(count, homes, absences):
            written: dict[str, object] = {"topology": "relays", "relays": count, "homes": homes}
            if away := [_written(absence, horizon) for absence in absences if absence.leave < horizon]:
                written["absences"] = away
            return written
        case Graph(edges):
            return {"topology": "edges", "edges": [list(edge) for edge in edges]}
        case None:
            return {}
    raise LocalError(f"{topology!r} is no topology")


def _written(absence: RelayAbsence, horizon: int) -> dict[str, object]:
    written: dict[str, object] = {"relay": absence.relay, "leave": absence.leave}
    if absence.rejoin is not None and absence.rejoin < horizon:
        written["rejoin"] = absence.rejoin
        if absence.forgets:
            written["forgets"] = True
    return written
