"""Algorithm 1 of the paper, a test for each sentence. Agent j is the one under test, p is its peer."""

import pytest

from cobandit.core import Constant, Endpoint, Geometric, Share, Threshold, immediate, on_demand, silent
from cobandit.core.exchange import Exchange
from cobandit.core.invariants import total
from cobandit.values.tally import ArmTally


def exchange(threshold: Threshold | None = None) -> Exchange:
    return Exchange(on_demand(threshold or Constant(1)))


def observe(one: Exchange, times: int = 1) -> int:
    """Observe some times, and return what the last one gave to share."""
    shared = 0
    for _ in range(times):
        shared = one.observe(candidate_count=16)
    return shared


def receive(one: Exchange) -> int:
    return one.share_received(candidate_count=16)


def state(one: Exchange) -> tuple[bool, int, int]:
    """E, the buffer and c."""
    return one.demanded, one.buffered, one.c


def pair(threshold: Threshold | None = None) -> tuple[Endpoint, Endpoint]:
    sharing = on_demand(threshold or Constant(1))
    j, p = (Endpoint(name, ("A", "B"), sharing, units_per_reward=1) for name in "jp")
    j.peer_joined("p", p.arms, 0.0)
    p.peer_joined("j", j.arms, 0.0)
    return j, p


def pull(arm: str, reward: int) -> tuple[ArmTally, ...]:
    """One observation with a reward of 0 or 1."""
    return (ArmTally(arm, 1, reward, reward),)


def test_line_1_demand_is_true_the_buffer_is_empty_and_c_is_one() -> None:
    assert state(exchange()) == (True, 0, 1)


def test_line_7_every_observation_goes_into_the_buffer() -> None:
    one = exchange(Constant(10))
    observe(one, 3)
    assert state(one) == (True, 3, 1)


def test_line_8_nothing_is_shared_below_the_threshold() -> None:
    assert observe(exchange(Constant(3)), 2) == 0


def test_line_8_nothing_is_shared_without_demand_however_much_is_buffered() -> None:
    one = exchange()
    observe(one)
    assert observe(one, 100) == 0
    assert state(one) == (False, 100, 2)


def test_line_9_the_whole_buffer_is_shared_when_it_is_demanded_and_reaches_the_threshold() -> None:
    assert observe(exchange(Constant(3)), 3) == 3


def test_line_9_the_message_carries_count_and_reward_sum_of_every_arm_observed_since_the_last_share() -> None:
    j, p = pair(Constant(3))
    j.observe(pull("A", 1), 0.0)
    j.observe(pull("A", 0), 0.0)
    (share,) = j.observe(pull("B", 1), 0.0).outgoing
    assert isinstance(share, Share)
    assert (share.observations, p.receive(share, 0.0).news) == (3, (ArmTally("A", 2, 1, 1), ArmTally("B", 1, 1, 1)))


def test_line_9_c_moves_on_by_one() -> None:
    one = exchange()
    observe(one)
    assert one.c == 2


def test_line_10_sharing_sets_demand_to_false_and_renews_the_buffer() -> None:
    one = exchange(Constant(3))
    observe(one, 3)
    assert state(one) == (False, 0, 2)


def test_line_10_a_renewed_buffer_does_not_say_anything_twice() -> None:
    j, p = pair()
    (first,) = j.observe(pull("A", 1), 0.0).outgoing
    j.observe(pull("A", 1), 0.0)
    p.receive(first, 0.0)
    (request,) = p.observe(pull("B", 1), 0.0).outgoing
    (second,) = j.receive(request, 0.0).outgoing
    assert p.receive(second, 0.0).news == (ArmTally("A", 1, 1, 1),)


def test_line_11_the_threshold_doubles_with_each_share() -> None:
    one = exchange(Geometric(2))
    needed = []
    for _ in range(5):
        observations = 1
        while not observe(one):
            observations += 1
        needed.append(observations)
        receive(one)
    assert needed == [1, 2, 4, 8, 16]


def test_line_16_a_received_share_updates_what_is_known_before_it_is_answered() -> None:
    j, p = pair()
    (share,) = j.observe(pull("A", 1), 0.0).outgoing
    assert p.receive(share, 0.0).news == (ArmTally("A", 1, 1, 1),)
    assert total(p).counts == {"A": 1, "B": 0}


@pytest.mark.parametrize("demanded", [True, False])
def test_line_17_a_share_is_answered_at_once_when_the_buffer_has_reached_the_threshold(demanded: bool) -> None:
    one = exchange(Constant(2))
    observe(one, 2)
    observe(one, 5)
    one.demanded = demanded
    assert receive(one) == 5


def test_line_18_an_answer_moves_c_on_and_renews_the_buffer() -> None:
    one = exchange()
    observe(one, 4)
    receive(one)
    assert (one.c, one.buffered) == (3, 0)


@pytest.mark.parametrize("demanded", [True, False])
def test_line_18_an_answer_leaves_the_demand_as_it_was(demanded: bool) -> None:
    one = exchange(Constant(2))
    observe(one, 2)
    observe(one, 2)
    one.demanded = demanded
    receive(one)
    assert one.demanded is demanded


def test_line_19_an_answer_doubles_the_threshold_too() -> None:
    one = exchange(Geometric(2))
    observe(one, 3)  # shares one, buffers two
    assert receive(one) == 2
    receive(one)
    assert observe(one, 3) == 0
    assert observe(one) == 4


def test_line_17_as_an_option_an_answer_needs_one_observation_and_still_advances_the_threshold() -> None:
    one = exchange(Geometric(2, answers_wait=False))
    observe(one, 2)  # the first is shared, the second is less than f(2) = 2
    assert receive(one) == 1
    assert receive(one) == 0  # an empty buffer answers nothing, and notes the demand
    assert observe(one, 3) == 0
    assert observe(one, 1) == 4  # f(3): the answer moved c on


def test_line_19_as_an_option_an_answer_does_not_advance_the_threshold() -> None:
    one = exchange(Geometric(2, answers_advance=False))
    observe(one, 3)
    assert receive(one) == 2
    receive(one)
    assert observe(one, 2) == 2


def test_line_21_a_share_that_finds_too_little_in_the_buffer_sets_demand_to_true() -> None:
    one = exchange(Constant(3))
    observe(one, 4)
    assert (receive(one), state(one)) == (0, (True, 1, 2))


def test_the_next_observation_after_line_21_is_shared_if_it_fills_the_buffer() -> None:
    one = exchange(Constant(3))
    observe(one, 4)
    receive(one)
    assert observe(one, 2) == 3


def test_two_shares_in_a_row_need_a_share_of_the_peer_between_them() -> None:
    one = exchange()
    assert [observe(one), observe(one), receive(one), observe(one), observe(one)] == [1, 0, 1, 0, 0]


def test_remark_5_under_immediate_broadcast_every_observation_is_shared_with_everyone_and_nothing_is_answered() -> None:
    one = Exchange(immediate())
    assert [observe(one), receive(one), observe(one), observe(one)] == [1, 0, 1, 1]


def test_immediate_broadcast_with_doubling_thresholds_waits_for_the_buffer_and_for_nothing_else() -> None:
    one = Exchange(immediate(Geometric(2)))
    assert [observe(one) for _ in range(7)] == [1, 0, 2, 0, 0, 0, 4]


def test_silent_agents_never_share() -> None:
    one = Exchange(silent())
    assert [observe(one, 10), receive(one), observe(one, 10)] == [0, 0, 0]
