"""The roster knows who is here, with which arms, and forgets nobody."""

import pytest

from cobandit.core.roster import Roster, checked_name
from cobandit.values.errors import LocalError, PeerError

ARMS = ("A", "B", "C")


def test_a_new_peer_is_present_considers_all_its_arms_and_was_never_heard() -> None:
    peer, is_new = Roster("j", ARMS).join("p", ["C", "B", "Z"])
    assert is_new
    assert (peer.name, peer.arms, peer.candidates) == ("p", ("C", "B", "Z"), {"B", "C", "Z"})
    assert (peer.present, peer.last_heard) == (True, None)


def test_common_arms_stand_in_the_order_of_this_agent() -> None:
    peer, _ = Roster("j", ARMS).join("p", ["Z", "C", "A"])
    assert peer.common == ("A", "C")


def test_a_peer_may_have_no_arm_in_common() -> None:
    peer, _ = Roster("j", ARMS).join("p", ["Z"])
    assert peer.common == ()


def test_a_peer_that_left_stays_on_the_roster() -> None:
    roster = Roster("j", ARMS)
    peer, _ = roster.join("p", ARMS)
    assert roster.leave("p") is peer
    assert (peer.present, "p" in roster, len(roster), list(roster)) == (False, True, 1, [peer])


def test_a_peer_that_comes_back_is_the_same_peer() -> None:
    roster = Roster("j", ARMS)
    peer, _ = roster.join("p", ARMS)
    peer.candidates.discard("B")
    roster.leave("p")
    assert roster.join("p", ["C", "B", "A"]) == (peer, False)
    assert (peer.present, peer.candidates, peer.arms) == (True, {"A", "C"}, ARMS)


def test_a_peer_that_comes_back_with_other_arms_is_refused_and_stays_away() -> None:
    roster = Roster("j", ARMS)
    peer, _ = roster.join("p", ARMS)
    roster.leave("p")
    with pytest.raises(PeerError, match="p joined with arms A, B but had A, B, C before: start it with the same arms"):
        roster.join("p", ["A", "B"])
    assert not peer.present


def test_the_roster_remembers_whether_all_have_the_same_arms() -> None:
    roster = Roster("j", ARMS)
    assert roster.same_arms
    roster.join("p", ["C", "A", "B"])
    assert roster.same_arms
    roster.join("q", ["A", "B"])
    roster.join("r", ARMS)
    assert not roster.same_arms


def test_peers_stand_in_the_order_in_which_they_joined() -> None:
    roster = Roster("j", ARMS)
    for name in ("r", "p", "q", "p"):
        roster.join(name, ARMS)
    assert [peer.name for peer in roster] == ["r", "p", "q"]


def test_a_stranger_is_not_known() -> None:
    roster = Roster("j", ARMS)
    for ask in (roster.get, roster.leave):
        with pytest.raises(PeerError, match="'p' is not known to j: an agent must join before it is heard"):
            ask("p")
    assert ("p" in roster, len(roster)) == (False, 0)


def test_an_agent_cannot_join_its_own_roster() -> None:
    roster = Roster("j", ARMS)
    with pytest.raises(LocalError, match="agent 'j' cannot be its own peer"):
        roster.join("j", ARMS)
    assert len(roster) == 0


def test_the_limit_counts_new_peers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cobandit.core.roster.MOST_PEERS", 2)
    roster = Roster("j", ARMS)
    roster.join("p", ARMS)
    roster.join("q", ARMS)
    roster.join("p", ARMS)
    with pytest.raises(LocalError, match="2 peers are known already, which is the limit"):
        roster.join("r", ARMS)
    assert [peer.name for peer in roster] == ["p", "q"]


def test_a_refused_peer_leaves_no_mark() -> None:
    roster = Roster("j", ARMS)
    for arms in ([], ["A", "A"], [""]):
        with pytest.raises(LocalError):
            roster.join("p", arms)
    assert (len(roster), roster.same_arms) == (0, True)


@pytest.mark.parametrize("name", ["", "x" * 201, 7, None])
def test_a_name_that_is_not_usable_is_refused(name: object) -> None:
    with pytest.raises(LocalError, match="an agent's name must be a string of 1 to 200 characters"):
        checked_name(name)  # type: ignore[arg-type]


def test_a_usable_name_is_returned() -> None:
    assert checked_name("x" * 200) == "x" * 200
