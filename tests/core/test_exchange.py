"""When to talk: what a pair counts, whatever its table says. tests/paper/test_algorithm_1.py has the table's lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.core import Constant, Geometric, PerCandidate, RetryTimers, Sharing, immediate, on_demand, silent
from cobandit.core.exchange import Exchange
from cobandit.core.state import ExchangeState

SHARINGS = {
    "on demand": on_demand(Constant(2)),
    "doubling": on_demand(Geometric(2)),
    "answers do not advance": on_demand(Geometric(2, answers_advance=False)),
    "immediate": immediate(Constant(2)),
    "silent": silent(),
}


def exchange(demanded: bool = True, buffered: int = 0, c: int = 1, shares_sent: int = 0) -> Exchange:
    """A pair that stands here, with a threshold of two."""
    one = Exchange(on_demand(Constant(2)))
    one.restore(ExchangeState(demanded, buffered, c, shares_sent))
    return one


def test_a_pair_begins_with_a_demand_and_nothing_else() -> None:
    assert Exchange(on_demand()).state() == ExchangeState(demanded=True, buffered=0, c=1, shares_sent=0)


def test_a_late_comer_is_owed_what_it_can_use() -> None:
    assert Exchange(on_demand(), buffered=7).state() == ExchangeState(True, 7, 1, 0)


def test_several_observations_are_shared_at_once() -> None:
    one = exchange()
    assert one.observe(4, observations=5) == 5
    assert one.state() == ExchangeState(demanded=False, buffered=0, c=2, shares_sent=1)


def test_the_threshold_knows_how_many_candidates_are_left() -> None:
    one = Exchange(on_demand(PerCandidate()), buffered=6)
    assert [one.has_reached(candidates) for candidates in (5, 6, 7)] == [True, True, False]
    assert one.observe(8) == 0
    assert one.observe(8) == 8


@pytest.mark.parametrize("demanded", [True, False])
def test_a_share_that_is_put_off_still_asks(demanded: bool) -> None:
    one = exchange(buffered=9, c=3, demanded=demanded)
    one.put_off()
    assert one.state() == ExchangeState(True, 9, 3, 0)


@pytest.mark.parametrize(("buffered", "c"), [(0, 3), (1, 3), (2, 4), (9, 4)])
def test_a_repetition_moves_c_on_if_it_is_enough_for_a_share(buffered: int, c: int) -> None:
    one = exchange(demanded=False, buffered=buffered, c=3, shares_sent=5)
    one.repeat(4)
    assert one.state() == ExchangeState(False, 0, c, 5)


def test_a_buffer_that_begins_anew_changes_nothing_else() -> None:
    one = exchange(demanded=False, buffered=3, c=3, shares_sent=5)
    one.renew(8)
    assert one.state() == ExchangeState(False, 8, 3, 5)


@pytest.mark.parametrize(("seen", "sent"), [(0, 5), (4, 5), (5, 5), (6, 6), (90, 90)])
def test_share_numbers_go_on_above_what_the_peer_has_seen(seen: int, sent: int) -> None:
    one = exchange(shares_sent=5)
    one.skip_to(seen)
    assert one.state() == ExchangeState(True, 0, 1, sent)


def test_how_an_agent_talks_has_a_name() -> None:
    assert repr(on_demand(Constant(2))) == "on_demand(Constant(size=2, answers_advance=True, answers_wait=True))"
    assert repr(on_demand(loss_tolerant=RetryTimers(first=8.0))) == (
        "on_demand(Constant(size=1, answers_advance=True, answers_wait=True), "
        "RetryTimers(first=8.0, least=1.0, growth=1.5, tick=16384.0, longest=65536.0))"
    )


inputs = st.lists(
    st.tuples(st.sampled_from(["observe", "share", "leave", "join", "put off", "repeat"]), st.integers(1, 5)),
    max_size=40,
)


def feed(one: Exchange, what: str, count: int) -> int:
    if what == "observe":
        return one.observe(4, count)
    if what == "share":
        return one.share_received(4)
    if what == "repeat":
        one.repeat(4)
        return 0
    {"leave": one.peer_left, "join": one.peer_joined, "put off": one.put_off}[what]()
    return 0


@pytest.mark.parametrize("sharing", SHARINGS.values(), ids=SHARINGS.keys())
@given(happened=inputs)
def test_everything_is_shared_once_or_buffered(sharing: Sharing, happened: list[tuple[str, int]]) -> None:
    one, pulls, shared = Exchange(sharing), 0, 0
    for what, count in happened:
        sent, buffered = one.shares_sent, one.buffered
        shared += (now := feed(one, what, count))
        pulls += count if what == "observe" else 0
        shared += buffered if what == "repeat" else 0
        assert one.shares_sent == sent + (now > 0)
        assert shared + one.buffered == pulls


@pytest.mark.parametrize("sharing", SHARINGS.values(), ids=SHARINGS.keys())
@given(happened=inputs)
def test_a_pair_goes_on_from_its_state(sharing: Sharing, happened: list[tuple[str, int]]) -> None:
    one = Exchange(sharing)
    for what, count in happened:
        twin = Exchange(sharing)
        twin.restore(one.state())
        assert feed(one, what, count) == feed(twin, what, count)
        assert one.state() == twin.state()
