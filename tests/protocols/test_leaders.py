"""GosInE and DPE2: what travels are names of arms."""

import math
from itertools import pairwise

import pytest
from tests.protocols.conversations import Spoken, node_at, played, spoken, world

from cobandit.policies.kl_ucb import kl_ucb_index
from cobandit.protocols import plug_in
from cobandit.protocols.dpe2 import LeaderFollower
from cobandit.protocols.gosine import Gosine
from cobandit.protocols.lf_relay import LeaderRelay, odds
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario import AgentSpec, Arms, Graph, Kind, Rate, Scenario, Tape
from cobandit.scenario.tape import Stream
from cobandit.testing import check_protocol
from cobandit.values.chance import uniform
from cobandit.values.errors import LocalError

SIX = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def test_gosine_asks_when_a_phase_ends_at_a_cube() -> None:
    engine, rows = played(world(plug_in(Gosine), [range(130), range(130), range(130)], means=SIX, horizon=130))
    assert sorted({row.slot for row in rows if row.kind == Kind.SHARE}) == [1, 8, 27, 64, 125]
    assert (engine.result().shares, engine.result().notices) == (15, 15)


def test_gosine_plays_its_own_arms_and_learns_of_a_better_one_by_its_name() -> None:
    """Agent 1 has the best arm in its set, agent 0 has arms 0 to 3 only, until somebody recommends arm 5."""
    _, rows = played(world(plug_in(Gosine), [range(130), range(130), range(130)], means=SIX, horizon=130))
    played_by = [
        {row.other for row in rows if row.kind == Kind.DECISION and row.agent == agent and row.slot < 8}
        for agent in range(3)
    ]
    assert played_by[0] <= {0, 1, 2, 3}
    first = min(row.slot for row in rows if row.kind == Kind.DECISION and (row.agent, row.other) == (0, 5))
    assert first in (8, 27)


def test_gosine_keeps_the_better_of_its_two_extra_arms() -> None:
    protocol = Gosine(node_at(agents=3))
    protocol._set, protocol._played["A"], protocol._played["B"] = ["A", "B"], 1, 2
    protocol.node.slot = 1
    protocol._end_phases()
    assert (protocol._set, protocol._best, protocol.phase) == (["B", "A"], "B", 2)


def test_gosine_takes_a_recommended_arm_in_the_place_of_the_last() -> None:
    protocol = Gosine(node_at(agents=6, arms=tuple("ABCDEF")))
    assert protocol._set == ["A", "B", "C"]
    protocol.received(1, "F")
    protocol.received(2, "A")  # which it has
    assert protocol._set == ["A", "B", "F"]


def test_the_index_of_gosine_is_that_of_its_program() -> None:
    protocol = Gosine(node_at())
    for _ in range(5):
        protocol.node.policy.update("A", 1.0)
    assert protocol._index("A") == 1.0 + math.sqrt(4 * math.log(6) / 5)


def test_a_leader_tells_its_best_arm_when_it_changes_and_others_follow() -> None:
    """All arms once; then arm 2 is the best, and everybody hears it: one message to each."""
    engine, rows = played(world(plug_in(LeaderFollower), [range(3), [10], [10]], means=(0.0, 0.0, 1.0)))
    assert spoken(world(plug_in(LeaderFollower), [range(3), [10], [10]], means=(0.0, 0.0, 1.0))) == [
        Spoken(2, 0, 1),
        Spoken(2, 0, 2),
    ]
    assert [row.other for row in rows if row.kind == Kind.DECISION] == [0, 1, 2, 2, 2]
    assert [node.protocol.best for node in engine.nodes] == ["2", "2", "2"]


def test_a_leaders_round_is_its_best_arm_and_all_that_may_be_better() -> None:
    protocol = LeaderFollower(node_at())
    protocol.totals = {"A": [3.0, 2.0], "B": [2.0, 0.0]}
    budget = math.log(5) + 4 * math.log(math.log(5))
    assert kl_ucb_index(0.0, 2, math.log(5)) < 2 / 3 < kl_ucb_index(0.0, 2, budget)
    assert (protocol._next_round(), protocol._round) == ("A", ["A", "B"])
    protocol.totals["B"][0] += 40.0
    assert (protocol._next_round(), protocol._round) == ("A", ["A"])


def test_on_a_graph_followers_pass_it_on_once() -> None:
    line = Graph(((0, 1), (1, 2), (2, 3)))
    told = spoken(world(plug_in(LeaderFollower), [range(2), [], [], []], means=(0.0, 1.0), topology=line))
    assert told == [Spoken(1, 0, 1), Spoken(1, 1, 2), Spoken(1, 2, 3)]


def test_another_agent_may_lead() -> None:
    told = spoken(world(plug_in(LeaderFollower, leader=1), [range(2), range(20, 22)], means=(0.0, 1.0)))
    assert told == [Spoken(21, 1, 0)]
    with pytest.raises(LocalError, match="leader must be a whole number from 0 to 1, not 2"):
        world(plug_in(LeaderFollower, leader=2), [[1], [2]])


MANY = [0.0, 90.0, 60.0, 9.0, 5.0, 17.0, 1e4, 1e5]
"""Far apart: from the wrong side of the root, Newton's first step goes beyond the least of them."""


@pytest.mark.parametrize("losses", [[0.0, 3.0, 9.0], [5.0, 5.0], [1e-3, 40.0, 1e4, 2.0], MANY])
def test_odds_are_those_of_tsallis_inf(losses: list[float]) -> None:
    """w_i = 4 (eta (L_i - x))^-2 for one x: so w_i^(-1/2) differ as eta L_i / 2 do, and they add up to 1."""
    found = odds(losses, rate=0.5)
    assert math.fsum(found) == pytest.approx(1.0, abs=1e-12)
    for one, other in pairwise(range(len(losses))):
        apart = found[other] ** -0.5 - found[one] ** -0.5
        assert apart == pytest.approx(0.25 * (losses[other] - losses[one]), rel=1e-6, abs=1e-9)


def test_whoever_may_lead_needs_the_same_arms() -> None:
    agents = (AgentSpec(Rate(1.0)), AgentSpec(Rate(1.0), arms=("1",)))
    with pytest.raises(LocalError, match="LF-Relay needs agents that can all lead: leave the arms"):
        Scenario(100, Arms.of([0.2, 0.8]), agents, sharing=plug_in(LeaderRelay))


def test_a_leader_that_is_inactive_loses_the_lead_to_who_is_active() -> None:
    """Agent 0 leads first and never pulls. Of 100 batches agent 1, which always pulls, leads most."""
    scenario = world(
        plug_in(LeaderRelay, batches=100), [[], range(1_000), range(0, 1_000, 10)], means=(0.2, 0.9), horizon=1_000
    )
    engine, rows = played(scenario)
    assert [node.protocol._play.leads for node in engine.nodes].count(True) == 1
    assert max(node.protocol._terms for node in engine.nodes) == 100
    pulls = engine.result().pulls
    assert pulls[1, 1] > 800
    leading = next(node.protocol for node in engine.nodes if node.protocol._play.leads)
    count = sum(total for total, _ in leading._play.totals.values())
    assert 300 < count < sum(row.kind == Kind.DECISION for row in rows)  # what leaders observed, and only that
    assert leading._losses[0] > leading._losses[1]


def test_a_new_leader_gets_the_book_and_others_its_best_arm() -> None:
    """A leader that is always active has no loss, so after the first batch all three are as likely to be drawn."""
    seed = next(seed for seed in range(99) if 1 / 3 < uniform(Tape(seed).key(0, Stream.PROTOCOL), 0) < 2 / 3)
    scenario = world(plug_in(LeaderRelay, batches=2), [range(100), range(100), []], means=(0.0, 1.0), horizon=100)
    engine, _ = played(scenario, seed=seed)
    told = [one for one in spoken(scenario, seed=seed) if one.slot == 50]
    assert [(one.sender, one.receiver) for one in told] == [(0, 1), (0, 2)]
    assert [node.protocol._play.leads for node in engine.nodes] == [False, True, False]
    assert sum(count for count, _ in engine.nodes[1].protocol._play.totals.values()) == 100
    assert [node.protocol._play.best for node in engine.nodes] == ["1", "1", "1"]


def test_batches_are_those_of_the_slides() -> None:
    node = node_at()
    assert LeaderRelay(node)._batch == 1
    assert LeaderRelay(node, batches=10)._batch == 10
    with pytest.raises(LocalError, match="LF-Relay needs agents that all talk to each other"):
        world(plug_in(LeaderRelay), [[1], [2], [3]], topology=Graph.ring(3))


@pytest.mark.parametrize("plugged", [plug_in(Gosine), plug_in(LeaderFollower), plug_in(LeaderRelay, batches=20)])
def test_it_keeps_every_promise(plugged: PlugIn) -> None:
    check_protocol(plugged)
