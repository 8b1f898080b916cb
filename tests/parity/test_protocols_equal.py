"""Plug-ins with a compiled form tell the same story on both engines, with every policy; others are refused in words."""

import os
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.parity.test_kernel_equals_reference import HORIZON, arms, check_both_tell_the_same, policies, schedules

from cobandit.policies.registry import BuiltIn
from cobandit.protocols import plug_in
from cobandit.protocols.aac import AccuracyAdaptive
from cobandit.protocols.event_hub import EventHub
from cobandit.protocols.gossip import Gossip
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.protocols.plug_in import PlugIn
from cobandit.protocols.registry import PLUG_INS
from cobandit.protocols.tcom import Tcom
from cobandit.scenario import Absence, AgentSpec, Arms, Faults, Graph, Rate, RelayAbsence, Relays, Scenario, Slots
from cobandit.scenario.tape import Luck
from cobandit.simulator import kernel, reference
from cobandit.simulator.kernel.plugging import FORMS
from cobandit.simulator.trials import engine_for
from cobandit.studies.paper import surrogate_arms
from cobandit.values.errors import LocalError

IS_SLOW = bool(os.environ.get("NUMBA_DISABLE_JIT"))
EXAMPLES = 20 if IS_SLOW else 100

plug_ins: st.SearchStrategy[PlugIn] = st.one_of(
    st.builds(lambda period: plug_in(PeriodicHub, period=period), st.sampled_from([1, 3, 8, 10**30])),
    st.builds(
        lambda alpha, weight: plug_in(EventHub, alpha=alpha, weight=weight),
        st.sampled_from([0.01, 0.3, 1.0]),
        st.sampled_from([0.5, 1.0, 3.0]),
    ),
    st.builds(lambda period, pull: plug_in(Gossip, period=period, pull=pull), st.integers(1, 5), st.booleans()),
    st.builds(
        lambda alpha, release, others: plug_in(AccuracyAdaptive, alpha=alpha, release=release, others_count=others),
        st.sampled_from([1.0, 1.3, 2.0, 6.0]),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(lambda beta: plug_in(Tcom, beta=beta), st.sampled_from([1.01, 1.5, 2.0, 7.0])),
)


@st.composite
def worlds(draw: st.DrawFn) -> Scenario:
    """Worlds in which plug-ins have a compiled form: with hubs that die and come back, and on graphs."""
    plugged = draw(plug_ins)
    world_arms = draw(arms)
    starts, stops = st.sampled_from([0, 0, 30]), st.sampled_from([None, None, 90])
    specs = st.builds(AgentSpec, schedules, start=starts, stop=stops)
    agents = tuple(draw(st.lists(specs, min_size=1, max_size=6)))
    topology: Graph | Relays | None = None
    count = len(agents)
    if plugged.hubs and draw(st.booleans()):
        slots = sorted(draw(st.lists(st.integers(0, HORIZON), max_size=4, unique=True)))
        ends = [*slots, None]
        away = [RelayAbsence(0, leave, ends[place + 1]) for place, leave in enumerate(slots) if place % 2 == 0]
        topology = Relays(1, absences=tuple(away))
    elif FORMS[plugged.build].on_graphs and not plugged.hubs and count > 1 and draw(st.booleans()):
        pairs = [(one, other) for one in range(count) for other in range(one)]
        tree = [(agent, draw(st.integers(0, agent - 1))) for agent in range(1, count)]
        topology = Graph(tuple(sorted({*tree, *draw(st.lists(st.sampled_from(pairs), max_size=5))})))
    luck: Luck = draw(st.sampled_from(get_args(Luck)))
    return Scenario(HORIZON, world_arms, agents, draw(policies), plugged, topology=topology, luck=luck)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(world=worlds(), seed=st.integers(0, 2**62), trial=st.integers(0, 3))
def test_the_kernel_tells_the_same_story_of_a_plug_in(world: Scenario, seed: int, trial: int) -> None:
    check_both_tell_the_same(world, seed, trial)


AGENTS = tuple(AgentSpec(Rate(rate)) for rate in (1.0, 0.4, 0.1, 0.02))
WORLD = Scenario(1_500, Arms.of([0.2, 0.5, 0.6, 0.8]), AGENTS, BuiltIn("ucb"))
COMPILED = [
    plug_in(PeriodicHub, period=4),
    plug_in(EventHub, alpha=0.05),
    plug_in(Gossip),
    plug_in(Gossip, period=2, pull=True),
    plug_in(AccuracyAdaptive, alpha=1.3),
    plug_in(Tcom, beta=1.2),
]


@pytest.mark.parametrize("plugged", COMPILED, ids=str)
@pytest.mark.skipif(IS_SLOW, reason="too slow without a compiler")
@pytest.mark.parametrize("policy", ["ucb", "aae", "kl-ucb", "thompson"])
def test_longer_runs_agree_in_every_count(plugged: PlugIn, policy: str) -> None:
    world = replace(WORLD, sharing=plugged, policy=BuiltIn(policy), horizon=300 if policy == "kl-ucb" else 1_500)
    slots = (10, 150)
    ref = reference.run(world, seed=5, trial=2, checkpoints=slots)
    assert ref.shares > 0
    assert kernel.run(world, seed=5, trial=2, checkpoints=slots) == ref


@pytest.mark.parametrize("plugged", COMPILED, ids=str)
def test_messages_of_many_cells_have_their_size(plugged: PlugIn) -> None:
    """Lists of more than 15 cells, and positions beyond 127: most agents never decide."""
    agents = (AgentSpec(Slots(())),) * 122 + (AgentSpec(Rate(0.02)), *(AgentSpec(Rate(0.5)),) * 7)
    world = Scenario(80, surrogate_arms(), agents, BuiltIn("ucb"), plugged)
    for one in (world, replace(world, agents=agents[-8:], horizon=250)):
        assert kernel.run(one, seed=3) == reference.run(one, seed=3)


def test_the_registry_says_what_has_a_compiled_form() -> None:
    assert {build for build in PLUG_INS.values() if build.about.compiled} == set(FORMS)


@pytest.mark.parametrize("plugged", COMPILED, ids=str)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"delay": 1}, "a network without delay and faults"),
        ({"faults": Faults(loss=0.1)}, "a network without delay and faults"),
        ({"agents": (*AGENTS, AgentSpec(Rate(0.5), absences=(Absence(3, 9),)))}, "agents that are never away"),
        ({"agents": (*AGENTS, AgentSpec(Rate(0.5), arms=("1", "0")))}, "agents that all have all arms, in one order"),
    ],
)
def test_other_worlds_are_left_to_the_readable_engine(plugged: PlugIn, change: dict[str, object], why: str) -> None:
    world = replace(WORLD, sharing=plugged)
    assert engine_for(world, "auto") == "compiled"
    unfit = replace(world, **change)  # type: ignore[arg-type]  # fields by name
    assert engine_for(unfit, "auto") == "reference"
    with pytest.raises(LocalError) as refused:
        kernel.run(unfit, seed=1)
    title = plugged.about.title
    assert str(refused.value) == f"{title} has a compiled form only for {why}: use the readable engine"


def test_other_networks_are_left_to_the_readable_engine() -> None:
    on_a_graph = replace(WORLD, sharing=plug_in(AccuracyAdaptive), topology=Graph.ring(4))
    with_hubs = replace(WORLD, sharing=plug_in(PeriodicHub, hubs=2))
    derived = replace(WORLD, sharing=plug_in(type("Mine", (Gossip,), {})))
    for unfit, why in (
        (on_a_graph, "has a compiled form only for agents that talk to everybody: use"),
        (with_hubs, "a periodic hub has a compiled form only for 1 hubs: use"),
        (derived, "gossip is a plug-in without a compiled form: use"),
    ):
        assert engine_for(unfit, "auto") == "reference"
        with pytest.raises(LocalError, match=why):
            kernel.run(unfit, seed=1)
