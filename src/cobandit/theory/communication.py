"""Theorem 2: how many shares agents send at most, from how often each of them decides.

It goes in two steps. How often can agent j fill its buffer: C_j, by `ucb_share_counts` or `aae_share_counts`. Then one
of a pair can send the other no more than min{C_j, C_j'} + 1 shares, which `share_bounds` gives for every ordered pair
and `total_share_bound` for all of them. Rounds and arms stand as plain numbers; nothing here looks at a run.

A delay of messages changes none of these bounds: it never lets an agent send more often (Appendix G). Every return of
an agent that was away may add one share to each of its pairs; the paper leaves that out, and so does this file.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from cobandit.core.thresholds import LARGEST_THRESHOLD, Threshold, is_bounded
from cobandit.theory.gaps import (
    MOST_DECISIONS,
    aae_observations,
    check_arm_sets,
    check_gaps,
    check_total,
    local_gaps_of,
    log_total,
)
from cobandit.values.checks import check_positive, check_whole, plain_arguments
from cobandit.values.errors import LocalError


@plain_arguments
def ucb_share_counts(decisions: Sequence[int], threshold: Threshold, *, candidate_count: int = 1) -> list[int]:
    """Return C_j of UCB-ODC for every agent: the largest C with f(1) + ... + f(C) <= N_j (Theorem 2(a), Equation 8).

    Args:
        decisions: N_j of every agent.
        threshold: f, whose answers advance c as Algorithm 1 is printed.
        candidate_count: The fewest candidate arms that an agent has while it communicates, for an f that depends on it.
            With one, the bound is safe for every policy; for UCB it may be the smallest arm set of any agent.

    >>> from cobandit.core import Constant
    >>> ucb_share_counts([10, 3, 0], Constant(3))
    [3, 1, 0]

    Raises:
        LocalError: A number of decisions is negative, or answers do not advance c, which the theorem assumes.
    """
    return _share_counts(_checked_decisions(decisions), threshold, candidate_count)


@plain_arguments
def aae_share_counts(
    decisions: Sequence[int],
    threshold: Threshold,
    gaps: Sequence[float],
    *,
    alpha: float,
    total_decisions: int | None = None,
    candidate_count: int = 1,
) -> list[int]:
    """Return C_j of AAE-ODC for every agent (Theorem 2(b), Equation 9).

    Agents talk only until one candidate is left, so N_j is replaced by 2K + sum_i 16 alpha log(N) / max{Delta_i^2,
    Delta^2} when that is smaller. It bounds an expectation: a single run may exceed it, though that is very unlikely.
    With two best arms Delta is zero and agents may communicate forever.

    Args:
        decisions: N_j of every agent.
        threshold: f, whose answers advance c.
        gaps: Delta_i of every arm, zero for the best.
        alpha: How cautious the agents are; the theorem requires at least 3.
        total_decisions: The N in delta = 1/N^2; all decisions together by default.
        candidate_count: As for `ucb_share_counts`.

    >>> from cobandit.core import Constant
    >>> aae_share_counts([5000, 200], Constant(10), [0.0, 0.5], alpha=3.0, total_decisions=1000)  # 4 + 2 x 1326.29
    [265, 20]
    """
    decisions = _checked_decisions(decisions)
    check_gaps(gaps)
    total = _total(decisions, total_decisions)
    most = 2 * len(gaps) + _exploring(gaps, alpha, total)
    return _share_counts([min(count, _floor(most)) for count in decisions], threshold, candidate_count)


@plain_arguments
def local_aae_share_counts(
    decisions: Sequence[int],
    threshold: Threshold,
    means: Sequence[float],
    arm_sets: Sequence[Collection[int]],
    *,
    alpha: float,
    total_decisions: int | None = None,
    candidate_count: int = 1,
) -> list[int]:
    """Return C_j of AAE-ODC when agents have different arms: gaps are local, K is the world's (Appendix H.3).

    Do not pass these to `share_bounds`: see `unsettled_share_bounds`.

    >>> from cobandit.core import Constant
    >>> local_aae_share_counts(
    ...     [5000, 5000, 5000], Constant(10), [0.75, 0.5, 0.25], [(0, 2), (1, 2), (0,)], alpha=3.0, total_decisions=1000
    ... )  # 6 + 2 x 1326.29; 6 + 2 x 5305.15; 6
    [265, 500, 0]
    """
    decisions = _checked_decisions(decisions)
    local_gaps = local_gaps_of(means, arm_sets)
    if len(decisions) != len(arm_sets):
        raise LocalError(f"{len(decisions)} numbers of decisions but {len(arm_sets)} arm sets: give one of each")
    total = _total(decisions, total_decisions)
    most = [2 * len(means) + _exploring(list(gaps.values()), alpha, total) for gaps in local_gaps]
    budgets = [min(count, _floor(limit)) for count, limit in zip(decisions, most, strict=True)]
    return _share_counts(budgets, threshold, candidate_count)


@plain_arguments
def share_bounds(share_counts: Sequence[int], arm_sets: Sequence[Collection[int]] | None = None) -> list[list[int]]:
    """Return min{C_j, C_j'} + 1 by sender and receiver (Equation 7 and its proof in Appendix D).

    Args:
        share_counts: C_j of every agent.
        arm_sets: The arms of each agent, if they differ: a pair that shares no arm sends nothing (Appendix H.3).

    >>> share_bounds([10, 3, 0])
    [[0, 4, 1], [4, 0, 1], [1, 1, 0]]
    >>> share_bounds([10, 3, 0], arm_sets=[(0, 1), (1, 2), (2,)])
    [[0, 4, 0], [4, 0, 1], [0, 1, 0]]
    """
    _check_counts(share_counts, arm_sets)
    return _by_pair(arm_sets, [[min(one, other) + 1 for other in share_counts] for one in share_counts])


@plain_arguments
def total_share_bound(share_counts: Sequence[int], arm_sets: Sequence[Collection[int]] | None = None) -> int:
    """Return the sum of `share_bounds` over all ordered pairs: the bound on C (Equation 7).

    Each ordered pair adds one, as Remark 7 counts: a fast and a slow agent send at most 2 N_slow + 2.

    >>> from cobandit.core import Constant
    >>> total_share_bound(ucb_share_counts([1000, 3], Constant(1)))
    8
    """
    if arm_sets is not None:
        return sum(map(sum, share_bounds(share_counts, arm_sets)))
    _check_counts(share_counts, None)
    return _sum_of_minima(share_counts) + len(share_counts) * (len(share_counts) - 1)


@plain_arguments
def unsettled_share_bounds(
    ucb_counts: Sequence[int], aae_counts: Sequence[int], arm_sets: Sequence[Collection[int]]
) -> list[list[int]]:
    """Return the most shares by sender and receiver, for AAE-ODC when agents have different arms.

    Appendix H.3 prints min{C_j, C_j'} + 1, with the C_j of `local_aae_share_counts`. But two agents stop only when
    both have one candidate left (Appendix H.2), so an agent that is done keeps sending to one that is not. While an
    agent is not done it fills its buffer at most C_j times, the agent that finishes last bounds the pair, and no agent
    sends more than it could as UCB. This gives min{max{C_j, C_j'}, U_j, U_j'} + 1, with the U_j of `ucb_share_counts`.

    >>> unsettled_share_bounds(ucb_counts=[500, 400], aae_counts=[2, 265], arm_sets=[(0,), (0, 1)])
    [[0, 266], [266, 0]]
    """
    _check_counts(ucb_counts, arm_sets)
    _check_counts(aae_counts, arm_sets)
    return _by_pair(
        arm_sets,
        [
            [
                min(max(explores, other_explores), decides, other_decides) + 1
                for other_explores, other_decides in zip(aae_counts, ucb_counts, strict=True)
            ]
            for explores, decides in zip(aae_counts, ucb_counts, strict=True)
        ],
    )


@plain_arguments
def immediate_share_count(decisions: Sequence[int]) -> int:
    """Return how many shares immediate broadcast sends: every decision, to every other agent (Remark 5).

    If all agents have the same arms, this is the exact count, not a bound.

    >>> immediate_share_count([1000, 3])
    1003
    """
    return (len(decisions) - 1) * sum(_checked_decisions(decisions))


@plain_arguments
def constant_order(
    decisions: Sequence[int],
    size: int,
    *,
    gaps: Sequence[float] | None = None,
    total_decisions: int | None = None,
) -> int:
    """Return the term inside the O of Corollary 1, f(c) = a, summed over the ordered pairs of different agents.

    Without gaps this is part (a), UCB-ODC: min{floor(N_j / a), floor(N_j' / a)}. With gaps it is part (b), AAE-ODC,
    where the minimum also includes floor(K log(N) / (a Delta^2)). An order, not a bound: constants are left out.

    >>> constant_order([1000, 30], size=4)  # 2 x 7
    14
    >>> constant_order([1000, 300], size=4, gaps=[0.0, 0.5], total_decisions=1000)  # 2 x floor(2 x 6.908 / (4 x 0.25))
    26
    """
    check_whole("a constant threshold", size, 1, LARGEST_THRESHOLD)
    decisions = _checked_decisions(decisions)
    most = math.inf if gaps is None else _exploration_order(gaps, _total(decisions, total_decisions)) / size
    return _sum_of_minima([min(count // size, _floor(most)) for count in decisions])


@plain_arguments
def geometric_order(
    decisions: Sequence[int],
    base: int,
    *,
    gaps: Sequence[float] | None = None,
    total_decisions: int | None = None,
) -> int:
    """Return the term inside the O of Corollary 2, f(c) = a^(c-1), summed over the ordered pairs of different agents.

    Without gaps this is part (a): min{floor(log_a N_j), floor(log_a N_j')}. With gaps it is part (b), where the minimum
    also includes floor(log_a(K log(N) / (a Delta^2))). Negative logarithms count as zero. An order, not a bound: C_j
    itself can be one more than floor(log_a N_j).

    >>> geometric_order([1000, 30], base=2)  # 2 x floor(4.9)
    8
    >>> geometric_order([1000, 30], base=2, gaps=[0.0, 0.5], total_decisions=1000)  # 2 x floor(log2(13.8 / (2 x 0.25)))
    8
    >>> geometric_order([1000, 30], base=2, gaps=[0.0, 0.75], total_decisions=1000)  # 2 x floor(log2(13.8 / 1.125))
    6
    """
    check_whole("the base of a geometric threshold", base, 2, LARGEST_THRESHOLD)
    decisions = _checked_decisions(decisions)
    most = math.inf if gaps is None else _exploration_order(gaps, _total(decisions, total_decisions)) / base
    return _sum_of_minima([_floor_log(min(count, _floor(most)), base) for count in decisions])


@plain_arguments
def doubling_table_order(
    decisions: Sequence[int], *, gaps: Sequence[float], total_decisions: int | None = None
) -> float:
    """Return the term inside the O of the third row of Table 1, as printed, over ordered pairs of different agents.

    It is log2(K min{log N, N_j, N_j'} / Delta^2), for AAE-ODC with doubling thresholds and agents in step. Negative
    logarithms count as zero. This differs from Corollary 2(b), which takes the minimum of logarithms: here the
    logarithm is of the minimum, so an agent with few decisions counts K / Delta^2 times as much.

    >>> order = doubling_table_order([1000, 30], gaps=[0.0, 0.5], total_decisions=1000)
    >>> round(order, 3)  # 2 x log2(2 x 6.908 / 0.25)
    11.576
    >>> doubling_table_order([1000, 2], gaps=[0.0, 0.5])  # 2 x log2(2 x 2 / 0.25)
    8.0
    """
    decisions = _checked_decisions(decisions)
    check_gaps(gaps)
    smallest = _smallest_gap(gaps) if len(gaps) > 1 else 0.0
    if smallest == 0.0:
        return math.inf if len(gaps) > 1 else 0.0  # with two best arms agents may talk for ever; with one arm, never
    log_n = log_total(_total(decisions, total_decisions))
    ordered = sorted(decisions, reverse=True)  # the place of a number is how many larger ones it meets
    order = 0.0
    for place, count in enumerate(ordered):
        inside = len(gaps) * min(log_n, count) / smallest / smallest
        order += 2 * place * max(0.0, math.log2(inside)) if inside > 0.0 else 0.0
    return order


class _Run(NamedTuple):
    """Shares in a row with the same threshold."""

    spent: int
    """Observations that all shares before the run took."""
    shares: int
    """Shares before the run."""
    size: int
    """f(c) in the run."""


def _share_counts(budgets: Sequence[int], threshold: Threshold, candidate_count: int) -> list[int]:
    """For each budget, return the largest C with f(1) + ... + f(C) <= budget.

    One walk serves all agents. It goes from one value of f to the next and finds where it ends by bisection. With V
    different values the sum is at least V^2 / 2, so the walk has at most sqrt(2 N) steps, and one for a constant.
    """
    check_whole("the number of candidates", candidate_count, 1)
    if not is_bounded(threshold):
        raise LocalError(
            "Theorem 2 counts with f(c) for every share: it needs a threshold whose answers advance c and wait for f(c)"
        )
    budget = max(budgets)
    runs: list[_Run] = []
    spent = shares = 0
    while True:
        size = threshold.at(shares + 1, candidate_count)
        runs.append(_Run(spent, shares, size))
        affordable = (budget - spent) // size
        if affordable == 0:
            break
        numbers = range(shares + 1, shares + 1 + affordable)
        length = bisect_right(numbers, size, key=lambda number: threshold.at(number, candidate_count))
        spent += length * size
        shares += length
    return [_count_within(runs, limit) for limit in budgets]


def _count_within(runs: Sequence[_Run], budget: int) -> int:
    run = runs[bisect_right(runs, budget, key=lambda run: run.spent) - 1]
    return run.shares + (budget - run.spent) // run.size


def _exploring(gaps: Sequence[float], alpha: float, total_decisions: int) -> float:
    """Return sum_i 16 alpha log(N) / max{Delta_i^2, Delta^2}: decisions until one of these arms is left."""
    check_positive("alpha", alpha)
    if len(gaps) == 1:
        return 0.0  # one candidate is left from the start, and there is no Delta
    smallest = _smallest_gap(gaps)
    return sum(aae_observations(max(gap, smallest), alpha=alpha, total_decisions=total_decisions) for gap in gaps)


def _exploration_order(gaps: Sequence[float], total_decisions: int) -> float:
    """Return K log(N) / Delta^2."""
    check_gaps(gaps)
    if len(gaps) == 1:
        return 0.0
    smallest = _smallest_gap(gaps)
    return math.inf if smallest == 0.0 else len(gaps) * log_total(total_decisions) / smallest / smallest


def _smallest_gap(gaps: Sequence[float]) -> float:
    """Return Delta, the gap of the second best arm, which is zero when two are best (Section 2)."""
    return sorted(gaps)[1]


def _by_pair(arm_sets: Sequence[Collection[int]] | None, bounds: list[list[int]]) -> list[list[int]]:
    """Take out the pairs that send nothing: an agent and itself, and agents that share no arm."""
    sets = None if arm_sets is None else [frozenset(arms) for arms in arm_sets]
    for one, row in enumerate(bounds):
        for other in range(len(row)):
            if one == other or (sets is not None and sets[one].isdisjoint(sets[other])):
                row[other] = 0
    return bounds


def _sum_of_minima(counts: Iterable[int]) -> int:
    """Return the sum of min{C_j, C_j'} over all ordered pairs: in order of size, each is least with all that follow."""
    ordered = sorted(counts)
    return 2 * sum(count * (len(ordered) - 1 - rank) for rank, count in enumerate(ordered))


def _floor(value: float) -> int:
    return MOST_DECISIONS if value >= MOST_DECISIONS else math.floor(value)


def _floor_log(value: int, base: int) -> int:
    """Return floor(log(value)) to a whole base, exactly; zero where the logarithm would be negative."""
    exponent = 0
    while value >= base:
        value //= base
        exponent += 1
    return exponent


def _total(decisions: Sequence[int], total_decisions: int | None) -> int:
    total = sum(decisions) if total_decisions is None else total_decisions
    check_total(total)
    return total


def _checked_decisions(decisions: Sequence[int]) -> list[int]:
    if not len(decisions):
        raise LocalError("there are no agents: give the number of decisions of at least one")
    for agent, count in enumerate(decisions):
        check_whole(f"the number of decisions of agent {agent}", count, 0, MOST_DECISIONS)
    return list(decisions)


def _check_counts(share_counts: Sequence[int], arm_sets: Sequence[Collection[int]] | None) -> None:
    if not len(share_counts):
        raise LocalError("there are no agents: give C_j of at least one")
    for agent, count in enumerate(share_counts):
        check_whole(f"C_j of agent {agent}", count, 0)
    if arm_sets is not None:
        check_arm_sets(arm_sets)
        if len(arm_sets) != len(share_counts):
            raise LocalError(f"{len(share_counts)} numbers of shares but {len(arm_sets)} arm sets: give one of each")
