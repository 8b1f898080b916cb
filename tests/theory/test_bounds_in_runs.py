"""The bounds hold in runs of the compiled engine, and they are bounds that a run could break: see the last asserts."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobandit.core import Constant, FromFunction, Geometric, PerCandidate, Threshold, immediate, on_demand
from cobandit.policies import Horizon
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Kind, OnOff, Rate, Row, Scenario, Sine, Slots
from cobandit.simulator.kernel import run
from cobandit.simulator.result import Result
from cobandit.theory import (
    aae_regret_bound,
    aae_share_counts,
    gaps_of,
    immediate_share_count,
    local_aae_regret_bound,
    local_aae_share_counts,
    local_ucb_regret_bound,
    share_bounds,
    synchronous_regret_bound,
    total_share_bound,
    ucb_observations,
    ucb_regret_bound,
    ucb_share_counts,
    unsettled_share_bounds,
)

ALPHA = 3.0
MEANS = (0.9, 0.5, 0.2)
RATES = (1.0, 0.5, 0.1, 0.02)
TRIALS = 5

schedules = st.one_of(
    st.builds(Rate, st.sampled_from([0.02, 0.3, 1.0])),
    st.builds(OnOff, st.just(0.8), st.just(0.1)),
    st.builds(Sine, st.floats(0.0, 6.0)),
    st.builds(lambda slots: Slots(tuple(sorted(slots))), st.sets(st.integers(0, 299), max_size=60)),
)
thresholds: st.SearchStrategy[Threshold] = st.sampled_from(
    [Constant(1), Constant(4), Geometric(2), Geometric(3, cap=9), PerCandidate(), FromFunction(lambda c: c)]
)
arm_sets = st.sampled_from([None, None, ("0", "1"), ("1", "2"), ("2",)])
worlds = st.builds(
    Scenario,
    horizon=st.just(300),
    arms=st.just(Arms.of(MEANS)),
    agents=st.lists(st.builds(AgentSpec, schedules, arms=arm_sets), min_size=2, max_size=5).map(tuple),
    policy=st.sampled_from([BuiltIn("ucb"), BuiltIn("aae", alpha=0.2), BuiltIn("thompson")]),
    sharing=thresholds.map(on_demand),
    delay=st.sampled_from([0, 0, 1, 7]),
)


def positions(world: Scenario) -> list[list[int]]:
    return [[world.arms.names.index(arm) for arm in world.arms_of(agent)] for agent in range(len(world.agents))]


def pairs_above(result: Result, bounds: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    shares = result.communication.shares.tolist()
    pairs = product(range(len(shares)), repeat=2)
    return [(sender, receiver) for sender, receiver in pairs if shares[sender][receiver] > bounds[sender][receiver]]


def with_known_horizon(world: Scenario, name: str, seed: int, trial: int = 0) -> tuple[Scenario, int]:
    """Decisions fall in the same slots whatever is chosen, so a first run tells N."""
    total = sum(run(world, seed=seed, trial=trial).decisions)
    return replace(world, policy=BuiltIn(name, alpha=ALPHA, confidence=Horizon(total))), total


def world_of(
    horizon: int,
    *,
    means: Sequence[float] = MEANS,
    rates: Sequence[float] = RATES,
    threshold: Threshold | None = None,
    arms: Sequence[tuple[str, ...]] | None = None,
    delay: int = 0,
) -> Scenario:
    own: Sequence[tuple[str, ...] | None] = arms or [None] * len(rates)
    agents = tuple(AgentSpec(Rate(rate), arms=names) for rate, names in zip(rates, own, strict=True))
    return Scenario(horizon, Arms.of(means), agents, sharing=on_demand(threshold), delay=delay)


@settings(max_examples=100)
@given(world=worlds, seed=st.integers(0, 2**32))
def test_no_pair_sends_more_than_theorem_2a_allows_whatever_the_policy(world: Scenario, seed: int) -> None:
    result = run(world, seed=seed)
    counts = ucb_share_counts(result.decisions, world.sharing.threshold)
    assert pairs_above(result, share_bounds(counts, positions(world))) == []
    assert result.shares <= total_share_bound(counts, positions(world))


def test_ucb_reaches_the_bound_of_theorem_2a_or_one_less_for_a_slow_agent() -> None:
    result = run(world_of(2000, rates=(1.0, 0.05)), seed=1)
    bounds = share_bounds(ucb_share_counts(result.decisions, Constant(1)))
    shares = result.communication.shares.tolist()
    assert [bounds[0][1] - shares[0][1], bounds[1][0] - shares[1][0]] in ([0, 1], [1, 1])


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("threshold", [Constant(1), Constant(8), Geometric(2), PerCandidate()])
def test_no_pair_sends_more_than_theorem_2b_allows(threshold: Threshold, delay: int) -> None:
    for trial in range(TRIALS):
        world, total = with_known_horizon(
            world_of(6000, means=(0.95, 0.15), rates=(1.0, 1.0, 0.3), threshold=threshold, delay=delay),
            "aae", seed=1, trial=trial,
        )  # fmt: skip
        result = run(world, seed=1, trial=trial)
        assert sum(result.decisions) == total
        counts = aae_share_counts(result.decisions, threshold, gaps_of(world.arms.means), alpha=ALPHA)
        assert pairs_above(result, share_bounds(counts)) == []
        assert counts[0] < ucb_share_counts(result.decisions, threshold)[0]


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("threshold", [Constant(1), Geometric(2)])
def test_agents_with_arms_of_their_own_talk_until_both_are_done(threshold: Threshold, delay: int) -> None:
    """Appendix H.3 says min{C_j, C_j'} + 1, and is wrong: the agent that is done goes on."""
    world, total = with_known_horizon(
        world_of(
            40_000, means=(0.95, 0.05, 0.85), rates=(0.2, 1.0), arms=[("0", "1"), ("0", "2")],
            threshold=threshold, delay=delay,
        ),
        "aae", seed=1,
    )  # fmt: skip
    result = run(world, seed=1)
    counts = local_aae_share_counts(result.decisions, threshold, world.arms.means, positions(world), alpha=ALPHA)
    decided = ucb_share_counts(result.decisions, threshold)
    assert sum(result.decisions) == total
    assert pairs_above(result, unsettled_share_bounds(decided, counts, positions(world))) == []
    if threshold == Constant(1):
        assert pairs_above(result, share_bounds(counts, positions(world))) == [(0, 1), (1, 0)]


def test_immediate_broadcast_sends_what_remark_5_says() -> None:
    world = replace(world_of(500), sharing=immediate())
    result = run(world, seed=1)
    assert result.shares == immediate_share_count(result.decisions)


@pytest.mark.parametrize("delay", [0, 20])
@pytest.mark.parametrize("size", [1, 10])
@pytest.mark.parametrize("name", ["ucb", "aae"])
def test_group_regret_is_below_theorem_1(name: str, size: int, delay: int) -> None:
    """The mean over five trials, on each of which N is known. Always pulling the worst arm would be above."""
    regret = bound = worst = 0.0
    for trial in range(TRIALS):
        world, total = with_known_horizon(
            world_of(20_000, threshold=Constant(size), delay=delay), name, seed=2, trial=trial
        )
        regret += run(world, seed=2, trial=trial).group_regret / TRIALS
        theorem = ucb_regret_bound if name == "ucb" else aae_regret_bound
        bound += (
            theorem(gaps_of(MEANS), agent_count=4, alpha=ALPHA, total_decisions=total, thresholds=size, delay=delay)
            / TRIALS
        )
        worst += total * max(gaps_of(MEANS)) / TRIALS
    assert 0.0 < regret < bound < worst


@pytest.mark.parametrize("delay", [0, 20])
@pytest.mark.parametrize("name", ["ucb", "aae"])
def test_group_regret_is_below_the_bound_when_agents_have_arms_of_their_own(name: str, delay: int) -> None:
    arms = [("0", "1", "2"), ("1", "2"), ("0", "2"), ("0", "1")]
    regret = bound = worst = 0.0
    for trial in range(TRIALS):
        world, total = with_known_horizon(world_of(40_000, arms=arms, delay=delay), name, seed=3, trial=trial)
        regret += run(world, seed=3, trial=trial).group_regret / TRIALS
        theorem = local_ucb_regret_bound if name == "ucb" else local_aae_regret_bound
        bound += theorem(MEANS, positions(world), alpha=ALPHA, total_decisions=total, delay=delay) / TRIALS
        worst += total * max(gaps_of(MEANS)) / TRIALS
    assert 0.0 < regret < bound < worst


def test_group_regret_with_doubling_thresholds_is_below_theorem_1a_with_the_thresholds_of_the_run() -> None:
    world, total = with_known_horizon(world_of(20_000, threshold=Geometric(2)), "ucb", seed=4)
    trace: list[Row] = []
    result = run(world, seed=4, trace=trace)
    thresholds = [
        thresholds_when_enough(trace, arm, gap, total, Geometric(2)) for arm, gap in enumerate(gaps_of(MEANS))
    ]
    bound = ucb_regret_bound(gaps_of(MEANS), agent_count=4, alpha=ALPHA, total_decisions=total, thresholds=thresholds)
    assert 0.0 < result.group_regret < bound < total * max(gaps_of(MEANS))


def test_group_regret_of_agents_in_step_is_below_the_bound_of_appendix_b_3() -> None:
    for trial in range(TRIALS):
        world, total = with_known_horizon(
            world_of(6_000, rates=(1.0, 1.0, 1.0), threshold=PerCandidate()), "aae", seed=5, trial=trial
        )
        regret = run(world, seed=5, trial=trial).group_regret
        bound = synchronous_regret_bound(gaps_of(MEANS), agent_count=3, alpha=ALPHA, total_decisions=total)
        assert 0.0 < regret < bound < total * max(gaps_of(MEANS))


def thresholds_when_enough(
    trace: Sequence[Row], arm: int, gap: float, total: int, threshold: Threshold
) -> list[list[int]]:
    """f(c^(j'->j)) by j and j' at the end of tau_i, the slot in which the group has seen enough of the arm."""
    enough = ucb_observations(gap, alpha=ALPHA, total_decisions=total)
    pulls = [row.slot for row in trace if row.kind == Kind.DECISION and row.other == arm]
    last = pulls[int(enough)] if len(pulls) > enough else trace[-1].slot
    shares = [(row.agent, row.other) for row in trace if row.kind == Kind.SHARE and row.slot <= last]
    return [
        [threshold.at(1 + shares.count((peer, agent)), len(MEANS)) for peer in range(len(RATES)) if peer != agent]
        for agent in range(len(RATES))
    ]
