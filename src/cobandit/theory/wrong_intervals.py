"""Lemma 1: how often an agent decides although one of its confidence intervals is wrong (a Type-II decision).

It is where the confidence comes from: all other bounds of the paper count what happens while every interval holds, and
add this.
"""

import math

from cobandit.theory.gaps import log_total
from cobandit.values.checks import check_positive, check_whole, plain_arguments
from cobandit.values.errors import LocalError


@plain_arguments
def right_decision_probability(arm_count: int, observations: int, *, delta: float, alpha: float) -> float:
    """Return 1 - 2 K N_t delta^alpha: a lower bound on the probability that a decision's intervals all hold (Lemma 1).

    Args:
        arm_count: K.
        observations: N_t, the decisions of all agents up to then.
        delta: The delta of the intervals.
        alpha: How cautious the agents are.

    >>> right_decision_probability(2, 10, delta=0.1, alpha=3.0)  # 1 - 2 x 2 x 10 / 1000
    0.96

    A vacuous bound is zero, never negative.

    >>> right_decision_probability(16, 1000, delta=1.0, alpha=3.0)
    0.0
    """
    check_whole("the number of arms", arm_count, 1)
    check_whole("the number of observations", observations, 0)
    check_positive("delta", delta)
    check_positive("alpha", alpha)
    if delta > 1.0:
        raise LocalError(f"delta must be at most 1, not {delta!r}")
    return max(0.0, 1.0 - 2.0 * arm_count * observations * math.pow(delta, alpha))


@plain_arguments
def wrong_decisions_bound(arm_count: int, *, agent_count: int, alpha: float, total_decisions: int) -> float:
    """Return q_II: a bound on the expected number of Type II decisions of all agents, with delta = 1/N.

    It is M 2K/(alpha - 2) (1 - 1/N^(alpha - 2)), as printed below Lemma 1. With alpha at least 3, this is at most 2KM.
    The paper derives it from 2K/N^(alpha - 2), which is far smaller. Only for N = 1 is that larger, and then the
    printed number, zero, is not a bound.

    Args:
        arm_count: K.
        agent_count: M.
        alpha: How cautious the agents are: more than 2.
        total_decisions: N, the decisions of all agents together.

    >>> round(wrong_decisions_bound(2, agent_count=3, alpha=3.0, total_decisions=100), 2)  # 3 x 2 x 2 x 0.99
    11.88
    """
    check_whole("the number of arms", arm_count, 1)
    check_whole("the number of agents", agent_count, 1)
    check_positive("alpha", alpha)
    if alpha <= 2.0:
        raise LocalError(f"alpha must be above 2 for this bound, not {alpha!r}")
    power = alpha - 2.0
    return agent_count * 2.0 * arm_count / power * -math.expm1(-power * log_total(total_decisions))
