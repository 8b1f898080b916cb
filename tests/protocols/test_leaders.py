"""GosInE and DPE2: what travels are names of arms."""

import math

import pytest
from tests.protocols.conversations import Spoken, node_at, played, spoken, world

from cobandit.policies.kl_ucb import kl_ucb_index
from cobandit.protocols import plug_in
from cobandit.protocols.dpe2 import LeaderFollower
from cobandit.protocols.gosine import Gosine
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario import Graph, Kind
from cobandit.testing import check_protocol
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
    policy = protocol.node.policy
    for arm, reward in (("A", 1.0), ("B", 0.0), ("A", 1.0), ("A", 0.0)):
        policy.update(arm, reward)
    budget = math.log(4) + 4 * math.log(math.log(4))
    assert kl_ucb_index(0.0, 1, budget) > 2 / 3
    assert (protocol._next_round(), protocol._round) == ("A", ["A", "B"])
    for _ in range(40):
        policy.update("B", 0.0)
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


@pytest.mark.parametrize("plugged", [plug_in(Gosine), plug_in(LeaderFollower)])
def test_it_keeps_every_promise(plugged: PlugIn) -> None:
    check_protocol(plugged)
