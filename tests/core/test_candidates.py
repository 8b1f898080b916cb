"""Which arms are considered, by this agent and by the others, and when a pair has nothing left to learn."""

from itertools import product

import pytest

from cobandit.core import Changes, Eliminations
from cobandit.core.candidates import Candidates
from cobandit.core.facts import EliminationsKey
from cobandit.core.members import Members
from cobandit.core.replica import Replica

ARMS = ("A", "B", "C")


class Agent:
    """j, with its peers, and what it knows."""

    def __init__(self, *, settles: bool = True, **peers: str) -> None:
        self.members = Members("j", ARMS)
        self.replica = Replica("j", 3, ARMS, units_per_reward=1)
        self.candidates = Candidates(self.members, self.replica, settles=settles)
        for name, arms in peers.items():
            self.members.join(name, tuple(arms))

    def hear(self, name: str, arms: str, incarnation: int = 0) -> None:
        """Hear which arms a peer no longer considers."""
        gone = Eliminations(name, incarnation, tuple(arms))
        self.replica.merge(Changes(eliminations=(gone,)), (name, 0))

    def considered(self) -> tuple[set[str], tuple[str, ...]]:
        return self.candidates.own, self.candidates.eliminated


def test_at_first_everything_is_considered() -> None:
    j = Agent(p="AB", q="CD")
    assert j.considered() == ({"A", "B", "C"}, ())
    assert [j.candidates.of(peer) for peer in j.members] == [{"A", "B"}, {"C", "D"}]


def test_what_is_dropped_is_a_fact_of_this_incarnation() -> None:
    j = Agent()
    assert [j.candidates.drop(arm) for arm in "CA"] == [1, 2]
    assert j.considered() == ({"B"}, ("C", "A"))
    assert j.candidates.key == EliminationsKey("j", 3)
    assert j.replica.changes(0, lambda _: True) == Changes(0, 2, eliminations=(Eliminations("j", 3, ("C", "A")),))


def test_what_a_peer_considers_is_what_its_newest_incarnation_said() -> None:
    j = Agent(p="ABC")
    peer = j.members.get("p")
    j.hear("p", "A", incarnation=0)
    assert j.candidates.of(peer) == {"B", "C"}
    j.hear("p", "BZ", incarnation=5)
    peer.incarnation = 5
    assert j.candidates.of(peer) == {"A", "C"}


# With the same arms there is one candidate set for all, with different arms everybody has its own.


def test_with_the_same_arms_what_one_drops_all_drop() -> None:
    j = Agent(p="BCA")
    j.hear("p", "BC")
    assert j.candidates.follow(j.members.get("p")) == ("B", "C")
    assert j.considered() == ({"A"}, ("B", "C"))
    assert j.candidates.follow(j.members.get("p")) == ()


def test_the_last_candidate_stays() -> None:
    j = Agent(p="ABC")
    j.candidates.drop("A")
    j.hear("p", "BC")
    assert j.candidates.follow(j.members.get("p")) == ("B",)
    assert j.considered() == ({"C"}, ("A", "B"))


def test_with_different_arms_nobody_follows() -> None:
    j = Agent(p="ABC", q="AB")
    j.hear("p", "B")
    assert j.candidates.follow(j.members.get("p")) == ()
    assert j.candidates.follow_all(was_same=True) == j.candidates.follow_all(was_same=False) == ()
    assert j.considered() == ({"A", "B", "C"}, ())


def test_when_arms_become_the_same_what_anybody_has_dropped_all_drop() -> None:
    j = Agent(p="ABC", q="ABC")
    j.hear("p", "B")
    j.hear("q", "AB")
    assert j.candidates.follow_all(was_same=True) == ()
    assert j.candidates.follow_all(was_same=False) == ("B", "A")
    assert j.considered() == ({"C"}, ("B", "A"))


# Settled pairs.


@pytest.mark.parametrize(
    ("settles", "peer_arms", "own_gone", "peer_gone"),
    list(product([True, False], ["ABC", "ABCD"], ["A", "AB"], ["A", "ABC"])),
)
def test_when_a_pair_is_settled(settles: bool, peer_arms: str, own_gone: str, peer_gone: str) -> None:
    j = Agent(settles=settles, p=peer_arms)
    for arm in own_gone:
        j.candidates.drop(arm)
    j.hear("p", peer_gone)
    is_same = peer_arms == "ABC"
    wanted = settles and own_gone == "AB" and (is_same or peer_gone == "ABC")
    assert j.candidates.are_settled(j.members.get("p")) == wanted
