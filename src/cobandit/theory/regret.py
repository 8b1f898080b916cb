"""Theorem 1: how much regret all agents together have at most, in expectation.

The bounds hold for alpha of at least 3 and the paper's known horizon: delta = 1/N for UCB, 1/N^2 for AAE, which is
`Horizon(N)` of the policies. They are formulas, evaluated as printed; nothing here looks at a run.

Every bound is 3KM, plus for each arm what it takes to see its gap, plus what agents pull once more because
observations of others are still in a buffer or on their way (F_i^j and G_i^j). The latter depends on the thresholds in
force when the group has seen enough of the arm, at the time tau_i. Constant thresholds are known without looking. Of
growing ones `largest_thresholds` gives what they cannot exceed in a run with these decisions.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from cobandit.core.thresholds import Geometric, Threshold
from cobandit.theory.communication import ucb_share_counts
from cobandit.theory.gaps import aae_observations, check_gaps, local_gaps_of, ucb_observations
from cobandit.values.checks import check_positive, check_whole, plain_arguments
from cobandit.values.errors import LocalError

Thresholds = int | Sequence[Sequence[Sequence[float]]]
"""Either a, for f(c) = a. Or by arm i and agent j the values f(c^(j'->j)) at tau_i, one for each j' that has the arm,
j itself excepted. Where no regret can arise (a best arm, an agent without the arm) nothing is read."""


@plain_arguments
def ucb_extra_pulls(
    gap: float, thresholds: Sequence[float], *, alpha: float, total_decisions: int, delay: int = 0
) -> float:
    """Return F_i^j: how often agent j pulls arm i, at most, after the group has seen enough of it (Equation 3).

    Args:
        gap: Delta_i.
        thresholds: f(c^(j'->j)) at tau_i for each other agent j'.
        alpha: How much the agents explore.
        total_decisions: N, the decisions of all agents together.
        delay: How many slots a message takes; each other agent adds 2d (Appendix G).

    >>> ucb_extra_pulls(0.5, [1, 4, 2], alpha=3.0, total_decisions=1000)
    7
    >>> ucb_extra_pulls(0.5, [1, 4, 2], alpha=3.0, total_decisions=1000, delay=10)  # and 3 x 2 x 10
    67
    >>> round(ucb_extra_pulls(0.5, [1, 4, 512], alpha=3.0, total_decisions=1000), 2)  # at most 2 x 3 x 6.908 / 0.25
    165.79
    """
    return min(
        _held_back(thresholds, len(thresholds), delay),
        ucb_observations(gap, alpha=alpha, total_decisions=total_decisions),
    )


@plain_arguments
def aae_extra_pulls(
    gap: float, thresholds: Sequence[float], *, alpha: float, total_decisions: int, delay: int = 0
) -> float:
    """Return G_i^j, which is F_i^j with 16 instead of 2 (Equation 5; Appendix G for the delay).

    >>> aae_extra_pulls(0.5, [1, 4, 512], alpha=3.0, total_decisions=1000)
    517
    """
    return min(
        _held_back(thresholds, len(thresholds), delay),
        aae_observations(gap, alpha=alpha, total_decisions=total_decisions),
    )


@plain_arguments
def ucb_regret_bound(
    gaps: Sequence[float],
    *,
    agent_count: int,
    alpha: float,
    total_decisions: int,
    thresholds: Thresholds = 1,
    delay: int = 0,
) -> float:
    """Return the bound on the group regret of UCB-ODC (Theorem 1(a), Equation 2; Appendix G for the delay).

    Args:
        gaps: Delta_i of every arm, zero for the best.
        agent_count: M.
        alpha: How much the agents explore; the theorem asks for at least 3.
        total_decisions: N, the decisions of all agents together.
        thresholds: See `Thresholds`. With f(c) = a the F_i^j are at most (M-1) a.
        delay: How many slots a message takes.

    >>> bound = ucb_regret_bound([0.0, 0.5], agent_count=3, alpha=3.0, total_decisions=1000)
    >>> round(bound, 2)  # 3 x 2 x 3, and 2 x 3 x 6.908 / 0.5, and 3 agents x 2 pulls x 0.5
    103.89

    Raises:
        LocalError: An argument is invalid, such as gaps none of which is zero.
    """
    return _group_bound(
        gaps,
        lambda gap: ucb_observations(gap, alpha=alpha, total_decisions=total_decisions),
        agent_count,
        thresholds,
        delay,
    )


@plain_arguments
def aae_regret_bound(
    gaps: Sequence[float],
    *,
    agent_count: int,
    alpha: float,
    total_decisions: int,
    thresholds: Thresholds = 1,
    delay: int = 0,
) -> float:
    """Return the bound on the group regret of AAE-ODC (Theorem 1(b), Equation 4; Appendix G for the delay).

    The arguments are those of `ucb_regret_bound`.

    >>> bound = aae_regret_bound([0.0, 0.5], agent_count=3, alpha=3.0, total_decisions=1000)
    >>> round(bound, 2)  # 3 x 2 x 3, and 16 x 3 x 6.908 / 0.5, and 3 agents x 2 pulls x 0.5
    684.14
    """
    return _group_bound(
        gaps,
        lambda gap: aae_observations(gap, alpha=alpha, total_decisions=total_decisions),
        agent_count,
        thresholds,
        delay,
    )


@plain_arguments
def synchronous_regret_bound(gaps: Sequence[float], *, agent_count: int, alpha: float, total_decisions: int) -> float:
    """Return the bound on the group regret of AAE-ODC if all agents decide in every slot and f(c) = |C| 2^(c-1).

    See Appendix B.3: after tau_i, all agents together pull arm i at most 16 alpha log(N) / Delta_i^2 + M + KM more
    times, so thresholds that grow with the candidates cost at most a constant factor. The last display of B.3 has K
    instead of KM, but its inequality (a) holds for each agent and sums to KM.

    >>> bound = synchronous_regret_bound([0.0, 0.5], agent_count=3, alpha=3.0, total_decisions=1000)
    >>> round(bound, 2)  # 3 x 2 x 3, and twice 16 x 3 x 6.908 / 0.5, and (3 + 2 x 3) x 0.5
    1348.79
    """
    check_gaps(gaps)
    check_whole("the number of agents", agent_count, 1)
    bound = 3.0 * len(gaps) * agent_count
    for gap in gaps:
        enough = aae_observations(gap or 1.0, alpha=alpha, total_decisions=total_decisions)
        if gap > 0.0:
            bound += gap * (2.0 * enough + agent_count + len(gaps) * agent_count)
    return bound


@plain_arguments
def largest_thresholds(decisions: Sequence[int], threshold: Threshold, arm_count: int) -> Thresholds:
    """Return the largest thresholds that a run with these decisions can reach, for the bounds of this file.

    Agent j' sends agent j at most min{C_j, C_j'} + 1 shares (Theorem 2), so c is at most one more than that, at tau_i
    as at any other time. Since f never decreases, Theorem 1 with these values is a bound, though looser than at tau_i.

    >>> from cobandit.core import Geometric
    >>> largest_thresholds([100, 100, 3], Geometric(2), arm_count=1)  # C = 6, 6, 2: f(8) and f(4)
    [[[128.0, 8.0], [128.0, 8.0], [8.0, 8.0]]]
    """
    counts = ucb_share_counts(decisions, threshold)
    most_of_phase = 2 if isinstance(threshold, Geometric) and threshold.phases else 1
    by_agent = [
        [
            float(most_of_phase * threshold.at(min(own, other) + 2, arm_count))
            for peer, other in enumerate(counts)
            if peer != agent
        ]
        for agent, own in enumerate(counts)
    ]
    return [by_agent] * arm_count


@plain_arguments
def local_ucb_regret_bound(
    means: Sequence[float],
    arm_sets: Sequence[Collection[int]],
    *,
    alpha: float,
    total_decisions: int,
    thresholds: Thresholds = 1,
    delay: int = 0,
) -> float:
    """Return the bound on the group regret of UCB-ODC when agents have different arms (Appendix H.3).

    An arm that is best for an agent, alone or tied, costs that agent nothing: such agents are not in A*_-i.
    The paper has no delay here; 2d for each other agent with the arm follows as in Appendix G.

    Args:
        means: The mean of every arm of the world.
        arm_sets: The arms of each agent, as positions in `means`.
        alpha: How much the agents explore; the theorem asks for at least 3.
        total_decisions: N, the decisions of all agents together.
        thresholds: See `Thresholds`.
        delay: How many slots a message takes.

    >>> bound = local_ucb_regret_bound([0.75, 0.5, 0.25], [(0, 2), (1, 2), (0,)], alpha=3.0, total_decisions=1000)
    >>> round(bound, 2)  # 3 x 3 x 3, and 4 x 3 x 6.908 / 0.25, and 1 pull x 0.5 and 1 pull x 0.25
    359.32
    """
    return _local_bound(
        means,
        arm_sets,
        lambda gap: ucb_observations(gap, alpha=alpha, total_decisions=total_decisions),
        thresholds,
        delay,
    )


@plain_arguments
def local_aae_regret_bound(
    means: Sequence[float],
    arm_sets: Sequence[Collection[int]],
    *,
    alpha: float,
    total_decisions: int,
    thresholds: Thresholds = 1,
    delay: int = 0,
) -> float:
    """Return the bound on the group regret of AAE-ODC when agents have different arms (Appendix H.3).

    The arguments are those of `local_ucb_regret_bound`.

    >>> bound = local_aae_regret_bound([0.75, 0.5, 0.25], [(0, 2), (1, 2), (0,)], alpha=3.0, total_decisions=1000)
    >>> round(bound, 2)  # 3 x 3 x 3, and 32 x 3 x 6.908 / 0.25, and 1 pull x 0.5 and 1 pull x 0.25
    2680.33
    """
    return _local_bound(
        means,
        arm_sets,
        lambda gap: aae_observations(gap, alpha=alpha, total_decisions=total_decisions),
        thresholds,
        delay,
    )


def _group_bound(
    gaps: Sequence[float],
    observations: Callable[[float], float],
    agent_count: int,
    thresholds: Thresholds,
    delay: int,
) -> float:
    check_gaps(gaps)
    check_whole("the number of agents", agent_count, 1)
    _check_thresholds(thresholds, len(gaps))
    observations(1.0)  # looks at alpha and N even when no arm has a gap
    bound = 3.0 * len(gaps) * agent_count
    for arm, gap in enumerate(gaps):
        if gap > 0.0:
            enough = observations(gap)
            agents = range(agent_count)
            waits = _waits(thresholds, arm, agents, agent_count - 1, delay)
            bound += gap * (enough + sum(min(wait, enough) for wait in waits))
    return bound


def _local_bound(
    means: Sequence[float],
    arm_sets: Sequence[Collection[int]],
    observations: Callable[[float], float],
    thresholds: Thresholds,
    delay: int,
) -> float:
    local_gaps = local_gaps_of(means, arm_sets)
    _check_thresholds(thresholds, len(means))
    observations(1.0)
    bound = 3.0 * len(means) * len(arm_sets)
    for arm in range(len(means)):
        suboptimal = [agent for agent, gaps in enumerate(local_gaps) if gaps.get(arm, 0.0) > 0.0]  # A*_-i
        if suboptimal:
            having = sum(arm in gaps for gaps in local_gaps)  # A_i
            smallest = min(local_gaps[agent][arm] for agent in suboptimal)  # Delta with a tilde
            bound += 2.0 * smallest * observations(smallest)
            waits = _waits(thresholds, arm, suboptimal, having - 1, delay)
            for agent, wait in zip(suboptimal, waits, strict=True):
                gap = local_gaps[agent][arm]
                bound += gap * min(wait, observations(gap))
    return bound


def _waits(thresholds: Thresholds, arm: int, agents: Collection[int], peer_count: int, delay: int) -> Iterator[float]:
    """For each of the agents, yield how many observations of the arm the others may hold back from it."""
    if isinstance(thresholds, int):
        held_back = _held_back([thresholds] * peer_count, peer_count, delay)
        yield from [held_back] * len(agents)
        return
    for agent in agents:
        if agent >= len(thresholds[arm]):
            raise LocalError(
                f"thresholds of arm {arm} are given for {len(thresholds[arm])} agents: agent {agent} lacks"
            )
        yield _held_back(thresholds[arm][agent], peer_count, delay)


def _held_back(thresholds: Sequence[float], peer_count: int, delay: int) -> float:
    check_whole("delay", delay, 0)
    if len(thresholds) != peer_count:
        raise LocalError(f"{len(thresholds)} thresholds, but {peer_count} other agents have the arm: give one for each")
    for threshold in thresholds:
        check_positive("a threshold", threshold)
    return sum(thresholds) + 2 * delay * peer_count


def _check_thresholds(thresholds: Thresholds, arm_count: int) -> None:
    if isinstance(thresholds, int):
        check_whole("a constant threshold", thresholds, 1)
    elif len(thresholds) != arm_count:
        raise LocalError(f"thresholds are given for {len(thresholds)} arms, but there are {arm_count}")
