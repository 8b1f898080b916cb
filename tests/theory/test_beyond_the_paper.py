"""Bounds beyond the paper hold in runs, and so does Lemma 1: relays, trees and epochs, in small worlds from seeds."""

import math
import random
from collections.abc import Sequence

import pytest

from cobandit import UCB, Constant, Geometric, Horizon, LocalError
from cobandit.core import Threshold, on_demand
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Rate, Scenario
from cobandit.simulator import run
from cobandit.studies.trees import Tree, TreeRun
from cobandit.theory import (
    Epoch,
    best_epoch_length,
    check_relay_liveness,
    epoch_regret_bound,
    epoch_share_bound,
    gaps_of,
    relay_extra_pulls,
    relay_share_bound,
    relay_share_bounds,
    right_decision_probability,
    share_bounds,
    tree_share_bound,
    ucb_observations,
    ucb_share_counts,
    wrong_decisions_bound,
)
from cobandit.values.tally import Arm

WORLDS = 200
MEANS = (0.2, 0.6, 0.8)


def often(threshold: Threshold, observations: int) -> int:
    """How often a buffer can be filled, counted one by one: a second opinion on the formulas."""
    shares = 0
    while (needed := threshold.at(shares + 1, 1)) <= observations:
        observations -= needed
        shares += 1
    return shares


def thresholds(luck: random.Random) -> tuple[Threshold, Threshold]:
    """Two thresholds, up and down, of which the second is nowhere above the first."""
    ups: list[Threshold] = [Constant(1), Constant(3), Geometric(2), Geometric(2, cap=8)]
    up = luck.choice(ups)
    return up, luck.choice([Constant(1), up])


def star(seed: int, *, delay: int = 0) -> TreeRun:
    luck = random.Random(seed)
    up, down = thresholds(luck)
    rates = [luck.choice([0.05, 0.3, 0.9]) for _ in range(luck.randint(2, 7))]
    return TreeRun(Tree.star(rates), MEANS, 120, up, down, seed, delay=delay)


def test_no_leaf_and_no_relay_sends_more_than_the_bound() -> None:
    for seed in range(WORLDS):
        one = star(seed, delay=(0, 0, 4)[seed % 3]).run()
        bounds = relay_share_bounds(one.decisions, one.up, one.down)
        relay, total = len(one.decisions), sum(one.decisions)
        for leaf, (up, down) in enumerate(bounds):
            filled = often(one.up, one.decisions[leaf]), often(one.down, total - one.decisions[leaf])
            assert (up, down) == (min(filled[0], filled[1] + 1), min(filled[0] + 1, filled[1])), seed
            sent = one.exchanges[leaf, relay].shares_sent, one.exchanges[relay, leaf].shares_sent
            assert (sent[0] <= up, sent[1] <= down) == (True, True), seed
        assert one.shares <= relay_share_bound(one.decisions, one.up, one.down), seed


def test_the_bound_of_a_relay_is_nearly_reached() -> None:
    one = TreeRun(Tree.star([1.0] * 4), MEANS, 100, Constant(1), Constant(1), seed=1).run()
    bound = relay_share_bound(one.decisions, Constant(1), Constant(1))
    assert bound - 4 <= one.shares <= bound == 2 * 400 + 4


def random_tree(luck: random.Random) -> Tree:
    """Leaves below two or three relays, which are below one more."""
    leaves, relays = luck.randint(3, 6), luck.randint(2, 3)
    homes = [leaves + leaf % relays for leaf in range(leaves)]
    return Tree(tuple(luck.choice([0.1, 0.5, 0.9]) for _ in range(leaves)), (*homes, *[leaves + relays] * relays))


def test_no_edge_of_a_tree_carries_more_than_the_bound() -> None:
    for seed in range(WORLDS):
        luck = random.Random(seed)
        up, down = thresholds(luck)
        tree = random_tree(luck)
        one = TreeRun(tree, MEANS, 80, up, down, seed, delay=(0, 0, 3)[seed % 3]).run()
        below, total = tree.below(one.decisions), sum(one.decisions)
        most = [2 * min(often(up, count), often(down, total - count)) + 1 for count in below]
        assert tree_share_bound(below, total, up, down) == sum(most), seed
        for node, parent in enumerate(tree.parents):
            sent = one.exchanges[node, parent].shares_sent + one.exchanges[parent, node].shares_sent
            assert sent <= most[node], seed


def test_what_a_leaf_knows_is_what_others_pulled_and_nothing_twice() -> None:
    for seed in range(20):
        one = TreeRun(random_tree(random.Random(seed)), MEANS, 60, Constant(1), Constant(1), seed).run()
        pulled = [sum(row[arm] for row in one.pulls) for arm in range(len(MEANS))]
        for leaf, policy in enumerate(one.policies):
            assert policy.own_pulls == one.decisions[leaf]
            known = [policy.tally.counts[str(arm)] for arm in range(len(MEANS))]
            assert all(mine <= of_all for mine, of_all in zip(known, pulled, strict=True))
        assert max(policy.tally.observations for policy in one.policies) >= sum(pulled) - len(one.decisions) * 2


def test_at_most_one_leaf_waits_where_that_is_proved_and_never_all_of_them() -> None:
    proved = 0
    for seed in range(WORLDS):
        one, waiting = star(seed), [0]

        def look(run: TreeRun, waiting: list[int] = waiting) -> None:
            waiting.append(run.waiting())

        one.watch = look
        one.run()
        assert max(waiting) < len(one.decisions), seed  # if all wait, they do so for ever
        if check_relay_liveness(one.up, one.down):
            proved += 1
            assert max(waiting) <= 1, seed
    assert proved > WORLDS / 3


def test_a_relay_that_needs_more_than_its_leaves_send_falls_silent_and_is_refused() -> None:
    one = TreeRun(Tree.star([0.5] * 5), MEANS, 400, Constant(1), Constant(8), seed=1).run()
    assert (one.shares, one.waiting()) == (5, 5)
    for up, down in ((Constant(1), Constant(8)), (Geometric(2), Geometric(3)), (Geometric(2), Constant(8))):
        with pytest.raises(LocalError, match="all could wait for ever"):
            check_relay_liveness(up, down)
    assert check_relay_liveness(Constant(8), Constant(8))
    assert not check_relay_liveness(Geometric(2), Geometric(2))


@pytest.mark.parametrize(
    ("up", "down"), [(Constant(1), Constant(1)), (Constant(8), Constant(8)), (Constant(8), Constant(1))]
)
@pytest.mark.parametrize("delay", [0, 5])
def test_regret_with_a_relay_is_below_the_bound(up: Constant, down: Constant, delay: int) -> None:
    """The mean over five trials. The bound is Theorem 1(a) with the extra pulls of a relay."""
    agents, regret, bound = 4, 0.0, 0.0
    for seed in range(5):
        one = TreeRun(Tree.star([0.9, 0.5, 0.3, 0.1]), MEANS, 1500, up, down, seed, delay=delay).run()
        regret += one.group_regret / 5
        total = sum(one.decisions)
        bound += 3.0 * len(MEANS) * agents / 5
        for gap in gaps_of(MEANS):
            if gap > 0.0:
                extra = relay_extra_pulls(
                    gap,
                    [up.size] * (agents - 1),
                    max(up.size, down.size),
                    alpha=3.0,
                    total_decisions=total,
                    delay=delay,
                )
                bound += gap * (ucb_observations(gap, alpha=3.0, total_decisions=total) + agents * extra) / 5
    assert 0.0 < regret < bound


def epochs_of(seed: int, threshold: Threshold) -> tuple[list[Epoch], list[int], float]:
    """A world that is cut into epochs, each of which begins anew; in every other one the arms have changed places."""
    luck = random.Random(seed)
    rates = [luck.choice([0.1, 0.5, 0.9]) for _ in range(luck.randint(2, 4))]
    agents = tuple(AgentSpec(Rate(rate)) for rate in rates)
    epochs, shares, regret = [], [], 0.0
    for number in range(3):
        means = MEANS if number % 2 == 0 else tuple(reversed(MEANS))
        world = Scenario(60, Arms.of(means), agents, BuiltIn("ucb"), on_demand(threshold))
        result = run(world, seed=seed, trial=number)
        for sender, row in enumerate(share_bounds(ucb_share_counts(result.decisions, threshold))):
            for receiver, most in enumerate(row):
                assert result.communication.shares[sender, receiver] <= most
        epochs.append(Epoch(tuple(result.decisions), tuple(gaps_of(means))))
        shares.append(result.shares)
        regret += result.group_regret
    return epochs, shares, regret


def test_no_pair_sends_more_in_an_epoch_than_the_bound() -> None:
    for seed in range(WORLDS // 3):
        threshold = (Constant(1), Constant(4), Geometric(2))[seed % 3]
        epochs, shares, regret = epochs_of(seed, threshold)
        recount = sum(
            min(often(threshold, one), often(threshold, other)) + 1
            for epoch in epochs
            for here, one in enumerate(epoch.decisions)
            for there, other in enumerate(epoch.decisions)
            if here != there
        )
        assert epoch_share_bound(epochs, threshold) == recount >= sum(shares), seed
        if isinstance(threshold, Constant):
            assert regret < epoch_regret_bound(epochs, alpha=3.0, thresholds=threshold.size), seed


def test_an_epoch_with_a_change_costs_at_most_the_largest_gap_for_each_pull() -> None:
    changed = Epoch((10, 20), (0.25, 0.5), changes=True)
    assert epoch_regret_bound([changed, changed], alpha=3.0) == 2 * 30 * 0.5


def test_the_best_epoch_is_where_both_terms_weigh_the_same() -> None:
    length = best_epoch_length(80_000, 3, decisions_per_slot=1.85, regret_per_epoch=250.0)
    assert 80_000 / length * 250.0 == pytest.approx(3 * length * 1.85)
    with pytest.raises(LocalError, match="without a change"):
        best_epoch_length(80_000, 0, decisions_per_slot=1.85, regret_per_epoch=250.0)
    with pytest.raises(LocalError, match="how often the arms change must be a whole number of at least 0, not nan"):
        best_epoch_length(80_000, math.nan, decisions_per_slot=1.85, regret_per_epoch=250.0)  # type: ignore[arg-type]


class Judged(UCB):
    """UCB that counts the decisions at which one of its intervals is wrong."""

    wrong = 0

    def select_arm(self) -> Arm:
        for arm, mean in zip(self.arms, MEANS, strict=True):
            seen = self.tally.counts[arm]
            if seen and abs(self.mean(arm) - mean) > math.sqrt(self.budget() / (2 * seen)):
                Judged.wrong += 1
                break
        return super().select_arm()


def test_lemma_1_wrong_intervals_are_rarer_than_it_allows() -> None:
    """Two hundred worlds, with alpha = 3 and N known, so that delta = 1/N."""
    total, bound = 0, 0.0
    Judged.wrong = 0
    for seed in range(WORLDS):
        agents = tuple(AgentSpec(Rate(rate)) for rate in (0.9, 0.3))
        world = Scenario(40, Arms.of(MEANS), agents, BuiltIn("ucb"), on_demand())
        known = sum(run(world, seed=seed).decisions)

        def policy(arms: Sequence[Arm], _: int, known: int = known) -> UCB:
            return Judged(arms, alpha=3.0, confidence=Horizon(known), quantum=1.0)

        total += sum(run(Scenario(40, Arms.of(MEANS), agents, policy, on_demand()), seed=seed).decisions)
        bound += wrong_decisions_bound(len(MEANS), agent_count=2, alpha=3.0, total_decisions=known)
        least = right_decision_probability(len(MEANS), known, delta=1.0 / known, alpha=3.0)
        assert least == pytest.approx(1.0 - 6.0 / known**2)
    assert Judged.wrong < bound
    assert Judged.wrong / total < 0.01


def test_q_ii_is_below_2km_and_wants_alpha_above_two() -> None:
    for total in (2, 100, 10**6):
        assert wrong_decisions_bound(4, agent_count=5, alpha=3.0, total_decisions=total) <= 2 * 4 * 5
    with pytest.raises(LocalError, match="alpha must be above 2"):
        wrong_decisions_bound(4, agent_count=5, alpha=2.0, total_decisions=100)
    with pytest.raises(LocalError, match="delta must be at most 1"):
        right_decision_probability(4, 10, delta=1.5, alpha=3.0)
