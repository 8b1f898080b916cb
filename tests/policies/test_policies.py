"""What each policy pulls, held against numbers worked out by hand."""

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobandit import AAE, KLUCB, UCB, Horizon, IndexPolicy, LocalError, Policy, Thompson
from cobandit.policies.confidence import Confidence, log_inverse_delta
from cobandit.policies.from_index import FromIndex
from cobandit.policies.kl_ucb import bernoulli_divergence, kl_ucb_index
from cobandit.policies.thompson import thompson_index
from cobandit.policies.ucb import confidence_width, ucb_index
from cobandit.testing import check_policy
from cobandit.values.chance import stream, uniform
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import Arm, ArmTally

CONFIDENCES: tuple[Confidence, ...] = ("own", "own+2", "observed", Horizon(10_000))

counts = st.integers(1, 10_000)
budgets = st.floats(0.0, 100.0)
shares = st.floats(0.0, 1.0)


# Every policy keeps the promises.


@pytest.mark.parametrize("confidence", CONFIDENCES, ids=str)
@pytest.mark.parametrize("kind", [UCB, AAE, KLUCB])
def test_every_policy_keeps_its_promises_under_every_confidence(
    kind: type[UCB | AAE | KLUCB], confidence: Confidence
) -> None:
    check_policy(lambda arms: kind(arms, confidence=confidence, quantum=0.5))


@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_aae_keeps_its_promises_while_it_eliminates(alpha: float) -> None:
    check_policy(lambda arms: AAE(arms, alpha=alpha))


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_thompson_keeps_its_promises(seed: int) -> None:
    check_policy(lambda arms: Thompson(arms, seed=seed))


# How sure is sure.


@pytest.mark.parametrize(
    ("confidence", "power", "expected"),
    [
        ("own", 1, math.log(7)),
        ("own", 2, math.log(7)),
        ("observed", 1, math.log(50)),
        ("observed", 2, math.log(50)),
        (Horizon(1000), 1, math.log(1000)),
        (Horizon(1000), 2, 2 * math.log(1000)),
    ],
)
def test_each_confidence_has_its_own_delta(confidence: Confidence, power: int, expected: float) -> None:
    assert log_inverse_delta(confidence, own_pulls=7, observations=50, horizon_power=power) == expected


def test_own_plus_two_has_a_width_before_the_first_pull_and_ignores_what_was_received() -> None:
    assert [log_inverse_delta("own+2", count, 500, 2) for count in (0, 1, 6)] == [math.log(2), math.log(3), math.log(8)]


def test_with_own_plus_two_an_agent_without_a_pull_rules_out_what_it_received() -> None:
    """With 1/n_j the guard keeps it from that: intervals of no width prove nothing."""
    news = [ArmTally("A", 400, 400 * 10**6, 400 * 10**6), ArmTally("B", 400, 0, 0)]
    left = {}
    confidences: tuple[Confidence, ...] = ("own", "own+2")
    for confidence in confidences:
        policy = AAE(["A", "B"], confidence=confidence)
        policy.learn(news)
        left[confidence] = policy.survivors()
    assert left == {"own": ("A", "B"), "own+2": ("A",)}


@pytest.mark.parametrize("confidence", ["own", "observed"])
def test_before_the_second_observation_nothing_is_sure(confidence: Confidence) -> None:
    assert [log_inverse_delta(confidence, count, count, 1) for count in (0, 1)] == [0.0, 0.0]


@pytest.mark.parametrize("confidence", ["sure", None, 0.9, 1000])
def test_an_unknown_confidence_is_refused(confidence: object) -> None:
    with pytest.raises(LocalError, match=r"is not 'own', 'own\+2', 'observed' or Horizon\(decisions\)"):
        UCB(["A"], confidence=confidence)  # type: ignore[arg-type]


@pytest.mark.parametrize("decisions", [0, -1, 1.5, True])
def test_a_horizon_is_a_whole_number_of_decisions(decisions: float) -> None:
    with pytest.raises(LocalError, match="a horizon must be a whole number of at least 1"):
        Horizon(decisions)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [UCB, AAE, KLUCB])
@pytest.mark.parametrize("alpha", [0, -1, math.nan, math.inf, True, "3"])
def test_alpha_is_a_positive_number(kind: Callable[..., Policy], alpha: object) -> None:
    with pytest.raises(LocalError, match="alpha must be a positive number, not"):
        kind(["A"], alpha=alpha)


@pytest.mark.parametrize("seed", [-1, 1.5, None])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(LocalError, match="seed must be a whole number of at least 0"):
        Thompson(["A"], seed=seed)  # type: ignore[arg-type]


# UCB.


def some(arm: Arm, count: int, reward_sum: int) -> ArmTally:
    """Observations of which no policy here looks at the squares."""
    return ArmTally(arm, count, reward_sum, reward_sum)


def taught(policy: Policy, *entries: tuple[Arm, int, int], own: int = 0) -> Policy:
    """The policy with these observations, of which so many are its own."""
    policy.learn([some(*entry) for entry in entries])
    policy.own_pulls = own
    return policy


@pytest.mark.parametrize(
    ("mean", "count", "budget", "index"),
    [
        (0.5, 8, 4.0, 1.0),  # 0.5 + sqrt(4 / 16)
        (0.0, 2, 1.0, 0.5),  # sqrt(1 / 4)
        (0.25, 50, 0.0, 0.25),
        (1.0, 18, 9.0, 1.5),  # 1 + sqrt(9 / 36)
    ],
)
def test_the_index_of_ucb_is_mean_plus_confidence_width(mean: float, count: int, budget: float, index: float) -> None:
    assert ucb_index(mean, count, budget) == index
    assert UCB(["A"]).index(mean, count, budget) == index


@given(shares, counts, budgets)
def test_ucb_and_aae_mean_the_same_interval(mean: float, count: int, budget: float) -> None:
    assert ucb_index(mean, count, budget) == mean + confidence_width(count, budget)


@pytest.mark.parametrize(
    ("confidence", "budget"),
    [("own", 3 * math.log(4)), ("observed", 3 * math.log(20)), (Horizon(100), 3 * math.log(100))],
)
@pytest.mark.parametrize("kind", [UCB, KLUCB])
def test_the_budget_is_alpha_times_the_logarithm_of_one_over_delta(
    kind: type[UCB | KLUCB], confidence: Confidence, budget: float
) -> None:
    policy = kind(["A", "B"], alpha=3, confidence=confidence, quantum=BERNOULLI)
    taught(policy, ("A", 15, 3), ("B", 5, 5), own=4)
    assert policy.budget() == budget


def test_ucb_pulls_the_highest_bound_and_not_the_highest_mean() -> None:
    """With 5 observations and alpha 3 the budget is 3 log 5 = 4.83: A has 0.75 + 0.78 = 1.53, B has 0 + 1.55."""
    assert taught(UCB(["A", "B"], quantum=BERNOULLI), ("A", 4, 3), ("B", 1, 0)).select_arm() == "B"
    assert taught(UCB(["A", "B"], alpha=1, quantum=BERNOULLI), ("A", 4, 3), ("B", 1, 0)).select_arm() == "A"


def test_the_confidence_decides_how_far_ucb_explores() -> None:
    """B is behind A by 0.2 and observed less: log(900) widens its interval by more than that, log(2) does not."""
    known = (("A", 800, 640), ("B", 100, 60))
    assert taught(UCB(["A", "B"], quantum=BERNOULLI), *known, own=2).select_arm() == "B"
    assert taught(UCB(["A", "B"], confidence="own", quantum=BERNOULLI), *known, own=2).select_arm() == "A"


def test_rewards_count_in_quanta() -> None:
    assert taught(UCB(["A"], quantum=0.01), ("A", 4, 300)).mean("A") == 0.75
    assert UCB(["A"]).mean("A") == 0.0


# What all index policies have in common.


INDEX_POLICIES: dict[str, Callable[[Sequence[Arm]], Policy]] = {
    "UCB": lambda arms: UCB(arms, quantum=BERNOULLI),
    "KL-UCB": lambda arms: KLUCB(arms, quantum=BERNOULLI),
}


@pytest.mark.parametrize("build", INDEX_POLICIES.values(), ids=list(INDEX_POLICIES))
class TestIndexPolicies:
    def test_the_lowest_position_wins_a_tie(self, build: Callable[[Sequence[Arm]], Policy]) -> None:
        policy = taught(build(["C", "A", "B"]), ("A", 9, 5), ("B", 9, 5), ("C", 9, 4))
        assert policy.select_arm() == "A"
        policy.eliminate("A")
        assert policy.select_arm() == "B"

    def test_an_arm_without_observations_is_pulled_first(self, build: Callable[[Sequence[Arm]], Policy]) -> None:
        policy = taught(build(["A", "B", "C"]), ("A", 1, 1))
        assert policy.select_arm() == "B"
        policy.update("B", 1.0)
        assert policy.select_arm() == "C"

    def test_without_any_observations_the_first_arm_is_pulled(self, build: Callable[[Sequence[Arm]], Policy]) -> None:
        assert build(["B", "A"]).select_arm() == "B"

    def test_received_observations_make_up_for_own_ones(self, build: Callable[[Sequence[Arm]], Policy]) -> None:
        policy = taught(build(["A", "B"]), ("A", 500, 100), ("B", 500, 400))
        assert policy.select_arm() == "B"

    def test_an_eliminated_arm_is_not_pulled_though_it_is_unobserved(
        self, build: Callable[[Sequence[Arm]], Policy]
    ) -> None:
        policy = taught(build(["A", "B"]), ("B", 5, 0))
        policy.eliminate("A")
        assert policy.select_arm() == "B"


# KL-UCB.


def test_the_divergence_of_two_coins_is_known_at_the_edges() -> None:
    assert bernoulli_divergence(0.0, 0.5) == pytest.approx(math.log(2))
    assert bernoulli_divergence(1.0, 0.5) == pytest.approx(math.log(2))
    assert bernoulli_divergence(0.5, 0.75) == pytest.approx(0.5 * math.log(4 / 3))
    assert bernoulli_divergence(0.3, 0.3) == 0.0


@pytest.mark.parametrize(
    ("mean", "count", "budget", "index"),
    [
        (0.0, 10, 10 * math.log(2), 0.5),  # kl(0, q) = log 1/(1-q)
        (0.0, 1, math.log(4), 0.75),
        (0.5, 1, 0.5 * math.log(4 / 3), 0.75),
        (0.5, 7, 0.0, 0.5),
        (1.0, 7, 3.0, 1.0),
    ],
)
def test_the_index_of_kl_ucb_solves_its_equation(mean: float, count: int, budget: float, index: float) -> None:
    assert kl_ucb_index(mean, count, budget) == pytest.approx(index, abs=1e-8)


@given(shares, counts, budgets)
def test_the_index_of_kl_ucb_stays_inside_its_budget(mean: float, count: int, budget: float) -> None:
    index = kl_ucb_index(mean, count, budget)
    assert mean <= index <= 1.0
    if mean < index < 1.0:
        assert count * bernoulli_divergence(mean, index) <= budget + 1e-6


@given(shares, counts, budgets)
def test_the_index_of_kl_ucb_is_the_largest_inside_its_budget(mean: float, count: int, budget: float) -> None:
    above = kl_ucb_index(mean, count, budget) + 1e-6
    if above < 1.0:
        assert count * bernoulli_divergence(mean, above) > budget


@given(shares, counts, budgets)
def test_the_index_of_kl_ucb_is_not_above_that_of_ucb(mean: float, count: int, budget: float) -> None:
    assert kl_ucb_index(mean, count, budget) <= ucb_index(mean, count, budget) + 1e-12


# AAE.


@pytest.fixture
def unit_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make log(1/delta) one, so that a budget is alpha."""
    monkeypatch.setattr("cobandit.policies.confident.log_inverse_delta", lambda *_: 1.0)


def aae(*arms: Arm, alpha: float = 2.0, confidence: Confidence = "observed") -> AAE:
    return AAE(arms, alpha=alpha, confidence=confidence, quantum=BERNOULLI)


def test_aae_pulls_the_candidate_with_the_fewest_observations() -> None:
    policy = taught(aae("A", "B", "C"), ("A", 5, 2), ("B", 3, 1), ("C", 4, 2))
    assert policy.select_arm() == "B"
    policy.eliminate("B")
    assert policy.select_arm() == "C"


def test_the_lowest_position_wins_a_tie_of_aae() -> None:
    assert aae("B", "A").select_arm() == "B"
    assert taught(aae("C", "A", "B"), ("A", 3, 2), ("B", 3, 2), ("C", 4, 2)).select_arm() == "A"


@pytest.mark.usefixtures("unit_delta")
def test_an_arm_goes_only_when_its_interval_is_strictly_below() -> None:
    """With n observations the width is sqrt(2 / 2n): for n = 4 the intervals of 0 and 1 touch at 0.5."""
    touching = aae("A", "B")
    taught(touching, ("A", 4, 0), ("B", 4, 4))
    assert touching.survivors() == ("A", "B")
    apart = aae("A", "B")
    taught(apart, ("A", 5, 0), ("B", 4, 4))
    assert apart.survivors() == ("B",)


@pytest.mark.usefixtures("unit_delta")
def test_an_arm_without_observations_stays() -> None:
    policy = aae("A", "B", "C")
    taught(policy, ("A", 100, 0), ("B", 100, 100))
    assert policy.survivors() == ("B", "C")


@pytest.mark.usefixtures("unit_delta")
def test_what_the_decision_ruled_out_is_gone_with_the_update() -> None:
    policy = aae("A", "B")
    taught(policy, ("A", 100, 0), ("B", 100, 100))
    assert (policy.select_arm(), policy.candidates) == ("B", ("A", "B"))
    policy.update("B", 0.0)
    assert policy.candidates == ("B",)


@pytest.mark.usefixtures("unit_delta")
def test_what_only_the_reward_itself_would_rule_out_stays_until_the_next_decision() -> None:
    policy = aae("A", "B")
    taught(policy, ("A", 4, 0), ("B", 4, 4))
    policy.update("A", 0.0)
    assert policy.candidates == ("A", "B")
    assert policy.survivors() == ("B",)


@pytest.mark.usefixtures("unit_delta")
def test_an_arm_is_held_against_eliminated_arms_too() -> None:
    policy = aae("A", "B", "C")
    taught(policy, ("A", 100, 40), ("B", 100, 60), ("C", 100, 100))
    policy.eliminate("C")
    assert policy.survivors() == ("B",)
    alone = aae("A", "B")
    taught(alone, ("A", 100, 40), ("B", 100, 60))
    assert alone.survivors() == ("A", "B")


@pytest.mark.usefixtures("unit_delta")
def test_the_last_candidate_stays_whatever_is_better() -> None:
    policy = aae("A", "B", "C")
    taught(policy, ("A", 100, 0), ("B", 100, 0), ("C", 100, 100))
    policy.eliminate("C")
    assert policy.survivors() == ("B",)
    policy.update("B", 0.0)
    assert (policy.candidates, policy.select_arm()) == (("B",), "B")


def test_an_agent_that_has_not_pulled_twice_rules_nothing_out_by_its_own_count() -> None:
    """With delta = 1/n_j its intervals have no width, and everything but the best would go."""
    policy = aae("A", "B", confidence="own")
    policy.learn([some("A", 1000, 499), some("B", 1000, 500)])
    assert policy.survivors() == ("A", "B")
    policy.update("A", 0.0)
    assert policy.survivors() == ("A", "B")
    policy.update("A", 0.0)
    assert (policy.own_pulls, policy.candidates) == (2, ("A", "B"))


def test_an_agent_that_pulled_twice_rules_out_by_its_own_count() -> None:
    """alpha log 2 = 1.39 gives widths of 0.026: 0.4 goes beside 0.5, and 0.46 stays."""
    worse = aae("A", "B", confidence="own")
    taught(worse, ("A", 1000, 400), ("B", 1000, 500), own=2)
    assert worse.survivors() == ("B",)
    close = aae("A", "B", confidence="own")
    taught(close, ("A", 1000, 460), ("B", 1000, 500), own=2)
    assert close.survivors() == ("A", "B")


def test_with_a_horizon_aae_is_twice_as_careful_as_ucb() -> None:
    """delta = 1/N^2 (Theorem 1b): alpha 2 log N^2 = 9.2 gives widths of 0.21 at 100 observations, not 0.15."""
    policy = aae("A", "B", alpha=1.0, confidence=Horizon(100))
    taught(policy, ("A", 100, 30), ("B", 100, 70))
    assert policy.survivors() == ("A", "B")
    better = aae("A", "B", alpha=1.0, confidence=Horizon(100))
    taught(better, ("A", 100, 28), ("B", 100, 72))
    assert better.survivors() == ("B",)


def test_aae_finds_the_best_of_three_arms() -> None:
    policy = aae("A", "B", "C", alpha=3.0)
    means = {"A": 0.2, "B": 0.8, "C": 0.3}
    for pull in range(2000):
        arm = policy.select_arm()
        policy.update(arm, 1.0 if uniform(stream(3), pull) < means[arm] else 0.0)
    assert policy.candidates == ("B",)


# Thompson sampling.


def thompson_pulls(policy: Policy, means: dict[Arm, float], pulls: int) -> list[Arm]:
    chosen = []
    for pull in range(pulls):
        arm = policy.select_arm()
        policy.update(arm, 1.0 if uniform(stream(4, ord(arm)), pull) < means[arm] else 0.0)
        chosen.append(arm)
    return chosen


@pytest.mark.parametrize("better", ["A", "B"])
def test_thompson_sampling_pulls_the_better_arm(better: Arm) -> None:
    """1,000 pulls of means 0.2 and 0.8, one seed; at least 90 percent of the last 500 go to the better arm."""
    means = {arm: 0.8 if arm == better else 0.2 for arm in "AB"}
    chosen = thompson_pulls(Thompson(["A", "B"], seed=5, quantum=BERNOULLI), means, 1000)
    assert chosen[500:].count(better) >= 450


@pytest.mark.parametrize(("rewards", "count"), [(0, 0), (3, 4), (1, 30), (2.5, 3)])
def test_the_draws_of_thompson_sampling_have_the_mean_of_the_posterior(rewards: float, count: int) -> None:
    """10,000 draws from Beta(1 + rewards, 1 + count - rewards); their mean within 5 standard errors."""
    draws = [thompson_index(rewards, count, stream(8, n)) for n in range(10_000)]
    mean = (1 + rewards) / (2 + count)
    deviation = math.sqrt(mean * (1 - mean) / (3 + count))
    assert abs(math.fsum(draws) / len(draws) - mean) < 5 * deviation / math.sqrt(len(draws))


def test_thompson_sampling_pulls_the_highest_draw() -> None:
    """Half a reward counts by its size: 5 of 10 in quanta of 0.5 are 10 half rewards."""
    for seed in range(50):
        policy = taught(Thompson(["A", "B"], seed=seed, quantum=0.5), ("A", 10, 10), ("B", 4, 5), own=3)
        draws = [thompson_index(5.0, 10, stream(seed, 3, 0)), thompson_index(2.5, 4, stream(seed, 3, 1))]
        assert policy.select_arm() == "AB"[draws.index(max(draws))]


def test_thompson_sampling_explores_at_first() -> None:
    chosen = thompson_pulls(Thompson(["A", "B"], seed=5, quantum=BERNOULLI), {"A": 0.5, "B": 0.5}, 100)
    assert min(chosen.count(arm) for arm in "AB") > 20


def test_the_draws_of_thompson_sampling_depend_on_the_seed() -> None:
    means = {"A": 0.5, "B": 0.5}
    runs = {tuple(thompson_pulls(Thompson(["A", "B"], seed=seed), means, 30)) for seed in range(20)}
    assert len(runs) > 15


def test_the_draws_of_thompson_sampling_are_new_at_every_pull() -> None:
    """The tallies stay the same: only the number of own pulls moves on. 400 draws; neither arm below 150."""
    chosen = []
    for pull in range(400):
        policy = Thompson(["A", "B"], seed=9, quantum=BERNOULLI)
        chosen.append(taught(policy, ("A", 10, 5), ("B", 10, 5), own=pull).select_arm())
    assert min(chosen.count(arm) for arm in "AB") > 150


def test_an_elimination_does_not_disturb_the_draws_of_the_other_arms() -> None:
    """Draws go by an arm's position among all arms: without A, the choice is the better draw of the rest."""
    for seed in range(50):
        whole = taught(Thompson(["A", "B", "C"], seed=seed), ("A", 1, 0), ("B", 4, 2), ("C", 4, 2))
        before = whole.select_arm()
        whole.eliminate("A")
        assert before in ("A", whole.select_arm())


# Eliminations that others made.


@pytest.mark.parametrize("build", [*INDEX_POLICIES.values(), lambda arms: Thompson(arms, seed=1), AAE])
def test_eliminating_an_arm_twice_is_eliminating_it_once(build: Callable[[Sequence[Arm]], Policy]) -> None:
    policy = build(["A", "B", "C"])
    policy.eliminate("B")
    policy.eliminate("B")
    assert policy.candidates == ("A", "C")


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.floats(0.0, 1.0)), min_size=1, max_size=20),
    st.sampled_from(CONFIDENCES),
)
def test_the_loop_that_is_written_out_chooses_what_the_indices_say(
    arms: list[tuple[int, float]], confidence: Confidence
) -> None:
    policy = UCB([str(position) for position in range(len(arms))], confidence=confidence)
    tallies = [some(str(i), count, int(share * count * 10**6)) for i, (count, share) in enumerate(arms) if count]
    policy.learn(tallies, own=True)
    assert policy.select_arm() == IndexPolicy.select_arm(policy)


def test_a_subclass_of_ucb_is_chosen_by_its_own_index() -> None:
    class Pessimist(UCB):
        def index(self, mean: float, count: int, budget: float) -> float:
            return mean - confidence_width(count, budget)

    policy = Pessimist(["A", "B"])
    policy.learn([some("A", 2, 2 * 10**6), some("B", 1000, 900 * 10**6)], own=True)
    assert policy.select_arm() == "B"
    assert UCB.select_arm(policy) == "A"


def test_an_index_of_your_own_that_is_not_a_number_is_refused() -> None:
    policy = FromIndex(["A", "B"], index=lambda mean, count, budget: (mean + count + budget) * math.nan)
    policy.learn([ArmTally("A", 1, 0, 0), ArmTally("B", 1, 0, 0)])
    with pytest.raises(LocalError, match="is not a number"):
        policy.select_arm()
