"""The readable engine with relays and on graphs: what reaches whom, what is counted, and what a dead relay costs."""

import pytest

from cobandit import LocalError
from cobandit.core import Constant, Geometric, Sharing, immediate, on_demand
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuiltIn,
    Faults,
    Graph,
    Rate,
    RelayAbsence,
    Relays,
    Row,
    Scenario,
    Slots,
    Tape,
    Topology,
    transcript,
)
from cobandit.simulator.reference import ReferenceRun, run
from cobandit.simulator.trials import Job, run_job
from cobandit.studies.explanation import explain

PATIENT = on_demand(Geometric(2, cap=8), loss_tolerant=True)


def world(
    topology: Topology | None, agents: int = 6, *, sharing: Sharing | None = None, delay: int = 0, **changes: object
) -> Scenario:
    specs = tuple(AgentSpec(Rate(0.5 if place % 2 else 0.05)) for place in range(agents))
    talk = on_demand(Geometric(2, cap=8)) if sharing is None else sharing
    return Scenario(600, Arms.of([0.2, 0.5, 0.8]), specs, BuiltIn("ucb"), talk, delay, topology=topology, **changes)  # type: ignore[arg-type]


def told(topology: Topology, *agents: AgentSpec, names: str, delay: int = 0) -> list[str]:
    rows: list[Row] = []
    run(Scenario(60, Arms.of([1.0]), agents, delay=delay, topology=topology), seed=1, trace=rows)
    return transcript(rows, names.split(), ["A"]).splitlines()


def test_a_relay_answers_a_leaf_at_once_with_what_the_others_observed() -> None:
    lines = told(Relays(1), AgentSpec(Slots((1,))), AgentSpec(Slots((2, 3))), names="a b relay")
    assert lines == [
        "slot 1: a pulls A, reward 1",
        "slot 1: a -> relay share 1 with 1 observation",
        "slot 1: relay receives share 1 of a",
        "slot 1: relay -> a share 1 with 0 observations",
        "slot 1: a receives share 1 of relay",
        "slot 2: b pulls A, reward 1",
        "slot 2: b -> relay share 1 with 1 observation",
        "slot 2: relay receives share 1 of b",
        "slot 2: relay -> b share 1 with 0 observations",
        "slot 2: b receives share 1 of relay",
        "slot 3: b pulls A, reward 1",
        "slot 3: b -> relay share 2 with 1 observation",
        "slot 3: relay receives share 2 of b",
        "slot 3: relay -> b share 2 with 0 observations",
        "slot 3: b receives share 2 of relay",
    ]


def test_relays_share_with_each_other_on_demand_after_the_answer() -> None:
    lines = told(Relays(2), AgentSpec(Slots((1, 2))), AgentSpec(Slots((3,))), names="a b r s")
    assert [line for line in lines if "->" in line and ("r -> s" in line or "s -> r" in line)] == [
        "slot 1: r -> s share 1 with 1 observation",  # and not in slot 2: s has not asked since
        "slot 3: s -> r share 1 with 1 observation",
        "slot 3: r -> s share 2 with 1 observation",
    ]


def test_in_a_graph_everything_reaches_everybody_and_comes_back_to_nobody() -> None:
    line = Graph(((0, 1), (1, 2)))
    lines = told(line, AgentSpec(Slots((1,))), AgentSpec(Slots((2,))), AgentSpec(Slots((3,))), names="a b c")
    assert [line for line in lines if "->" in line] == [
        "slot 1: a -> b share 1 with 1 observation",
        "slot 1: b -> c share 1 with 1 observation",
        "slot 2: b -> a share 1 with 1 observation",
        "slot 3: c -> b share 1 with 1 observation",
        "slot 3: b -> c share 2 with 1 observation",  # what b observed itself; c's is not among it
    ]


@pytest.mark.parametrize(
    "topology",
    [
        Relays(1),
        Relays(3, homes=2),
        Relays(3, absences=(RelayAbsence(0, 100, 300), RelayAbsence(1, 200, 400))),
        Graph.ring(6),
        Graph.random(6, 3),
    ],
)
@pytest.mark.parametrize("delay", [0, 4])
def test_nobody_ever_knows_more_than_was_observed_and_nothing_counts_twice(topology: Topology, delay: int) -> None:
    def look(engine: ReferenceRun) -> None:
        made = engine.result().pulls.sum(axis=0).tolist()
        for agent in engine.agents:
            known = agent.policy.tally
            for arm, observed in zip(engine.scenario.arms.names, made, strict=True):
                assert known.counts[arm] <= observed

    ReferenceRun(world(topology, delay=delay), Tape(1), None, watch=look).run()


def everything(engine: ReferenceRun) -> list[int]:
    return [agent.policy.tally.observations for agent in engine.agents]


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_after_a_dead_relay_is_back_everybody_comes_to_know_everything(loss: float, *, forgets: bool) -> None:
    topology = Relays(2, absences=(RelayAbsence(0, 100, 250, forgets=forgets),))
    busy = tuple(AgentSpec(Rate(0.5), stop=400) for _ in range(4))
    patient = on_demand(Constant(2), loss_tolerant=True)
    scenario = Scenario(
        400_000, Arms.of([0.3, 0.7]), busy, sharing=patient, faults=Faults(loss=loss), topology=topology
    )
    engine = ReferenceRun(scenario, Tape(2), None)
    engine.run()
    assert everything(engine) == [int(engine.result().pulls.sum())] * 6


def test_on_a_lossy_graph_everybody_comes_to_know_everything() -> None:
    busy = tuple(AgentSpec(Rate(0.5), stop=400) for _ in range(6))
    patient = on_demand(Constant(2), loss_tolerant=True)
    faults = Faults(loss=0.3, duplication=0.2, reordering=0.2)
    scenario = Scenario(800_000, Arms.of([0.3, 0.7]), busy, sharing=patient, faults=faults, topology=Graph.ring(6))
    engine = ReferenceRun(scenario, Tape(2), None)
    engine.run()
    assert everything(engine) == [int(engine.result().pulls.sum())] * 6


def test_a_leaf_goes_on_with_the_next_relay_while_its_home_is_away_and_returns_to_it() -> None:
    topology = Relays(2, absences=(RelayAbsence(0, 10, 20),))
    specs = (AgentSpec(Slots((5, 12, 25))), AgentSpec(Slots((6, 13))))
    lines = told(topology, *specs, names="a b r s")
    assert [line for line in lines if " a -> " in line or "leaves" in line or "joins" in line] == [
        "slot 5: a -> r share 1 with 1 observation",
        "slot 10: r leaves",
        "slot 12: a -> s share 1 with 2 observations",
        "slot 20: r joins",
        "slot 25: a -> r share 2 with 2 observations",
    ]


def test_a_leaf_that_was_away_says_so_to_its_relays_only() -> None:
    specs = (AgentSpec(Rate(0.5), absences=(Absence(20, 40),)), AgentSpec(Rate(0.5)), AgentSpec(Rate(0.5)))
    scenario = Scenario(100, Arms.of([0.2, 0.8]), specs, topology=Relays(3, homes=2))
    said = run(scenario, seed=1).communication
    assert said.links is not None
    assert said.links[said.notices > 0].tolist() == [[0, 3], [0, 4]]
    assert said.notices.sum() == 4


def test_counts_by_link_add_up_to_counts_by_agent() -> None:
    scenario = world(Relays(2))
    result, trial = run(scenario, seed=1), run_job(Job("fleet", scenario, 1, 0, engine="reference"))
    said = result.communication
    assert said.links is not None
    up, down = said.shares[:6], said.shares[6:12]
    assert trial.by_agent["shares_sent"] == up.tolist()
    assert trial.by_agent["shares_received"] == down.tolist() == up.tolist()
    assert trial.totals["shares"] == 2 * up.sum() + said.shares[12:].sum()


def test_immediate_broadcast_through_relays_is_two_messages_for_each_decision() -> None:
    result = run(world(Relays(1), sharing=immediate()), seed=1)
    assert result.shares == 2 * sum(result.decisions)


def test_explanations_are_about_a_mesh() -> None:
    with pytest.raises(LocalError, match="explanations show two agents in a mesh: leave out the topology"):
        explain(world(Relays(2)))
