"""What befalls a message is a hash of where it stands, and as frequent as the options say."""

import math
from collections import Counter
from collections.abc import Callable

import pytest

from cobandit.scenario import AgentSpec, Arms, Faults, Partition, Rate, Scenario
from cobandit.scenario.faults import DOUBLED, FIRST_COPY, LONGEST_HOLDUP, LOST, SECOND_COPY
from cobandit.scenario.faults import holdup as holdup_of_numbers
from cobandit.values.chance import stream, uniform
from cobandit.values.errors import LocalError

TRIALS = 20_000
KEYS = [stream(11, number) for number in range(TRIALS)]


def assert_frequency(count: int, probability: float) -> None:
    """The count is within five standard deviations of what is expected: a wrong alarm once in a million."""
    deviation = math.sqrt(TRIALS * probability * (1 - probability))
    assert abs(count - TRIALS * probability) <= 5 * deviation


def is_lost(key: int, probability: float) -> bool:
    return uniform(key, LOST) < probability


def is_doubled(key: int, probability: float) -> bool:
    return uniform(key, DOUBLED) < probability


def holdup(key: int, copy: int, jitter: int, reordering: float, held_back: int) -> int:
    late, is_held, how_long = (uniform(key, copy + place) for place in range(3))
    return holdup_of_numbers(jitter, reordering, held_back, late, is_held, how_long)


# Chance.


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("befalls", [is_lost, is_doubled])
def test_losses_and_duplicates_are_as_frequent_as_told(
    befalls: Callable[[int, float], bool], probability: float
) -> None:
    assert_frequency(sum(befalls(key, probability) for key in KEYS), probability)


@pytest.mark.parametrize("befalls", [is_lost, is_doubled])
def test_nothing_befalls_with_probability_zero_and_everything_with_one(
    befalls: Callable[[int, float], bool],
) -> None:
    assert sum(befalls(key, 0.0) for key in KEYS) == 0
    assert sum(befalls(key, 1.0) for key in KEYS) == TRIALS


def test_a_loss_says_nothing_about_a_duplicate() -> None:
    assert_frequency(sum(is_lost(key, 0.3) and is_doubled(key, 0.5) for key in KEYS), 0.15)


def test_jitter_takes_every_number_of_slots_as_often() -> None:
    slots = Counter(holdup(key, FIRST_COPY, 4, 0.0, 16) for key in KEYS)
    assert sorted(slots) == [0, 1, 2, 3, 4]
    for count in slots.values():
        assert_frequency(count, 0.2)


def test_without_jitter_and_reordering_nothing_is_late() -> None:
    assert {holdup(key, copy, 0, 0.0, 16) for key in KEYS for copy in (FIRST_COPY, SECOND_COPY)} == {0}


def test_what_is_held_back_comes_one_to_so_many_slots_later() -> None:
    slots = Counter(holdup(key, FIRST_COPY, 0, 0.4, 3) for key in KEYS)
    assert sorted(slots) == [0, 1, 2, 3]
    assert_frequency(slots[0], 0.6)
    for late in (1, 2, 3):
        assert_frequency(slots[late], 0.4 / 3)


def test_jitter_and_reordering_add_up() -> None:
    slots = Counter(holdup(key, FIRST_COPY, 1, 1.0, 2) for key in KEYS)
    assert sorted(slots) == [1, 2, 3]
    for late, probability in ((1, 0.25), (2, 0.5), (3, 0.25)):
        assert_frequency(slots[late], probability)


def test_two_copies_are_late_independently() -> None:
    both = Counter((holdup(key, FIRST_COPY, 1, 0.0, 1), holdup(key, SECOND_COPY, 1, 0.0, 1)) for key in KEYS)
    assert len(both) == 4
    for count in both.values():
        assert_frequency(count, 0.25)


def test_the_same_key_has_the_same_fate() -> None:
    for key in KEYS[:100]:
        assert len({is_lost(key, 0.5) for _ in range(3)}) == 1
        assert len({holdup(key, FIRST_COPY, 9, 0.5, 9) for _ in range(3)}) == 1


# Partitions.


def test_a_partition_cuts_both_ways_from_its_start_until_before_its_stop() -> None:
    partition = Partition(10, 12, (0, 1), (2,))
    cut = {
        (slot, sender, receiver)
        for slot in range(20)
        for sender in range(4)
        for receiver in range(4)
        if partition.cuts(slot, sender, receiver)
    }
    pairs = {(0, 2), (1, 2), (2, 0), (2, 1)}
    assert cut == {(slot, *pair) for slot in (10, 11) for pair in pairs}


def test_a_one_way_partition_lets_the_others_speak() -> None:
    partition = Partition(0, 5, (0,), (1,), one_way=True)
    assert (partition.cuts(0, 0, 1), partition.cuts(0, 1, 0)) == (True, False)


def test_a_message_is_cut_if_any_partition_cuts_it() -> None:
    faults = Faults(partitions=(Partition(0, 5, (0,), (1,)), Partition(3, 9, (1,), (2,), one_way=True)))
    assert [faults.cut(slot, 0, 1) for slot in (0, 4, 5)] == [True, True, False]
    assert [faults.cut(slot, 1, 2) for slot in (2, 3, 8, 9)] == [False, True, True, False]
    assert not faults.cut(4, 2, 1)


# What the options are.


def test_without_arguments_there_are_no_faults() -> None:
    assert Faults() == Faults(loss=0.0, duplication=0.0, jitter=0, reordering=0.0, held_back=16, partitions=())
    assert Faults().are_none
    assert Faults().lose_nothing
    assert Faults(held_back=5).are_none


@pytest.mark.parametrize(
    ("faults", "lose_nothing"),
    [
        (Faults(loss=0.1), False),
        (Faults(partitions=(Partition(0, 1, (0,), (1,)),)), False),
        (Faults(duplication=0.1), True),
        (Faults(jitter=1), True),
        (Faults(reordering=0.1), True),
    ],
)
def test_every_fault_is_one(faults: Faults, lose_nothing: bool) -> None:
    assert not faults.are_none
    assert faults.lose_nothing == lose_nothing


@pytest.mark.parametrize("name", ["loss", "duplication", "reordering"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "0.5", None, True])
def test_a_chance_is_a_probability(name: str, value: object) -> None:
    with pytest.raises(LocalError, match=rf"{name} must be a number in \[0, 1\], not {value!r}"):
        Faults(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "low"), [("jitter", 0), ("held_back", 1)])
@pytest.mark.parametrize("value", [-1, 0.5, LONGEST_HOLDUP + 1, "3", True])
def test_a_holdup_is_a_whole_number_of_slots(name: str, low: int, value: object) -> None:
    text = f"{name} must be a whole number from {low} to {LONGEST_HOLDUP}, not {value!r}"
    with pytest.raises(LocalError, match=text):
        Faults(**{name: value})  # type: ignore[arg-type]


def test_held_back_is_at_least_one_slot() -> None:
    with pytest.raises(LocalError, match="held_back must be a whole number from 1 to "):
        Faults(held_back=0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((-1, 5, (0,), (1,)), "the start of a partition must be a whole number of at least 0, not -1"),
        ((5, 5, (0,), (1,)), "the stop of a partition must be a whole number of at least 6, not 5"),
        ((0, 5, (), (1,)), r"a partition needs a tuple of agents on both sides, not \(\)"),
        ((0, 5, (0,), 1), "a partition needs a tuple of agents on both sides, not 1"),
        ((0, 5, [0], (1,)), r"a partition needs a tuple of agents on both sides, not \[0\]"),
        ((0, 5, (0,), (-1,)), "an agent of a partition must be a whole number of at least 0, not -1"),
        ((0, 5, ("j",), (1,)), "an agent of a partition must be a whole number of at least 0, not 'j'"),
    ],
)
def test_a_partition_that_cannot_be_is_refused(arguments: tuple[object, ...], text: str) -> None:
    with pytest.raises(LocalError, match=text):
        Partition(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("partitions", [Partition(0, 1, (0,), (1,)), [Partition(0, 1, (0,), (1,))], ((0, 1, 0, 1),), 5])
def test_partitions_are_a_tuple_of_partitions(partitions: object) -> None:
    with pytest.raises(LocalError, match=r"partitions must be a tuple of Partition\(\.\.\.\), not "):
        Faults(partitions=partitions)  # type: ignore[arg-type]


def test_a_scenario_refuses_faults_that_are_none_of_its_own() -> None:
    agents = (AgentSpec(Rate(0.5)),) * 2
    with pytest.raises(LocalError, match=r"faults must be Faults\(\.\.\.\), not 0\.1"):
        Scenario(10, Arms.of([0.5]), agents, faults=0.1)  # type: ignore[arg-type]
    with pytest.raises(LocalError, match="an agent of a partition must be a whole number from 0 to 1, not 2"):
        Scenario(10, Arms.of([0.5]), agents, faults=Faults(partitions=(Partition(0, 1, (0,), (2,)),)))
