"""Rewards become whole quanta at the door, and never anything else."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.values.errors import LocalError
from cobandit.values.quantum import BERNOULLI, LARGEST_SQUARE, MILLIONTH, SMALLEST_QUANTUM, Quantum, square_unit


@pytest.mark.parametrize(
    ("step", "per_reward"), [(1, 1), (0.5, 2), (1 / 3, 3), (0.1, 10), (MILLIONTH, 10**6), (SMALLEST_QUANTUM, 10**9)]
)
def test_a_quantum_divides_a_reward_of_one_into_whole_steps(step: float, per_reward: int) -> None:
    assert Quantum(step).per_reward == per_reward


@pytest.mark.parametrize("step", [0, -0.1, 1.5, 1e-10, math.nan, math.inf, True, "0.1", None])
def test_a_quantum_that_is_no_step_of_a_reward_is_refused(step: object) -> None:
    with pytest.raises(LocalError, match="declare the smallest step of a reward"):
        Quantum(step)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [0.3, 0.7, 0.15])
def test_a_quantum_that_does_not_divide_one_is_refused(step: float) -> None:
    with pytest.raises(LocalError, match=f"quantum {step} does not divide a reward of 1 into whole steps"):
        Quantum(step)


@given(st.sampled_from([1, 2, 5, 10, 1000, 10**6, 10**9]), st.data())
def test_every_multiple_of_the_quantum_converts_exactly(per_reward: int, data: st.DataObject) -> None:
    units = data.draw(st.integers(0, per_reward))
    assert Quantum(1 / per_reward).units(units / per_reward) == units


@given(st.sampled_from([2, 5, 10, 1000, 10**6]), st.floats(0.0, 1.0))
def test_a_reward_moves_by_half_a_quantum_at_most(per_reward: int, reward: float) -> None:
    units = Quantum(1 / per_reward).units(reward)
    assert 0 <= units <= per_reward
    assert abs(units / per_reward - reward) <= 0.5 / per_reward + 1e-15


def test_a_quantum_of_one_takes_zero_and_one_as_any_kind_of_number() -> None:
    quantum = Quantum(BERNOULLI)
    assert [quantum.units(reward) for reward in (0, 1, 0.0, 1.0)] == [0, 1, 0, 1]


@pytest.mark.parametrize("reward", [0.5, 1e-12, 0.999999])
def test_a_quantum_of_one_is_taken_at_its_word(reward: float) -> None:
    with pytest.raises(LocalError, match=f"reward {reward} is neither 0 nor 1"):
        Quantum(BERNOULLI).units(reward)


@pytest.mark.parametrize("reward", [-0.001, 1.001, math.nan, math.inf, -math.inf, True, "1", None])
def test_what_is_not_a_number_from_zero_to_one_is_no_reward(reward: object) -> None:
    with pytest.raises(LocalError, match=r"a reward must be a number in \[0, 1\], not"):
        Quantum(MILLIONTH).units(reward)  # type: ignore[arg-type]


# Squares.


@given(st.integers(1, 10**9))
def test_a_square_has_the_finest_unit_that_fits(per_reward: int) -> None:
    unit = square_unit(per_reward)
    assert per_reward**2 <= unit * LARGEST_SQUARE
    assert unit == 1 or per_reward**2 > (unit - 1) * LARGEST_SQUARE


@pytest.mark.parametrize(("per_reward", "unit"), [(1, 1), (32_768, 1), (32_769, 2), (10**6, 932), (10**9, 931_322_575)])
def test_the_unit_of_squares(per_reward: int, unit: int) -> None:
    assert square_unit(per_reward) == unit


@given(st.sampled_from([1, 2, 1000, 32_768, 32_769, 10**6, 10**9]), st.data())
def test_a_square_is_rounded_down_by_less_than_a_unit(per_reward: int, data: st.DataObject) -> None:
    quantum, units = Quantum(1 / per_reward), data.draw(st.integers(0, per_reward))
    square = quantum.square(units) * quantum.square_unit
    assert square <= units * units < square + quantum.square_unit
    assert 0 <= quantum.square(units) <= LARGEST_SQUARE


def test_quanta_are_equal_when_they_divide_alike() -> None:
    assert Quantum(0.5) == Quantum(1 / 2)
    assert hash(Quantum(0.1)) == hash(Quantum(1 / 10))
    assert Quantum(0.5) != Quantum(0.25)
    assert Quantum(1.0) != 1
    assert repr(Quantum(0.25)) == "Quantum(0.25)"
