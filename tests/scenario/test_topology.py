"""Who talks to whom: what a topology is, how a file says it, and what is refused with its reason."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from cobandit import LocalError
from cobandit.core import on_demand
from cobandit.scenario import (
    AgentSpec,
    Arms,
    BuiltIn,
    Faults,
    Graph,
    Partition,
    Rate,
    RelayAbsence,
    Relays,
    Scenario,
    ScenarioFile,
    Topology,
    scenario_from_mapping,
    scenario_to_mapping,
    scenario_to_toml,
)
from cobandit.scenario.words import scenario_in_words


def world(topology: Topology | None, agents: int = 4, **changes: Any) -> Scenario:
    specs = (AgentSpec(Rate(0.5)),) * agents
    return Scenario(100, Arms.of([0.2, 0.8]), specs, BuiltIn("ucb", 3.0), topology=topology, **changes)


def read(network: dict[str, object], agents: int = 4, folder: Path | str = ".") -> Scenario:
    content = {"horizon": 100, "arms": {"means": [0.2, 0.8]}, "agents": [{"count": agents, "rate": 0.5}]}
    return scenario_from_mapping({**content, "network": network}, folder=folder).scenario


def test_a_leaf_prefers_relays_in_a_ring_and_takes_the_next_for_one_that_is_away() -> None:
    relays = Relays(4, homes=2, absences=(RelayAbsence(2, 5),))
    assert [relays.homes_of(leaf) for leaf in range(5)] == [(0, 1), (1, 2), (2, 3), (3, 0), (0, 1)]
    assert [relays.homes_of(leaf, away={2}) for leaf in range(4)] == [(0, 1), (1, 3), (3, 0), (3, 0)]
    assert relays.homes_of(0, away={0, 1, 2, 3}) == ()


def test_without_absences_a_leaf_knows_its_homes_only() -> None:
    assert (Relays(5, homes=2).known, Relays(5, homes=2, absences=(RelayAbsence(0, 5),)).known) == (2, 5)


def test_a_random_graph_has_the_degree_is_connected_and_comes_from_its_seed() -> None:
    for agents, degree in ((2, 1), (9, 2), (20, 3), (30, 6), (12, 11)):
        graph = Graph.random(agents, degree, seed=3)
        graph.check(agents)
        assert [len(one) for one in graph.neighbours(agents)] == [degree] * agents
    assert Graph.random(20, 3, seed=3) == Graph.random(20, 3, seed=3) != Graph.random(20, 3, seed=4)


@pytest.mark.parametrize(
    "topology",
    [
        None,
        Relays(),
        Relays(3, homes=2, absences=(RelayAbsence(1, 5, 9), RelayAbsence(1, 9), RelayAbsence(0, 7, 50))),
        Graph.ring(4),
        Graph(((0, 1), (1, 2), (3, 1))),
    ],
)
def test_a_topology_can_be_written_and_read_again(topology: Topology | None) -> None:
    written = world(topology)
    ref = written if topology is None or isinstance(topology, Relays) else world(Graph(topology.edges))
    assert scenario_from_mapping(scenario_to_mapping(written)) == ScenarioFile(ref)
    assert scenario_from_mapping(tomllib.loads(scenario_to_toml(written))) == ScenarioFile(ref)


def test_a_graph_of_one_agent_can_be_written_and_read_again() -> None:
    alone = Scenario(100, Arms.of([0.5]), (AgentSpec(Rate(0.5)),), BuiltIn("ucb", 3.0), topology=Graph(()))
    assert scenario_from_mapping(tomllib.loads(scenario_to_toml(alone))) == ScenarioFile(alone)


def test_what_relays_would_do_after_the_horizon_is_not_written() -> None:
    absences = (RelayAbsence(0, 5, 150), RelayAbsence(1, 100), RelayAbsence(1, 40, 50, forgets=True))
    written = scenario_to_mapping(world(Relays(2, absences=absences), sharing=on_demand(loss_tolerant=True)))
    assert written["network"] == {
        "topology": "relays",
        "relays": 2,
        "homes": 1,
        "absences": [{"relay": 0, "leave": 5}, {"relay": 1, "leave": 40, "rejoin": 50, "forgets": True}],
    }


def test_a_file_names_every_topology(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("agent,other\n0,1\n1,2\n2,3\n", encoding="utf-8")
    line = Graph(((0, 1), (1, 2), (2, 3)))
    assert read({}).topology is read({"topology": "mesh"}).topology is None
    assert read({"topology": "relays"}).topology == Relays(2, 1)
    assert read({"topology": "relays", "relays": 3, "homes": 2}).topology == Relays(3, 2)
    assert read({"topology": "ring"}).topology == Graph.ring(4)
    assert read({"topology": "grid"}).topology == Graph.grid(4)
    assert read({"topology": "random", "degree": 3, "seed": 5}).topology == Graph.random(4, 3, seed=5)
    assert read({"topology": "edges", "file": "edges.csv"}, folder=tmp_path).topology == line
    assert read({"topology": "edges", "edges": [[0, 1], [2, 1], [3, 2]]}).topology == line


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"topology": "star"}, 'network.topology must be "mesh" or "relays" or "ring" or "grid" or "random" or "edges"'),
    ({"relays": 2}, 'network.relays = 2 is not allowed here: it belongs to topology = "relays", and this is "mesh"'),
    ({"topology": "relays", "degree": 2}, "network.degree = 2 is not allowed here"),
    ({"topology": "relays", "homes": 3}, "network: a leaf cannot have 3 homes with 2 relays: homes <= relays"),
    ({"topology": "relays", "relays": 0}, "network.relays must be a whole number from 1 to 1000, not 0"),
    (
        {"topology": "relays", "threshold": {"constant": 8}},
        "network.threshold = {'constant': 8} is not allowed here: a relay answers every share of a leaf at once. With",
    ),
    (
        {"topology": "relays", "absences": [{"relay": 2, "leave": 5}]},
        "network.absences[0].relay must be a whole number from 0 to 1, not 2",
    ),
    (
        {"topology": "relays", "absences": [{"relay": 0, "leave": 5, "rejoin": 5}]},
        "network.absences[0].rejoin must be a whole number from 6 to 99, not 5",
    ),
    (
        {"topology": "relays", "absences": [{"relay": 0, "leave": 5, "rejoin": 20}, {"relay": 0, "leave": 10}]},
        "network: relay 0 is away already when it leaves in slot 10",
    ),
    (
        {"topology": "relays", "absences": [{"relay": 0, "leave": 5, "rejoin": 20, "forgets": True}]},
        "a relay that forgets needs loss-tolerant agents",
    ),
    ({"topology": "random"}, "network.degree is missing"),
    ({"topology": "random", "degree": 4}, "network.topology: degree 4 needs more than 4 agents"),
    ({"topology": "edges"}, "network needs exactly one of file, edges, but has none of them"),
    ({"topology": "edges", "edges": []}, "network.edges must be a list of pairs of agents, at least one, not []"),
    ({"topology": "edges", "file": "no.csv"}, "network.topology: cannot read no.csv: No such file or directory"),
    (
        {"topology": "edges", "edges": [[0, 1], [2, 3]]},
        "network.topology: the graph is not connected: nothing that agent 0 observes would ever reach agent 2",
    ),
    ({"topology": "edges", "edges": [[0, 4]]}, "network.edges[0] must be two agents such as [0, 1]"),
    ({"topology": "edges", "edges": [[1, 1]]}, "network.topology: agent 1 cannot have an edge to itself"),
    ({"topology": "edges", "edges": [[0, 1], [1, 0]]}, "network.topology: the edge between 0 and 1 is given twice"),
]


@pytest.mark.parametrize(("network", "text"), REFUSED, ids=[text[:60] for _, text in REFUSED])
def test_a_network_that_cannot_work_is_refused_with_the_reason(network: dict[str, object], text: str) -> None:
    with pytest.raises(LocalError) as refused:
        read(network)
    assert str(refused.value).startswith(text)


def test_an_odd_number_of_ends_is_refused() -> None:
    with pytest.raises(LocalError, match=r"5 agents cannot have 3 neighbours each: .* 15 ends are an odd number"):
        Graph.random(5, 3)


def test_a_partition_may_name_relays_and_no_node_beyond_them() -> None:
    cut = Faults(partitions=(Partition(5, 9, (0,), (5,)),))
    assert world(Relays(2), faults=cut).node_count == 6
    with pytest.raises(LocalError, match="an agent of a partition must be"):
        world(Relays(1), faults=cut)


@pytest.mark.parametrize(
    ("topology", "sentence"),
    [
        (Relays(2), "They are leaves of 2 relays, each with 1 home."),
        (
            Relays(3, 2, (RelayAbsence(0, 5),)),
            "They are leaves of 3 relays, each with 2 homes; relays are away 1 time.",
        ),
        (Graph.ring(4), "Each talks to its neighbours in a graph of 4 edges (ring)."),
    ],
)
def test_a_topology_is_told_in_words(topology: Topology, sentence: str) -> None:
    assert sentence in scenario_in_words(world(topology))
