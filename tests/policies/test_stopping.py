"""Who leads, and what it would cost to stop: as drawing from the posteriors says."""

import numpy as np
import pytest

from cobandit.policies.matching import Posterior
from cobandit.policies.stopping import expected_loss, leader_of

DRAWS = 400_000

WORLDS: dict[str, list[Posterior]] = {
    "nothing is known": [(1.0, 1.0)] * 3,
    "5 % and 4 %, soon": [(51.0, 951.0), (41.0, 961.0)],
    "one is known very well": [(50_001.0, 950_001.0), (1.0, 1.0)],
    "never a reward": [(1.0, 501.0), (1.0, 401.0), (2.0, 601.0), (1.3, 101.0)],
    "always a reward": [(501.0, 1.0), (401.0, 1.0), (601.0, 2.0)],
    "nearly equal": [(1e6, 1e6), (1e6 + 500, 1e6), (1e6 + 900, 1e6)],
    "sixteen": [(1.0 + arm, 60.0 - 2.0 * arm) for arm in range(16)],
    "fifty, of which little is known": [(1.0 + arm * 7 % 5, 20.0 + arm * 11 % 40) for arm in range(50)],
}


@pytest.mark.parametrize("world", WORLDS)
def test_the_loss_is_that_of_drawing(world: str) -> None:
    posteriors, dice = WORLDS[world], np.random.default_rng(1)
    leader = leader_of(posteriors)
    means = np.array([dice.beta(a, b, DRAWS) for a, b in posteriors])
    losses = means.max(axis=0) - means[leader]
    bound = 4.0 * losses.std() / DRAWS**0.5 + 0.005 * losses.mean()  # four standard errors, and half a per cent
    assert abs(expected_loss(posteriors, leader) - losses.mean()) < bound


def test_the_loss_of_two_that_are_unknown_is_a_sixth() -> None:
    assert expected_loss([(1.0, 1.0)] * 2, 0) == pytest.approx(1 / 6, rel=0.001)


def test_a_loss_that_is_practically_none_is_found_without_effort() -> None:
    calls: list[None] = []
    loss = expected_loss([(4501.0, 85501.0), (391.0, 9611.0)], 0, lambda: calls.append(None))
    assert 0.0 <= loss < 1e-8
    assert len(calls) < 200


def test_one_arm_alone_loses_nothing() -> None:
    assert expected_loss([(3.0, 4.0)], 0) == 0.0


@pytest.mark.parametrize(
    ("posteriors", "leader"),
    [
        ([(51.0, 951.0), (41.0, 961.0)], 0),
        ([(41.0, 961.0), (51.0, 951.0), (1.0, 1.0)], 1),  # what is not known does not lead
        ([(2.0, 9.0), (2.0, 9.0)], 0),
    ],
)
def test_the_leader_is_the_best_if_all_are_worse_than_they_seem(posteriors: list[Posterior], leader: int) -> None:
    assert leader_of(posteriors) == leader
