"""Who is let in."""

from cobandit.live.auth.refusal import Refusal
from cobandit.live.machine.guard import (
    FORGIVEN_AFTER,
    LONGEST_QUARANTINE,
    MOST_ERRORS,
    MOST_PER_SECOND,
    MOST_SENDERS,
    QUARANTINE,
    Guard,
)


def misbehave(guard: Guard, now: float, times: int = MOST_ERRORS, sender: str = "eve") -> list[bool]:
    return [guard.refuse(Refusal.ABSURD, sender, now) for _ in range(times)]


def test_who_is_wrong_too_often_is_not_heard_for_a_while() -> None:
    guard = Guard()
    assert misbehave(guard, 0.0) == [False] * (MOST_ERRORS - 1) + [True]
    assert not guard.admits("eve", QUARANTINE - 1.0)
    assert guard.quarantined(1.0) == ("eve",)
    assert guard.admits("eve", QUARANTINE + 1.0)
    assert guard.admits("ann", 1.0)
    assert guard.refusals == {Refusal.ABSURD: MOST_ERRORS, Refusal.QUARANTINED: 1}


def test_the_second_quarantine_is_longer_but_not_for_ever() -> None:
    guard = Guard()
    now, lengths = 0.0, []
    for _ in range(12):
        misbehave(guard, now)
        length = QUARANTINE
        while not guard.admits("eve", now + length):
            length *= 2.0
        lengths.append(length)
        now += length
    assert lengths[:3] == [QUARANTINE, 2 * QUARANTINE, 4 * QUARANTINE]
    assert max(lengths) <= 2 * LONGEST_QUARANTINE


def test_a_few_errors_now_and_then_are_forgiven() -> None:
    guard = Guard()
    for hour in range(100):
        assert not any(misbehave(guard, hour * (FORGIVEN_AFTER + 1.0), times=MOST_ERRORS - 1))
    assert guard.quarantined(0.0) == ()


def test_nobody_is_blamed_for_what_was_said_in_its_name_without_proof() -> None:
    guard = Guard()
    for _ in range(1000):
        assert not guard.refuse(Refusal.MALFORMED, None, 0.0)
    assert guard.admits("ann", 0.0)
    assert guard.refusals == {Refusal.MALFORMED: 1000}


def test_restarts_and_doubled_packets_are_nobodys_fault() -> None:
    guard = Guard()
    for reason in (Refusal.STRANGER, Refusal.REPLAYED):
        for _ in range(1000):
            assert not guard.refuse(reason, "ann", 0.0)


def test_a_flood_is_cut_off_and_a_fast_sender_is_not() -> None:
    guard = Guard()
    admitted = sum(guard.admits("eve", 0.0) for _ in range(int(2 * MOST_PER_SECOND)))
    assert admitted == MOST_PER_SECOND
    guard = Guard()
    assert all(guard.admits("ann", number / 2000.0) for number in range(20_000))


def test_memory_for_senders_is_bounded() -> None:
    guard = Guard()
    for number in range(MOST_SENDERS + 10):
        guard.admits(f"sender {number}", 0.0)
    assert len(guard._senders) == MOST_SENDERS


def test_who_is_idle_is_forgotten_first_and_never_a_running_quarantine() -> None:
    guard = Guard()
    misbehave(guard, 0.0)
    guard.admits("ann", 0.0)
    guard.may_begin("ann", 0.0)
    for number in range(MOST_SENDERS + 10):
        guard.admits("ann", number / 1000.0)
        for name in (f"sender {number}", "ann"):
            guard.may_begin(name, 1.0)
        guard.admits(f"sender {number}", 1.0)
    assert guard.quarantined(1.0) == ("eve",)
    assert "ann" in guard._senders
    assert "ann" in guard._costs
