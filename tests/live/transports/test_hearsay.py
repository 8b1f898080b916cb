"""What a member that lies about addresses can make others do."""

from cobandit.live.transports import hearsay as hearsay_module
from cobandit.live.transports.hearsay import (
    DOUBTFUL_AFTER,
    LONGEST_UNANSWERED_PAUSE,
    MAX_DIALS_AT_ONCE,
    MAX_DIALS_PER_SECOND,
    MAX_DOUBTFUL,
    MAX_RESTING,
    MAX_UNANSWERED,
    MAX_UNANSWERED_ATTEMPTS,
    REST_SECONDS,
    Hearsay,
)


def attempts_within(seconds: float, heard: Hearsay, addresses: list[str]) -> dict[str, int]:
    """Try addresses at which nobody answers, as a member does. Return how often each was tried."""
    due = {address: heard.wait(address, 0.0) for address in addresses}
    tried = dict.fromkeys(addresses, 0)
    while due:
        address = min(due, key=due.__getitem__)
        now = due.pop(address)
        if now > seconds:
            break
        tried[address] += 1
        rest = heard.failed(address, now)
        if rest is not None:
            due[address] = now + rest + heard.wait(address, now + rest)
    return tried


def test_thousands_of_invented_addresses_cost_few_attempts_and_ever_fewer() -> None:
    heard = Hearsay("m")
    told = [f"10.0.{n // 250}.{n % 250}:7000" for n in range(4 * MAX_UNANSWERED)]
    tried = [address for address in told if heard.told("eve", address, 0.0)]
    assert tried == told[:MAX_UNANSWERED]
    attempts = attempts_within(20.0, heard, tried)
    assert sum(attempts.values()) <= MAX_DIALS_AT_ONCE + 20 * MAX_DIALS_PER_SECOND + 1
    heard.gone("eve", 20.0)
    for address in tried:
        heard.told("eve", address, 20.0)
    attempts_within(3600.0, heard, tried)
    assert sum(address in heard for address in tried) <= MAX_DOUBTFUL


def test_a_mesh_of_some_hundred_members_is_tried_at_once_and_all_of_it() -> None:
    heard = Hearsay("m")
    members = [f"member-{n}:7000" for n in range(1000)]
    assert all(heard.told("ann", address, 0.0) for address in members)
    waits = [heard.wait(address, 0.0) for address in members]
    assert waits[:MAX_DIALS_AT_ONCE] == [0.0] * MAX_DIALS_AT_ONCE
    assert max(waits) < 60.0


def test_what_only_one_has_told_is_forgotten_when_it_has_gone() -> None:
    heard = Hearsay("m")
    for teller, address in (("eve", "x:1"), ("eve", "y:1"), ("ann", "y:1"), ("ann", "z:1")):
        heard.told(teller, address, 0.0)
    assert heard.gone("eve", 1.0) == ["x:1"]
    assert [address in heard for address in ("x:1", "y:1", "z:1")] == [False, True, True]
    assert heard.gone("ann", 1.0) == ["y:1", "z:1"]


def test_who_goes_and_comes_back_has_no_more_attempts_for_that() -> None:
    heard = Hearsay("m")
    waits = []
    for number in range(MAX_DIALS_AT_ONCE + MAX_DIALS_PER_SECOND):
        heard.told("eve", f"x:{number}", 0.0)
        waits.append(heard.wait(f"x:{number}", 0.0))
        heard.gone("eve", 0.0)
    assert waits[-1] == 1.0


def test_an_address_at_which_nobody_ever_answered_rests_and_may_be_told_again_later() -> None:
    heard = Hearsay("m")
    assert heard.told("ann", "x:1", 0.0)
    pauses = [heard.failed("x:1", 0.0) for _ in range(MAX_UNANSWERED_ATTEMPTS)]
    assert pauses[-1] is None
    assert all(pause is not None and pause <= LONGEST_UNANSWERED_PAUSE for pause in pauses[:-1])
    assert "x:1" not in heard
    assert not heard.told("bob", "x:1", REST_SECONDS - 1.0)
    assert heard.told("bob", "x:1", REST_SECONDS)


def test_of_many_doubtful_addresses_most_are_given_up_and_a_few_are_not() -> None:
    heard = Hearsay("m")
    addresses = [f"x:{n}" for n in range(MAX_DOUBTFUL + 10)]
    for address in addresses:
        heard.told("ann", address, 0.0)
    last = [[heard.failed(address, 0.0) for _ in range(DOUBTFUL_AFTER)][-1] for address in addresses]
    assert [pause is None for pause in last] == [False] * MAX_DOUBTFUL + [True] * 10


def test_what_is_remembered_is_bounded() -> None:
    heard = Hearsay("m")
    for number in range(MAX_RESTING + 10):
        heard.told("eve", f"x:{number}", 0.0)
        while heard.failed(f"x:{number}", 0.0) is not None:
            pass
    assert len(heard._resting) == MAX_RESTING
    for number in range(hearsay_module.MAX_TELLERS + 10):
        heard.told(f"teller {number}", "y:1", 10.0**6 * number)
        heard.gone(f"teller {number}", 10.0**6 * number)
    assert len(heard._tellers) <= hearsay_module.MAX_TELLERS
