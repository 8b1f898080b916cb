"""How much may happen."""

from cobandit.values.allowance import Allowance


def test_what_was_taken_comes_back_with_time_and_never_exceeds_the_limit() -> None:
    allowance = Allowance(per_second=2.0, at_once=3.0)
    assert [allowance.take(0.0) for _ in range(4)] == [True, True, True, False]
    assert [allowance.take(1.0) for _ in range(3)] == [True, True, False]
    assert [allowance.take(1000.0) for _ in range(4)] == [True, True, True, False]


def test_a_clock_that_goes_back_gives_nothing_and_takes_nothing() -> None:
    allowance = Allowance(per_second=1.0, at_once=2.0)
    assert [allowance.take(now) for now in (100.0, 0.0, 0.0, 1.0)] == [True, True, False, True]


def test_what_is_taken_in_advance_is_waited_for() -> None:
    allowance = Allowance(per_second=2.0, at_once=1.0)
    assert [allowance.wait(10.0) for _ in range(4)] == [0.0, 0.5, 1.0, 1.5]
    assert (allowance.is_full(11.0), allowance.is_full(12.0)) == (False, True)
