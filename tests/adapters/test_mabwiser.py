"""Learning policies of MABWiser as policies of cobandit: they keep every promise, and decide as MABWiser does."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from mabwiser.mab import MAB, LearningPolicy, NeighborhoodPolicy

from cobandit import LocalError, on_demand
from cobandit.adapters.mabwiser import MABWiserPolicy
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.simulator import run
from cobandit.testing import check_policy
from cobandit.values.chance import stream

POLICIES = {
    "EpsilonGreedy": LearningPolicy.EpsilonGreedy(epsilon=0.2),
    "Popularity": LearningPolicy.Popularity(),
    "Random": LearningPolicy.Random(),
    "Softmax": LearningPolicy.Softmax(tau=0.3),
    "ThompsonSampling": LearningPolicy.ThompsonSampling(),
    "UCB1": LearningPolicy.UCB1(alpha=1.25),
}


@pytest.mark.parametrize("name", POLICIES)
def test_it_keeps_every_promise(name: str) -> None:
    check_policy(lambda arms: MABWiserPolicy(arms, POLICIES[name], seed=7))


@pytest.mark.parametrize("name", POLICIES)
def test_it_decides_as_mabwiser_fitted_to_the_same_rewards(name: str) -> None:
    luck = random.Random(3)
    arms = ["A", "B", "C", "D"]
    policy = MABWiserPolicy(arms, POLICIES[name], seed=1, quantum=1.0)
    decisions: list[str] = []
    rewards: list[int] = []
    for step in range(120):
        arm, reward = luck.choice(arms), luck.choice((0, 0, 1))
        policy.update(arm, reward)
        decisions.append(arm)
        rewards.append(reward)
        if set(decisions) < set(arms):
            continue
        ref = MAB(arms, POLICIES[name], seed=stream(1, step + 1) % 2**32)
        ref.fit(decisions, rewards)
        expected = ref.predict_expectations()
        assert policy.filled().predict_expectations() == pytest.approx(expected, rel=1e-12)
        assert policy.select_arm() == max(expected, key=expected.__getitem__)
    assert len(decisions) == 120


def test_arms_of_which_nothing_is_known_come_first() -> None:
    policy = MABWiserPolicy(["A", "B", "C"], LearningPolicy.EpsilonGreedy(epsilon=0.0), seed=1)
    chosen = []
    for reward in (1.0, 0.0, 0.5, 1.0):
        chosen.append(policy.select_arm())
        policy.update(chosen[-1], reward)
    assert chosen == ["A", "B", "C", "A"]


def test_agents_with_it_learn_from_each_other() -> None:
    def build(arms: Sequence[str], seed: int) -> MABWiserPolicy:
        return MABWiserPolicy(arms, LearningPolicy.ThompsonSampling(), seed=seed, quantum=1.0)

    agents = (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.05)))
    result = run(Scenario(600, Arms.of([0.2, 0.8]), agents, build, on_demand()), seed=1)
    again = run(Scenario(600, Arms.of([0.2, 0.8]), agents, build, on_demand()), seed=1)
    assert result == again
    assert result.shares > 0
    assert result.pulls[1, 1] > 5 * result.pulls[1, 0]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (LearningPolicy.LinUCB(alpha=1.0), "LinUCB needs a context"),
        (LearningPolicy.LinTS(), "LinTS needs a context"),
        (LearningPolicy.LinGreedy(), "LinGreedy needs a context"),
        (NeighborhoodPolicy.Radius(1.0), "Radius cannot be used"),
        (LearningPolicy.ThompsonSampling(lambda arm, reward: reward > 0.5), "binarizer"),  # noqa: ARG005
        (LearningPolicy.EpsilonGreedy(epsilon=3.0), "MABWiser refuses"),
        ("ucb", "str cannot be used: take LearningPolicy.EpsilonGreedy, Popularity"),
    ],
    ids=["LinUCB", "LinTS", "LinGreedy", "neighborhood", "binarizer", "parameter", "name"],
)
def test_what_tallies_cannot_tell_is_refused(policy: Any, words: str) -> None:
    with pytest.raises(LocalError, match=words):
        MABWiserPolicy(["A", "B"], policy, seed=1)
