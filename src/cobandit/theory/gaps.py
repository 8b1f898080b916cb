"""Gaps: how far each arm is below the best one, and how many observations it takes to see that.

This file owns the paper's Delta in all its forms. It knows no agent's buffer and no message. Arms and agents stand as
positions.
"""

import math
from collections.abc import Collection, Sequence

from cobandit.values.checks import check_positive, check_probability, check_whole, plain_arguments
from cobandit.values.errors import LocalError

MOST_DECISIONS = 2**62
"""No agent decides more often; it still fits 64 bits."""

_UCB_FACTOR = 2.0
_AAE_FACTOR = 16.0


@plain_arguments
def gaps_of(means: Sequence[float]) -> list[float]:
    """Return Delta_i = mu(i*) - mu(i) for every arm; the best arm's gap is zero (Section 2).

    >>> gaps_of([0.5, 0.75, 0.25])
    [0.25, 0.0, 0.5]

    Raises:
        LocalError: There is no arm, or a mean is not in [0, 1].
    """
    _check_means(means)
    best = max(means)
    return [best - mean for mean in means]


@plain_arguments
def local_gaps_of(means: Sequence[float], arm_sets: Sequence[Collection[int]]) -> list[dict[int, float]]:
    """Return Delta(i*_j, i) for every agent j and each of its own arms i (Appendix H.1).

    >>> local_gaps_of([0.5, 0.75, 0.25], arm_sets=[(0, 1), (0, 2)])
    [{0: 0.25, 1: 0.0}, {0: 0.0, 2: 0.25}]

    Raises:
        LocalError: There is no agent, an agent has no arms, or an arm is not a position in `means`.
    """
    _check_means(means)
    check_arm_sets(arm_sets, len(means))
    best = [max(means[arm] for arm in arms) for arms in arm_sets]
    return [{arm: best[agent] - means[arm] for arm in arms} for agent, arms in enumerate(arm_sets)]


@plain_arguments
def ucb_observations(gap: float, *, alpha: float, total_decisions: int) -> float:
    """Return 2 alpha log(N) / Delta_i^2: with more observations, UCB no longer pulls the arm (Lemma 2).

    This holds for delta = 1/N and as long as no interval is wrong. It is the script N(i) of Section 4. An arm without a
    gap may be pulled forever.

    >>> round(ucb_observations(0.5, alpha=3.0, total_decisions=1000), 2)  # 2 x 3 x 6.908 / 0.25
    165.79
    >>> ucb_observations(0.0, alpha=3.0, total_decisions=1000)
    inf
    """
    return _observations(_UCB_FACTOR, gap, alpha, total_decisions)


@plain_arguments
def aae_observations(gap: float, *, alpha: float, total_decisions: int) -> float:
    """Return 16 alpha log(N) / Delta_i^2: with more observations, AAE no longer pulls the arm (Lemma 3).

    This holds for delta = 1/N^2 and as long as no interval is wrong.

    >>> round(aae_observations(0.5, alpha=3.0, total_decisions=1000), 2)  # 16 x 3 x 6.908 / 0.25
    1326.29
    """
    return _observations(_AAE_FACTOR, gap, alpha, total_decisions)


def check_gaps(gaps: Sequence[float]) -> None:
    """Raise unless these can be the gaps of all arms, the best one's zero included."""
    if not len(gaps):
        raise LocalError("there are no arms: give the gap of every arm, and zero for the best")
    for arm, gap in enumerate(gaps):
        check_probability(f"the gap of arm {arm}", gap)
    if min(gaps) > 0.0:
        raise LocalError("no gap is zero: give the gap of every arm, and zero for the best")


def check_arm_sets(arm_sets: Sequence[Collection[int]], arm_count: int | None = None) -> None:
    """Raise unless every agent has arms, and all of them are positions."""
    if not len(arm_sets):
        raise LocalError("there are no agents: give the arms of at least one")
    for agent, arms in enumerate(arm_sets):
        if not len(arms):
            raise LocalError(f"agent {agent} has no arms: give the positions of those that it can pull")
        for arm in arms:
            check_whole(f"an arm of agent {agent}", arm, 0, None if arm_count is None else arm_count - 1)


def check_total(total_decisions: int) -> None:
    """Raise unless this can be N, the number of decisions of all agents together."""
    check_whole("the number of decisions of all agents", total_decisions, 0, MOST_DECISIONS)


def log_total(total_decisions: int) -> float:
    """Return log N, and zero when nobody decides."""
    check_total(total_decisions)
    return math.log(max(1, total_decisions))


def _observations(factor: float, gap: float, alpha: float, total_decisions: int) -> float:
    check_probability("a gap", gap)
    check_positive("alpha", alpha)
    budget = factor * alpha * log_total(total_decisions)
    return math.inf if gap == 0.0 else budget / gap / gap  # two divisions: the square of a tiny gap would be zero


def _check_means(means: Sequence[float]) -> None:
    if not len(means):
        raise LocalError("there are no arms: give the mean of at least one")
    for arm, mean in enumerate(means):
        check_probability(f"the mean of arm {arm}", mean)
