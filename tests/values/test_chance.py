"""Chance is a function: known outputs, known moments, and nothing remembered."""

import math
import statistics
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit.values.chance import beta, gamma, mix, stream, uniform

GOLDEN = 0x9E3779B97F4A7C15
MASK = 2**64 - 1

words = st.integers(0, MASK)


def test_the_hash_gives_the_published_outputs_of_splitmix64() -> None:
    outputs = [mix(n * GOLDEN & MASK) for n in (1, 2, 3)]
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_a_stream_walks_splitmix64() -> None:
    outputs = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [uniform(0, n) for n in (1, 2, 3)] == [(output >> 11) / 2**53 for output in outputs]


@given(words, words)
def test_different_words_mix_to_different_words(one: int, other: int) -> None:
    assert (mix(one) == mix(other)) == (one == other)
    assert 0 <= mix(one) <= MASK


@given(words, st.integers(0, 2**40))
def test_a_number_depends_on_its_key_and_its_position_only(key: int, n: int) -> None:
    first = uniform(key, n)
    uniform(key, n + 1)
    assert uniform(key, n) == first
    assert 0.0 <= first < 1.0


@given(words, st.integers(0, 2**40))
def test_a_stream_continues_from_any_of_its_positions(key: int, n: int) -> None:
    assert uniform(key, n + 3) == uniform((key + n * GOLDEN) & MASK, 3)


def test_uniform_numbers_have_the_moments_of_the_uniform_distribution() -> None:
    """100,000 numbers; mean, variance and lag-one covariance within 5 standard errors."""
    trials = 100_000
    key = stream(2023, 1)
    numbers = [uniform(key, n) for n in range(trials)]
    mean = statistics.fmean(numbers)
    variance = statistics.fmean((number - 0.5) ** 2 for number in numbers)
    lagged = statistics.fmean(
        (one - 0.5) * (other - 0.5) for one, other in zip(numbers, numbers[1:] + numbers[:1], strict=True)
    )
    assert abs(mean - 1 / 2) < 5 * math.sqrt(1 / 12 / trials)
    assert abs(variance - 1 / 12) < 5 * math.sqrt(1 / 180 / trials)
    assert abs(lagged) < 5 / 12 / math.sqrt(trials)


def test_streams_of_neighbouring_coordinates_are_unrelated() -> None:
    """The first numbers of 100,000 neighbouring streams; their distribution within 1e-6 of certainty (DKW)."""
    firsts = [uniform(stream(7, agent), 0) for agent in range(100_000)]
    assert largest_distance(firsts, lambda x: x) < dkw_bound(len(firsts))
    paired = [(uniform(stream(7, agent, 1), 0) - uniform(stream(7, agent, 2), 0)) % 1.0 for agent in range(20_000)]
    assert largest_distance(paired, lambda x: x) < dkw_bound(len(paired))


def test_no_two_of_many_coordinates_share_a_stream() -> None:
    keys = {stream(seed, trial, agent) for seed in range(20) for trial in range(20) for agent in range(20)}
    assert len(keys) == 20**3


def test_the_order_and_the_number_of_coordinates_matter() -> None:
    assert len({stream(), stream(0), stream(0, 0), stream(1, 2), stream(2, 1), stream(1, 2, 0)}) == 6


@pytest.mark.parametrize(
    ("a", "b", "distribution"),
    [
        (1.0, 1.0, lambda x: x),
        (2.0, 1.0, lambda x: x**2),
        (1.0, 3.0, lambda x: 1 - (1 - x) ** 3),
        (2.0, 2.0, lambda x: x * x * (3 - 2 * x)),
    ],
)
def test_beta_draws_follow_their_distribution(a: float, b: float, distribution: Callable[[float], float]) -> None:
    """20,000 draws; the empirical distribution within 1e-6 of certainty (Dvoretzky, Kiefer, Wolfowitz)."""
    draws = [beta(a, b, stream(11, n)) for n in range(20_000)]
    assert largest_distance(draws, distribution) < dkw_bound(len(draws))


@pytest.mark.parametrize(("a", "b"), [(3.0, 5.0), (1.0, 40.0), (700.5, 300.25)])
def test_beta_draws_have_the_moments_of_beta(a: float, b: float) -> None:
    """20,000 draws; the mean within 5 standard errors, the variance within 10 percent."""
    trials = 20_000
    draws = [beta(a, b, stream(5, n)) for n in range(trials)]
    mean = a / (a + b)
    variance = mean * (1 - mean) / (a + b + 1)
    assert abs(statistics.fmean(draws) - mean) < 5 * math.sqrt(variance / trials)
    assert abs(statistics.variance(draws) / variance - 1) < 0.1
    assert all(0.0 < draw < 1.0 for draw in draws)


@pytest.mark.parametrize("shape", [1.0, 2.5, 80.0])
def test_gamma_draws_have_the_moments_of_gamma(shape: float) -> None:
    """20,000 draws; the mean within 5 standard errors, the variance within 10 percent."""
    trials = 20_000
    draws = [gamma(shape, stream(6, n)) for n in range(trials)]
    assert abs(statistics.fmean(draws) - shape) < 5 * math.sqrt(shape / trials)
    assert abs(statistics.variance(draws) / shape - 1) < 0.1


def test_the_same_key_gives_the_same_draw() -> None:
    assert beta(3.0, 5.0, 12345) == beta(3.0, 5.0, 12345)
    assert beta(3.0, 5.0, 12345) != beta(3.0, 5.0, 12346)


def dkw_bound(trials: int) -> float:
    """How far an empirical distribution may be from the true one, except once in a million samples."""
    return math.sqrt(math.log(2e6) / (2 * trials))


def largest_distance(numbers: Sequence[float], distribution: Callable[[float], float]) -> float:
    count = len(numbers)
    return max(
        max(abs(rank / count - distribution(number)), abs((rank + 1) / count - distribution(number)))
        for rank, number in enumerate(sorted(numbers))
    )
