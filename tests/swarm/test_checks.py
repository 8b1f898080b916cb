"""Every check of the swarm fails on what it is there for, and says so in a sentence."""

import pytest

from cobandit import AAE, UCB, Agent, on_demand
from cobandit.core import Bandit, Cells, Changes, Placed, RetryTimers, Share
from cobandit.core.facts import CellKey
from cobandit.core.retransmit import Phase
from cobandit.values.tally import ArmTally
from lab.swarm.checks import (
    Pace,
    ShareCounts,
    deadlock,
    difference,
    held_of_another,
    incompleteness,
    lost_in_window,
    told_in_vain,
    unknown_earlier_incarnations,
    untrue_acknowledgement,
    untrue_cells,
    untrue_holding,
    wrong_totals,
)
from lab.swarm.checks.pace import LONGEST_CHAIN, endless_chain
from lab.swarm.history import History, plainly

ARMS = ("A", "B")
Pair = tuple[Agent, Agent]


def met(policy: type[UCB | AAE] = UCB) -> Pair:
    """Two agents that know all that the other knows: j pulled A, p pulled B. p has acknowledged what j said."""
    j, p = (Agent(name, policy(ARMS, quantum=1.0), on_demand(loss_tolerant=True)) for name in "jp")
    j.peer_joined("p", ARMS)
    p.peer_joined("j", ARMS)
    (asked,) = j.update("A", 1.0, now=0.0).outgoing
    p.receive(asked, now=0.0)
    (answer,) = p.update("B", 0.0, now=1.0).outgoing
    j.receive(answer, now=1.0)
    return j, p


@pytest.fixture
def pair() -> Pair:
    return met()


@pytest.fixture
def history() -> History:
    """What happened in a pair; and then j pulled B with 0, and A with 1."""
    history = History()
    for agent, arm, units in (("j", "A", 1), ("p", "B", 0), ("j", "B", 0), ("j", "A", 1)):
        history.observe(agent, 0, plainly(arm), units)
    return history


def cell(of: Agent, key: CellKey, value: tuple[int, int, int]) -> None:
    """Damage what an agent holds."""
    of.endpoint.replica._facts[key].value = ArmTally(key.arm, *value)


def test_a_healthy_pair_passes(pair: Pair, history: History) -> None:
    j, p = pair
    assert wrong_totals(j, history) + wrong_totals(p, history) == []
    assert untrue_holding("j", j.endpoint.replica, history) + untrue_holding("p", p.endpoint.replica, history) == []
    assert deadlock(j.endpoint, p.endpoint) == []
    assert untrue_acknowledgement(j.endpoint, p.endpoint) + untrue_acknowledgement(p.endpoint, j.endpoint) == []
    assert incompleteness(pair) == []
    assert unknown_earlier_incarnations(pair) == []


# 1. A cell is a prefix of what its origin observed.


def test_a_true_cell_passes(history: History) -> None:
    assert untrue_cells(Cells("j", 0, (ArmTally("A", 2, 2, 2), ArmTally("B", 1, 0, 0))), "p", history) == []
    assert untrue_cells(Cells("j", 0, (ArmTally("A", 1, 1, 1),)), "p", history) == []


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (Cells("j", 0, (ArmTally("A", 2, 1, 1),)), "(2, 1, 1) of arm A of j, incarnation 0; after as many"),
        (Cells("j", 0, (ArmTally("A", 2, 2, 1),)), "(2, 2, 1) of arm A of j, incarnation 0; after as many"),
        (Cells("j", 0, (ArmTally("A", 3, 2, 2),)), "observations its owner had None"),
        (Cells("j", 7, (ArmTally("A", 1, 1, 1),)), "incarnation 7; after as many observations its owner had None"),
    ],
)
def test_a_cell_that_never_was_so_is_found(history: History, told: Cells, sentence: str) -> None:
    (found,) = untrue_cells(told, "p", history)
    assert sentence in found


def test_a_held_cell_that_never_was_so_is_found(pair: Pair, history: History) -> None:
    _, p = pair
    cell(p, CellKey("j", 0, "A"), (2, 1, 1))
    (found,) = untrue_holding("p", p.endpoint.replica, history)
    assert found == "p has (2, 1, 1) of arm A of j, incarnation 0; after as many observations its owner had 2"


# 2. What an agent decides by is what it holds.


def test_what_is_counted_twice_is_found(pair: Pair, history: History) -> None:
    j, _ = pair
    j.policy.tally.add("B", 1, 0, 0)
    (found,) = wrong_totals(j, history)
    assert found == (
        "j decides by {'A': [1, 1, 1], 'B': [2, 0, 0]}, but its parts sum up to {'A': [1, 1, 1], 'B': [1, 0, 0]}"
    )


@pytest.mark.parametrize("value", [(3, 2, 2), (2, 3, 3), (2, 0, 0)])
def test_more_than_anybody_observed_is_found(history: History, value: tuple[int, int, int]) -> None:
    j, _ = met()
    j.policy.tally.add("A", *(new - old for new, old in zip(value, (1, 1, 1), strict=True)))
    cell(j, CellKey("j", 0, "A"), value)
    assert wrong_totals(j, history) == [f"j knows {value[1]}/{value[0]} of arm A: 2/2 were ever observed"]


def test_more_than_anybody_observed_in_a_period_is_found() -> None:
    hourly = Bandit("hourly", ("A",), 1, period=60.0, periods=3)
    one = Agent("j", None, on_demand(loss_tolerant=True), bandits=(hourly,))
    one.declare("hourly", lambda arms: UCB(arms, quantum=1.0))
    for time in (0.0, 70.0):
        one.turn(time, time)
        one.update_all((), time, elsewhere=(Placed("hourly", "s", (ArmTally("A", 1, 1, 1),)),))
    history = History()
    history.observe("j", 0, ("A", "hourly", "s", 0), 1)
    history.observe("j", 0, ("A", "hourly", "s", 0), 1)
    assert wrong_totals(one, history) == ["j knows 1/1 of arm A of hourly/s: 0/0 were ever observed"]
    (lost,) = lost_in_window(one, history)
    assert lost == "j has 1 of its 2 observations of ('A', 'hourly', 's', 0), at time 70"


# 3. Never do both sides wait.


def test_two_that_wait_for_each_other_are_found(pair: Pair) -> None:
    one, other = pair[0].endpoint, pair[1].endpoint
    for link in (one.links["p"], other.links["j"]):
        link.exchange.demanded = False
        assert link.retransmit is not None
        link.retransmit.phase = Phase.TRUSTING
    (found,) = deadlock(one, other)
    assert found.startswith("j (session 0, trusting, share 1) and p (session 0, trusting, share 1) both wait, and")
    one.links["p"].urgent = 9
    assert deadlock(one, other) == []


# 4. Nobody gets far ahead of the other.


def test_a_share_that_nobody_asked_for_is_found() -> None:
    counts = ShareCounts()
    counts.fresh["j", "p"] = 3
    counts.fresh["p", "j"] = 1
    assert counts.one_sided("j", "p") == ["j shared 3 times with p, which shared 1 times, with 0 restarts"]
    assert counts.one_sided("p", "j") == []
    counts.starts["p"] = 1
    assert counts.one_sided("j", "p") == []


def test_more_shares_than_theorem_2_allows_are_found(pair: Pair) -> None:
    j, p = pair
    counts = ShareCounts()
    counts.fresh["j", "p"] = 2
    assert counts.beyond_theorem_2(j.endpoint, p.endpoint) == []
    counts.fresh["j", "p"] = 3
    assert counts.beyond_theorem_2(j.endpoint, p.endpoint) == ["j shared 3 times with p; Theorem 2 allows 2"]
    counts.starts["j"] = 1
    assert counts.beyond_theorem_2(j.endpoint, p.endpoint) == []


# 5. Repetitions come ever more seldom.


def test_a_repetition_that_comes_too_early_is_found() -> None:
    pace = Pace(RetryTimers(first=10.0, least=4.0, growth=2.0, longest=12.0))
    pace.begin(0.0)
    assert [pace.repeat("j", "p", now) for now in (4.0, 12.0, 24.0, 36.0)] == [[], [], [], []]
    (found,) = pace.repeat("j", "p", 47.0)
    assert "the wait must be 12" in found
    pace.begin()
    assert pace.repeat("j", "p", 48.0) == []


def test_a_conversation_without_end_is_found() -> None:
    assert endless_chain(LONGEST_CHAIN) == []
    assert endless_chain(LONGEST_CHAIN + 1) == ["6 messages followed from one another, and nothing in them was fresh"]


# 6. In the end everyone knows what it can use.


def test_a_missing_observation_is_found(pair: Pair) -> None:
    j, _ = pair
    j.endpoint.replica.observe([ArmTally("A", 1, 1, 1)])
    (found,) = incompleteness(pair)
    assert found.startswith("p lacks observations of j: of CellKey(agent='j', incarnation=0, arm='A'")


def test_an_elimination_that_a_peer_does_not_know_is_found() -> None:
    pair = met(AAE)
    pair[0].endpoint.eliminate("B", 0.0)
    assert incompleteness(pair)[-1] == "p is wrong about whether j considers B"


def test_arms_that_a_peer_does_not_know_are_found(pair: Pair) -> None:
    j, _ = pair
    j.begin(5, 2.0, arms=(*ARMS, "C"))
    assert "p takes j to have arms A, B: it has A, B, C" in incompleteness(pair)


# 7. An owner knows as much of its earlier incarnations as anybody.


def test_an_earlier_incarnation_that_only_a_peer_knows_is_found(pair: Pair) -> None:
    j, _ = pair
    j.begin(1, 2.0, incarnation=1)
    assert unknown_earlier_incarnations(pair) == []
    replica, key = j.endpoint.replica, CellKey("j", 0, "A")
    del replica._log[replica._facts.pop(key)]
    assert unknown_earlier_incarnations(pair) == [f"j knows 0 of {key}: others 1"]


# 8. The same seed does the same.


def test_a_seed_that_does_something_else_is_found() -> None:
    assert difference(7, "a", "a") == []
    assert difference(7, "a", "b") == ["seed 7 was run twice and did not do the same"]


# 9. What counts as told, the neighbour has.


def test_a_log_that_nobody_holds_is_found(pair: Pair) -> None:
    j, p = pair
    j.endpoint.links["p"].acknowledged = 2
    assert untrue_acknowledgement(j.endpoint, p.endpoint) == ["j takes p to hold 2 of its log: it holds 1"]


def test_a_cell_that_is_taken_to_be_held_is_found(pair: Pair) -> None:
    j, p = pair
    j.endpoint.replica.observe([ArmTally("A", 1, 1, 1)])
    j.endpoint.links["p"].acknowledged = p.endpoint.links["j"].held = j.endpoint.replica.number
    (found,) = untrue_acknowledgement(j.endpoint, p.endpoint)
    assert found == f"j takes p to hold {CellKey('j', 0, 'A')}, which it does not"


# 10. Nobody is told in vain.


def share(*told: Cells) -> Share:
    return Share("j", "p", 2, 1, Changes(0, 3, told))


def test_what_a_peer_can_use_passes(pair: Pair) -> None:
    j, _ = pair
    assert told_in_vain(j.endpoint, share(Cells("j", 0, (ArmTally("A", 1, 1, 1),)))) == []


def test_an_arm_that_a_peer_does_not_serve_is_found(pair: Pair) -> None:
    j, _ = pair
    (found,) = told_in_vain(j.endpoint, share(Cells("j", 0, (ArmTally("C", 1, 1, 1),))))
    assert found == f"j tells p of {CellKey('j', 0, 'C')}, which it does not serve"


def test_what_a_peer_has_told_itself_is_found(pair: Pair) -> None:
    j, _ = pair
    (found,) = told_in_vain(j.endpoint, share(Cells("p", 0, (ArmTally("B", 1, 0, 0),))))
    assert found == f"j tells p of {CellKey('p', 0, 'B')}, as it has told itself"


# 14. Two definitions of one bandit share nothing.


def test_what_was_observed_under_another_definition_is_found() -> None:
    home, wider = Bandit("home", ("A",), 1), Bandit("home", ("A",), 1, rewards=(0.0, 2.0))
    one = Agent("j", None, on_demand(loss_tolerant=True), bandits=(home,))
    one.endpoint.replica.merge(Changes(0, 1, (Cells("p", 0, (ArmTally("A", 1, 1, 1),), "home"),)), None)
    assert held_of_another(one, {"j": (home,), "p": (home,)}) == []
    (found,) = held_of_another(one, {"j": (home,), "p": (wider,)})
    differs = "rewards: (0.0, 1.0) here, (0.0, 2.0) there"
    assert found == f"j holds {CellKey('p', 0, 'A', 'home')}, and the two declare that bandit differently ({differs})"
