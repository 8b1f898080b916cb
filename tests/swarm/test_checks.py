"""Every check of the swarm fails on what it is there for, and says so in a sentence."""

import pytest

from cobandit import UCB, Agent, on_demand
from cobandit.core import Record, TolerantEndpoint
from cobandit.core.delivery import Patience, Phase
from cobandit.core.ledger import Origin
from cobandit.testing.swarm.checks import (
    Pace,
    ShareCounts,
    deadlock,
    difference,
    incompleteness,
    unknown_former_boots,
    untrue_holding,
    untrue_record,
    wrong_totals,
)
from cobandit.testing.swarm.checks.pace import LONGEST_CHAIN, endless_chain
from cobandit.testing.swarm.history import History
from cobandit.values.tally import ArmTally

ARMS = ("A", "B")


@pytest.fixture
def pair() -> tuple[Agent, Agent]:
    """Two agents that know all that the other knows: j pulled A, p pulled B."""
    j, p = (Agent(name, UCB(ARMS, quantum=1.0), on_demand(loss_tolerant=True)) for name in "jp")
    j.peer_joined("p", ARMS)
    p.peer_joined("j", ARMS)
    asked = j.update("A", 1.0, now=0.0).outgoing
    p.receive(asked[0], now=0.0)
    for answer in p.update("B", 0.0, now=1.0).outgoing:
        j.receive(answer, now=1.0)
    return j, p


@pytest.fixture
def history() -> History:
    """j, in boot 0, pulled A with reward 1, then B with 0, then A with 1."""
    history = History()
    for arm, units in (("A", 1), ("B", 0), ("A", 1)):
        history.of("j", 0).observe(arm, units)
    return history


def endpoint(agent: Agent) -> TolerantEndpoint:
    assert isinstance(agent.endpoint, TolerantEndpoint)
    return agent.endpoint


def test_a_healthy_pair_passes(pair: tuple[Agent, Agent]) -> None:
    j, p = pair
    assert wrong_totals(j) + wrong_totals(p) == []
    assert deadlock(endpoint(j), endpoint(p)) == []
    assert incompleteness(pair) == []
    assert unknown_former_boots(pair) == []


def test_a_true_record_passes(history: History) -> None:
    record = Record("j", 0, 0, 3, (ArmTally("A", 2, 2), ArmTally("B", 1, 0)))
    assert untrue_record(record, history, is_over=False) == []


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (Record("j", 0, 0, 2, (ArmTally("A", 2, 2),)), "counts 2 of arm A; its owner had 1 then"),
        (Record("j", 0, 0, 3, (ArmTally("A", 2, 1),)), "has 1 for 2 of arm A; its owner had 2"),
        (Record("j", 0, 0, 4, ()), "that boot made only 3 observations"),
        (Record("j", 7, 0, 1, ()), "that boot made only 0 observations"),
    ],
)
def test_invariant_1_a_record_that_never_was_so_is_found(history: History, record: Record, sentence: str) -> None:
    (told,) = untrue_record(record, history, is_over=False)
    assert sentence in told


def test_invariant_1_a_holding_that_lacks_something_is_found(pair: tuple[Agent, Agent], history: History) -> None:
    _, p = pair
    ledger, origin = p.endpoint.ledger, Origin("j", 0)
    assert untrue_holding("p", ledger, origin, history, is_over=False) == []
    ledger.held[origin].version = 3
    assert len(untrue_holding("p", ledger, origin, history, is_over=False)) == 2
    assert untrue_holding("p", ledger, origin, history, is_over=True) == []
    ledger.held[origin].tally.sums["A"] = 0
    assert len(untrue_holding("p", ledger, origin, history, is_over=True)) == 1
    ledger.held[origin].version = 4
    assert "made only 3" in untrue_holding("p", ledger, origin, history, is_over=True)[0]


def test_invariant_2_what_is_counted_twice_is_found(pair: tuple[Agent, Agent]) -> None:
    j, _ = pair
    j.policy.tally.add("B", 1, 0)
    assert wrong_totals(j) == ["j decides by 0/2 of arm B, but its parts sum up to 0/1"]


def test_invariant_3_two_that_wait_for_each_other_are_found(pair: tuple[Agent, Agent]) -> None:
    one, other = map(endpoint, pair)
    for link in (one.links["p"], other.links["j"]):
        link.exchange.demanded = False
        link.delivery.phase = Phase.TRUSTING
    (told,) = deadlock(one, other)
    assert "both wait" in told
    one.links["p"].delivery.phase = Phase.WAITING
    assert deadlock(one, other) == []


def test_invariant_4_a_share_that_nobody_asked_for_is_found() -> None:
    counts = ShareCounts()
    counts.fresh["j", "p"] = 3
    counts.fresh["p", "j"] = 1
    assert counts.one_sided("j", "p") == ["j shared 3 times with p, which shared 1 times, with 0 restarts"]
    assert counts.one_sided("p", "j") == []
    counts.starts["p"] = 1
    assert counts.one_sided("j", "p") == []


def test_invariant_4_more_shares_than_theorem_2_allows_are_found(pair: tuple[Agent, Agent]) -> None:
    j, p = pair
    counts = ShareCounts()
    counts.fresh["j", "p"] = 2
    assert counts.beyond_theorem_2(j.endpoint, p.endpoint) == []
    counts.fresh["j", "p"] = 3
    assert counts.beyond_theorem_2(j.endpoint, p.endpoint) == ["j shared 3 times with p; Theorem 2 allows 2"]
    counts.starts["j"] = 1
    assert counts.beyond_theorem_2(j.endpoint, p.endpoint) == []


def test_invariant_5_a_repetition_that_comes_too_early_is_found() -> None:
    pace = Pace(Patience(first=10.0, least=4.0, growth=2.0, longest=12.0))
    pace.begin(0.0)
    assert [pace.repeat("j", "p", now) for now in (4.0, 12.0, 24.0, 36.0)] == [[], [], [], []]
    (told,) = pace.repeat("j", "p", 47.0)
    assert "the wait must be 12" in told
    pace.begin()
    assert pace.repeat("j", "p", 48.0) == []


def test_invariant_5_a_conversation_without_end_is_found() -> None:
    assert endless_chain(LONGEST_CHAIN) == []
    assert len(endless_chain(LONGEST_CHAIN + 1)) == 1


def test_invariant_6_a_missing_observation_is_found(pair: tuple[Agent, Agent]) -> None:
    j, _ = pair
    j.endpoint.ledger.observe("A", 1)
    assert incompleteness(pair) == ["p lacks observations of j, boot 0: it knows 1 of A, not 2"]


def test_invariant_6_an_elimination_that_a_peer_does_not_know_is_found(pair: tuple[Agent, Agent]) -> None:
    j, _ = pair
    j.endpoint.eliminate("B", 0.0)
    assert incompleteness(pair) == ["p is wrong about whether j considers B"]


def test_invariant_7_a_former_boot_that_only_a_peer_knows_is_found(pair: tuple[Agent, Agent]) -> None:
    j, _ = pair
    endpoint(j).start_again(1)
    assert unknown_former_boots(pair) == []
    del j.endpoint.ledger.held[Origin("j", 0)]
    assert unknown_former_boots(pair) == ["j knows 0 of arm A of j, boot 0: others 1"]


def test_invariant_8_a_seed_that_does_something_else_is_found() -> None:
    assert difference(7, "a", "a") == []
    assert difference(7, "a", "b") == ["seed 7 was run twice and did not do the same"]
