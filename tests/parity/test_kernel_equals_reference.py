"""The compiled engine equals the readable one: the same tape in, the same trace and the same counts out, exactly.

Worlds are small and random. With the environment variable NUMBA_DISABLE_JIT=1 the same tests judge the same functions
without a compiler, which tells an error of the rules from one of the compiler; `test_without_a_compiler.py` does that.
"""

import os
from collections.abc import Callable
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobandit.core import (
    Constant,
    FromFunction,
    Geometric,
    PerCandidate,
    RetryTimers,
    Sharing,
    Threshold,
    immediate,
    on_demand,
    silent,
)
from cobandit.core.protocols.on_demand import ON_DEMAND
from cobandit.core.protocols.rules import Input, Rule, Rules, rules
from cobandit.policies import Horizon
from cobandit.scenario import (
    Absence,
    AgentSpec,
    Arms,
    BuildPolicy,
    BuiltIn,
    Faults,
    Graph,
    Halving,
    IndexFunction,
    OnOff,
    Partition,
    Rate,
    RelayAbsence,
    Relays,
    Row,
    Scenario,
    Sine,
    Slots,
    Tape,
    Topology,
)
from cobandit.simulator import kernel, reference
from cobandit.simulator.kernel import Room, prepare
from cobandit.simulator.kernel import sizes as sizes_of
from cobandit.simulator.trials import engine_for
from cobandit.studies.paper import TABLES, surrogate_arms
from cobandit.values.errors import LocalError

HORIZON = 120
EXAMPLES = 25 if os.environ.get("NUMBA_DISABLE_JIT") else 120

means = st.sampled_from([0.05, 0.3, 0.5, 0.52, 0.95, 1.0, 0.0])
arms = st.lists(means, min_size=1, max_size=5).map(Arms.of)
schedules = st.one_of(
    st.builds(Rate, st.sampled_from([0.0, 0.05, 0.4, 0.9, 1.0])),
    st.builds(Halving, st.sampled_from([0.3, 1.0])),
    st.builds(OnOff, st.sampled_from([0.8, 1.0]), st.sampled_from([0.0, 0.1, 1.0])),
    st.builds(Sine, st.floats(0.0, 6.0), st.sampled_from([3.0, 30.0])),
    st.builds(lambda slots: Slots(tuple(sorted(slots))), st.sets(st.integers(0, HORIZON + 5), max_size=40)),
)
absences = st.lists(st.integers(0, HORIZON), max_size=4, unique=True).map(
    lambda slots: tuple(
        Absence(leave, rejoin) for leave, rejoin in zip(sorted(slots)[::2], [*sorted(slots), None][1::2], strict=False)
    )
)


def optimist(mean: float, count: int, budget: float) -> float:
    return mean + budget / (count + 1)


thresholds: st.SearchStrategy[Threshold] = st.sampled_from(
    [
        Constant(1),
        Constant(3),
        Geometric(2),
        Geometric(3, cap=7),
        Geometric(2, answers_advance=False),
        Geometric(2, answers_wait=False),
        Constant(3, answers_wait=False),
        Geometric(2, phases=True),
        Geometric(3, cap=50, phases=True),
        PerCandidate(),
        PerCandidate(cap=9),
        FromFunction(lambda c: c * c),
    ]
)
impatient = st.builds(
    RetryTimers,
    first=st.sampled_from([1.0, 6.5, 20.0]),
    growth=st.sampled_from([1.0, 1.5]),
    tick=st.sampled_from([1.0, 9.0, 25.5]),
    longest=st.sampled_from([20.0, 60.0]),
)
faults = st.builds(
    Faults,
    loss=st.sampled_from([0.0, 0.2, 0.6]),
    duplication=st.sampled_from([0.0, 0.3]),
    jitter=st.sampled_from([0, 3]),
    reordering=st.sampled_from([0.0, 0.2]),
    held_back=st.sampled_from([1, 9]),
)
protocols: st.SearchStrategy[Callable[..., Sharing]] = st.sampled_from([on_demand, on_demand, immediate])
known_sharings = st.builds(
    lambda protocol, threshold, literal: protocol(threshold, literal_notices=literal),
    protocols,
    thresholds,
    st.booleans(),
)
confidences = st.sampled_from(["own", "own+2", "observed", Horizon(500)])
policies: st.SearchStrategy[BuildPolicy] = st.one_of(
    st.builds(BuiltIn, st.sampled_from(["ucb", "aae"]), st.sampled_from([0.1, 3.0]), confidences),
    st.builds(BuiltIn, st.sampled_from(["kl-ucb", "thompson", "aae"]), st.sampled_from([0.05, None]), confidences),
    st.builds(BuiltIn, st.sampled_from(["ucb-v", "normal-thompson"]), st.sampled_from([0.05, None]), confidences),
    st.builds(IndexFunction, st.just(optimist), st.just(1.0), confidences),
)


@st.composite
def tables(draw: st.DrawFn) -> Rules:
    """Protocols that nobody would want: all tables that can be followed."""
    rows = []
    for what in Input:
        for demanded in (False, True):
            for reached in (False, True) if what in (Input.OBSERVATION, Input.SHARE) else (None,):
                shares = reached is True and draw(st.booleans())
                rows.append(Rule(what, demanded, reached, demanded_after=draw(st.booleans()), shares=shares))
    return rules("random", *rows)


own_sharings = st.tuples(tables(), thresholds).map(lambda both: Sharing(*both))
sharings = st.one_of(known_sharings, known_sharings, own_sharings, st.just(silent()))


@st.composite
def worlds(draw: st.DrawFn) -> Scenario:
    world_arms = draw(arms)
    differ = draw(st.booleans())
    churn = draw(st.booleans())

    def agent() -> AgentSpec:
        own = draw(st.permutations(world_arms.names)) if differ else None
        return AgentSpec(
            draw(schedules),
            start=draw(st.sampled_from([0, 0, 30])),
            stop=draw(st.sampled_from([None, None, 90])),
            arms=None if own is None else tuple(own[: draw(st.integers(1, len(own)))]),
            absences=draw(absences) if churn else (),
        )

    return Scenario(
        HORIZON,
        world_arms,
        tuple(agent() for _ in range(draw(st.integers(1, 5)))),
        draw(policies),
        draw(sharings),
        draw(st.sampled_from([0, 0, 1, 7])),
        luck=draw(st.sampled_from(["pull", "arm"])),
    )


@st.composite
def faulty_worlds(draw: st.DrawFn) -> Scenario:
    """Worlds whose network has faults, with and without agents that expect them."""
    world = draw(worlds())
    partitions: tuple[Partition, ...] = ()
    if len(world.agents) > 1 and draw(st.booleans()):
        start, one_way = draw(st.integers(0, HORIZON)), draw(st.booleans())
        partitions = (Partition(start, start + 30, (0,), tuple(range(1, len(world.agents))), one_way),)
    sharing = world.exchange
    if draw(st.sampled_from([True, True, False])):
        rules = draw(st.one_of(st.just(sharing.rules), st.just(ON_DEMAND.table), st.just(ON_DEMAND.table)))
        sharing = Sharing(rules, draw(thresholds), draw(impatient))
    return replace(world, sharing=sharing, faults=replace(draw(faults), partitions=partitions))


@st.composite
def sheltered_worlds(draw: st.DrawFn) -> Scenario:
    """Worlds of agents that expect losses, on a network without faults; all are here and have all arms."""
    world = draw(worlds())
    agents = tuple(replace(agent, arms=None, absences=()) for agent in world.agents)
    rules = draw(st.one_of(st.just(world.exchange.rules), st.just(ON_DEMAND.table)))
    sharing = Sharing(rules, draw(thresholds), draw(impatient))
    return replace(world, agents=agents, sharing=sharing, delay=draw(st.sampled_from([0, 0, 0, 2])))


@st.composite
def relay_absences(draw: st.DrawFn, relays: int) -> tuple[RelayAbsence, ...]:
    """Times at which relays are away, of all of them at once if it so happens."""
    away: list[RelayAbsence] = []
    for relay in range(relays):
        slots = sorted(draw(st.lists(st.integers(0, HORIZON), max_size=4, unique=True)))
        ends = [*slots, None]
        away += [RelayAbsence(relay, leave, ends[place + 1]) for place, leave in enumerate(slots) if place % 2 == 0]
    return tuple(away)


@st.composite
def connected_worlds(draw: st.DrawFn) -> Scenario:
    """Worlds with relays or on a graph."""
    world = draw(worlds())
    count = len(world.agents)
    topology: Topology
    if count == 1 or draw(st.booleans()):
        relays = draw(st.integers(1, 4))
        away = draw(relay_absences(relays)) if draw(st.booleans()) else ()
        topology = Relays(relays, draw(st.integers(1, relays)), away)
        is_aae = isinstance(world.policy, BuiltIn) and world.policy.name == "aae"
        if is_aae and relays > 1 and isinstance(world.exchange.threshold, PerCandidate):
            world = replace(world, sharing=world.exchange._replace(threshold=Geometric(2)))
    else:
        pairs = [(one, other) for one in range(count) for other in range(one)]
        tree = [(agent, draw(st.integers(0, agent - 1))) for agent in range(1, count)]
        topology = Graph(tuple(sorted({*tree, *draw(st.lists(st.sampled_from(pairs), max_size=5))})))
    return replace(world, topology=topology)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(world=connected_worlds(), seed=st.integers(0, 2**62), trial=st.integers(0, 3))
def test_the_kernel_tells_the_same_story_with_relays_and_on_graphs(world: Scenario, seed: int, trial: int) -> None:
    check_both_tell_the_same(world, seed, trial)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(world=worlds(), seed=st.integers(0, 2**62), trial=st.integers(0, 3))
def test_the_kernel_tells_the_same_story(world: Scenario, seed: int, trial: int) -> None:
    check_both_tell_the_same(world, seed, trial)


@settings(max_examples=2 * EXAMPLES, deadline=None, derandomize=True)
@given(world=faulty_worlds(), seed=st.integers(0, 2**62), trial=st.integers(0, 3))
def test_the_kernel_tells_the_same_story_on_a_network_with_faults(world: Scenario, seed: int, trial: int) -> None:
    check_both_tell_the_same(world, seed, trial)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(world=sheltered_worlds(), seed=st.integers(0, 2**62), trial=st.integers(0, 3))
def test_the_kernel_tells_the_same_story_where_nothing_is_lost_though_it_might(
    world: Scenario, seed: int, trial: int
) -> None:
    check_both_tell_the_same(world, seed, trial)


def check_both_tell_the_same(world: Scenario, seed: int, trial: int) -> None:
    ref_trace: list[Row] = []
    got_trace: list[Row] = []
    checkpoints = (0, 17, 60, HORIZON)
    ref = reference.run(world, seed=seed, trial=trial, trace=ref_trace, checkpoints=checkpoints)
    got = kernel.run(world, seed=seed, trial=trial, trace=got_trace, checkpoints=checkpoints)
    assert got_trace == ref_trace
    assert got == ref
    assert kernel.run(world, seed=seed, trial=trial, checkpoints=checkpoints) == ref
    bare = kernel.run(
        world, seed=seed, trial=trial, sizes=False
    )  # takes the short way where nothing special is asked for
    assert bare.pulls.tolist() == ref.pulls.tolist()
    assert bare.communication.shares.tolist() == ref.communication.shares.tolist()
    assert bare.communication.notices.tolist() == ref.communication.notices.tolist()
    assert (bare.messages, bare.lacking) == (ref.messages, ref.lacking)
    assert bare.communication.agent_rounds == ref.communication.agent_rounds


SLOTS = {"UCB-ODC": 1_000, "UCB-IBC": 1_000, "AAE-ODC": 4_000, "AAE-IBC": 2_000}
"""In 4,000 slots arms are ruled out in every experiment but 6a, in 2,000 in Experiment 3."""


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="too slow without a compiler")
@pytest.mark.parametrize("algorithm", ["UCB-ODC", "UCB-IBC", "AAE-ODC", "AAE-IBC"])
@pytest.mark.parametrize("name", list(TABLES))
def test_the_paper_s_experiments_agree_in_every_count(name: str, algorithm: str) -> None:
    whole = TABLES[name].scenario(algorithm)
    world = Scenario(SLOTS[algorithm], whole.arms, whole.agents, whole.policy, whole.sharing)
    assert kernel.run(world, seed=1, trial=2) == reference.run(world, seed=1, trial=2)


def test_a_hundred_agents_need_more_than_one_word_of_bits() -> None:
    world = Scenario(25, surrogate_arms(), (AgentSpec(Rate(0.2)),) * 100, BuiltIn("ucb"), on_demand())
    assert kernel.run(world, seed=3) == reference.run(world, seed=3)


def test_the_numbers_of_shares_take_as_many_bytes_as_each_of_them() -> None:
    counts = [1, 127, 128, 255, 256, 65535, 65536, 70000]
    sizes = np.cumsum([len(msgspec.msgpack.encode(number)) for number in range(1, 70001)])
    numbers_size = getattr(sizes_of.numbers_size, "py_func", sizes_of.numbers_size)
    assert [numbers_size(count) for count in counts] == [sizes[count - 1] for count in counts]


def test_counts_without_sizes_are_the_same_counts() -> None:
    world = Scenario(500, surrogate_arms(), (AgentSpec(Rate(0.2)),) * 5, BuiltIn("ucb"), on_demand())
    with_sizes, without = kernel.run(world, seed=3), kernel.run(world, seed=3, sizes=False)
    assert (without.communication.bytes, without.communication.definition_bits) == (0, 0.0)
    assert without.communication.shares.tolist() == with_sizes.communication.shares.tolist()
    assert without.pulls.tolist() == with_sizes.pulls.tolist()


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="too slow without a compiler")
@pytest.mark.parametrize(
    "topology",
    [Relays(1), Relays(3, 2), Relays(2, absences=(RelayAbsence(0, 500, 900), RelayAbsence(1, 950))), Graph.grid(40)],
)
@pytest.mark.parametrize("delay", [0, 3])
def test_forty_agents_agree_in_every_count(topology: Topology, delay: int) -> None:
    agents = (AgentSpec(Rate(0.3)),) * 10 + (AgentSpec(Rate(0.02)),) * 30
    sharing = on_demand(Geometric(2, cap=64, phases=True))
    world = Scenario(1_500, surrogate_arms(), agents, BuiltIn("ucb"), sharing, delay, topology=topology)
    assert kernel.run(world, seed=1, trial=2) == reference.run(world, seed=1, trial=2)


def test_a_graph_of_one_agent_queues_nothing() -> None:
    """It has no neighbour, and once wrote what it observed beyond the end of a table that had no rows."""
    world = Scenario(HORIZON, Arms.of([0.2, 0.8]), (AgentSpec(Rate(1.0)),), topology=Graph(()))
    with np.errstate(over="ignore"):  # as `kernel.run` has it
        assert len(prepare(world, Tape(3, 0), (), Room(1, 0, 1), sizes=True).queues) == 0
    check_both_tell_the_same(world, seed=3, trial=0)


def test_a_relay_that_was_long_away_is_told_as_much_as_a_message_holds_and_then_the_rest() -> None:
    agents = (AgentSpec(Slots((*range(60), *range(100, 220)))),) * 70  # 4,200 cells
    topology = Relays(2, absences=(RelayAbsence(0, 0, 80),))
    world = Scenario(220, Arms.of([0.5] * 60), agents, BuiltIn("ucb"), on_demand(Constant(60)), topology=topology)
    assert kernel.run(world, seed=3) == reference.run(world, seed=3)


def test_faults_and_loss_tolerance_with_a_topology_are_left_to_the_readable_engine() -> None:
    world = Scenario(60, surrogate_arms(), (AgentSpec(Rate(0.2)),) * 3, topology=Relays(2))
    for unfit in (replace(world, faults=Faults(loss=0.1)), replace(world, sharing=on_demand(loss_tolerant=True))):
        assert engine_for(unfit, "auto") == "reference"
        with pytest.raises(LocalError, match="network without faults, and no loss tolerance: use the readable engine"):
            kernel.run(unfit, seed=1)
    assert engine_for(world, "auto") == "compiled"
