"""AAC, SE-AAC-ODC, TCOM and ComEx: their rules by hand."""

import math

import pytest
from tests.protocols.conversations import Spoken, node_at, played, spoken, world

from cobandit.policies.registry import BuiltIn
from cobandit.protocols import plug_in
from cobandit.protocols.aac import AccuracyAdaptive
from cobandit.protocols.accuracy import radius
from cobandit.protocols.comex import ComEx
from cobandit.protocols.plug_in import PlugIn
from cobandit.protocols.se_aac_odc import EliminateAdaptively
from cobandit.protocols.tcom import Tcom
from cobandit.scenario import AgentSpec, Arms, Graph, Kind, Rate, Scenario
from cobandit.simulator.reference import run
from cobandit.testing import check_protocol
from cobandit.values.errors import LocalError

ALL_SLOTS = range(200)


def first_due(alpha: float, last: float, horizon: int = 200) -> int:
    """Return with how many observations an arm is due that was last told with this radius."""
    return next(count for count in range(1, horizon) if alpha * radius(count, horizon) <= last)


def test_the_radius_is_that_of_the_paper() -> None:
    assert radius(50, 1000) == math.sqrt(2 * math.log(1000) / 50)
    assert (radius(0, 1000), radius(1, 1000)) == (1.0, 1.0)


def test_aac_tells_an_arm_when_it_is_alpha_times_as_accurate() -> None:
    """One arm, one agent that pulls, one that never does: so there is one message, and its token never returns."""
    told = spoken(world(plug_in(AccuracyAdaptive, alpha=2.0), [ALL_SLOTS, []], means=(1.0,)))
    due = first_due(2.0, 1.0)
    assert due == math.ceil(4 * 2 * math.log(200)) == 43
    assert told == [Spoken(due - 1, 0, 1, due)]


def test_aac_goes_on_when_the_token_has_returned_and_waits_for_it_until_then() -> None:
    """Agent 1 pulls once, in slot 150: that returns the token, and what was due in the meantime leaves at once."""
    alpha = 1.5
    scenario = world(plug_in(AccuracyAdaptive, alpha=alpha), [ALL_SLOTS, [150]], means=(1.0,))
    first = first_due(alpha, 1.0)
    second = first_due(alpha, radius(first, 200))
    third = first_due(alpha, radius(second, 200))
    assert (first, second, third) == (24, 55, 124)
    assert spoken(scenario) == [Spoken(first - 1, 0, 1, first), Spoken(150, 0, 1, 151)]
    engine, _ = played(scenario)
    assert engine.result().notices == 1


def test_aac_without_release_waits_for_the_next_time_that_the_arm_is_due() -> None:
    scenario = world(plug_in(AccuracyAdaptive, alpha=1.5, release=False), [ALL_SLOTS, [150]], means=(1.0,))
    assert spoken(scenario) == [Spoken(23, 0, 1, 24)]


def test_aac_takes_an_arm_that_another_tells_as_told() -> None:
    """Agent 1 has just been told 24 observations, so with its own one it is not due; otherwise it would be."""
    slots = [range(24), [30], []]
    told = spoken(world(plug_in(AccuracyAdaptive, alpha=1.5), slots, means=(1.0,)))
    assert told == [Spoken(23, 0, 1, 24), Spoken(23, 0, 2, 24)]
    told = spoken(world(plug_in(AccuracyAdaptive, alpha=1.5, others_count=False), slots, means=(1.0,)))
    assert told[2:] == [Spoken(30, 1, 0, 1), Spoken(30, 1, 2, 1)]


def test_aac_passes_on_what_it_heard_where_not_everybody_is_a_neighbour() -> None:
    line = Graph(((0, 1), (1, 2)))
    told = spoken(
        world(plug_in(AccuracyAdaptive, alpha=1.5), [range(24), range(30, 100), []], means=(1.0,), topology=line)
    )
    assert Spoken(23, 0, 1, 24) in told
    (to_end,) = [one for one in told if one.receiver == 2][:1]
    assert to_end.observations == 24 + to_end.slot - 29  # all of agent 0, and its own


def test_se_aac_odc_pulls_candidates_in_turn_and_drops_what_is_surely_worse() -> None:
    """The worse arm goes when 1 - r(n) > 0 + r(m). With 2 log 200 = 10.6, that is first so for n = 43 and m = 42."""
    assert 1 - radius(43, 200) > radius(42, 200) > 1 - radius(42, 200)
    engine, rows = played(world(plug_in(EliminateAdaptively), [ALL_SLOTS, []], means=(1.0, 0.0)))
    pulls = [row.other for row in rows if row.kind == Kind.DECISION]
    assert pulls == [0, 1] * 42 + [0] * 116
    eliminated = [(row.slot, row.agent, row.other) for row in rows if row.kind == Kind.ELIMINATION]
    assert eliminated == [(84, 0, 1)]
    assert engine.nodes[1].policy.candidates == ("0",)
    assert engine.result().notices == 1


def test_se_aac_odc_keeps_an_arm_that_another_dropped_for_one_that_is_not_here() -> None:
    agents = (AgentSpec(Rate(1.0), arms=("1", "2")), AgentSpec(Rate(0.1), arms=("0", "1")))
    scenario = Scenario(1_000, Arms.of([0.0, 0.5, 1.0]), agents, sharing=plug_in(EliminateAdaptively))
    engine, _ = played(scenario)
    assert [agent.policy.candidates for agent in engine.nodes] == [("2",), ("0", "1")]


def test_se_aac_odc_shares_as_aac_does() -> None:
    told = spoken(world(plug_in(EliminateAdaptively, alpha=2.0), [ALL_SLOTS, []], means=(1.0,)))
    assert told == [Spoken(42, 0, 1, 43)]


@pytest.mark.parametrize(("beta", "counts"), [(2.0, [1, 2, 4, 8, 16, 32]), (1.5, [1, 2, 3, 5, 8, 12, 18, 27])])
def test_tcom_tells_an_arm_when_its_count_has_grown_by_beta(beta: float, counts: list[int]) -> None:
    """Both arms always pay, so no one of them is ever surely the best, and they are pulled in turn."""
    told = spoken(world(plug_in(Tcom, beta=beta), [range(80), []], means=(1.0, 1.0), policy=BuiltIn("aae")))
    assert [one.observations for one in told if one.slot % 2 == 0] == counts
    assert [one.observations for one in told if one.slot % 2 == 1] == counts


def test_tcom_does_not_tell_an_arm_that_is_surely_best() -> None:
    """With n pulls of an arm that always pays, and one of an arm that did not pay."""
    protocol = Tcom(node_at(), alpha=0.5)
    policy = protocol.node.policy
    policy.update("B", 0.0)
    for pull in range(1, 40):
        policy.update("A", 1.0)
        protocol.node.slot = pull
        sure = 1 - 0.5 * math.sqrt(math.log(pull + 1) / pull) >= 0.5 * math.sqrt(math.log(pull + 1))
        assert protocol._is_open("A") != sure
        assert protocol._is_open("B")


def test_tcom_counts_only_while_an_arm_is_open() -> None:
    """After 1,000 slots the best arm has long been sure: its last message is far behind."""
    scenario = world(plug_in(Tcom, alpha=0.2), [range(1_000), []], policy=BuiltIn("aae"), horizon=1_000)
    engine, _ = played(scenario)
    own, told = ([node.node.ledger.cell(0, arm).observations for arm in ("0", "1")] for node in engine.nodes)
    assert own == [977, 23]
    assert told == [1, 16]


def test_comex_tells_only_what_it_observes_while_it_explores() -> None:
    scenario = world(plug_in(ComEx), [range(100), []])
    engine, rows = played(scenario)
    decisions = [row for row in rows if row.kind == Kind.DECISION]
    explored = [row.slot for row in decisions if row.other == 1 or row.slot == 0]  # arm 0 pays always, arm 1 never
    assert [row.slot for row in rows if row.kind == Kind.SHARE] == explored
    other = engine.nodes[1].policy.tally
    assert (other.counts, other.sums) == ({"0": 1, "1": len(explored) - 1}, {"0": 1, "1": 0})


@pytest.mark.parametrize(
    ("build", "given", "why"),
    [
        (AccuracyAdaptive, {"alpha": 0.5}, "alpha must be at least 1"),
        (AccuracyAdaptive, {"alpha": -1.0}, "alpha must be a positive number"),
        (Tcom, {"beta": 1.0}, "beta must be above 1"),
        (Tcom, {"alpha": 0.0}, "alpha must be a positive number"),
    ],
)
def test_bad_parameters_are_refused(build: type, given: dict[str, float], why: str) -> None:
    with pytest.raises(LocalError, match=why):
        build(node_at(), **given)


@pytest.mark.parametrize(
    "plugged",
    [
        plug_in(AccuracyAdaptive, alpha=1.2),
        plug_in(EliminateAdaptively, alpha=1.1, others_count=False),
        plug_in(Tcom, beta=1.2),
        plug_in(ComEx),
    ],
)
def test_it_keeps_every_promise(plugged: PlugIn) -> None:
    check_protocol(plugged)


def test_the_successor_talks_much_less_than_on_demand_with_a_threshold_of_one() -> None:
    """The claim of its authors, in small: 3 trials, a tenth of the messages at most."""
    agents = tuple(AgentSpec(Rate(rate)) for rate in (1.0, 0.5, 0.2, 0.1))
    on_demand = Scenario(4_000, Arms.of([0.2, 0.5, 0.8]), agents, BuiltIn("aae", confidence="observed"))
    adaptive = Scenario(4_000, Arms.of([0.2, 0.5, 0.8]), agents, sharing=plug_in(EliminateAdaptively, alpha=2.0))
    for seed in range(3):
        assert 10 * run(adaptive, seed=seed).shares < run(on_demand, seed=seed).shares
