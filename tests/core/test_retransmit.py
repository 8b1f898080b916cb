"""When to say it again: the table row by row, and how long to wait."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.core.retransmit import (
    DEVIATION_GAIN,
    DEVIATIONS,
    MAX_IN_FLIGHT,
    MEAN_GAIN,
    PHASES,
    UNKNOWN,
    Event,
    Phase,
    Retransmit,
    RetryTimers,
    first_wait,
    learned_deviation,
    learned_mean,
)
from cobandit.core.state import RetransmitState
from cobandit.values.errors import LocalError

OPEN, WAITING, TRUSTING = Phase.OPEN, Phase.WAITING, Phase.TRUSTING

TABLE = [
    (OPEN, Event.SHARED, WAITING),
    (WAITING, Event.SHARED, WAITING),
    (TRUSTING, Event.SHARED, WAITING),
    (OPEN, Event.ASKED, OPEN),
    (WAITING, Event.ASKED, OPEN),
    (TRUSTING, Event.ASKED, OPEN),
    (OPEN, Event.SEEN, OPEN),
    (WAITING, Event.SEEN, TRUSTING),
    (TRUSTING, Event.SEEN, TRUSTING),
    (OPEN, Event.FORGOTTEN, OPEN),
    (WAITING, Event.FORGOTTEN, WAITING),
    (TRUSTING, Event.FORGOTTEN, WAITING),
]


def retransmit(**timers: float) -> Retransmit:
    return Retransmit(RetryTimers(**timers))


def waits(of: Retransmit) -> tuple[float, float, float]:
    """How long, since when, and until when."""
    return of.wait, of.sent_at, of.retry_at


# The table.


@pytest.mark.parametrize(("phase", "event", "after"), TABLE)
def test_a_row_of_the_table(phase: Phase, event: Event, after: Phase) -> None:
    one = retransmit()
    one.phase = phase
    one.take(event)
    assert one.phase is after


def test_the_table_decides_every_case() -> None:
    assert {(phase, event) for phase, event, _ in TABLE} == {(phase, event) for phase in Phase for event in Event}
    assert {(phase, event, after) for (phase, event), after in PHASES.items()} <= set(TABLE)


def test_a_pair_begins_open_and_has_acknowledged_nothing() -> None:
    assert retransmit(first=8.0).state() == RetransmitState(
        phase="open",
        seen=0,
        is_known=False,
        attempts=0,
        can_be_timed=False,
        shared_at=0.0,
        sent_at=0.0,
        retry_at=0.0,
        size=1.0,
        wait=8.0,
        mean=UNKNOWN,
        deviation=0.0,
        confirmed=0,
        in_flight=(),
        part=0,
    )


# The first wait.


@pytest.mark.parametrize(
    ("mean", "deviation", "size", "wait"),
    [
        (UNKNOWN, 0.0, 1.0, 64.0),
        (UNKNOWN, 0.0, 4.0, 256.0),
        (0.0, 0.0, 1.0, 2.0),  # the least
        (10.0, 0.0, 1.0, 10.0),
        (10.0, 5.0, 1.0, 35.0),
        (10.0, 5.0, 3.0, 105.0),
        (10.0, 500.0, 1.0, 1000.0),  # the longest
        (UNKNOWN, 0.0, 32.0, 1000.0),
    ],
)
def test_the_first_wait_is_the_mean_and_five_deviations(
    mean: float, deviation: float, size: float, wait: float
) -> None:
    assert first_wait(mean, deviation, size, first=64.0, least=2.0, longest=1000.0) == wait
    assert DEVIATIONS == 5.0


def test_a_mean_and_a_deviation_are_learned_as_tcp_does() -> None:
    assert (learned_mean(UNKNOWN, 12.0), learned_deviation(UNKNOWN, 0.0, 12.0)) == (12.0, 6.0)
    assert (learned_mean(10.0, 18.0), learned_deviation(10.0, 4.0, 18.0)) == (11.0, 5.0)
    assert (learned_mean(10.0, 2.0), learned_deviation(10.0, 4.0, 2.0)) == (9.0, 5.0)
    assert (MEAN_GAIN, DEVIATION_GAIN) == (0.125, 0.25)


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=50))
def test_what_is_learned_stays_inside_what_was_seen(seen: list[float]) -> None:
    mean, deviation = UNKNOWN, 0.0
    for wait in seen:
        deviation = learned_deviation(mean, deviation, wait)
        mean = learned_mean(mean, wait)
    slack = 1e-9 * max(seen)
    assert min(seen) - slack <= mean <= max(seen) + slack
    assert 0.0 <= deviation <= max(seen) + slack


# Waiting.


def test_a_fresh_share_waits_for_the_first_time() -> None:
    one = retransmit(first=8.0)
    one.shared(3.0, now=100.0)
    assert (one.phase, one.attempts, one.can_be_timed, one.shared_at, one.size) == (WAITING, 0, True, 100.0, 3.0)
    assert waits(one) == (24.0, 100.0, 124.0)
    assert [one.is_over(now) for now in (100.0, 123.0, 124.0, 125.0)] == [False, False, True, True]


def test_every_repetition_waits_longer_up_to_the_longest() -> None:
    one = retransmit(first=8.0, growth=2.0, longest=50.0)
    one.shared(1.0, now=0.0)
    seen = []
    for _ in range(5):
        one.repeated(one.retry_at)
        seen.append((one.attempts, *waits(one)))
    assert seen == [
        (1, 16.0, 8.0, 24.0),
        (2, 32.0, 24.0, 56.0),
        (3, 50.0, 56.0, 106.0),
        (4, 50.0, 106.0, 156.0),
        (5, 50.0, 156.0, 206.0),
    ]


def test_the_next_fresh_share_begins_with_the_first_wait_again() -> None:
    one = retransmit(first=8.0, growth=2.0)
    one.shared(1.0, now=0.0)
    one.repeated(8.0)
    one.repeated(24.0)
    one.shared(1.0, now=30.0)
    assert (one.attempts, one.can_be_timed, *waits(one)) == (0, True, 8.0, 30.0, 38.0)


def test_a_clock_that_goes_back_ends_a_wait() -> None:
    one = retransmit(first=8.0)
    one.shared(1.0, now=1000.0)
    assert [one.is_over(now) for now in (-5.0, 999.0, 1000.0, 1007.0)] == [True, True, False, False]


def test_a_wait_for_something_new_is_no_fresh_share() -> None:
    one = retransmit(first=8.0)
    one.shared(2.0, now=0.0)
    one.repeated(20.0)
    one.expect(50.0)
    assert (one.attempts, one.shared_at, *waits(one)) == (1, 0.0, 16.0, 50.0, 66.0)


# Learning.


def answered_after(*waits_until_answer: float, size: float = 1.0) -> Retransmit:
    one = retransmit(first=8.0)
    now = 0.0
    for wait in waits_until_answer:
        one.shared(size, now)
        one.take(Event.SEEN)
        now += wait
        one.answered(now)
        one.take(Event.ASKED)
    return one


def test_an_answer_teaches_how_long_it_took() -> None:
    one = answered_after(12.0)
    assert (one.mean, one.deviation) == (12.0, 6.0)
    one.shared(1.0, now=100.0)
    assert one.wait == 12.0 + 5 * 6.0


def test_a_wait_is_learned_for_each_observation_of_the_buffer() -> None:
    one = answered_after(12.0, size=4.0)
    assert (one.mean, one.deviation) == (3.0, 1.5)
    one.shared(8.0, now=100.0)
    assert one.wait == 8 * (3.0 + 5 * 1.5)


def test_answers_that_come_evenly_make_the_wait_even() -> None:
    one = answered_after(*[12.0] * 60)
    one.shared(1.0, now=10_000.0)
    assert one.wait == pytest.approx(12.0, abs=1e-5)


def test_a_wait_with_a_repetition_is_not_learned_from() -> None:
    """Karn's rule: nobody knows which of the two was answered."""
    one = retransmit(first=8.0)
    one.shared(1.0, now=0.0)
    one.repeated(8.0)
    one.answered(9.0)
    assert one.mean == UNKNOWN


def test_a_wait_with_one_repetition_that_was_not_needed_is_learned_from() -> None:
    one = retransmit(first=8.0)
    one.shared(1.0, now=0.0)
    one.repeated(8.0)
    one.quenched()
    one.take(Event.SEEN)
    one.answered(20.0)
    assert (one.mean, one.deviation) == (20.0, 10.0)


def test_a_wait_with_two_repetitions_is_never_learned_from() -> None:
    one = retransmit(first=8.0)
    one.shared(1.0, now=0.0)
    one.repeated(8.0)
    one.repeated(20.0)
    one.quenched()
    one.take(Event.SEEN)
    one.answered(30.0)
    assert one.mean == UNKNOWN


def test_a_late_acknowledgement_teaches_nothing() -> None:
    one = retransmit(first=8.0)
    one.shared(1.0, now=0.0)
    one.repeated(8.0)
    one.take(Event.SEEN)
    one.quenched()
    assert not one.can_be_timed


def test_one_who_has_not_shared_learns_nothing_from_a_share() -> None:
    one = retransmit()
    one.can_be_timed = True
    one.answered(30.0)
    assert one.mean == UNKNOWN


def test_a_clock_that_goes_back_is_an_answer_at_once() -> None:
    one = answered_after(-50.0)
    assert (one.mean, one.deviation) == (0.0, 0.0)


# What the peer has acknowledged.


def told(*tellings: tuple[int, int]) -> Retransmit:
    one = retransmit()
    for upto, observations in tellings:
        one.told(upto, observations)
    return one


@pytest.mark.parametrize(
    ("held", "confirmed", "in_flight"),
    [
        (0, 0, {4: 1, 7: 2, 9: 5}),
        (4, 1, {7: 2, 9: 5}),
        (7, 2, {9: 5}),
        (9, 5, {}),
    ],
)
def test_a_receipt_confirms_what_was_told(held: int, confirmed: int, in_flight: dict[int, int]) -> None:
    one = told((4, 1), (7, 2), (9, 5))
    one.acknowledged(held)
    assert (one.confirmed, one.in_flight) == (confirmed, in_flight)


def test_an_old_receipt_takes_nothing_back() -> None:
    one = told((4, 1), (7, 2))
    one.acknowledged(7)
    one.acknowledged(4)
    assert (one.confirmed, one.in_flight) == (2, {})


def test_what_is_told_again_replaces_what_was_told() -> None:
    one = told((4, 1), (4, 3))
    one.acknowledged(4)
    assert one.confirmed == 3


def test_a_new_session_has_acknowledged_nothing() -> None:
    one = told((4, 1), (7, 2))
    one.acknowledged(4)
    one.forget()
    assert (one.confirmed, one.in_flight) == (0, {})


def test_of_tellings_to_one_who_is_gone_only_the_last_are_remembered() -> None:
    one = told(*((upto, upto) for upto in range(1, MAX_IN_FLIGHT + 11)))
    assert list(one.in_flight) == list(range(11, MAX_IN_FLIGHT + 11))


# What is kept.


def test_what_is_restored_is_the_same() -> None:
    one = answered_after(5.0, 7.0)
    one.shared(2.0, now=40.0)
    one.repeated(60.0)
    one.seen, one.is_known, one.confirmed = 4, True, 3
    one.told(9, 5)
    again = retransmit(first=8.0)
    again.restore(one.state())
    assert again.state() == one.state()
    assert (again.phase, again.in_flight) == (WAITING, {9: 5})


# Timers.


def test_timers_are_this_unless_told_otherwise() -> None:
    assert RetryTimers() == RetryTimers(first=256.0, least=1.0, growth=1.5, tick=16_384.0, longest=65_536.0)


@pytest.mark.parametrize("name", ["first", "least", "growth", "tick", "longest"])
@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "8", None, True])
def test_timers_are_made_of_positive_numbers(name: str, value: float) -> None:
    with pytest.raises(LocalError, match=f"{name} must be a positive number, not {value!r}"):
        RetryTimers(**{name: value})


@pytest.mark.parametrize(
    ("least", "first", "longest"), [(2.0, 1.0, 10.0), (1.0, 11.0, 10.0), (20.0, 15.0, 10.0), (300.0, 256.0, 65_536.0)]
)
def test_waits_must_be_ordered(least: float, first: float, longest: float) -> None:
    text = f"waits must be ordered, least <= first <= longest, but are {least}, {first}, {longest}"
    with pytest.raises(LocalError, match=text):
        RetryTimers(first=first, least=least, longest=longest)


def test_waits_may_be_equal() -> None:
    assert RetryTimers(first=3.0, least=3.0, longest=3.0, growth=1.0).longest == 3.0


def test_a_wait_that_shrinks_is_refused() -> None:
    with pytest.raises(LocalError, match=r"growth must be at least 1, not 0\.9"):
        RetryTimers(growth=0.9)
