"""Algorithm 2 (UCB-ODC) and Algorithm 4 (with different arm sets), a test for each sentence that Algorithm 1 lacks."""

import math

from cobandit import UCB, Agent, Horizon
from cobandit.core import Constant, Share, on_demand
from cobandit.values.tally import ArmTally


def met(*agents: Agent) -> None:
    for one in agents:
        for other in agents:
            if one is not other:
                one.peer_joined(other.name, other.arms)


def test_the_arm_with_the_highest_upper_confidence_bound_is_pulled() -> None:
    policy = UCB(["A", "B"], alpha=3.0, confidence="own", quantum=1.0)
    policy.learn([ArmTally("A", 90, 60, 60), ArmTally("B", 10, 6, 6)], own=True)
    bounds = {
        arm: mean + math.sqrt(3.0 * math.log(100) / (2 * count))
        for arm, mean, count in (("A", 60 / 90, 90), ("B", 0.6, 10))
    }
    assert policy.select_arm() == max(bounds, key=bounds.__getitem__) == "B"


def test_delta_is_one_over_the_agents_own_number_of_pulls() -> None:
    policy = UCB(["A"], alpha=3.0, confidence="own", quantum=1.0)
    for _ in range(7):
        policy.update("A", 1.0)
    policy.learn([ArmTally("A", 1000, 0, 0)])
    assert policy.budget() == 3.0 * math.log(7)


def test_theorem_1a_delta_is_one_over_the_horizon() -> None:
    assert UCB(["A"], alpha=3.0, confidence=Horizon(500)).budget() == 3.0 * math.log(500)


def test_the_default_delta_counts_all_observations_held() -> None:
    policy = UCB(["A"], alpha=3.0, quantum=1.0)
    policy.update("A", 1.0)
    policy.learn([ArmTally("A", 99, 0, 0)])
    assert policy.budget() == 3.0 * math.log(100)


def test_own_pulls_and_received_observations_both_increase_n_hat_and_the_mean() -> None:
    j, p = (Agent(name, UCB(["A", "B"], quantum=1.0)) for name in "jp")
    met(j, p)
    j.update("A", 0.0)
    (share,) = p.update("A", 1.0).outgoing
    j.receive(share)
    assert (j.policy.tally.counts["A"], j.policy.mean("A"), j.policy.own_pulls) == (2, 0.5, 1)


def test_with_different_arms_an_agent_pulls_only_its_own() -> None:
    j, p = Agent("j", UCB(["A", "B"], quantum=1.0)), Agent("p", UCB(["B", "C"], quantum=1.0))
    met(j, p)
    (share,) = p.update("B", 1.0).outgoing
    j.receive(share)
    assert [j.select_arm(), p.select_arm()] == ["A", "C"]


def test_with_different_arms_a_buffer_takes_only_what_both_can_use() -> None:
    j, p = (
        Agent(name, UCB(list(arms), quantum=1.0), on_demand(Constant(2))) for name, arms in (("j", "AB"), ("p", "BC"))
    )
    met(j, p)
    for _ in range(5):
        assert j.update("A", 1.0).outgoing == ()
    assert j.update("B", 1.0).outgoing == ()
    (share,) = j.update("B", 0.0).outgoing
    assert isinstance(share, Share)
    assert (share.observations, p.receive(share).news) == (2, (ArmTally("B", 2, 1, 1),))


def test_with_different_arms_a_share_that_arrives_is_answered_with_the_common_arms_only() -> None:
    j, p = (Agent(name, UCB(list(arms), quantum=1.0)) for name, arms in (("j", "AB"), ("p", "BC")))
    met(j, p)
    j.update("B", 1.0)
    j.update("A", 1.0)
    j.update("B", 1.0)
    (share,) = p.update("B", 0.0).outgoing
    (answer,) = j.receive(share).outgoing
    assert isinstance(answer, Share)
    assert [entry.arm for told in answer.changes.cells for entry in told.tallies] == ["B"]


def test_agents_without_a_common_arm_never_talk() -> None:
    j, p = (Agent(name, UCB(list(arms), quantum=1.0)) for name, arms in (("j", "AB"), ("p", "CD")))
    met(j, p)
    assert [j.update(arm, 1.0).outgoing for arm in "ABAB"] == [(), (), (), ()]
