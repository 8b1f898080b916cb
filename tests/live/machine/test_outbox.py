"""What is owed to whom, and that a large group in which nobody is owed anything costs nothing to look through."""

from collections.abc import Iterator

from cobandit.live.machine.outbox import FIRST_WAIT, Outbox

MINE, OTHER = b"mine", b"other"


class Peers(dict[str, None]):
    """Counts how often it is gone through."""

    def __init__(self, *names: str) -> None:
        super().__init__(dict.fromkeys(names))
        self.times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return super().__iter__()


def test_peers_that_have_the_same_controls_are_not_gone_through_again() -> None:
    outbox, peers = Outbox(), Peers("a")
    outbox.controls_heard("a", MINE)
    assert outbox.next_due(peers, MINE) is None
    for newcomer in "bcd":
        peers[newcomer] = None
        outbox.controls_heard(newcomer, MINE)
        outbox.controls_heard("a", MINE)  # it announces itself again
        assert outbox.next_due(peers, MINE) is None
    assert peers.times == 1


def test_a_newcomer_with_other_controls_is_due_at_once() -> None:
    outbox, peers = Outbox(), Peers("a")
    outbox.controls_heard("a", MINE)
    assert outbox.next_due(peers, MINE) is None
    peers["b"] = None
    outbox.controls_heard("b", OTHER)
    assert outbox.next_due(peers, MINE) == 0.0
    assert list(outbox.due(peers, MINE, now=5.0)) == ["b"]
    assert outbox.next_due(peers, MINE) == 5.0 + FIRST_WAIT


def test_a_newcomer_that_has_heard_of_nothing_is_due_at_once() -> None:
    outbox, peers = Outbox(), Peers("a")
    outbox.controls_heard("a", MINE)
    assert outbox.next_due(peers, MINE) is None
    peers["b"] = None
    outbox.controls_heard("b", b"")
    assert outbox.next_due(peers, MINE) == 0.0


def test_who_was_looked_up_while_it_was_away_is_due_when_it_is_back_and_has_heard_of_nothing() -> None:
    outbox, peers = Outbox(), Peers()
    outbox.is_back("a")
    assert outbox.next_due(peers, MINE) is None
    peers["a"] = None
    outbox.controls_heard("a", b"")
    assert outbox.next_due(peers, MINE) == 0.0


def test_a_peer_that_falls_back_to_other_controls_is_due_at_once_and_again_not_when_it_has_them() -> None:
    outbox, peers = Outbox(), Peers("a")
    outbox.controls_heard("a", MINE)
    assert outbox.next_due(peers, MINE) is None
    outbox.controls_heard("a", OTHER)
    assert outbox.next_due(peers, MINE) == 0.0
    outbox.controls_heard("a", MINE)
    assert outbox.next_due(peers, MINE) is None


def test_when_the_controls_here_change_everybody_is_due() -> None:
    outbox, peers = Outbox(), Peers("a", "b")
    for peer in peers:
        outbox.controls_heard(peer, MINE)
    assert outbox.next_due(peers, MINE) is None
    assert outbox.next_due(peers, OTHER) == 0.0
    assert list(outbox.due(peers, OTHER, now=1.0)) == ["a", "b"]


def test_a_reward_is_given_up_so_long_after_it_was_found_waiting_however_the_clock_jumps() -> None:
    outbox = Outbox([("a", "old", 1.0)])
    assert outbox.give_up(100.0, now=1000.0) == []
    assert outbox.give_up(100.0, now=500.0) == []  # the clock went back: it counts from here
    outbox.add_reward("a", "new", 0.0)
    assert outbox.give_up(100.0, now=599.0) == []
    assert outbox.give_up(100.0, now=600.0) == [("a", "old")]
    assert outbox.rewards == (("a", "new", 0.0),)
    assert outbox.give_up(100.0, now=699.0) == [("a", "new")]
    assert not outbox.rewards


def test_a_reward_for_a_member_that_is_not_known_yet_is_due_as_soon_as_it_is_met() -> None:
    outbox, peers = Outbox(), Peers()
    outbox.add_reward("a", "d1.token", 1.0)
    assert outbox.next_due(peers, b"") is None
    peers["a"] = None
    outbox.controls_heard("a", b"")
    assert outbox.next_due(peers, b"") == 0.0
    assert list(outbox.due(peers, b"", now=2.0)) == ["a"]
    assert outbox.rewards_taken("a", ["d1.token"]) == ["d1.token"]
    assert outbox.next_due(peers, b"") is None


def test_an_answer_to_an_earlier_start_does_not_count_as_handed_on() -> None:
    outbox = Outbox([("a", "token", 0.5)])
    outbox.begin(1000)
    assert not outbox.handed_on("a", "token", 999)
    assert outbox.handed_on("a", "token", 1001)
    assert outbox.waiting == 0


def test_what_was_just_told_is_not_told_again_with_what_is_new() -> None:
    outbox = Outbox()
    told = []
    for number in range(3):
        outbox.add_reward("p", f"t{number}", 1.0)
        now = 100.0 + 0.1 * number
        assert list(outbox.due(["p"], b"", now)) == ["p"]
        told.append([token for token, _ in outbox.rewards_for("p", 2**20, now)])
    assert told == [["t0"], ["t1"], ["t2"]]
    outbox.rewards_taken("p", ["t1"])
    assert outbox.rewards_for("p", 2**20, 100.5) == ()
    assert [token for token, _ in outbox.rewards_for("p", 2**20, 100.2 + FIRST_WAIT)] == ["t0", "t2"]
