"""An agent knows who is here, with which arms, and forgets nobody."""

import pytest

from cobandit.core.members import Members, Peer
from cobandit.values.errors import LocalError, PeerError, StrangerError

ARMS = ("A", "B", "C")


def members(*peers: tuple[str, tuple[str, ...]]) -> Members:
    """Those that j knows."""
    known = Members("j", ARMS)
    for name, arms in peers:
        known.join(name, known.check(name, arms))
    return known


def content(of: Members) -> tuple[object, ...]:
    return of.arms, of.same_arms, [tuple(getattr(peer, name) for name in Peer.__slots__) for peer in of]


def test_a_new_peer_is_here_and_was_never_heard() -> None:
    peer = members(("p", ("C", "B", "Z"))).get("p")
    assert (peer.name, peer.arms, peer.is_present) == ("p", ("C", "B", "Z"), True)
    assert (peer.session, peer.incarnation, peer.last_heard) == (None, 0, None)


def test_common_arms_stand_in_the_order_of_this_agent() -> None:
    peer = members(("p", ("Z", "C", "A"))).get("p")
    assert (peer.common, peer.common_set) == (("A", "C"), frozenset("AC"))


def test_a_peer_may_have_no_arm_in_common() -> None:
    peer = members(("p", ("Z",))).get("p")
    assert (peer.common, peer.common_set) == ((), frozenset())


def test_peers_with_the_same_arms_in_common_have_one_set_of_them() -> None:
    """The endpoint counts what peers can use once for each such set."""
    known = members(("p", ("C", "A")), ("q", ("A", "C", "Z")), ("r", ("A",)))
    assert known.get("p").common_set is known.get("q").common_set
    assert known.get("r").common_set == {"A"}


def test_a_peer_that_comes_back_is_the_same_peer() -> None:
    known = members(("p", ARMS))
    peer = known.get("p")
    peer.is_present, peer.session, peer.incarnation, peer.last_heard = False, 4, 3, 2.5
    assert known.join("p", ("C", "B", "A")) is peer
    assert (peer.is_present, peer.arms) == (True, ARMS)
    assert (peer.session, peer.incarnation, peer.last_heard) == (4, 3, 2.5)


def test_a_peer_may_come_back_with_other_arms() -> None:
    known = members(("p", ARMS), ("q", ARMS))
    known.join("p", ("Z", "B"))
    peer = known.get("p")
    assert (peer.arms, peer.common, peer.common_set) == (("Z", "B"), ("B",), frozenset("B"))
    assert not known.same_arms
    known.join("p", ARMS)
    assert (peer.arms, peer.common, known.same_arms) == (ARMS, ARMS, True)


def test_whether_all_have_the_same_arms() -> None:
    assert members().same_arms
    assert members(("p", ("C", "A", "B"))).same_arms
    assert not members(("p", ("A", "B")), ("q", ARMS)).same_arms
    assert not members(("p", (*ARMS, "D")), ("q", ARMS)).same_arms


def test_more_arms_are_common_with_those_who_had_them() -> None:
    known = members(("p", (*ARMS, "D")), ("q", ARMS), ("r", ("E", "D")))
    known.grow((*ARMS, "D"))
    assert known.arms == (*ARMS, "D")
    assert [peer.common for peer in known] == [(*ARMS, "D"), ARMS, ("D",)]
    assert [peer.common_set for peer in known] == [{*ARMS, "D"}, set(ARMS), {"D"}]
    assert not known.same_arms


def test_who_gets_the_arms_of_all_others_has_the_same() -> None:
    known = members(("p", (*ARMS, "D")))
    assert not known.same_arms
    known.grow((*ARMS, "D"))
    assert known.same_arms


def test_peers_stand_in_the_order_in_which_they_joined() -> None:
    known = members(*((name, ARMS) for name in ("r", "p", "q", "p")))
    assert [peer.name for peer in known] == ["r", "p", "q"]


def test_a_stranger_is_not_known() -> None:
    known = members()
    with pytest.raises(StrangerError, match="'p' is not known to j: an agent must join before it is heard") as refused:
        known.get("p")
    assert isinstance(refused.value, PeerError)
    assert list(known) == []


@pytest.mark.parametrize("arms", [(), ("A", "A"), ("",), ("x" * 201,), "AB", {"A", "B"}, None, ("A", 7)])
def test_arms_that_cannot_be_are_refused(arms: tuple[str, ...]) -> None:
    known = members(("p", ARMS))
    before = content(known)
    for name in ("p", "q"):
        with pytest.raises(LocalError, match="arm"):
            known.check(name, arms)
    assert content(known) == before


@pytest.mark.parametrize("name", ["", "x" * 201, 7, None, "\ud800"])
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    known = members(("p", ARMS))
    for ask in (lambda: known.check(name, ARMS), lambda: Members(name, ARMS)):
        with pytest.raises(LocalError, match="an agent's name must be a string of 1 to 200 bytes in UTF-8"):
            ask()


def test_the_longest_name_is_taken() -> None:
    assert [peer.name for peer in members(("x" * 200, ARMS))] == ["x" * 200]


def test_an_agent_is_not_its_own_peer() -> None:
    with pytest.raises(LocalError, match="agent 'j' cannot be its own peer: every agent of a group needs a name"):
        members().check("j", ARMS)


def test_the_limit_counts_new_peers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cobandit.core.members.MAX_PEERS", 2)
    known = members(("p", ARMS), ("q", ARMS))
    assert known.check("p", ["A"]) == ("A",)
    with pytest.raises(LocalError, match="2 peers are known already, which is the limit"):
        known.check("r", ARMS)
