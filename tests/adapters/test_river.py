"""Policies of river as policies of cobandit: they keep every promise, and decide as river does."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from river import bandit, preprocessing, proba, stats

from cobandit import LocalError, on_demand
from cobandit.adapters.river import RiverPolicy
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.simulator import run
from cobandit.testing import check_policy

POLICIES = {
    "UCB": bandit.UCB(delta=1.0),
    "UCB of a posterior": bandit.UCB(delta=1.0, reward_obj=proba.Beta()),
    "EpsilonGreedy": bandit.EpsilonGreedy(epsilon=0.2, decay=0.01, burn_in=3),
    "Thompson, Beta": bandit.ThompsonSampling(reward_obj=proba.Beta()),
    "Thompson, Gaussian": bandit.ThompsonSampling(reward_obj=proba.Gaussian()),
    "BayesUCB": bandit.BayesUCB(),
    "RandomPolicy": bandit.RandomPolicy(),
}


@pytest.mark.parametrize("name", POLICIES)
def test_it_keeps_every_promise(name: str) -> None:
    check_policy(lambda arms: RiverPolicy(arms, POLICIES[name], seed=7))


@pytest.mark.parametrize("name", POLICIES)
def test_it_knows_what_river_knows_of_the_same_rewards(name: str) -> None:
    """Feed river one reward after the other, and cobandit the sums."""
    luck = random.Random(3)
    wrapped, river = RiverPolicy(["A", "B", "C"], POLICIES[name], seed=1, quantum=1.0), POLICIES[name].clone()
    for _ in range(400):
        arm, reward = luck.choice("AB"), luck.choice((0, 1))
        river.update(arm, reward)
        wrapped.update(arm, reward)
    got = wrapped.filled()
    assert (got._n, got._counts) == (river._n, river._counts)
    for arm in "AB":
        assert told(got._rewards[arm]) == pytest.approx(told(river._rewards[arm]), rel=1e-9)
    assert set(got._rewards) == {"A", "B"}
    if isinstance(got, bandit.BayesUCB):
        assert [got.compute_index(arm) for arm in "ABC"] == [river.compute_index(arm) for arm in "ABC"]


def told(reward: Any) -> tuple[float, ...]:
    if isinstance(reward, proba.Beta):
        return (reward.alpha, reward.beta)
    if isinstance(reward, proba.Gaussian):
        return (reward.mu, reward.sigma, reward.n_samples)
    return (reward.get(), reward.n)


def test_ucb_decides_as_river_does() -> None:
    """Without ties there is no chance in it, so the whole sequence is the same."""
    luck = random.Random(5)
    river, wrapped = bandit.UCB(delta=0.7), RiverPolicy(["A", "B", "C"], bandit.UCB(delta=0.7), seed=1)
    for arm in "ABC":
        reward = luck.random()
        river.update(arm, wrapped.quantum.units(reward) / wrapped.quantum.per_reward)
        wrapped.update(arm, reward)
    chosen = []
    for _ in range(300):
        arm = wrapped.select_arm()
        assert arm == river.pull(["A", "B", "C"])
        reward = luck.random()
        river.update(arm, wrapped.quantum.units(reward) / wrapped.quantum.per_reward)
        wrapped.update(arm, reward)
        chosen.append(arm)
    assert set(chosen) == {"A", "B", "C"}


def test_agents_with_it_learn_from_each_other() -> None:
    def build(arms: Sequence[str], seed: int) -> RiverPolicy:
        return RiverPolicy(arms, bandit.ThompsonSampling(reward_obj=proba.Beta()), seed=seed, quantum=1.0)

    agents = (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.05)))
    result = run(Scenario(800, Arms.of([0.2, 0.8]), agents, build, on_demand()), seed=1)
    again = run(Scenario(800, Arms.of([0.2, 0.8]), agents, build, on_demand()), seed=1)
    assert result == again
    assert result.shares > 0
    assert result.pulls[1, 1] > 5 * result.pulls[1, 0]


class Remembering(bandit.UCB):  # type: ignore[misc]
    def update(self, arm_id: Any, *rewards: Any, **more: Any) -> None:
        super().update(arm_id, *rewards, **more)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (bandit.Exp3(gamma=0.5), "Exp3 learns something of its own"),
        (Remembering(delta=1.0), "Remembering learns something of its own"),
        (bandit.LinUCBDisjoint(alpha=1.0), "LinUCBDisjoint needs a context"),
        (bandit.UCB(1.0, reward_scaler=preprocessing.TargetStandardScaler(None)), "reward scaler"),
        (bandit.EpsilonGreedy(0.1, reward_obj=stats.EWMean()), "EWMean, which cannot be made from counts and sums"),
        (bandit.UCB, "is not a policy of river"),
        ("ucb", "is not a policy of river"),
    ],
    ids=["Exp3", "own update", "contexts", "scaler", "statistic", "class", "name"],
)
def test_what_tallies_cannot_tell_is_refused(policy: Any, words: str) -> None:
    with pytest.raises(LocalError, match=words):
        RiverPolicy(["A", "B"], policy, seed=1)
