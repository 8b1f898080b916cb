"""Which relays a leaf talks to: the ones that a hash puts first, the next ones if they are silent, and back again."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from cobandit.live.machine.homes import (
    CALM,
    GONE_AFTER,
    PATIENCE_CUT_OFF,
    PROBE_EVERY,
    REVIEW_EVERY,
    SILENT_AFTER,
    Homes,
    Looked,
)

RELAYS = ["relay-a", "relay-b", "relay-c"]


def nothing_owed(_: str) -> bool:
    return False


def all_owed(_: str) -> bool:
    return True


def started(most: int = 1, relays: list[str] = RELAYS) -> Homes:
    """Return the homes of a leaf that has met them all."""
    homes = Homes("web-9", most, relays, named=True)
    homes.look(0.0, nothing_owed)
    for name in homes.names:
        homes.met(name, 0.0)
    return homes


def let_pass(homes: Homes, start: float, end: float, owes: Callable[[str], bool] = nothing_owed) -> list[str]:
    """Look at the beginning, whenever it is due, and at the end. Return who is left on the way."""
    dropped, now = list(homes.look(start, owes).dropped), start
    while now < end:
        due = homes.due_at()
        now = end if due is None else min(end, max(now, due))
        dropped += homes.look(now, owes).dropped
    return dropped


def test_leaves_spread_over_relays() -> None:
    chosen = Counter(started_with(f"web-{number}") for number in range(3000))
    assert sorted(chosen) == RELAYS
    assert min(chosen.values()) > 850


def started_with(leaf: str) -> str:
    homes = Homes(leaf, 1, RELAYS, named=True)
    homes.look(0.0, nothing_owed)
    return homes.wanted[0]


def test_a_leaf_greets_its_homes_at_once_and_until_they_answer() -> None:
    homes = Homes("web-9", 2, RELAYS, named=True)
    assert homes.look(0.0, nothing_owed) == Looked(greeted=("relay-b", "relay-c"))
    assert homes.due_at() == PROBE_EVERY
    homes.met("relay-b", 0.1)
    assert homes.look(PROBE_EVERY, nothing_owed) == Looked(greeted=("relay-c",))
    homes.met("relay-c", 0.6)
    assert (homes.talking, homes.look(9.0, nothing_owed)) == (("relay-b", "relay-c"), Looked())


def test_a_home_that_owes_nothing_may_be_silent_for_ever() -> None:
    homes = started()
    assert (homes.look(500.0, nothing_owed), homes.talking) == (Looked(), ("relay-b",))


def test_a_home_that_owes_an_answer_is_reminded_and_then_left_for_the_next_one() -> None:
    homes = started()
    assert homes.look(100.0, all_owed) == Looked()
    assert homes.due_at() == 100.0 + PROBE_EVERY
    assert homes.look(100.0 + PROBE_EVERY, all_owed) == Looked(is_reminded=True)
    for times in range(2, round(SILENT_AFTER / PROBE_EVERY)):
        assert homes.look(100.0 + times * PROBE_EVERY, all_owed) == Looked(is_reminded=True)
    left = Looked(dropped=("relay-b",), greeted=("relay-c",), is_reminded=True)
    assert homes.look(100.0 + SILENT_AFTER, all_owed) == left
    assert (homes.wanted, homes.talking, homes.is_cut_off) == (("relay-c",), (), False)


def test_a_word_of_the_home_begins_the_wait_anew() -> None:
    homes = started()
    homes.look(100.0, all_owed)
    homes.heard("relay-b", 100.1)
    homes.look(102.9, all_owed)
    assert (homes.look(103.1, all_owed).dropped, homes.wanted) == ((), ("relay-b",))


def test_without_another_relay_the_home_is_kept_and_reminded_ever_less_often() -> None:
    homes = started(relays=["relay-b"])
    times = []
    now = 0.0
    while now < 200.0:
        looked = homes.look(now, all_owed)
        assert looked.dropped == ()
        times += [now] if looked.is_reminded else []
        due = homes.due_at()
        assert due is not None
        now = max(now, due)
    gaps = [later - earlier for earlier, later in pairwise([0.0, *times])]
    assert gaps == pytest.approx([PROBE_EVERY * times for times in (1, 1, 1, 1, 2, 4, 8, 16, 32)] + 5 * [30.0])
    assert homes.is_cut_off
    homes.heard("relay-b", now)
    assert (homes.look(now, nothing_owed), homes.is_cut_off) == (Looked(), False)


def test_a_relay_that_says_farewell_is_left_at_once() -> None:
    homes = started()
    homes.left("relay-b", 5.0)
    assert homes.look(5.0, nothing_owed).dropped == ("relay-b",)
    assert homes.wanted == ("relay-c",)


def test_a_leaf_goes_back_to_the_better_relay_once_that_answers_and_keeps_the_other_until_then() -> None:
    homes = started()
    homes.left("relay-b", 5.0)
    homes.look(5.0, nothing_owed)
    homes.met("relay-c", 5.1)
    homes.look(5.0 + 2.0 * REVIEW_EVERY, nothing_owed)
    assert homes.wanted == ("relay-b", "relay-c")
    homes.met("relay-b", 5.1 + 2.0 * REVIEW_EVERY)
    assert homes.look(6.0 + 2.0 * REVIEW_EVERY, nothing_owed) == Looked(replaced=("relay-c",))
    assert homes.talking == ("relay-b",)


def test_a_better_relay_that_does_not_answer_is_given_up_again() -> None:
    homes = started()
    homes.left("relay-b", 5.0)
    homes.look(5.0, nothing_owed)
    homes.met("relay-c", 5.1)
    later = 5.0 + 2.0 * REVIEW_EVERY
    let_pass(homes, later, later + PATIENCE_CUT_OFF - 0.1)
    assert (homes.wanted, homes.talking) == (("relay-b", "relay-c"), ("relay-c",))
    let_pass(homes, later + PATIENCE_CUT_OFF - 0.1, later + PATIENCE_CUT_OFF)
    assert (homes.wanted, homes.talking) == (("relay-c",), ("relay-c",))


def test_a_relay_that_says_hello_again_is_tried_within_a_minute() -> None:
    homes = started()
    homes.left("relay-b", 5.0)
    homes.look(5.0, nothing_owed)
    homes.met("relay-c", 5.1)
    homes.found("relay-b", 40.0)
    due = homes.due_at()
    assert due is not None
    assert 40.0 <= due < 100.0
    homes.look(due, nothing_owed)
    assert homes.wanted == ("relay-b", "relay-c")


def test_any_relay_will_do_if_none_is_named() -> None:
    homes = Homes("web-9", 1, ["*"], named=True)
    assert (homes.look(0.0, nothing_owed), homes.is_cut_off, homes.due_at()) == (Looked(), False, SILENT_AFTER)
    assert (homes.look(SILENT_AFTER, nothing_owed), homes.is_cut_off) == (Looked(), True)
    homes.found("relay-x", 4.0)
    assert (homes.look(4.0, nothing_owed), homes.is_cut_off) == (Looked(greeted=("relay-x",)), True)
    homes.met("relay-x", 4.1)
    assert (homes.look(4.1, nothing_owed), homes.is_cut_off) == (Looked(), False)


def test_while_none_answers_one_that_says_hello_is_taken_at_once() -> None:
    homes = started()
    homes.left("relay-b", 10.0)
    for looks in range(int(30.0 / PROBE_EVERY)):
        homes.look(10.0 + looks * PROBE_EVERY, nothing_owed)
    present = homes.wanted[0]
    other = next(relay for relay in RELAYS if relay != present)
    assert homes.is_cut_off
    homes.found(other, 40.0)
    assert homes.look(40.0, nothing_owed) == Looked(dropped=(present,), greeted=(other,))


def test_a_relay_that_is_not_in_the_list_is_nobody() -> None:
    homes = started()
    homes.found("stranger", 1.0)
    assert (homes.has("stranger"), "stranger" in homes.known) == (False, False)


def test_addresses_that_are_looked_up_again_replace_those_before_but_a_home_that_answers_stays() -> None:
    homes = Homes("web-9", 1, ["10.0.0.1:7"], named=False)
    homes.look(0.0, nothing_owed)
    homes.reached("relay-a", "10.0.0.1:7")
    homes.met("relay-a", 0.1)
    homes.offer(["10.0.0.2:7", "10.0.0.3:7"])
    assert homes.known == ("10.0.0.2:7", "10.0.0.3:7", "10.0.0.1:7")
    homes.left("relay-a", 1.0)
    homes.look(1.0, nothing_owed)
    homes.offer(["10.0.0.2:7", "10.0.0.3:7"])
    assert list(homes.known) == ["10.0.0.2:7", "10.0.0.3:7"]


def test_a_silent_place_rests_and_all_that_rest_are_tried_again() -> None:
    homes = started(relays=["relay-a", "relay-b"])
    assert let_pass(homes, 10.0, 10.0 + SILENT_AFTER, all_owed) == ["relay-b"]
    (first,) = homes.wanted
    # The next one is given twice the time, and then all are tried in turn.
    left_at = 10.0 + SILENT_AFTER
    assert let_pass(homes, left_at, left_at - 0.1 + 2 * SILENT_AFTER, all_owed) == []
    assert homes.is_cut_off is False
    tried = let_pass(homes, left_at - 0.1 + 2 * SILENT_AFTER, 60.0, all_owed)
    assert (set(tried), homes.is_cut_off) == ({"relay-a", "relay-b"}, True)
    assert len(tried) <= 2 + 60.0 / PATIENCE_CUT_OFF
    (first,) = homes.wanted
    homes.met(first, 61.0)
    homes.look(61.0, nothing_owed)
    assert (homes.talking, homes.is_cut_off) == ((first,), False)


def test_a_relay_that_was_silent_is_not_tried_again_at_once_if_another_one_answers() -> None:
    homes = started(relays=["relay-b", "relay-c"])
    let_pass(homes, 10.0, 10.0 + SILENT_AFTER, all_owed)
    homes.met("relay-c", 12.1)
    assert (let_pass(homes, 14.0, 40.0), homes.wanted) == ([], ("relay-c",))


def test_a_leaf_that_leaves_one_relay_after_the_other_takes_ever_more_time() -> None:
    homes, now, gaps = started(relays=[f"relay-{letter}" for letter in "abcdefgh"]), 0.0, []
    for _ in range(7):
        began = now
        while not homes.look(now, all_owed).dropped:
            due = homes.due_at()
            assert due is not None
            now = max(now, due)
        gaps.append(now - began)
        homes.look(now, nothing_owed)
        for name in homes.names:
            homes.met(name, now)
    assert gaps == pytest.approx([SILENT_AFTER * times for times in (1, 2, 4, 4, 4, 4, 4)])
    let_pass(homes, now, now + CALM)
    assert let_pass(homes, now + CALM, now + CALM + SILENT_AFTER, all_owed) != []


def answered_after(homes: Homes, seconds: float, now: float) -> None:
    """Let the home owe something, and answer so much later."""
    let_pass(homes, now, now + seconds, all_owed)
    homes.heard(homes.names[0], now + seconds)
    homes.look(now + seconds, nothing_owed)


def seconds_until_left(homes: Homes, now: float) -> float:
    """Return for how long a home owes an answer before it is left."""
    began = now
    while not homes.look(now, all_owed).dropped:
        due = homes.due_at()
        assert due is not None
        now = due
    return now - began


def test_a_home_whose_answers_take_long_is_given_twice_that_time() -> None:
    homes = started()
    answered_after(homes, 1.75, 100.0)
    assert seconds_until_left(homes, 200.0) == 3.5


def test_after_quick_answers_a_home_is_left_as_soon_as_ever() -> None:
    homes = started()
    answered_after(homes, 1.75, 100.0)
    answered_after(homes, 0.25, 110.0)
    assert seconds_until_left(homes, 200.0) == SILENT_AFTER


def test_no_home_is_given_more_time_than_all_are_in_turn() -> None:
    homes = started()
    for seconds in (1.75, 3.25, 6.25):
        answered_after(homes, seconds, 100.0 * seconds)
    assert seconds_until_left(homes, 1000.0) == PATIENCE_CUT_OFF


def test_a_home_that_was_away_is_not_taken_for_slow() -> None:
    homes = started(relays=["relay-b"])
    answered_after(homes, 300.0, 100.0)
    homes.offer(RELAYS)
    assert seconds_until_left(homes, 1000.0) == SILENT_AFTER


def test_a_relay_that_is_tried_while_another_answers_is_greeted_ever_less_often() -> None:
    homes = started()
    homes.left("relay-b", 5.0)
    homes.look(5.0, nothing_owed)
    homes.met("relay-c", 5.1)
    now, greeted = 5.0 + 2.0 * REVIEW_EVERY, 0
    end = now + PATIENCE_CUT_OFF
    while now < end:
        greeted += len(homes.look(now, nothing_owed).greeted)
        due = homes.due_at()
        assert due is not None
        now = min(end, due)
    assert greeted == 5


def test_the_time_in_which_a_leaf_was_held_up_itself_does_not_count() -> None:
    homes = started()
    homes.look(100.0, all_owed)
    homes.look(160.0, all_owed)
    assert let_pass(homes, 160.0, 160.0 + SILENT_AFTER - 0.1, all_owed) == []
    assert let_pass(homes, 160.0 + SILENT_AFTER - 0.1, 160.0 + SILENT_AFTER + 0.1, all_owed) == ["relay-b"]


def test_a_clock_that_goes_back_does_not_stop_the_wait() -> None:
    homes = started()
    homes.look(1000.0, all_owed)
    assert let_pass(homes, 10.0, 10.0 + SILENT_AFTER, all_owed) == ["relay-b"]


def told_that_it_is_gone(homes: Homes, name: str, until: float, owes: Callable[[str], bool]) -> list[str]:
    """Let the network say with every reminder that nobody has a name. Return who is left."""
    dropped, now = list(homes.look(0.0, owes).dropped), 0.0
    while now < until:
        homes.gone(name, now)
        dropped += homes.look(now, owes).dropped
        now += PROBE_EVERY / 2
    return dropped


def test_a_relay_that_the_network_says_is_gone_is_left_sooner() -> None:
    homes = started()
    (home,) = homes.wanted
    assert told_that_it_is_gone(homes, home, GONE_AFTER, all_owed) == []
    homes.gone(home, GONE_AFTER)
    assert homes.look(GONE_AFTER, all_owed).dropped == (home,)
    assert GONE_AFTER < SILENT_AFTER


def test_what_is_heard_of_a_relay_or_that_nothing_is_owed_refutes_that_it_is_gone() -> None:
    for is_heard in (True, False):
        homes = started()
        (home,) = homes.wanted
        told_that_it_is_gone(homes, home, GONE_AFTER, all_owed)
        if is_heard:
            homes.heard(home, GONE_AFTER)
        else:
            homes.look(GONE_AFTER, nothing_owed)
        homes.gone(home, GONE_AFTER)
        assert homes.look(GONE_AFTER, all_owed).dropped == ()
        assert homes.talking == (home,)


def test_that_somebody_else_is_gone_changes_nothing() -> None:
    homes = started()
    (home,) = homes.wanted
    (other, _) = [name for name in RELAYS if name != home]
    assert told_that_it_is_gone(homes, other, GONE_AFTER + PROBE_EVERY, all_owed) == []
    assert homes.talking == (home,)
