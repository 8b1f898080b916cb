"""What peers say of lives that an agent has forgotten: one may lie, so two must say so."""

import pytest

from cobandit import UCB, Agent, on_demand
from cobandit.codec import decode_snapshot, encode_snapshot
from cobandit.core import Cells, Changes, Delivery, Presence, Receipt, Share
from cobandit.core import witnesses as module
from cobandit.core.facts import CellKey
from cobandit.core.replica import Replica
from cobandit.core.state import Claim
from cobandit.core.witnesses import Witnesses
from cobandit.values.tally import ArmTally

ARMS = ("A", "B")
NOTHING: tuple[Cells, ...] = ()


def own(incarnation: int, *tallies: tuple[str, int], agent: str = "j") -> Cells:
    return Cells(agent, incarnation, tuple(ArmTally(arm, count, count, count) for arm, count in tallies))


def witnesses() -> Witnesses:
    return Witnesses(Replica("j", 9, ARMS, units_per_reward=1))


def test_what_one_says_of_an_unknown_life_is_kept_apart_and_counts_when_a_second_says_so() -> None:
    them, theirs = witnesses(), own(5, ("A", 3), agent="p")
    assert them.heard("p", (theirs, own(4, ("A", 3), ("B", 1))), is_enough=False) == ((theirs,), ())
    assert them.claims == (Claim("p", own(4, ("A", 3), ("B", 1))),)
    assert them.heard("p", (own(4, ("A", 5), ("B", 0)),), is_enough=False) == ((), ())  # its own word is no second one
    said = (own(4, ("A", 4)),)
    assert them.heard("q", said, is_enough=False) == (said, (Claim("p", own(4, ("A", 5), ("B", 1))),))
    assert list(them.claims) == []


def test_two_who_speak_of_different_lives_are_not_two() -> None:
    them = witnesses()
    assert them.heard("p", (own(4, ("A", 3)),), is_enough=False) == ((), ())
    assert them.heard("q", (own(3, ("A", 3)),), is_enough=False) == ((), ())


def test_what_the_agent_knows_itself_counts_from_anybody() -> None:
    replica = Replica("j", 9, ARMS, units_per_reward=1)
    them = Witnesses(replica)
    replica.merge(Changes(cells=(own(4, ("A", 1)),)), None)
    replica.observe([ArmTally("A", 1, 1, 1)])
    replica.begin(12)
    said = (own(4, ("A", 3)), own(9, ("A", 1)), own(12, ("B", 1)))
    assert them.heard("p", said, is_enough=False) == (said, ())


def test_what_is_not_served_is_nobodys_claim() -> None:
    them, said = witnesses(), (own(4, ("A", 1))._replace(bandit="other"),)
    assert them.heard("p", said, is_enough=False) == (said, ())  # which the replica passes over
    assert list(them.claims) == []


def test_a_word_that_is_enough_brings_what_others_had_said() -> None:
    them, said = witnesses(), (own(4, ("A", 3)),)
    them.heard("p", (own(4, ("B", 1)),), is_enough=False)
    assert them.heard("r", said, is_enough=True) == (said, (Claim("p", own(4, ("B", 1))),))
    assert list(them.claims) == []


def test_one_peer_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CLAIMED", 3)
    them = witnesses()
    them.heard("p", tuple(own(number, ("A", 1)) for number in range(8)), is_enough=False)
    them.heard("q", (own(8, ("A", 1)),), is_enough=False)
    assert [claim.told.incarnation for claim in them.claims] == [0, 1, 2, 8]
    them.heard("q", (own(0, ("A", 1)),), is_enough=False)
    them.heard("p", (own(7, ("A", 1)),), is_enough=False)  # there is room again
    assert [claim.told.incarnation for claim in them.claims] == [1, 2, 8, 7]


# In an agent.


def agent(*peers: str) -> Agent:
    one = Agent("j", UCB(ARMS, quantum=1.0), on_demand(loss_tolerant=True), incarnation=9)
    for peer in peers:
        one.peer_joined(peer, ARMS, 0.0)
    return one


def told(sender: str, *cells: Cells, is_relay: bool = False) -> Share:
    presence = Presence(sender, 7, 2, 7, True, ARMS, 1, is_relay)
    delivery = Delivery(7, 0, Receipt(9, 0, 0), False, True)
    return Share(sender, "j", 1, 1, Changes(0, 3, cells, (), (presence,)), delivery)


def known(one: Agent) -> int:
    return one.policy.tally.observations


def test_invented_lives_change_nothing_that_an_agent_knows() -> None:
    j = agent("p", "q")
    j.update("A", 1.0, 0.5)
    outcome = j.receive(told("p", own(3, ("A", 500_000_000))), 1.0)
    assert (outcome.returned, known(j), j.policy.own_pulls) == ((), 1, 1)
    assert j.endpoint.links["p"].held == 3  # and it need not be told again


def test_a_second_witness_brings_both_words_and_whoever_knew_less_is_told() -> None:
    j = agent("p", "q")
    j.receive(told("p", own(3, ("A", 5))), 1.0)
    outcome = j.receive(told("q", own(3, ("A", 2), ("B", 1))), 2.0)
    assert sorted(outcome.returned) == [
        ArmTally("A", 2, 2, 2),
        ArmTally("A", 3, 3, 3),
        ArmTally("B", 1, 1, 1),
    ]
    assert (known(j), j.policy.own_pulls) == (6, 6)
    wanted = {
        name: sorted(
            (fact.key.arm, fact.cell[0])
            for fact in j.endpoint.replica.wanted(0, link.wants)
            if isinstance(fact.key, CellKey) and fact.key.incarnation == 3
        )
        for name, link in j.endpoint.links.items()
    }
    assert wanted == {"p": [("A", 5), ("B", 1)], "q": [("A", 5)]}


@pytest.mark.parametrize(("peers", "is_relay"), [(("p",), False), (("p", "q"), True)])
def test_the_only_peer_and_a_relay_need_no_second(peers: tuple[str, ...], is_relay: bool) -> None:
    j = agent(*peers)
    j.receive(told("p", own(3, ("A", 5)), is_relay=is_relay), 1.0)
    assert known(j) == 5


def test_claims_survive_with_the_snapshot_and_with_the_records() -> None:
    j = agent("p", "q")
    start = j.snapshot()
    records = j.receive(told("p", own(3, ("A", 5))), 1.0).records
    stored = decode_snapshot(encode_snapshot(j.snapshot()))
    for again in (
        Agent.restore(stored, policy=UCB(ARMS, quantum=1.0), sharing=j.sharing),
        Agent.restore(start, records, policy=UCB(ARMS, quantum=1.0), sharing=j.sharing),
    ):
        assert again.snapshot() == j.snapshot()
        again.receive(told("q", own(3, ("A", 2))), 2.0)
        assert known(again) == 5


def test_claims_that_do_not_fit_the_truth_are_passed_over() -> None:
    """What p claimed cannot follow on what q says: nobody knows who lied, and what came first stays."""
    j = agent("p", "q")
    j.receive(told("p", Cells("j", 3, (ArmTally("A", 5, 0, 0),))), 1.0)
    j.receive(told("q", own(3, ("A", 2))), 2.0)
    assert known(j) == 2
