"""What arms pay: each distribution has the mean it says, in any range, and what cannot be is refused in words."""

import math
import statistics
from pathlib import Path

import pytest

from cobandit.scenario import (
    AgentSpec,
    Arms,
    Bernoulli,
    Beta,
    Discrete,
    Normal,
    OwnReward,
    Rate,
    Replay,
    RewardRange,
    Scenario,
    Switches,
    Tape,
)
from cobandit.scenario.drawing import beta_share, log_gamma_draw
from cobandit.scenario.paying import Pay
from cobandit.scenario.payments import Payments
from cobandit.values.chance import normal, stream
from cobandit.values.errors import LocalError

DRAWS = 20_000


def drawn(arms: Arms, arm: int = 0, luck: str = "pull") -> list[float]:
    world = Scenario(DRAWS, arms, (AgentSpec(Rate(1.0)),), luck=luck)  # type: ignore[arg-type]
    payments = Payments(world, Tape(3))
    return [payments.reward_of(payments.draw(0, arm, slot, slot, slot)) for slot in range(DRAWS)]


def twice(luck: float, slot: int, mean: float) -> float:
    return 2.0 * mean * luck + 0.0 * slot


PAYS: list[Pay] = [Bernoulli(), Beta(0.4), Beta(8.0), Normal(0.5), Normal(4.0), OwnReward(twice)]


@pytest.mark.parametrize("pay", PAYS, ids=lambda pay: type(pay).__name__)
@pytest.mark.parametrize("luck", ["pull", "arm"])
def test_rewards_have_the_mean_that_regret_goes_by_and_stay_in_the_range(pay: Pay, luck: str) -> None:
    arms = Arms.of([1.25, 2.0], rewards=(-1, 5), pays=pay)
    rewards = drawn(arms, luck=luck)
    assert -1.0 <= min(rewards) <= max(rewards) <= 5.0
    error = statistics.stdev(rewards) / math.sqrt(DRAWS)
    assert abs(statistics.fmean(rewards) - arms.expected[0]) < 4.0 * error  # 20,000 draws; one in 16,000 seeds fails


def test_a_normal_arm_near_an_end_pays_what_clipping_leaves() -> None:
    arms = Arms.of([0.0], pays=Normal(0.5))
    assert arms.means == (0.0,)
    assert list(arms.expected) == pytest.approx([0.5 / math.sqrt(2 * math.pi)], abs=0.01)
    assert arms.best(arms.names) == arms.expected[0]


@pytest.mark.parametrize(("mean", "concentration"), [(0.3, 0.2), (0.5, 2.0), (0.9, 30.0)])
def test_beta_draws_have_mean_and_variance_of_the_distribution(mean: float, concentration: float) -> None:
    draws = [beta_share(mean, concentration, stream(5, number)) for number in range(DRAWS)]
    variance = mean * (1.0 - mean) / (concentration + 1.0)
    assert statistics.fmean(draws) == pytest.approx(mean, abs=4.0 * math.sqrt(variance / DRAWS))
    assert statistics.variance(draws) == pytest.approx(variance, rel=0.05)  # 20,000 draws


def test_normal_draws_are_standard() -> None:
    draws = [normal(stream(6, number)) for number in range(DRAWS)]
    assert statistics.fmean(draws) == pytest.approx(0.0, abs=4.0 / math.sqrt(DRAWS))
    assert statistics.stdev(draws) == pytest.approx(1.0, abs=0.03)  # 20,000 draws


def test_a_tiny_shape_is_drawn_without_losing_itself_in_zero() -> None:
    assert log_gamma_draw(1e-4, stream(1)) < -700.0  # its exponential is no number but zero
    draws = [beta_share(0.5, 1e-3, stream(7, number)) for number in range(200)]
    assert {round(share) for share in draws} == {0, 1}


def test_an_arm_whose_mean_is_an_end_always_pays_it() -> None:
    assert set(drawn(Arms.of([0.0, 1.0], pays=Beta(3.0)))) == {0.0}
    assert set(drawn(Arms.of([0.0, 1.0], pays=Beta(3.0)), arm=1)) == {1.0}


def test_a_discrete_arm_pays_its_values_as_often_as_it_says() -> None:
    arms = Arms.paying([Discrete((-1.0, 0.0, 5.0), (0.5, 0.3, 0.2))], rewards=(-1, 5))
    rewards = drawn(arms)
    for value, chance in ((-1.0, 0.5), (0.0, 0.3), (5.0, 0.2)):
        assert sum(abs(reward - value) < 1e-5 for reward in rewards) == pytest.approx(chance * DRAWS, rel=0.05)
    assert arms.means == (0.5,)


def test_a_log_is_read_in_order_from_a_place_of_each_agent_s_own_and_round() -> None:
    log = tuple(float(number) for number in range(50))
    world = Scenario(10, Arms.paying([Replay(log)], rewards=(0, 100)), (AgentSpec(Rate(1.0)),) * 4)
    payments = Payments(world, Tape(1))
    starts = set()
    for agent in range(4):
        rewards = [round(payments.reward_of(payments.draw(agent, 0, 0, pull, pull)), 3) for pull in range(60)]
        starts.add(rewards[0])
        assert rewards == [(rewards[0] + pull) % 50 for pull in range(60)]
    assert len(starts) > 1


def test_a_log_in_a_file_becomes_arms(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("arm,reward\nred,1.5\nblue,0\nred,2.5\n", encoding="utf-8")
    arms = Arms.replay(file, rewards=(0, 3))
    assert arms == Arms(("red", "blue"), (2.0, 0.0), RewardRange(0, 3), (Replay((1.5, 2.5)), Replay((0.0,))))


def test_arms_of_the_paper_are_as_they_were() -> None:
    plain = Arms.of([0.2, 0.7])
    assert plain == Arms(("0", "1"), (0.2, 0.7), (0, 1), (Bernoulli(), Bernoulli()))  # type: ignore[arg-type]
    assert (plain.expected, plain.quantum, plain.are_binary) == ((0.2, 0.7), 1.0, True)


def test_what_cannot_be_is_refused_in_words(tmp_path: Path) -> None:
    missing = tmp_path / "log.csv"
    missing.write_text("arm,paid\nred,1\n", encoding="utf-8")
    for build, told in (
        (lambda: Arms.of([6.0], rewards=(-1, 5)), r"the mean of arm 0 must be a number in \[-1, 5\], not 6.0"),
        (lambda: Arms.of([0.0], rewards=(1, 1)), "have no range"),
        (lambda: Arms.of([0.0], rewards=(5, -1)), "have no range"),
        (lambda: Arms.of([0.0], rewards=(0, math.inf)), "must be two numbers from"),
        (lambda: Arms.of([0.0], rewards=(0, 1, 2)), "must be two numbers, the lowest reward and"),  # type: ignore[arg-type]
        (lambda: Arms.of([0.0, 1.0], pays=(Beta(1.0),)), "2 arms but 1 ways to pay"),
        (lambda: Arms.of([0.0], pays="normal"), "not by 'normal'"),  # type: ignore[arg-type]
        (lambda: Beta(0.0), "concentration must be a positive number"),
        (lambda: Beta(1e-9), "concentration must be a number in"),
        (lambda: Normal(-1.0), "sd must be a positive number"),
        (lambda: Discrete((1.0,), (0.5,)), "chances must add up to 1, not to 0.5"),
        (lambda: Discrete((1.0, 2.0), (1.0,)), "2 values but 1 chances"),
        (lambda: Discrete((1.0, 2.0), (1.5, -0.5)), r"chances must be numbers in \[0, 1\]"),
        (lambda: Discrete((math.nan,), (1.0,)), "must be a finite number"),
        (lambda: Replay(()), "has 1 to 1,000,000 rewards, not 0"),
        (lambda: OwnReward(7), "must be a function of luck, slot and mean"),  # type: ignore[arg-type]
        (lambda: Arms.paying([Discrete((7.0,), (1.0,))]), r"a reward of arm 0 must be a number in \[0, 1\], not 7.0"),
        (lambda: Arms.paying([Beta(1.0)]), "does not determine a mean"),  # type: ignore[list-item]
        (lambda: Arms.of([0.5], pays=Discrete((0.0,), (1.0,))), "pays 0 on average by its values"),
        (lambda: Arms.of([0.0], pays=Replay((0.0,)), changes=Switches(((1, (0.1,)),))), "its mean cannot change"),
        (lambda: Arms.replay(missing), "has no column 'reward'"),
    ):
        with pytest.raises(LocalError, match=told):
            build()
