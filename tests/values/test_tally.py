"""Counts and reward sums add, subtract and compare exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.values.errors import LocalError
from cobandit.values.quantum import Quantum
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS, ArmTally, Tally, checked_arms

ARMS = ("A", "B", "C")

entries = st.lists(
    st.builds(ArmTally, st.sampled_from(ARMS), st.integers(1, 10**6), st.integers(0, 10**12), st.integers(0, 2**62)),
    max_size=8,
)


def tally_of(observed: list[ArmTally]) -> Tally:
    tally = Tally(ARMS)
    tally.add_all(observed)
    return tally


def test_a_new_tally_has_nothing_of_any_arm() -> None:
    tally = Tally(ARMS)
    nothing = dict.fromkeys(ARMS, 0)
    assert (tally.counts, tally.sums, tally.squares, tally.observations) == (nothing, nothing, nothing, 0)
    assert tally.entries() == ()


def test_adding_counts_observations_rewards_and_squares() -> None:
    tally = Tally(ARMS)
    tally.add("B", 3, 25, 225)
    tally.add("B", 1, 0, 0)
    assert tally.counts == {"A": 0, "B": 4, "C": 0}
    assert tally.sums == {"A": 0, "B": 25, "C": 0}
    assert tally.squares == {"A": 0, "B": 225, "C": 0}
    assert tally.observations == 4


def test_entries_are_the_observed_arms_in_the_order_of_the_arm_set() -> None:
    tally = tally_of([ArmTally("C", 1, 1, 1), ArmTally("A", 2, 0, 0)])
    assert tally.entries() == (ArmTally("A", 2, 0, 0), ArmTally("C", 1, 1, 1))


def test_a_copy_goes_its_own_way() -> None:
    tally = tally_of([ArmTally("A", 2, 1, 1)])
    twin = tally.copy()
    twin.add("A", 1, 1, 1)
    assert tally == tally_of([ArmTally("A", 2, 1, 1)])
    assert twin == tally_of([ArmTally("A", 3, 2, 2)])
    assert (tally.observations, twin.observations) == (2, 3)


def test_adding_and_subtracting_tallies_leaves_the_operands_alone() -> None:
    one, other = tally_of([ArmTally("A", 2, 1, 1)]), tally_of([ArmTally("A", 1, 1, 1), ArmTally("B", 4, 3, 3)])
    assert one + other == tally_of([ArmTally("A", 3, 2, 2), ArmTally("B", 4, 3, 3)])
    assert other - tally_of([ArmTally("B", 4, 3, 3)]) == tally_of([ArmTally("A", 1, 1, 1)])
    assert one == tally_of([ArmTally("A", 2, 1, 1)])
    assert other == tally_of([ArmTally("A", 1, 1, 1), ArmTally("B", 4, 3, 3)])


@given(entries, entries)
def test_what_was_added_can_be_taken_away_again(one: list[ArmTally], other: list[ArmTally]) -> None:
    rest = (tally_of(one) + tally_of(other)) - tally_of(other)
    assert rest == tally_of(one)
    assert rest.observations == tally_of(one).observations


@given(entries.flatmap(lambda observed: st.tuples(st.just(observed), st.permutations(observed))))
def test_the_order_of_adding_does_not_matter(orders: tuple[list[ArmTally], list[ArmTally]]) -> None:
    one, other = orders
    assert tally_of(one) == tally_of(other)


@given(entries)
def test_observations_are_the_sum_of_the_counts(observed: list[ArmTally]) -> None:
    tally = tally_of(observed)
    assert tally.observations == sum(tally.counts.values())


def test_tallies_differ_when_a_count_or_a_sum_differs() -> None:
    tally = tally_of([ArmTally("A", 2, 1, 1)])
    assert tally != tally_of([ArmTally("A", 3, 1, 1)])
    assert tally != tally_of([ArmTally("A", 2, 2, 1)])
    assert tally != tally_of([ArmTally("A", 2, 1, 2)])
    assert tally != {"A": 2}


def test_a_tally_cannot_be_a_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Tally(ARMS))


def test_a_tally_prints_as_rewards_over_observations() -> None:
    assert repr(tally_of([ArmTally("A", 2, 1, 1)])) == "Tally(A: 1/2, B: 0/0, C: 0/0)"


# What rewards can add up to.


@given(st.sampled_from([1, 2, 10, 1000, 32_768, 32_769, 10**6, 10**9]), st.data())
def test_any_rewards_add_up_to_what_can_be(per_reward: int, data: st.DataObject) -> None:
    quantum = Quantum(1 / per_reward)
    rewards = data.draw(st.lists(st.integers(0, per_reward), min_size=1, max_size=20))
    entry = ArmTally("A", len(rewards), sum(rewards), sum(map(quantum.square, rewards)))
    assert entry.can_be(per_reward)


@pytest.mark.parametrize(
    ("entry", "per_reward"),
    [
        (ArmTally("A", 2, 3, 5), 1),  # more than two rewards can be
        (ArmTally("A", 2, -1, 0), 1),
        (ArmTally("A", 2, 1, -1), 1),
        (ArmTally("A", 2, 1, 2), 1),  # squares above the sum times the largest reward
        (ArmTally("A", 2, 10, 101), 10),
        (ArmTally("A", 2, 10, 49), 10),  # below two rewards of five
        (ArmTally("A", 0, 1, 1), 1),
        (ArmTally("A", 1, 1_000_000, 1_072_961_374), 1_000_000),
        (ArmTally("A", 1, 1_000_000, 1_072_961_371), 1_000_000),
    ],
)
def test_what_no_rewards_add_up_to_cannot_be(entry: ArmTally, per_reward: int) -> None:
    assert not entry.can_be(per_reward)


def test_squares_of_ones_and_noughts_are_their_sum() -> None:
    assert not ArmTally("A", 10, 3, 1).can_be(per_reward=1)


# Arm sets.


def test_an_arm_set_becomes_a_tuple_in_the_given_order() -> None:
    assert checked_arms(["B", "A"]) == ("B", "A")


def test_the_largest_arm_set_is_accepted() -> None:
    names = [str(position) for position in range(MOST_ARMS)]
    assert checked_arms(names) == tuple(names)


def test_the_longest_name_is_accepted_and_a_longer_one_is_not() -> None:
    assert checked_arms(["x" * LONGEST_NAME]) == ("x" * LONGEST_NAME,)
    with pytest.raises(LocalError, match="an arm's name must be a string of 1 to 200 bytes in UTF-8"):
        checked_arms(["x" * (LONGEST_NAME + 1)])


@pytest.mark.parametrize("name", ["", 7, None, b"A"])
def test_a_name_that_is_not_a_usable_string_is_refused(name: object) -> None:
    with pytest.raises(LocalError, match="an arm's name must be a string of 1 to 200 bytes in UTF-8, not"):
        checked_arms(["A", name])  # type: ignore[list-item]
