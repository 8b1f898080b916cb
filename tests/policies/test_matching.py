"""The odds of probability matching are what drawing from the posteriors would give, and the same every time."""

import random

import numpy as np
import pytest

from cobandit.policies import Thompson
from cobandit.policies.matching import Posterior, best_odds

DRAWS = 1_000_000
BOUND = 0.002
"""Four standard deviations of a share of so many draws, at most: the odds themselves are within 0.001."""

WORLDS: dict[str, list[Posterior]] = {
    "nothing is known": [(1.0, 1.0)] * 3,
    "little is known": [(1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (1.5, 1.2)],
    "5 % and 4 %, soon": [(51.0, 951.0), (41.0, 961.0)],
    "5 % and 4 %, late": [(4501.0, 85501.0), (391.0, 9611.0)],
    "one is known very well": [(50_001.0, 950_001.0), (1.0, 1.0)],
    "never a reward": [(1.0, 501.0), (1.0, 401.0), (2.0, 601.0), (1.3, 101.0)],
    "always a reward": [(501.0, 1.0), (401.0, 1.0), (601.0, 2.0)],
    "nearly equal": [(1e6, 1e6), (1e6 + 500, 1e6), (1e6 + 900, 1e6)],
    "some alike": [(1.0, 1.0)] * 4 + [(8.0, 3.0)],
    "sixteen": [(1.0 + arm, 60.0 - 2.0 * arm) for arm in range(16)],
    "skewed": [(1.0, 20.0), (2.0, 30.0), (1.2, 5.0)],
    "rare, and one that is new": [(1.0, 1.0), (3.0, 1000.0), (2.0, 700.0), (5.0, 1400.0)],
    "fifty, of which little is known": [(1.0 + arm * 7 % 5, 20.0 + arm * 11 % 40) for arm in range(50)],
}


def by_chance(posteriors: list[Posterior]) -> list[float]:
    dice, won = np.random.default_rng(1), np.zeros(len(posteriors))
    for _ in range(10):
        means = [dice.beta(a, b, DRAWS // 10) for a, b in posteriors]
        won += np.bincount(np.argmax(means, axis=0), minlength=len(posteriors))
    return [float(count) / DRAWS for count in won]


@pytest.mark.parametrize("world", WORLDS)
def test_the_odds_are_those_of_drawing(world: str) -> None:
    odds = best_odds(WORLDS[world])
    assert sum(odds) == pytest.approx(1.0, abs=1e-12)
    assert all(abs(found - drawn) < BOUND for found, drawn in zip(odds, by_chance(WORLDS[world]), strict=True))


@pytest.mark.parametrize(
    ("posteriors", "exactly"),
    [
        ([(2.0, 1.0), (1.0, 2.0)], 5 / 6),
        ([(3.0, 1.0), (1.0, 3.0)], 19 / 20),
        ([(1.0, 1.0), (1.0, 1.0)], 1 / 2),
        ([(2.0, 1.0), (1.0, 1.0)], 2 / 3),
    ],
)
def test_the_odds_are_exact_within_their_bound(posteriors: list[Posterior], exactly: float) -> None:
    assert abs(best_odds(posteriors)[0] - exactly) < 0.001


def test_a_thousand_arms_add_up_too_and_alike_arms_have_equal_odds() -> None:
    dice = random.Random(2)
    posteriors = [(1.0 + 60.0 * dice.random(), 1000.0 + dice.random()) for _ in range(998)] + [(70.0, 1000.0)] * 2
    odds = best_odds(posteriors)
    assert sum(odds) == pytest.approx(1.0, abs=1e-9)
    assert odds[-1] == odds[-2] == max(odds)


def test_long_work_is_interrupted_often() -> None:
    breaks: list[None] = []
    assert best_odds([(2.0, 3.0), (3.0, 2.0)], lambda: breaks.append(None)) == best_odds([(2.0, 3.0), (3.0, 2.0)])
    assert len(breaks) > 64


def test_one_arm_has_everything() -> None:
    assert best_odds([(3.0, 4.0)]) == [1.0]


def test_posteriors_begin_uniform_and_count_rewards_by_their_size() -> None:
    policy = Thompson(["A", "B"], seed=1)
    policy.update("B", 0.25)
    policy.update("B", 1.0)
    assert policy.posteriors() == [(1.0, 1.0), (2.25, 1.75)]
    policy.eliminate("A")
    assert policy.posteriors() == [(2.25, 1.75)]
