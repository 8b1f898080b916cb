"""One seed and one trial number are all the chance of a run."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.scenario.schedules import ClockKeys
from cobandit.scenario.tape import LARGEST_SEED, Stream, Tape, bernoulli_reward
from cobandit.values.chance import uniform
from cobandit.values.errors import LocalError


def test_every_seed_trial_agent_and_purpose_has_its_own_stream() -> None:
    keys = {
        Tape(seed, trial).key(agent, purpose)
        for seed, trial, agent, purpose in product(range(6), range(6), range(6), Stream)
    }
    assert len(keys) == 6**3 * len(Stream)


def test_the_same_tape_has_the_same_keys() -> None:
    assert Tape(5, 2).key(3, Stream.REWARDS) == Tape(5, 2).key(3, Stream.REWARDS)
    assert Tape(5).key(3, Stream.REWARDS) == Tape(5, 0).key(3, Stream.REWARDS)


def test_seeds_and_trials_are_not_exchangeable() -> None:
    assert Tape(1, 2).key(0, Stream.REWARDS) != Tape(2, 1).key(0, Stream.REWARDS)


def test_a_clock_gets_the_streams_of_its_agent() -> None:
    tape = Tape(5)
    assert tape.clock_keys(3, 100) == ClockKeys(tape.key(3, Stream.DECISIONS), tape.key(3, Stream.TOGGLES), 100)


def test_a_policy_gets_a_seed_of_its_own() -> None:
    assert len({Tape(5).policy_seed(agent) for agent in range(10)}) == 10
    assert Tape(5).policy_seed(3) == Tape(5).key(3, Stream.POLICY)


@pytest.mark.parametrize("seed", [0, LARGEST_SEED])
def test_the_smallest_and_the_largest_seed_are_accepted(seed: int) -> None:
    assert 0 <= Tape(seed, seed).key(0, Stream.REWARDS) < 2**64


@pytest.mark.parametrize("value", [-1, LARGEST_SEED + 1, 1.5, True, "1", None])
def test_seeds_and_trials_are_whole_numbers(value: object) -> None:
    with pytest.raises(LocalError, match=f"seed must be a whole number from 0 to {LARGEST_SEED}, not {value!r}"):
        Tape(value)  # type: ignore[arg-type]
    with pytest.raises(LocalError, match=f"trial must be a whole number from 0 to {LARGEST_SEED}, not {value!r}"):
        Tape(1, value)  # type: ignore[arg-type]


@pytest.mark.parametrize("mean", [0.05, 0.5, 0.9])
def test_an_arm_pays_as_often_as_its_mean_says(mean: float) -> None:
    """20,000 pulls; the number of rewards within 5 standard deviations."""
    pulls = 20_000
    key = Tape(5).key(0, Stream.REWARDS)
    rewards = sum(bernoulli_reward(key, pull, mean) for pull in range(pulls))
    assert abs(rewards - mean * pulls) < 5 * math.sqrt(mean * (1 - mean) * pulls)


@given(st.integers(0, 2**64 - 1), st.integers(0, 10**9))
def test_an_arm_of_mean_zero_never_pays_and_one_of_mean_one_always(key: int, pull: int) -> None:
    assert (bernoulli_reward(key, pull, 0.0), bernoulli_reward(key, pull, 1.0)) == (0, 1)


@given(st.integers(0, 2**64 - 1), st.integers(0, 10**9), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_with_the_same_luck_a_better_arm_pays_whenever_a_worse_one_does(
    key: int, pull: int, one: float, other: float
) -> None:
    worse, better = sorted((one, other))
    assert bernoulli_reward(key, pull, worse) <= bernoulli_reward(key, pull, better)
    assert bernoulli_reward(key, pull, better) == (uniform(key, pull) < better)
