"""The bounds hold in runs of the compiled engine, and they are bounds that a run could break: see the last asserts."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobandit.core import Constant, FromFunction, Geometric, PerCandidate, RetryTimers, Threshold, immediate, on_demand
from cobandit.policies import Horizon
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Faults, Kind, OnOff, Rate, Row, Scenario, Sine, Slots
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
    counts = ucb_share_counts(result.decisions, world.exchange.threshold)
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


def test_repetitions_may_add_to_what_fills_a_buffer_only_what_repetitions_of_the_peer_ask_for() -> None:
    """A hundred worlds that lose messages. Fresh shares keep Theorem 2; with repetitions C_j alone is no bound.

    Each share or repetition that goes out by itself takes a full buffer and moves c on. A repetition that answers one
    of the peer's does not, and there is at most one for each copy that arrives: two copies of a message at most.
    """
    above = 0
    for seed in range(100):
        size, loss, copies = (1, 3)[seed % 2], (0.1, 0.3, 0.6)[seed % 3], (0.0, 0.3)[seed % 2]
        agents = tuple(AgentSpec(Rate(rate)) for rate in (0.9, 0.4, 0.1))
        sharing = on_demand(Constant(size), loss_tolerant=RetryTimers(first=8.0))
        faults = Faults(loss=loss, duplication=copies)
        result = run(Scenario(800, Arms.of(MEANS), agents, BuiltIn("ucb"), sharing, faults=faults), seed=seed)
        counts = ucb_share_counts(result.decisions, Constant(size))
        assert pairs_above(result, share_bounds(counts)) == [], seed
        sent, again = result.communication.shares, result.communication.retries
        for one, other in permutations(range(3), 2):
            above += bool(sent[one, other] + again[one, other] > counts[one])
            assert sent[one, other] + again[one, other] <= counts[one] + 2 * again[other, one], seed
    assert above > 0


def test_literal_algorithm_5_sends_more_because_pairs_do_not_hear_that_they_are_done() -> None:
    """Six agents, each with three neighbouring arms of six. Immediate broadcast, so that every pull counts."""
    sets = [tuple(str((first + step) % 6) for step in range(3)) for first in range(6)]
    agents = tuple(AgentSpec(Rate(0.5), arms=arms) for arms in sets)
    means = Arms.of([0.1, 0.25, 0.4, 0.55, 0.7, 0.85])
    shares, regrets = [], []
    for literal in (False, True):
        sharing = immediate(literal_notices=literal)
        world = Scenario(4_000, means, agents, BuiltIn("aae", alpha=1.0), sharing)
        results = [run(world, seed=1, trial=trial) for trial in range(TRIALS)]
        shares.append(sum(result.shares for result in results) / TRIALS)
        regrets.append(sum(result.group_regret for result in results) / TRIALS)
    assert shares[1] > 1.5 * shares[0], shares
    assert regrets[1] == pytest.approx(regrets[0], rel=0.1)
