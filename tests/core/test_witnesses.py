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


def hear(them: Witnesses, peer: str, *cells: Cells, is_enough: bool = False) -> tuple[object, ...]:
    return tuple(them.heard(peer, cells, is_enough=is_enough))


def test_what_one_says_of_an_unknown_life_is_kept_apart_and_counts_as_far_as_a_second_says_so() -> None:
    them, theirs = witnesses(), own(5, ("A", 3), agent="p")
    assert hear(them, "p", theirs, own(4, ("A", 3), ("B", 1))) == ((theirs,), (), True)
    assert list(them.claims) == [Claim("p", own(4, ("A", 3))), Claim("p", own(4, ("B", 1)))]
    assert hear(them, "p", own(4, ("A", 5))) == ((), (), True)  # its own word is no second one
    assert hear(them, "q", own(4, ("A", 4))) == ((own(4, ("A", 4)),), (), True)
    assert list(them.claims) == [Claim("p", own(4, ("A", 5))), Claim("p", own(4, ("B", 1)))]


def test_who_says_more_than_the_other_vouches_for_what_the_other_said() -> None:
    them = witnesses()
    hear(them, "p", own(4, ("A", 3)))
    assert hear(them, "liar", own(4, ("A", 10**9))) == ((), (Claim("p", own(4, ("A", 3))),), True)
    assert list(them.claims) == [Claim("liar", own(4, ("A", 10**9)))]


def test_two_who_contradict_each_other_do_not_vouch_for_each_other() -> None:
    them = witnesses()
    hear(them, "p", Cells("j", 4, (ArmTally("A", 5, 0, 0),)))
    assert hear(them, "q", own(4, ("A", 2))) == ((), (), True)


def test_two_who_speak_of_different_lives_or_say_nothing_are_not_two() -> None:
    them = witnesses()
    assert hear(them, "p", own(4, ("A", 3))) == ((), (), True)
    assert hear(them, "q", own(3, ("A", 3))) == ((), (), True)
    assert hear(them, "r", own(4), own(4, ("C", 3))) == ((), (), True)  # nothing, and of an arm that is not served
    assert len(them.claims) == 2


def test_what_the_agent_began_itself_counts_from_anybody() -> None:
    replica = Replica("j", 4, ARMS, units_per_reward=1)
    them = Witnesses(replica)
    replica.begin(12)
    said = own(4, ("A", 3))
    assert hear(them, "p", said) == ((said,), (), True)


def test_what_is_not_served_is_nobodys_claim() -> None:
    them, said = witnesses(), own(4, ("A", 1))._replace(bandit="other")
    assert hear(them, "p", said) == ((said,), (), True)  # which the replica passes over
    assert list(them.claims) == []


def test_a_word_that_is_enough_ends_the_claims_that_say_no_more() -> None:
    them, said = witnesses(), own(4, ("A", 3))
    hear(them, "p", own(4, ("A", 2), ("B", 1)))
    assert hear(them, "r", said, is_enough=True) == ((said,), (), True)
    assert list(them.claims) == [Claim("p", own(4, ("B", 1)))]


def test_one_peer_cannot_fill_the_memory_and_what_has_no_room_must_be_told_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_CLAIMED", 3)
    them = witnesses()
    assert hear(them, "p", *(own(number, ("A", 1)) for number in range(8))) == ((), (), False)
    assert hear(them, "q", own(8, ("A", 1))) == ((), (), True)
    assert [claim.told.incarnation for claim in them.claims] == [0, 1, 2, 8]
    assert hear(them, "q", own(0, ("A", 1))) == ((own(0, ("A", 1)),), (), True)
    assert hear(them, "p", own(7, ("A", 1))) == ((), (), True)  # there is room again
    assert [claim.told.incarnation for claim in them.claims] == [1, 2, 8, 7]
    monkeypatch.setattr(module, "MAX_CLAIMED_BY_ALL", 4)
    assert hear(them, "r", own(5, ("A", 1))) == ((), (), False)


def test_what_others_say_leaves_the_agent_room_to_observe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PER_AGENT", 10)
    them = witnesses()
    assert hear(them, "r", own(4, ("A", 6)), is_enough=True) == ((), (), True)
    assert hear(them, "r", own(4, ("A", 5)), is_enough=True) == ((own(4, ("A", 5)),), (), True)


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


def test_a_second_witness_brings_what_both_say_and_whoever_knew_less_is_told() -> None:
    j = agent("p", "q", "r")
    j.receive(told("p", own(3, ("A", 2))), 1.0)
    outcome = j.receive(told("q", own(3, ("A", 5), ("B", 1))), 2.0)
    assert outcome.returned == (ArmTally("A", 2, 2, 2),)
    assert (known(j), j.policy.own_pulls) == (2, 2)
    outcome = j.receive(told("r", own(3, ("A", 5))), 3.0)
    assert (outcome.returned, known(j)) == ((ArmTally("A", 3, 3, 3),), 5)
    wanted = {
        name: sorted(
            (fact.key.arm, fact.cell.observations)
            for fact in j.endpoint.replica.wanted(0, link.wants)
            if isinstance(fact.key, CellKey) and fact.key.incarnation == 3
        )
        for name, link in j.endpoint.links.items()
    }
    assert wanted == {"p": [("A", 5)], "q": [("A", 5)], "r": []}


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
        assert known(again) == 2


def test_who_was_forgotten_is_a_peer_all_the_same() -> None:
    """Otherwise one who has the others forgotten is the only one there is, and is believed."""
    j = agent("p", "q")
    j.forget("q", 0.5)
    j.receive(told("p", own(3, ("A", 1_000))), 1.0)
    assert known(j) == 0


def test_what_has_no_room_is_not_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CLAIMED", 1)
    j = agent("p", "q")
    j.receive(told("p", own(3, ("A", 5), ("B", 1))), 1.0)
    assert j.endpoint.links["p"].held == 0
