"""What a node lets a protocol do, and what it refuses."""

import msgspec
import pytest
from tests.protocols.conversations import node_at

from cobandit.protocols import Cell, best_arm
from cobandit.protocols.node import ENVELOPE, Note, decoded
from cobandit.values.chance import uniform
from cobandit.values.errors import LocalError


def test_what_is_sent_is_taken_out_once_and_numbered_for_each_receiver_and_kind() -> None:
    node = node_at()
    node.send(1, "a", observations=2)
    node.send(2, "b")
    node.send(1, ["c", 1])
    node.send(1, None, kind="notice")
    a, b, c, none = (msgspec.msgpack.encode(value) for value in ("a", "b", ["c", 1], None))
    assert node.take() == (
        Note("0", "1", "share", 1, 2, a),
        Note("0", "2", "share", 1, 0, b),
        Note("0", "1", "share", 2, 0, c),
        Note("0", "1", "notice", 1, 0, none),
    )
    assert node.take() == ()


def test_a_message_costs_its_content_and_an_envelope() -> None:
    node = node_at()
    node.send(1, [1, 2, "three"])
    (note,) = node.take()
    assert note.size == ENVELOPE + 1 + 1 + 1 + 6
    assert decoded(note) == [1, 2, "three"]


@pytest.mark.parametrize(
    ("to", "why"),
    [
        (0, "the protocol of agent 0 sends to 0: that is itself"),
        (2, "the protocol of agent 0 sends to 2: its neighbours are 1"),
        (7, "the protocol of agent 0 sends to 7: there are nodes 0 to 2"),
        ("1", "the protocol of agent 0 sends to '1': there are nodes 0 to 2"),
    ],
)
def test_only_neighbours_are_addressed(to: int, why: str) -> None:
    with pytest.raises(LocalError) as refused:
        node_at(neighbours=(1,)).send(to, "x")
    assert str(refused.value) == why


def test_a_message_that_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(LocalError, match="which cannot be encoded"):
        node_at().send(1, object())
    with pytest.raises(LocalError, match="which cannot be encoded"):
        node_at().send(1, 2**70)


def test_a_kind_that_is_none_and_a_message_that_is_too_long_are_refused() -> None:
    with pytest.raises(LocalError, match="kind must be one of share, notice"):
        node_at().send(1, "x", kind="shout")  # type: ignore[arg-type]
    with pytest.raises(LocalError, match="at most 16777216 are allowed"):
        node_at().send(1, b"x" * 2**24)


def test_chance_is_the_nodes_stream_number_by_number() -> None:
    node = node_at()
    assert [node.uniform(), node.uniform()] == [uniform(7, 0), uniform(7, 1)]
    assert node.pick("abcdefgh") == "abcdefgh"[int(8 * uniform(7, 2))]
    with pytest.raises(LocalError, match="picks one of nothing"):
        node.pick([])


def test_a_node_is_woken_later_and_never_at_once() -> None:
    node = node_at()
    node.slot = 5
    node.wake_in(3)
    assert node.wake_at == 8
    with pytest.raises(LocalError, match="a whole number of at least 1, not 0"):
        node.wake_in(0)


def test_news_are_told_once_and_not_back_to_who_told_or_made_them() -> None:
    node = node_at()
    node.ledger.add(0, "A", 1, 1)
    told = Cell(2, "B", 3, 1, 1)
    assert node.learn([told], 1) == 3
    own = Cell(0, "A", 1, 1, 1)
    assert [node.news_for(1), node.news_for(2)] == [[own], [own]]
    node.learn([(1, "A", 2, 0, 0)], 2)
    assert [node.news_for(1), node.news_for(2)] == [[], []]
    assert node.policy.tally.counts == {"A": 2, "B": 3}  # own pulls are counted by the engine, and what was told here


def test_of_a_hubs_totals_an_agents_own_part_is_left_out() -> None:
    node = node_at()
    node.learn([(0, "A", 3, 2, 2), (1, "A", 5, 1, 1), (1, "B", 1, 1, 1)], 1)
    assert node.ledger.total(9, ("A", "B"), without=0) == [Cell(9, "A", 5, 1, 1), Cell(9, "B", 1, 1, 1)]
    assert node.ledger.total(9, ("A", "B"), without=1) == [Cell(9, "A", 3, 2, 2)]


def test_a_cell_told_late_or_twice_counts_once() -> None:
    node = node_at()
    for told in ((1, "A", 2, 1, 1), (1, "A", 5, 3, 3), (1, "A", 4, 2, 2)):
        node.learn([told], 1)
    assert node.ledger.cells() == (Cell(1, "A", 5, 3, 3),)
    assert (node.policy.tally.counts, node.policy.tally.sums) == ({"A": 5, "B": 0}, {"A": 3, "B": 0})


def test_an_index_that_is_not_a_number_is_refused() -> None:
    assert best_arm({"A": 0.5, "B": 0.75, "C": 0.75}) == "B"
    with pytest.raises(LocalError, match="the index of arm 'B' is not a number"):
        best_arm({"A": 0.5, "B": float("nan")})
