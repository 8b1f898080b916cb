"""Intervals of the estimators hold the true value as often as they say: 400 logs of each world, seeds 0 to 399.

With 95 % the count is binomial: mean 380, standard deviation 4.36. Each count must be at least 366, which a right
interval misses once in a thousand times; and of all counts together, at least 94.5 % must hold.
"""

import random
from collections.abc import Callable, Sequence
from functools import cache

import pytest

from cobandit.evaluation import Evaluation, evaluate
from cobandit.policies.matching import best_odds

LOGS = 400
LEAST = 366
"""The 0.001 quantile of a binomial of 400 and 0.95 is 366."""

METHODS = ("inverse_propensity", "self_normalised", "doubly_robust")
Log = list[dict[str, object]]


def drawn(dice: random.Random, means: Sequence[float], odds: Callable[[int], Sequence[float]], length: int) -> Log:
    """A log of a policy whose odds are told before each decision; rewards are 0 or 1."""
    log: Log = []
    for place in range(length):
        shares = odds(place)
        arm = dice.choices(range(len(means)), shares)[0]
        log.append({"arm": "ABCD"[arm], "propensity": shares[arm], "reward": float(dice.random() < means[arm])})
    return log


def steady(dice: random.Random, means: Sequence[float], shares: Sequence[float], length: int) -> Log:
    return drawn(dice, means, lambda _: shares, length)


def learning(dice: random.Random, means: Sequence[float], floor: float, length: int) -> Log:
    """A log of Thompson sampling that learns after every fifty decisions, as a live member does now and then."""
    log: Log = []
    odds: list[float] = []

    def by(_: int) -> Sequence[float]:
        return odds

    while len(log) < length:
        found = []
        for arm in "ABCD"[: len(means)]:
            rewards = [float(str(row["reward"])) for row in log if row["arm"] == arm]
            found.append((1.0 + sum(rewards), 1.0 + len(rewards) - sum(rewards)))
        odds = [floor + (1.0 - len(means) * floor) * share for share in best_odds(found)]
        log += drawn(dice, means, by, 50)
    return log


WORLDS: dict[str, tuple[Callable[[random.Random], Log], str | dict[str, float], float]] = {
    "4 %, a fifth of the traffic": (lambda dice: steady(dice, [0.05, 0.04], [0.8, 0.2], 1000), "B", 0.04),
    "a twentieth of the traffic": (lambda dice: steady(dice, [0.05, 0.1], [0.95, 0.05], 1000), "B", 0.1),
    "a distribution": (
        lambda dice: steady(dice, [0.5, 0.3, 0.7], [0.6, 0.3, 0.1], 500),
        {"A": 0.2, "B": 0.3, "C": 0.5},
        0.54,
    ),
    "the worse arm of one that learns, with floors": (lambda dice: learning(dice, [0.5, 0.4], 0.05, 600), "B", 0.4),
    "the better arm of one that learns": (lambda dice: learning(dice, [0.5, 0.4], 0.0, 600), "A", 0.5),
}


@cache
def evaluated(world: str) -> list[Evaluation]:
    make, target, _ = WORLDS[world]
    return [evaluate(make(random.Random(seed)), target) for seed in range(LOGS)]


def held(world: str, method: str) -> int:
    """How many intervals hold the true value."""
    value = WORLDS[world][2]
    estimates = [getattr(found, method) for found in evaluated(world)]
    return sum(one.low <= value <= one.high for one in estimates)


COUNTED = [(world, method) for world in WORLDS for method in METHODS]


@pytest.mark.parametrize(("world", "method"), COUNTED)
def test_an_interval_holds_the_true_value_as_often_as_it_says(world: str, method: str) -> None:
    assert held(world, method) >= LEAST


def test_all_intervals_together_hold_it_in_95_percent() -> None:
    assert sum(held(*one) for one in COUNTED) >= 0.945 * LOGS * len(COUNTED)


@pytest.mark.parametrize("method", METHODS)
def test_estimates_are_right_on_average(method: str) -> None:
    world = "a distribution"
    estimates = [getattr(found, method).value for found in evaluated(world)]
    mean = sum(estimates) / LOGS
    error = (sum((one - mean) ** 2 for one in estimates) / LOGS**2) ** 0.5
    assert abs(mean - WORLDS[world][2]) < 4.0 * error
