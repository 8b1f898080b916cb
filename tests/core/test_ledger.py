"""The ledger counts everything once, however often and in whatever pieces it is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.core import Record
from cobandit.core.ledger import MOST_BOOTS_HELD, MOST_BOOTS_RETURNED, Ledger, Origin
from cobandit.core.messages import MOST_BOOTS, MOST_OBSERVATIONS
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import ArmTally, Tally

ARMS = ("A", "B", "C")

pulls = st.lists(st.tuples(st.sampled_from(ARMS), st.integers(0, 10)), max_size=40)


def ledger(agent: str = "j", boot: int = 0) -> Ledger:
    return Ledger(agent, boot, ARMS, units_per_reward=10)


def take(receiver: Ledger, record: Record) -> tuple[ArmTally, ...]:
    receiver.check(record)
    return receiver.merge(record)


def content(of: Ledger) -> tuple[object, ...]:
    held = {origin: (holding.version, holding.tally.copy()) for origin, holding in of.held.items()}
    return of.own.copy(), dict(of.changed_at), held


# Own observations.


def test_an_observation_moves_the_version_on_and_marks_its_arm() -> None:
    own = ledger()
    for arm, units in (("B", 10), ("A", 0), ("B", 5)):
        own.observe(arm, units)
    assert own.version == 3
    assert own.own.entries() == (ArmTally("A", 1, 0), ArmTally("B", 2, 15))
    assert own.changed_at == {"A": 2, "B": 3, "C": 0}


def test_a_record_lists_what_changed_since_in_full() -> None:
    own = ledger(boot=4)
    for arm, units in (("B", 10), ("A", 0), ("B", 5)):
        own.observe(arm, units)
    assert own.record_since(0, ARMS) == Record("j", 4, 0, 3, (ArmTally("A", 1, 0), ArmTally("B", 2, 15)))
    assert own.record_since(2, ARMS) == Record("j", 4, 2, 3, (ArmTally("B", 2, 15),))
    assert own.record_since(3, ARMS) == Record("j", 4, 3, 3, ())


def test_a_record_lists_only_the_arms_that_were_asked_for() -> None:
    own = ledger()
    for arm in ARMS:
        own.observe(arm, 1)
    assert own.record_since(0, ("C", "A")).tallies == (ArmTally("C", 1, 1), ArmTally("A", 1, 1))


@pytest.mark.parametrize(
    ("arm", "units", "text"), [("Z", 1, "arm 'Z'"), ("A", 11, "11 quanta"), ("A", -1, "-1 quanta")]
)
def test_an_observation_that_cannot_be_is_refused_and_changes_nothing(arm: str, units: int, text: str) -> None:
    own = ledger()
    own.observe("A", 3)
    before = content(own)
    with pytest.raises(LocalError, match=text):
        own.observe(arm, units)
    assert content(own) == before


@pytest.mark.parametrize("boot", [0, MOST_BOOTS - 1])
def test_the_first_and_the_last_boot_are_accepted(boot: int) -> None:
    assert ledger(boot=boot).origin == Origin("j", boot)


# What others observed.


def test_a_first_record_is_all_news() -> None:
    receiver = ledger("p")
    news = take(receiver, Record("j", 0, 0, 3, (ArmTally("A", 2, 5), ArmTally("B", 1, 0))))
    assert news == (ArmTally("A", 2, 5), ArmTally("B", 1, 0))
    assert receiver.held[Origin("j", 0)].version == 3


def test_a_later_record_brings_the_difference() -> None:
    receiver = ledger("p")
    take(receiver, Record("j", 0, 0, 3, (ArmTally("A", 2, 5), ArmTally("B", 1, 0))))
    assert take(receiver, Record("j", 0, 3, 5, (ArmTally("A", 4, 9),))) == (ArmTally("A", 2, 4),)
    assert receiver.held[Origin("j", 0)].tally.entries() == (ArmTally("A", 4, 9), ArmTally("B", 1, 0))


def test_old_news_is_no_news_whatever_it_says() -> None:
    receiver = ledger("p")
    take(receiver, Record("j", 0, 0, 5, (ArmTally("A", 5, 5),)))
    before = content(receiver)
    for old in (
        Record("j", 0, 0, 5, (ArmTally("A", 5, 5),)),
        Record("j", 0, 0, 2, (ArmTally("A", 2, 2),)),
        Record("j", 0, 0, 4, (ArmTally("Z", 100, -7),)),
    ):
        assert take(receiver, old) == ()
    assert content(receiver) == before


def test_boots_are_kept_apart_and_added_up() -> None:
    receiver = ledger("p")
    take(receiver, Record("j", 0, 0, 2, (ArmTally("A", 2, 20),)))
    assert take(receiver, Record("j", 1, 0, 1, (ArmTally("A", 1, 0),))) == (ArmTally("A", 1, 0),)
    assert receiver.total().entries() == (ArmTally("A", 3, 20),)


def test_an_empty_record_moves_the_version_on() -> None:
    """The sender may have pulled arms that the receiver does not have."""
    receiver = ledger("p")
    assert take(receiver, Record("j", 0, 0, 4, ())) == ()
    assert take(receiver, Record("j", 0, 4, 5, (ArmTally("A", 1, 1),))) == (ArmTally("A", 1, 1),)


def test_the_total_counts_own_and_held_observations_once() -> None:
    receiver = ledger("p")
    receiver.observe("A", 1)
    take(receiver, Record("j", 0, 0, 2, (ArmTally("A", 2, 20),)))
    take(receiver, Record("q", 0, 0, 1, (ArmTally("C", 1, 7),)))
    assert receiver.total().entries() == (ArmTally("A", 3, 21), ArmTally("C", 1, 7))
    assert receiver.own.entries() == (ArmTally("A", 1, 1),)


def test_a_record_after_one_that_was_lost_counts_for_what_it_says() -> None:
    receiver = ledger("p")
    take(receiver, Record("j", 0, 0, 2, (ArmTally("A", 2, 20),)))
    lost = Record("j", 0, 2, 4, (ArmTally("A", 3, 20), ArmTally("B", 1, 5)))
    later = Record("j", 0, 4, 6, (ArmTally("A", 5, 30),))
    assert take(receiver, later) == (ArmTally("A", 3, 10),)
    assert take(receiver, lost) == ()
    assert receiver.held[Origin("j", 0)].tally.entries() == (ArmTally("A", 5, 30),)


@pytest.mark.parametrize(
    ("record", "usable"),
    [
        (Record("j", 0, 0, 9, ()), True),
        (Record("j", 0, 3, 9, ()), True),
        (Record("j", 0, 4, 9, ()), False),
        (Record("j", 1, 0, 2, ()), True),
        (Record("j", 1, 1, 2, ()), False),
    ],
)
def test_a_record_is_usable_if_what_it_builds_on_is_held(record: Record, usable: bool) -> None:
    receiver = ledger("p")
    take(receiver, Record("j", 0, 0, 3, (ArmTally("A", 3, 5),)))
    assert receiver.is_usable(record) == usable


# Boots that are over.


def completed(receiver: Ledger, record: Record) -> tuple[ArmTally, ...]:
    receiver.check(record, is_over=True)
    return receiver.complete(record)


def test_of_a_boot_that_is_over_each_arm_s_higher_count_is_the_later_one() -> None:
    receiver = ledger("p")
    completed(receiver, Record("j", 0, 0, 6, (ArmTally("A", 4, 9), ArmTally("B", 1, 0))))
    assert completed(receiver, Record("j", 0, 0, 4, (ArmTally("A", 3, 5), ArmTally("C", 1, 7)))) == (
        ArmTally("C", 1, 7),
    )
    held = receiver.held[Origin("j", 0)]
    assert (held.version, held.tally.entries()) == (6, (ArmTally("A", 4, 9), ArmTally("B", 1, 0), ArmTally("C", 1, 7)))


def test_a_former_boot_that_is_told_twice_counts_once() -> None:
    receiver = ledger("p")
    record = Record("j", 0, 0, 5, (ArmTally("A", 4, 9),))
    assert [completed(receiver, record) for _ in range(2)] == [(ArmTally("A", 4, 9),), ()]


def test_a_former_boot_that_cannot_have_been_is_refused_and_changes_nothing() -> None:
    receiver = ledger("p")
    completed(receiver, Record("j", 0, 0, 5, (ArmTally("A", 4, 9), ArmTally("B", 1, 0))))
    before = content(receiver)
    for tallies, text in (
        ((ArmTally("A", 5, 8),), "went down"),
        ((ArmTally("A", 5, 20),), "more than 10 for each new observation"),
        ((ArmTally("A", 5, 9),), "tallies of 6 observations but says it made 5"),
        ((ArmTally("Z", 1, 1),), "arm 'Z', which is not an arm of p"),
        ((ArmTally("C", 0, 0), ArmTally("C", 0, 0)), "listed arm 'C' twice"),
    ):
        with pytest.raises(PeerError, match=text):
            receiver.check(Record("j", 0, 0, 5, tallies), is_over=True)
    assert content(receiver) == before


def test_a_new_boot_begins_at_nothing_and_keeps_what_was() -> None:
    own = ledger()
    own.observe("A", 3)
    own.start_again(4)
    own.observe("B", 1)
    assert own.record_since(0, ARMS) == Record("j", 4, 0, 1, (ArmTally("B", 1, 1),))
    assert own.total().entries() == (ArmTally("A", 1, 3), ArmTally("B", 1, 1))
    assert (own.formers, own.former_boots("j", 4)[0][0]) == (1, 0)


def test_a_boot_without_observations_leaves_nothing_behind() -> None:
    own = ledger()
    own.start_again(1)
    assert (own.origin, own.held, own.formers) == (Origin("j", 1), {}, 0)


@pytest.mark.parametrize("boot", [-1, 0, 2, 3, MOST_BOOTS])
def test_a_new_boot_is_above_the_last(boot: int) -> None:
    own = ledger(boot=3)
    with pytest.raises(LocalError, match=f"boot must be a whole number from 4 to {MOST_BOOTS - 1}, not {boot}"):
        own.start_again(boot)


def test_what_peers_return_of_a_former_boot_is_a_change_to_tell() -> None:
    own = ledger(boot=1)
    assert own.formers == 0
    completed(own, Record("j", 0, 0, 5, (ArmTally("A", 4, 9),)))
    completed(own, Record("j", 0, 0, 5, (ArmTally("A", 4, 9),)))
    completed(own, Record("q", 0, 0, 5, (ArmTally("A", 4, 9),)))
    assert own.formers == 1


def test_more_boots_than_the_limit_are_refused_also_if_they_come_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cobandit.core.ledger.MOST_BOOTS_HELD", 3)
    receiver = ledger("p")
    take(receiver, Record("j", 0, 0, 1, ()))
    receiver.check_boots("j", [Record("j", boot, 0, 1, ()) for boot in range(3)])
    receiver.check_boots("j", [Record("j", 1, 0, 1, ()), Record("p", 0, 0, 1, ()), Record("j", 2, 0, 1, ())])
    with pytest.raises(PeerError, match="j sent records of more than 3 boots of j"):
        receiver.check_boots("j", [Record("j", boot, 0, 1, ()) for boot in range(1, 4)])
    with pytest.raises(PeerError, match="j sent two records of one boot in one share"):
        receiver.check_boots("j", [Record("j", 0, 0, 1, ()), Record("j", 0, 0, 2, ())])


def test_peers_cannot_tell_of_so_many_own_former_boots_that_no_start_is_left() -> None:
    own = ledger(boot=MOST_BOOTS_HELD)
    invented = [Record("j", boot, 0, 1, (ArmTally("A", 1, 0),)) for boot in range(MOST_BOOTS_HELD - 1)]
    with pytest.raises(PeerError, match="p sent records of more than 512 boots of j"):
        own.check_boots("p", invented)
    for record in invented[:MOST_BOOTS_RETURNED]:
        own.check_boots("p", [record])
        completed(own, record)
    own.check_boots("p", [invented[0], Record("p", 0, 0, 1, ())])  # what is known already takes no place
    with pytest.raises(PeerError, match="p sent records of more than 512 boots of j"):
        own.check_boots("p", [invented[MOST_BOOTS_RETURNED]])
    for start in range(1, MOST_BOOTS_HELD - MOST_BOOTS_RETURNED):
        own.observe("A", 1)
        own.start_again(MOST_BOOTS_HELD + start)


def test_the_largest_version_is_accepted() -> None:
    receiver = ledger("p")
    record = Record("j", 0, 0, MOST_OBSERVATIONS, (ArmTally("A", MOST_OBSERVATIONS, 0),))
    assert take(receiver, record) == record.tallies


@pytest.mark.parametrize(
    "record",
    [
        Record("j", -1, 0, 1, ()),
        Record("j", MOST_BOOTS, 0, 1, ()),
        Record("j", 0, -1, 9, ()),
        Record("j", 0, 9, 8, ()),
        Record("j", 0, 0, MOST_OBSERVATIONS + 1, ()),
        Record("j", 0, 3, 9, (ArmTally("Z", 1, 1),)),
        Record("j", 0, 3, 9, (ArmTally("A", 3, 5), ArmTally("A", 3, 5))),
        Record("j", 0, 3, 9, (ArmTally("A", 1, 5),)),
        Record("j", 0, 3, 9, (ArmTally("A", 3, 4),)),
        Record("j", 0, 3, 9, (ArmTally("A", 3, 16),)),
        Record("j", 0, 3, 9, (ArmTally("A", 2, 6),)),
        Record("j", 0, 3, 4, (ArmTally("A", 4, 5),)),
        Record("j", 0, 3, 4, (ArmTally("C", 2, 5),)),
    ],
)
def test_a_record_that_cannot_be_true_is_refused_and_changes_nothing(record: Record) -> None:
    receiver = ledger("p")
    receiver.observe("C", 2)
    take(receiver, Record("j", 0, 0, 3, (ArmTally("A", 2, 5), ArmTally("B", 1, 0))))
    before = content(receiver)
    with pytest.raises(PeerError, match="j "):
        receiver.check(record)
    assert content(receiver) == before


@pytest.mark.parametrize(
    "record",
    [
        Record("j", 0, 3, 4, (ArmTally("A", 3, 15),)),
        Record("j", 0, 3, 4, (ArmTally("A", 3, 5),)),
        Record("j", 0, 3, 9, (ArmTally("A", 3, 5), ArmTally("B", 2, 10), ArmTally("C", 4, 40))),
        Record("j", 0, 0, 4, (ArmTally("A", 3, 6), ArmTally("B", 1, 0))),
        Record("j", 0, 2, 4, (ArmTally("B", 2, 0),)),
        Record("j", 0, 3, 9, ()),
        Record("j", 0, 4, 9, (ArmTally("A", 7, 5),)),  # a record between was lost
    ],
)
def test_a_record_at_the_edge_of_the_possible_is_accepted(record: Record) -> None:
    receiver = ledger("p")
    take(receiver, Record("j", 0, 0, 3, (ArmTally("A", 2, 5), ArmTally("B", 1, 0))))
    take(receiver, record)
    assert receiver.held[Origin("j", 0)].version == record.version


@given(pulls, st.data())
def test_records_may_be_doubled_old_or_overlapping_and_everything_counts_once(
    observed: list[tuple[str, int]], data: st.DataObject
) -> None:
    sender, receiver = ledger("j"), ledger("p")
    news = Tally(ARMS)
    sent: list[Record] = []
    for arm, units in observed:
        sender.observe(arm, units)
        if data.draw(st.booleans(), label="share"):
            held = receiver.held.get(sender.origin)
            base = data.draw(st.integers(0, held.version if held else 0), label="base")
            sent.append(sender.record_since(base, ARMS))
            news.add_all(take(receiver, sent[-1]))
        again = data.draw(st.booleans(), label="again")
        if sent and again:
            news.add_all(take(receiver, data.draw(st.sampled_from(sent), label="which")))
    news.add_all(take(receiver, sender.record_since(0, ARMS)))
    assert receiver.total() == news == sender.own
