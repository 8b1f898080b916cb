"""Algorithm 3 (AAE-ODC) and Algorithm 5 (with different arm sets), a test for each sentence that Algorithm 1 lacks."""

import math

from cobandit import AAE, Agent, Horizon
from cobandit.core import Changes, Constant, Eliminations, Notice, PerCandidate, Share, on_demand
from cobandit.values.tally import ArmTally


def agent(name: str, arms: str = "AB", threshold: Constant | PerCandidate | None = None) -> Agent:
    return Agent(name, AAE(list(arms), alpha=1.0, quantum=1.0), on_demand(threshold))


def met(*agents: Agent) -> None:
    for one in agents:
        for other in agents:
            if one is not other:
                one.peer_joined(other.name, other.arms)


def teach(one: Agent, **tallies: tuple[int, int]) -> None:
    """Give the policy evidence without going through the protocol."""
    one.policy.learn([some(arm, *tally) for arm, tally in tallies.items()])


def some(arm: str, count: int, reward_sum: int) -> ArmTally:
    """Observations with rewards of 0 or 1."""
    return ArmTally(arm, count, reward_sum, reward_sum)


def eliminated(sender: str, receiver: str, arm: str) -> Notice:
    return Notice(sender, receiver, Changes(eliminations=(Eliminations(sender, 0, (arm,)),)))


def test_the_candidate_with_the_least_observations_is_pulled() -> None:
    policy = AAE(["A", "B", "C"], quantum=1.0)
    policy.learn([some("A", 3, 1), some("B", 2, 2), some("C", 2, 0)])
    assert policy.select_arm() == "B"


def test_an_arm_whose_interval_lies_below_another_is_eliminated_at_the_decision() -> None:
    policy = AAE(["A", "B"], alpha=1.0, quantum=1.0)
    policy.learn([some("A", 500, 450), some("B", 50, 5)])
    assert policy.select_arm() == "A"
    policy.update("A", 1.0)
    assert policy.candidates == ("A",)


def test_an_arm_whose_interval_only_touches_another_stays() -> None:
    width = math.sqrt(1.0 * math.log(200) / (2 * 100))
    policy = AAE(["A", "B"], alpha=1.0, quantum=1e-6)
    lower_mean = 0.9 - 2 * width + 1e-5
    policy.learn([some("A", 100, 90_000_000), some("B", 100, round(lower_mean * 1e8))])  # squares are of no use here
    assert policy.survivors() == ("A", "B")


def test_the_test_is_against_every_arm_eliminated_ones_included() -> None:
    policy = AAE(["A", "B", "C"], alpha=1.0, quantum=1.0)
    policy.learn([some("A", 500, 480), some("B", 500, 100), some("C", 500, 90)])
    policy.eliminate("A")
    assert policy.survivors() == ("C",)  # both lie below A; B comes first, and the last candidate stays


def test_theorem_1b_delta_is_one_over_the_horizon_squared() -> None:
    # With delta = 1/N^2 an interval is sqrt(2) times as wide as with 1/N: these are apart only under the latter.
    evidence = [some("A", 100, 75), some("B", 100, 25)]
    width = math.sqrt(2 * math.log(1000) / 200)
    assert width < 0.5 < 2 * width
    policy = AAE(["A", "B"], alpha=1.0, confidence=Horizon(1000), quantum=1.0)
    policy.learn(evidence)
    assert policy.survivors() == ("A", "B")
    policy = AAE(["A", "B"], alpha=0.5, confidence=Horizon(1000), quantum=1.0)
    policy.learn(evidence)
    assert policy.survivors() == ("A",)


def test_an_elimination_is_broadcast_before_the_share_of_the_same_decision() -> None:
    j, p, q = agent("j", "ABC"), agent("p", "ABC"), agent("q", "ABC")
    met(j, p, q)
    teach(j, A=(500, 450), B=(500, 440), C=(50, 5))
    messages = j.update("A", 1.0).outgoing
    assert [type(message) for message in messages] == [Notice, Notice, Share, Share]
    assert messages[:2] == (eliminated("j", "p", "C"), eliminated("j", "q", "C"))


def test_an_elimination_notice_removes_the_arm_from_everyones_candidates() -> None:
    j, p = agent("j", "ABC"), agent("p", "ABC")
    met(j, p)
    p.receive(eliminated("j", "p", "B"))
    assert (p.policy.candidates, p.endpoint.candidates.own) == (("A", "C"), {"A", "C"})


def test_two_agents_that_rule_out_each_others_last_arm_keep_one_each() -> None:
    j = agent("j")
    met(j, agent("p"))
    teach(j, A=(500, 450), B=(50, 5))
    j.update("A", 1.0)
    j.receive(eliminated("p", "j", "A"))
    assert j.policy.candidates == ("A",)


def test_an_agent_with_one_candidate_neither_buffers_nor_shares() -> None:
    j = agent("j")
    met(j, agent("p"))
    teach(j, A=(500, 450), B=(50, 5))
    outgoing = [message for _ in range(5) for message in j.update("A", 1.0).outgoing]
    assert outgoing == [eliminated("j", "p", "B")]
    assert j.endpoint.links["p"].exchange.buffered == 0


def test_an_agent_with_one_candidate_does_not_answer() -> None:
    j, p = agent("j"), agent("p")
    met(j, p)
    j.update("A", 1.0)
    j.update("B", 1.0)
    (share,) = p.update("A", 1.0).outgoing
    j.receive(eliminated("p", "j", "B"))
    assert j.receive(share).outgoing == ()


def test_remark_4_the_threshold_is_proportional_to_the_candidates_left() -> None:
    j = agent("j", "ABCD", PerCandidate())
    met(j, agent("p", "ABCD"))
    shared = [len(j.update(arm, 1.0).outgoing) for arm in "ABC"]
    j.receive(eliminated("p", "j", "D"))
    j.receive(eliminated("p", "j", "C"))
    assert (shared, len(j.update("A", 1.0).outgoing)) == ([0, 0, 0], 1)


def test_with_different_arms_a_notice_is_only_about_its_senders_candidates() -> None:
    j, p = agent("j", "ABC"), agent("p", "BCD")
    met(j, p)
    p.receive(eliminated("j", "p", "B"))
    assert (p.policy.candidates, p.peers.link("j").candidates) == (("B", "C", "D"), frozenset("AC"))


def test_with_different_arms_a_notice_goes_to_everyone_who_has_an_arm_in_common() -> None:
    j, p, stranger = agent("j", "ABC"), agent("p", "BCD"), agent("s", "DE")
    met(j, p, stranger)
    teach(j, A=(50, 5), B=(500, 450), C=(500, 440))
    notices = [message for message in j.update("B", 1.0).outgoing if isinstance(message, Notice)]
    assert notices == [eliminated("j", "p", "A")]


def test_algorithm_5_line_9_as_an_option_a_notice_goes_only_to_who_has_the_arm() -> None:
    """Who does not have the arm goes on believing that the sender considers it, and never falls silent."""
    told = {}
    for literal in (False, True):
        sharing = on_demand(literal_notices=literal)
        j, p, q = (
            Agent(name, AAE(list(arms), alpha=1.0, quantum=1.0), sharing)
            for name, arms in (("j", "AB"), ("p", "BC"), ("q", "AC"))
        )
        met(j, p, q)
        teach(j, A=(500, 450), B=(500, 50))
        outgoing = j.update("A", 1.0).outgoing
        told[literal] = [message.receiver for message in outgoing if isinstance(message, Notice)]
    assert told == {False: ["p", "q"], True: ["p"]}


def test_with_different_arms_a_pair_goes_on_while_one_of_them_has_more_than_one_candidate() -> None:
    j, p = agent("j", "AB"), agent("p", "BC")
    met(j, p)
    teach(j, A=(50, 5), B=(500, 450))
    assert [type(message) for message in j.update("B", 1.0).outgoing] == [Notice, Share]


def test_with_different_arms_a_pair_stops_when_both_have_one_candidate() -> None:
    j, p = agent("j", "AB"), agent("p", "BC")
    met(j, p)
    j.receive(eliminated("p", "j", "C"))
    teach(j, A=(50, 5), B=(500, 450))
    assert [type(message) for message in j.update("B", 1.0).outgoing] == [Notice]


def test_a_settled_group_stays_settled_when_an_agent_with_other_arms_joins() -> None:
    j, p = agent("j"), agent("p")
    met(j, p)
    j.receive(eliminated("p", "j", "B"))
    assert j.update("A", 1.0).outgoing == ()
    j.peer_joined("n", ["A", "C"])
    assert [message.receiver for message in j.update("A", 1.0).outgoing] == ["n"]
