"""What a lender's book says, which numbers are settled, and what must not come apart."""

from itertools import pairwise

import pytest

from cobandit import UCB, Agent, on_demand
from cobandit.core import Changes, Delivery, Notice, Receipt, Share, pens
from cobandit.core.credibility import check_changes
from cobandit.core.facts import CellKey, SettledKey
from cobandit.core.messages import Cells, Presence
from cobandit.core.pen_names import incarnation_of, lender_of, pen_name
from cobandit.core.pens import MAX_MARKS, OVER, Book, Phase, Whose, replayed
from cobandit.core.replica import Replica
from cobandit.core.settled import (
    BLOCK,
    MAX_BLOCKS,
    blocks_of,
    floor_number,
    floor_of,
    is_over,
    is_settled,
    merge,
    next_number,
)
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import ArmTally

PEN = "r~5-1"


def lent(book: Book, nonce: bytes = b"1", now: float = 0.0) -> str:
    pen = book.lend(nonce, 5, lambda last: last + 10, now)
    assert pen is not None
    assert book.hears(pen.name, pen.session, now)
    return pen.name


def replica() -> Replica:
    return Replica("r", 5, ("A", "B"), units_per_reward=1)


# Names.


def test_the_lender_and_the_incarnation_are_read_from_the_name() -> None:
    name = pen_name("r", 255, 3, "pods")
    assert (name, lender_of(name), incarnation_of(name)) == ("pods~r~ff-3", "r", 255)


@pytest.mark.parametrize("name", ["r", "r~1", "r~g-1", "a~b~r~1-1", "r~1-", "~1-1"])
def test_other_names_are_no_pens(name: str) -> None:
    assert lender_of(name) is None


def test_a_relay_with_the_separator_in_its_name_lends_nothing() -> None:
    with pytest.raises(LocalError, match="must not contain ~"):
        pen_name("r~s", 5, 1)


# Settled numbers.


def test_settled_numbers_are_merged_and_told_once() -> None:
    one, other = replica(), replica()
    merge(one, blocks_of(PEN, 5, [0, 3]), None)
    merge(one, blocks_of(PEN, 5, [3, BLOCK]), None)
    told = one.changes(0, lambda _: True).settled
    assert merge(other, told, ("q", 1)) == (SettledKey(PEN, 5, 0), SettledKey(PEN, 5, 1))
    assert merge(other, told, ("q", 1)) == ()
    assert [number for number in range(2 * BLOCK) if is_settled(other, PEN, 5, number)] == [0, 3, BLOCK]
    assert next_number(other, PEN, 5) == BLOCK + 1


def test_what_is_below_the_floor_is_over_and_takes_no_room() -> None:
    known = replica()
    merge(known, blocks_of(PEN, 5, [1, BLOCK + 1, 3 * BLOCK]), None)
    merge(known, [floor_of(PEN, 5, 2 * BLOCK + 7)], None)
    assert [is_over(known, PEN, 5, number) for number in (0, 2 * BLOCK - 1, 2 * BLOCK)] == [True, True, False]
    assert {fact.key for fact in known.facts()} == {SettledKey(PEN, 5, -1), SettledKey(PEN, 5, 3)}
    assert merge(known, blocks_of(PEN, 5, [2]), None) == ()  # too late
    assert merge(known, [floor_of(PEN, 5, BLOCK)], None) == ()  # a floor only rises


def test_where_all_are_settled_the_floor_rises_by_itself() -> None:
    known = replica()
    merge(known, blocks_of(PEN, 5, [*range(1, BLOCK), *range(BLOCK, 2 * BLOCK), 2 * BLOCK + 1]), None)
    assert floor_number(known, PEN, 5) == 0
    merge(known, blocks_of(PEN, 5, [0]), None)
    assert floor_number(known, PEN, 5) == 2 * BLOCK
    assert {fact.key for fact in known.facts()} == {SettledKey(PEN, 5, -1), SettledKey(PEN, 5, 2)}
    assert [is_settled(known, PEN, 5, number) for number in (0, 2 * BLOCK - 1, 2 * BLOCK)] == [True, True, False]
    told = known.changes(0, lambda _: True).settled
    other = replica()
    merge(other, told, ("q", 1))
    assert floor_number(other, PEN, 5) == 2 * BLOCK
    assert next_number(other, PEN, 5) == 2 * BLOCK + 2


def test_all_of_a_pen_is_in_one_part() -> None:
    known = replica()
    known.max_facts = 1
    known.merge(Changes(cells=(Cells(PEN, 5, (ArmTally("A", 1, 1, 1),)),), settled=blocks_of(PEN, 5, [0])), ("q", 1))
    known.merge(Changes(cells=(Cells("other", 5, (ArmTally("A", 1, 1, 1),)),)), ("q", 1))
    known.merge(Changes(cells=(Cells(PEN, 5, (ArmTally("B", 1, 1, 1),)),), settled=blocks_of(PEN, 5, [1])), ("q", 1))
    part = known.changes(0, lambda _: True)
    assert {told.agent for told in part.cells} == {PEN}
    assert part.settled == blocks_of(PEN, 5, [0, 1])
    assert part.upto < known.number
    rest = known.changes(part.upto, lambda _: True)
    assert {told.agent for told in rest.cells} == {"other"}


# Who may say what.


def relay(name: str = "r") -> Agent:
    agent = Agent(name, UCB(["A"], quantum=1.0), on_demand(loss_tolerant=True), incarnation=5)
    agent.join(0.0, is_relay=True)
    return agent


def of_a_pen(sender: str, receiver: str, settled: bool = True) -> Share:
    here = Presence(sender, 9, 2, 5, is_present=True, arms=("A",), units_per_reward=1, is_leaf=True)
    cells = (Cells(sender, 5, (ArmTally("A", 1, 1, 1),)),)
    changes = Changes(0, 3, cells, presences=(here,), settled=blocks_of(sender, 5, [0]) if settled else ())
    return Share(sender, receiver, 1, 1, changes, Delivery(9, 0, Receipt(5, 0, 0), is_introduced=True))


def test_cells_of_a_pen_are_taken_by_its_lender_with_their_numbers() -> None:
    agent = relay()
    agent.receive(of_a_pen(PEN, "r"), 1.0)
    assert dict(agent.endpoint.replica.cells()) == {CellKey(PEN, 5, "A"): ArmTally("A", 1, 1, 1)}
    assert is_settled(agent.endpoint.replica, PEN, 5, 0)


def test_another_relay_refuses_them() -> None:
    agent = relay("s")
    with pytest.raises(PeerError, match="only r, which lent it that name"):
        agent.receive(of_a_pen(PEN, "s"), 1.0)
    assert list(agent.endpoint.replica.cells()) == []


def test_only_pens_have_settled_numbers_and_only_relays_tell_of_others() -> None:
    with pytest.raises(PeerError, match="which is not a pen"):
        relay().receive(of_a_pen("ann", "r"), 1.0)
    share = of_a_pen(PEN, "r")
    floor = share.changes._replace(settled=(floor_of("r~5-99", 5, BLOCK),))
    with pytest.raises(PeerError, match="is not a relay"):
        relay().receive(share._replace(changes=floor), 1.0)


def test_the_holder_tells_its_lender_and_no_other_relay() -> None:
    holder = Agent(PEN, UCB(["A"], quantum=1.0), on_demand(loss_tolerant=True), incarnation=5)
    for name in ("r", "s"):
        said = Presence(name, 7, 2, 7, is_present=True, arms=("A",), units_per_reward=1, is_relay=True)
        holder.receive(Notice(name, PEN, Changes(presences=(said,)), 7, is_introduced=True), 0.0)
    holder.join(1.0, is_leaf=True)
    outcome = holder.update_all([ArmTally("A", 1, 1, 1)], 2.0, blocks_of(PEN, 5, [0]))
    told = {message.receiver: message.changes for message in outcome.outgoing if isinstance(message, Share)}
    assert (told["r"].cells, told["r"].settled) == (
        (Cells(PEN, 5, (ArmTally("A", 1, 1, 1),)),),
        blocks_of(PEN, 5, [0]),
    )
    assert (told["s"].cells, told["s"].settled) == ((), ())
    assert holder.peers.lacking == ("r",)


def test_a_late_word_of_a_lender_that_has_begun_anew_is_not_merged() -> None:
    """It may have lost its disk, and have counted the same decisions again."""
    agent = relay("s")
    for session in (7, 8):
        said = Presence("r", session, 2, session, is_present=True, arms=("A",), units_per_reward=1, is_relay=True)
        agent.receive(Notice("r", "s", Changes(presences=(said,)), session, is_introduced=True), 0.0)
    cells = tuple(Cells(name, life, (ArmTally("A", 1, 1, 1),)) for name, life in (("r", 7), (PEN, 5)))
    late = Changes(0, 3, cells, settled=blocks_of(PEN, 5, [0]))
    agent.receive(Share("r", "s", 1, 1, late, Delivery(7, 0, Receipt(5, 0, 0), is_introduced=True)), 1.0)
    assert [key.agent for key, _ in agent.endpoint.replica.cells()] == ["r"]  # what it observed itself counts
    assert not is_settled(agent.endpoint.replica, PEN, 5, 0)


@pytest.mark.parametrize(("session", "base", "counts"), [(5, 0, True), (4, 0, False), (5, 2, False)])
def test_a_message_counts_for_pens_only_if_it_leaves_out_nothing_that_is_lacking(
    session: int, base: int, counts: bool
) -> None:
    """An earlier session, whose disk is lost, may have held the numbers of these observations."""
    agent = relay("s")
    said = Presence("r", 7, 2, 7, is_present=True, arms=("A",), units_per_reward=1, is_relay=True)
    agent.receive(Notice("r", "s", Changes(presences=(said,)), 7, is_introduced=True), 0.0)
    cells = tuple(Cells(name, 5, (ArmTally("A", 1, 1, 1),)) for name in ("ann", PEN))
    told = Changes(base, 3, cells, settled=blocks_of(PEN, 5, [0]))
    agent.receive(Share("r", "s", 1, 1, told, Delivery(7, 0, Receipt(session, 0, 0), is_introduced=True)), 1.0)
    assert [key.agent for key, _ in agent.endpoint.replica.cells()] == ["ann", PEN][: 1 + counts]
    assert is_settled(agent.endpoint.replica, PEN, 5, 0) is counts


def test_what_a_lender_adopts_it_tells_other_relays_also_if_nobody_else_speaks() -> None:
    lender, other = relay(), relay("s")
    met = (lender.receive, other.receive)
    for receive, one, two in zip(met, (other, lender), (lender, other), strict=True):
        receive(Notice(one.name, two.name, Changes(presences=(one.presence,)), one.session, is_introduced=True), 0.0)
    now = 1.0
    for number in (3, 4, 5):
        outcome = lender.adopt(PEN, ArmTally("A", 1, 1, 1), blocks_of(PEN, 5, [number]), now)
        end = now + 100_000.0
        while now < end:
            for message in outcome.outgoing:
                for answer in other.receive(message, now).outgoing:
                    lender.receive(answer, now)
            if lender.wake_at is None:
                break
            now = max(lender.wake_at, now)
            outcome = lender.wake(now)
    assert dict(other.endpoint.replica.cells()) == {CellKey(PEN, 5, "A"): ArmTally("A", 3, 3, 3)}
    assert [is_settled(other.endpoint.replica, PEN, 5, number) for number in (2, 3, 4, 5)] == [False, True, True, True]
    assert lender.policy.tally.observations == 3


# The book.


def test_who_asks_again_gets_the_same_pen_and_others_get_another() -> None:
    book = Book("r", now=0.0)
    assert [lent(book, nonce) for nonce in (b"1", b"1", b"2")] == ["r~5-1", "r~5-1", "r~5-2"]


def test_a_closed_pen_is_handed_on_in_another_session_above_all_numbers() -> None:
    book = Book("r", now=0.0)
    name = lent(book)
    first = book.pens[name]
    book.close(name, 7, lived=1.0)
    again = book.lend(b"2", 5, lambda last: last + 10, 2.0)
    assert again is not None
    assert (again.name, again.first_number, again.phase) == (name, 7, Phase.LENT.value)
    assert again.session > first.session
    assert (book.hears(name, first.session, 3.0), book.hears(name, again.session, 3.0)) == (False, True)
    assert (book.was_closed(name, first.session), book.was_closed(name, again.session)) == (True, False)
    assert book.whose(name) is Whose.HOLDER


def test_an_ended_pen_is_never_lent_again() -> None:
    book = Book("r", now=0.0)
    name = lent(book)
    book.end(name, lived=1.0)
    assert not book.hears(name, book.pens[name].session, 2.0)
    assert lent(book, b"2") != name
    assert book.whose(name) is Whose.LENDER


def test_a_silent_holder_loses_its_pen_and_a_start_gives_every_holder_a_whole_lease() -> None:
    book = Book("r", now=0.0, lease=10.0)
    name, other = lent(book), lent(book, b"2", now=3.0)
    assert book.hears(name, book.pens[name].session, 5.0)
    assert (book.silent(12.9), book.silent(13.0), book.due_at()) == ([], [other], 13.0)
    assert Book("r", book.state(), now=100.0, lease=10.0).due_at() == 110.0


def test_who_asks_again_gets_the_same_pen_for_another_lease() -> None:
    book = Book("r", now=0.0, lease=10.0)
    first, again = (book.lend(b"1", 5, lambda last: last + 10, now) for now in (0.0, 9.0))
    assert first is not None
    assert again == first
    assert (book.silent(18.9), book.silent(19.0)) == ([], [first.name])


def test_nobody_rewards_decisions_of_a_forgotten_pen_before_all_have_told() -> None:
    book = Book("r", now=0.0)
    assert book.whose(PEN) is Whose.NOBODY_YET
    book.is_complete = True
    assert book.whose(PEN) is Whose.LENDER


def test_decisions_become_too_old_and_pens_that_are_over_leave_the_book() -> None:
    book = Book("r", now=0.0)
    name, come_to = lent(book), {"r~5-1": 40}
    assert book.age(0.0, 80.0, come_to.__getitem__) == []
    come_to[name] = 60
    assert book.age(5.0, 80.0, come_to.__getitem__) == []
    assert book.pens[name].marks == ((40, 0.0),)  # not more often than eight times in the life of a decision
    assert book.age(10.0, 80.0, come_to.__getitem__) == []
    book.end(name, lived=20.0)
    assert book.age(80.0, 80.0, come_to.__getitem__) == [(name, 40)]
    assert book.age(90.0, 80.0, come_to.__getitem__) == [(name, 60)]
    assert book.age(100.0, 80.0, come_to.__getitem__) == [(name, OVER)]
    assert book.pens == {}


def test_the_journal_has_every_change() -> None:
    book = Book("r", now=0.0)
    kept = book.state()
    for act in (
        lambda: lent(book),
        lambda: lent(book, b"2"),
        lambda: book.close("r~5-1", 7, 1.0),
        lambda: book.end("r~5-2", 1.0),
        lambda: book.age(50.0, 10.0, lambda _: 0),
        lambda: lent(book, b"3"),
    ):
        act()
        kept = replayed(kept, *book.take_changes())
        assert kept == book.state()
    assert [(pen.name, pen.phase) for pen in kept.pens] == [("r~5-1", "lent")]


def test_pens_that_nobody_speaks_with_leave_the_book_and_their_decisions_are_the_lenders() -> None:
    book = Book("r", now=0.0)
    names = [pen.name for nonce in (b"1", b"2") if (pen := book.lend(nonce, 5, lambda last: last + 10, 0.0))]
    for name in names:
        book.end(name, lived=120.0)
    assert (book.pens, [book.whose(name) for name in (*names, "r~5-3", "r~4-1")]) == (
        {},
        [Whose.LENDER, Whose.LENDER, Whose.NOBODY_YET, Whose.NOBODY_YET],
    )
    again = Book("r", replayed(book.state(), *book.take_changes()), now=0.0)
    assert lent(again, b"3") == "r~5-3"  # no name is made twice


def test_pens_that_are_ended_do_not_fill_the_book(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pens, "MAX_PENS", 2)
    monkeypatch.setattr(pens, "MAX_ENDED", 3)
    book = Book("r", now=0.0)
    names = [lent(book, bytes([number])) for number in range(2)]
    assert book.lend(b"more", 5, lambda last: last + 10, 0.0) is None
    for number in range(2, 9):
        book.end(names[-2], lived=1.0)
        names.append(lent(book, bytes([number])))
    assert list(book.pens) == names[-5:]
    assert {book.whose(name) for name in names[:-2]} == {Whose.LENDER}


def test_a_pen_that_is_handed_on_every_second_does_not_grow() -> None:
    book = Book("r", now=0.0)
    for second in range(1000):
        book.close(lent(book, second.to_bytes(2)), next_number=second, lived=float(second))
    (pen,) = book.pens.values()
    assert len(pen.marks) == MAX_MARKS
    assert pen.marks[-1] == (999, 999.0)
    assert max(later[1] - earlier[1] for earlier, later in pairwise(pen.marks)) < 2.5 * 1000.0 / MAX_MARKS
    assert book.age(1000.0, 500.0, lambda _: 0) == [(pen.name, max(n for n, at in pen.marks if at <= 500.0))]


def test_a_pen_whose_numbers_are_used_up_is_ended_and_leaves_the_book_in_time() -> None:
    book = Book("r", now=0.0)
    name = lent(book)
    book.close(name, next_number=2**63, lived=1.0)
    assert book.pens[name].phase == Phase.ENDED.value
    assert book.age(90.0, 80.0, lambda _: 0) == [(name, OVER)]
    assert book.pens == {}


# What a lender could not tell other relays.


@pytest.mark.parametrize(
    "changes",
    [
        Changes(settled=tuple(blocks_of(PEN, 5, [BLOCK * place for place in range(MAX_BLOCKS + 1)]))),
        Changes(settled=blocks_of(PEN, 6, [1])),
        Changes(cells=(Cells(PEN, 6, (ArmTally("A", 1, 1, 1),)),)),
    ],
    ids=["blocks far apart", "settled in another life", "cells of another life"],
)
def test_what_a_lender_could_not_tell_others_is_refused(changes: Changes) -> None:
    with pytest.raises(PeerError):
        check_changes(changes, PEN, replica())
