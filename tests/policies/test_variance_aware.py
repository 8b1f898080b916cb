"""UCB-V and Thompson sampling with normal posteriors: the formulas, the promises, and what they are for."""

import math
import statistics

import pytest

from cobandit import UCBV, LocalError, NormalThompson, Thompson
from cobandit.policies.normal_thompson import normal_mean, normal_thompson_index, normal_variance
from cobandit.policies.registry import DRAWING, POLICIES, BuiltIn
from cobandit.policies.ucb_v import ucb_v_index
from cobandit.scenario import AgentSpec, Arms, Normal, Rate, Scenario
from cobandit.simulator import kernel
from cobandit.testing import check_policy
from cobandit.values.chance import stream
from cobandit.values.tally import ArmTally


@pytest.mark.parametrize("confidence", ["own", "observed"])
def test_ucb_v_keeps_its_promises(confidence: str) -> None:
    check_policy(lambda arms: UCBV(arms, confidence=confidence))  # type: ignore[arg-type]


def test_normal_thompson_keeps_its_promises() -> None:
    check_policy(lambda arms: NormalThompson(arms, seed=3))


def test_every_policy_of_the_registry_keeps_its_promises() -> None:
    for name in POLICIES:
        check_policy(lambda arms, name=name: BuiltIn(name)(arms, seed=2, quantum=1e-6))  # type: ignore[misc]


def test_the_variance_is_that_of_the_rewards() -> None:
    policy, rewards = UCBV(["A", "B"]), [0.1, 0.25, 0.9, 0.9, 0.333333]
    for reward in rewards:
        policy.update("A", reward)
    assert policy.variance("A") == pytest.approx(statistics.pvariance(rewards), abs=1e-8)
    assert policy.variance("B") == 0.0


def test_rewards_that_are_all_alike_have_no_variance_and_never_less() -> None:
    policy = UCBV(["A"])
    for _ in range(7):
        policy.update("A", 0.333333)
    assert 0.0 <= policy.variance("A") < 1e-8


def test_ucb_v_is_equation_1() -> None:
    mean, variance, count, exploration = 0.3, 0.04, 50, 2.5
    expected = mean + math.sqrt(2 * variance * exploration / count) + 3 * exploration / count
    assert ucb_v_index(mean, variance, count, exploration) == expected


def test_of_two_arms_with_one_mean_the_one_that_varies_more_is_pulled() -> None:
    policy = UCBV(["calm", "wild"], quantum=1e-6)
    for _ in range(50):
        policy.update("calm", 0.5)
    for pull in range(50):
        policy.update("wild", float(pull % 2))
    assert policy.select_arm() == "wild"


@pytest.mark.parametrize(("wins", "count"), [(0, 0), (0, 5), (3, 7), (90, 100)])
def test_of_coins_the_normal_posterior_has_mean_and_variance_of_the_beta(wins: int, count: int) -> None:
    a, b = 1 + wins, 1 + count - wins
    mean = normal_mean(wins, count)
    assert mean == pytest.approx(a / (a + b))
    assert normal_variance(mean, wins, count) == pytest.approx(a * b / ((a + b) ** 2 * (a + b + 1)))


def test_the_draws_have_mean_and_variance_of_the_posterior() -> None:
    rewards, squares, count = 30.0, 12.0, 100
    draws = [normal_thompson_index(rewards, squares, count, stream(4, number)) for number in range(20_000)]
    mean = normal_mean(rewards, count)
    variance = normal_variance(mean, squares, count)
    assert statistics.fmean(draws) == pytest.approx(mean, abs=4 * math.sqrt(variance / 20_000))
    assert statistics.variance(draws) == pytest.approx(variance, rel=0.05)


def test_its_posteriors_are_beta_distributions_with_the_same_mean_and_variance() -> None:
    policy, coins = NormalThompson(["A", "B"], seed=1), Thompson(["A", "B"], seed=1)
    for one in (policy, coins):
        one.learn([ArmTally("A", 10, 4_000_000, 4 * 1_072_961_373)])  # four rewards of 1, six of 0
    assert [part for pair in policy.posteriors() for part in pair] == pytest.approx(
        [part for pair in coins.posteriors() for part in pair], rel=1e-6
    )
    calm = NormalThompson(["A"], seed=1)
    for _ in range(20):
        calm.update("A", 0.5)
    ((a, b),) = calm.posteriors()
    assert a / (a + b) == pytest.approx(0.5)
    mean = normal_mean(10.0, 20)
    assert a * b / ((a + b) ** 2 * (a + b + 1)) == pytest.approx(normal_variance(mean, 5.0, 20), rel=1e-6)


def test_the_registry_names_them_and_says_what_they_take() -> None:
    assert BuiltIn("ucbv") == BuiltIn("ucb-v")
    assert BuiltIn("ucb-v").exploration == 1.2
    assert {name: BuiltIn(name).exploration for name in DRAWING} == dict.fromkeys(DRAWING, 0.0)
    with pytest.raises(LocalError, match="is not one of ucb, aae, kl-ucb, ucb-v, thompson, normal-thompson"):
        BuiltIn("ucb-w")


def test_where_rewards_vary_little_knowing_the_variance_saves_most_of_the_regret() -> None:
    """The means of 5 trials; without the variance at least half as much again is lost."""
    arms = Arms.of([0.45, 0.5, 0.55], pays=Normal(0.02))

    def lost(name: str) -> float:
        world = Scenario(4_000, arms, (AgentSpec(Rate(0.5)),) * 3, BuiltIn(name))
        return statistics.fmean(kernel.run(world, seed=1, trial=trial).group_regret for trial in range(5))

    assert 1.5 * lost("ucb-v") < lost("ucb")
    assert 1.5 * lost("normal-thompson") < lost("thompson")
