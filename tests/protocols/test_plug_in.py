"""A protocol of anybody's in a scenario: made, refused, run, written and read."""

from typing import Any

import pytest
from tests.protocols.conversations import Spoken, played, spoken, world

import cobandit
from cobandit.policies.registry import BuiltIn
from cobandit.protocols import About, Node, plug_in, register
from cobandit.protocols.gossip import Gossip
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.protocols.registry import PLUG_INS
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    Graph,
    Kind,
    Rate,
    RelayAbsence,
    Relays,
    Scenario,
    Slots,
    scenario_from_mapping,
    scenario_to_mapping,
)
from cobandit.scenario.words import scenario_in_words
from cobandit.simulator import kernel
from cobandit.simulator.reference import run
from cobandit.simulator.result import UNKNOWN
from cobandit.simulator.trials import engine_for
from cobandit.values.errors import LocalError
from cobandit.values.provenance import source_hash


class Shout:
    """Tell everybody a word after every pull."""

    about = About(title="shouting", told="They shout", observations=False)

    def __init__(self, node: Node, *, word: str = "hey", times: int = 1, loud: float = 1.0, on: bool = True) -> None:
        self.node, self.word, self.times, self.loud, self.on = node, word, times, loud, on
        self.heard: list[tuple[int, int, str]] = []
        self.met: list[tuple[str, int]] = []

    def observed(self, arm: str, reward: float) -> None:
        for _ in range(self.times):
            for other in self.node.here:
                self.node.send(other, [self.word, arm, reward])

    def received(self, sender: int, message: Any) -> None:
        self.heard.append((self.node.slot, sender, message[0]))

    def left(self, other: int) -> None:
        self.met.append(("left", other))

    def joined(self, other: int) -> None:
        self.met.append(("joined", other))


class Ticking(Shout):
    """Speak when it is woken, and not when it pulls."""

    about = About(title="ticking", told="They tick", observations=False)

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        node.wake_in(10)

    def observed(self, arm: str, reward: float) -> None:
        pass

    def tick(self) -> None:
        for other in self.node.neighbours:
            self.node.send(other, ["tick"], kind="notice")
        self.node.wake_in(15)


class Wilful(Shout):
    """Choose arms itself."""

    def select_arm(self) -> str:
        return self.word


class NoProtocol:
    """Has no methods."""


def test_parameters_are_those_of_the_class_with_its_defaults() -> None:
    assert plug_in(Shout, times=2).parameters == {"word": "hey", "times": 2, "loud": 1.0, "on": True}
    assert plug_in(Shout, loud=2).parameters["loud"] == 2.0
    assert repr(plug_in(Gossip)) == "plug_in(Gossip, period=4, pull=False)"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"period": "four"}, "period of Gossip must be a whole number, not 'four'"),
        ({"period": True}, "period of Gossip must be a whole number, not True"),
        ({"pull": 1}, "pull of Gossip must be true or false, not 1"),
        ({"peroid": 1}, "Gossip has no parameter 'peroid': it has period, pull"),
    ],
)
def test_a_wrong_parameter_is_named(given: dict[str, Any], why: str) -> None:
    with pytest.raises(LocalError) as refused:
        plug_in(Gossip, **given)
    assert str(refused.value) == why


def test_a_class_that_takes_no_node_is_told_so() -> None:
    class Nowhere:
        def observed(self, arm: str, reward: float, now: float) -> tuple[()]:
            return ()

        def received(self, message: object, now: float) -> tuple[()]:
            return ()

    with pytest.raises(LocalError, match=r"Nowhere must take the node that it runs at: def __init__\(self, node\)"):
        plug_in(Nowhere)


def test_what_the_class_refuses_is_refused_when_the_scenario_is_made() -> None:
    with pytest.raises(LocalError, match="period must be a whole number of at least 1, not 0"):
        world(plug_in(Gossip, period=0), [[1], [2]])


@pytest.mark.parametrize("what", [NoProtocol, Shout.received, "gossip", lambda node: node])
def test_what_is_no_class_with_the_two_methods_is_refused(what: Any) -> None:
    with pytest.raises(LocalError, match="a protocol is a class with the methods observed and received"):
        plug_in(what)


def test_messages_arrive_within_the_slot_and_are_told_like_any_others() -> None:
    scenario = world(plug_in(Shout), [[3], [5], []])
    engine, rows = played(scenario)
    assert [node.protocol.heard for node in engine.nodes] == [
        [(5, 1, "hey")],
        [(3, 0, "hey")],
        [(3, 0, "hey"), (5, 1, "hey")],
    ]
    assert [tuple(row) for row in rows if row.slot == 3] == [
        (3, Kind.DECISION, 0, 0, 1, 1, 0),
        (3, Kind.SHARE, 0, 1, 1, 0, 1),
        (3, Kind.DELIVERY, 1, 0, 1, 0, 0),
        (3, Kind.SHARE, 0, 2, 1, 0, 1),
        (3, Kind.DELIVERY, 2, 0, 1, 0, 0),
    ]
    said = engine.result().communication
    assert (said.shares.tolist(), said.agent_rounds) == ([[0, 1, 1], [1, 0, 1], [0, 0, 0]], 2)
    assert said.bytes == 2 * (14 + 1 + 4 + 2 + 1) + 2 * (14 + 1 + 4 + 2 + 1)


def test_delay_is_kept() -> None:
    engine, _ = played(world(plug_in(Shout), [[3], []], delay=4))
    assert engine.nodes[1].protocol.heard == [(7, 0, "hey")]


def test_agent_rounds_count_slots_in_which_an_agent_spoke_however_often() -> None:
    engine, _ = played(world(plug_in(Shout, times=3), [[3, 4], [3]]))
    assert (engine.result().shares, engine.result().communication.agent_rounds) == (9, 3)


def test_a_tick_comes_when_it_was_asked_for() -> None:
    engine, _ = played(world(plug_in(Ticking), [[], []], horizon=50))
    assert [slot for slot, _, _ in engine.nodes[1].protocol.heard] == [10, 25, 40]
    assert (engine.result().shares, engine.result().notices) == (0, 6)


def test_who_leaves_says_so_and_what_is_sent_to_it_waits() -> None:
    scenario = Scenario(
        100,
        Arms.of([1.0, 0.0]),
        (AgentSpec(Slots((5, 25))), AgentSpec(Slots((30,)), absences=(Absence(4, 20),))),
        sharing=plug_in(Shout),
    )
    engine, _ = played(scenario)
    first, second = (node.protocol for node in engine.nodes)
    assert first.met == [("left", 1), ("joined", 1)]
    assert second.heard == [(25, 0, "hey")]  # in slot 5 agent 0 knew that nobody was there
    assert engine.result().notices == 2


def test_a_hub_that_is_killed_says_nothing_and_is_noticed() -> None:
    scenario = world(
        plug_in(Shout, hubs=1), [[5, 15, 25], []], topology=Relays(1, absences=(RelayAbsence(0, 10, 20),)), horizon=50
    )
    engine, _ = played(scenario)
    assert engine.nodes[0].protocol.met == [("left", 2), ("joined", 2)]
    assert [slot for slot, _, _ in engine.nodes[2].protocol.heard] == [5, 25]
    assert engine.result().notices == 0


def test_a_protocol_may_choose_arms_and_only_those_there_are() -> None:
    engine, rows = played(world(plug_in(Wilful, word="1"), [[1, 2, 3], []]))
    assert [row.other for row in rows if row.kind == Kind.DECISION] == [1, 1, 1]
    with pytest.raises(LocalError, match="the protocol of agent 0 chose 'C': its arms are 0, 1"):
        run(world(plug_in(Wilful, word="C"), [[1]]), seed=1)
    assert len(engine.nodes) == 2


def test_a_graph_says_who_the_neighbours_are() -> None:
    told = spoken(world(plug_in(Shout), [[3], [], [], []], topology=Graph.ring(4)))
    assert told == [Spoken(3, 0, 1), Spoken(3, 0, 3)]


def test_a_topology_with_other_hubs_than_the_protocol_needs_is_refused() -> None:
    with pytest.raises(LocalError, match="a periodic hub needs hubs: 1, but the topology has 2"):
        world(plug_in(PeriodicHub), [[1]], topology=Relays(2))
    with pytest.raises(LocalError, match="gossip needs hubs: 0, but the topology has 2"):
        world(plug_in(Gossip), [[1]], topology=Relays(2))


def test_knowledge_that_is_no_observations_has_no_staleness() -> None:
    result = run(world(plug_in(Shout), [[3], [5]]), seed=1)
    assert result.lacking == UNKNOWN
    assert result.staleness != result.staleness  # NaN
    assert run(world(plug_in(Gossip), [[3], [5]]), seed=1).lacking == 1


def test_the_compiled_engine_says_why_not_and_auto_takes_the_other() -> None:
    scenario = world(plug_in(Shout), [[3], [5]])
    assert engine_for(scenario, "auto") == "reference"
    with pytest.raises(LocalError, match="shouting is a plug-in without a compiled form: use the readable engine"):
        kernel.run(scenario, seed=1)


def test_a_file_names_a_registered_protocol_and_its_parameters() -> None:
    scenario = world(plug_in(Gossip, period=7, pull=True), [[3], [5]], policy=BuiltIn("ucb", 3.0))
    written = scenario_to_mapping(scenario)
    assert written["sharing"] == {"protocol": "gossip", "period": 7, "pull": True, "delay": 0}
    assert scenario_from_mapping(written).scenario == scenario
    assert "They gossip" in " ".join(scenario_in_words(scenario))


@pytest.mark.parametrize(
    ("sharing", "why"),
    [
        (
            {"protocol": "gossip", "perod": 3},
            "sharing.perod = 3 is not a key that cobandit knows: did you mean",
        ),
        ({"protocol": "gossip", "period": 0.5}, "sharing: period of Gossip must be a whole number, not 0.5"),
        (
            {"protocol": "gossip", "threshold": 2},
            "sharing.threshold = 2 is not allowed here: protocol",
        ),
        ({"protocol": "odc", "period": 3}, "sharing.period = 3 is not a key that cobandit knows"),
    ],
)
def test_a_file_that_is_wrong_names_the_key(sharing: dict[str, Any], why: str) -> None:
    content = {"horizon": 9, "arms": {"means": [0.5]}, "agents": [{"count": 2, "rate": 0.5}], "sharing": sharing}
    with pytest.raises(LocalError) as refused:
        scenario_from_mapping(content)
    assert str(refused.value).startswith(why)


def test_a_word_belongs_to_one_protocol() -> None:
    class Other(Shout):
        about = About(word="gossip", title="x", told="x")

    class Table(Shout):
        about = About(word="odc", title="x", told="x")

    for build in (Other, Table):
        with pytest.raises(LocalError, match="which another protocol has already"):
            register(build)
    with pytest.raises(LocalError, match="needs about = About"):
        register(Shout)
    register(Gossip)  # once more is nothing new
    assert PLUG_INS["gossip"] is Gossip


def test_a_result_says_which_class_it_was_with_which_source() -> None:
    results = cobandit.simulate(world(plug_in(Shout, times=2), [[3], [5]]), trials=1)
    assert results.about.scenarios["scenario"]["sharing"]["protocol"] == {
        "python": f"{__name__}.Shout",
        "parameters": {"word": "hey", "times": 2, "loud": 1.0, "on": True},
        "hubs": 0,
        "source": source_hash(Shout),
        "told": "They shout",
    }
    assert source_hash(Shout) is not None
    assert source_hash(Shout) != source_hash(Ticking)
    assert source_hash(lambda: 1) is None


def test_a_word_of_your_own_does_not_hide_which_class_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shout, "about", About(title="shouting", told="They shout", word="shout", observations=False))
    monkeypatch.setitem(PLUG_INS, "shout", Shout)
    about = cobandit.simulate(world(plug_in(Shout, times=2), [[3], [5]]), trials=1).about
    assert about.scenarios["scenario"]["sharing"]["protocol"]["source"] == source_hash(Shout)
    told = cobandit.simulate(world(plug_in(Gossip, period=2), [[3], [5]]), trials=1).about
    assert told.scenarios["scenario"]["sharing"]["protocol"] == "gossip"


class Echo(Shout):
    def received(self, sender: int, message: Any) -> None:
        self.node.send(sender, message)


def test_nodes_that_answer_each_other_without_end_are_stopped() -> None:
    with pytest.raises(LocalError, match="in slot 3 the protocol has sent 10400 messages: nodes answer each other"):
        run(world(plug_in(Echo), [[3], [5]]), seed=1)


def test_agents_may_have_policies_of_their_own() -> None:
    fast, slow = AgentSpec(Rate(1.0)), AgentSpec(Rate(0.3), policy=BuiltIn("thompson"))
    scenario = Scenario(300, Arms.of([0.2, 0.8]), (fast, slow), BuiltIn("ucb", 3.0))
    assert engine_for(scenario, "auto") == "reference"
    with pytest.raises(LocalError, match="the compiled engine knows one policy for all agents"):
        kernel.run(scenario, seed=1)
    assert run(scenario, seed=1) != run(Scenario(300, Arms.of([0.2, 0.8]), (fast, AgentSpec(Rate(0.3)))), seed=1)
    assert scenario_from_mapping(scenario_to_mapping(scenario)).scenario == scenario
    assert "by Thompson sampling" in " ".join(scenario_in_words(scenario))
    with pytest.raises(LocalError, match="an agent's policy must be"):
        AgentSpec(Rate(0.5), policy=BuiltIn)  # type: ignore[arg-type]
