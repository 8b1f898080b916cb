"""The bounds of the paper's theorems for a scenario, given how often its agents decided in each trial.

Where the theorems say nothing, this file says nothing.
"""

import statistics
from collections.abc import Iterable, Sequence

from cobandit.core import Constant
from cobandit.core.protocols.registry import protocol_of
from cobandit.core.thresholds import is_bounded
from cobandit.policies.registry import BuiltIn
from cobandit.scenario.scenario import Scenario
from cobandit.theory import (
    aae_regret_bound,
    gaps_of,
    immediate_share_count,
    largest_thresholds,
    share_bounds,
    total_share_bound,
    ucb_regret_bound,
    ucb_share_counts,
)
from cobandit.values.reward_range import UNIT

MOST_AGENTS_BY_PAIR = 400
"""Where arms differ or thresholds grow, every pair is computed. With more agents, that takes too long for a report."""

LEAST_ALPHA = 3.0
"""Theorem 1 requires at least this much exploration."""


def why_theorem_2_is_silent(scenario: Scenario, agents: Iterable[int] | None = None) -> str:
    """Return why Theorem 2 says nothing about the shares of a scenario; empty if it applies.

    It counts fresh shares. Loss, duplication and reordering add none. Neither does loss tolerance, whose repetitions
    are not fresh shares (docs/loss-tolerance.md). Every return of an agent that was away may add one.
    no fresh shares (docs/loss-tolerance.md). Every return of an agent that was away may add one.

    Args:
        scenario: The world.
        agents: Positions of the agents that matter; all of them by default.
    """
    if scenario.topology is not None:
        return "it is about agents that talk to everybody"
    if scenario.forgetting is not None:
        return "it is about agents that forget nothing"
    if scenario.plugged or 2 not in protocol_of(scenario.exchange.rules).theorems:
        return "it is about communication on demand"
    if not is_bounded(scenario.exchange.threshold):
        return "it is about answers that fill a threshold and advance it"
    positions = range(len(scenario.agents)) if agents is None else agents
    if any(scenario.agents[position].absences for position in positions):
        return "it is about agents that stay"
    return ""


def shares_allowed(scenario: Scenario, decisions: Sequence[Sequence[int]]) -> float | None:
    """Return the maximum number of shares by Theorem 2(a), which holds for every policy: the mean over trials.

    Args:
        scenario: The world.
        decisions: How often each agent decided, for each trial.

    Returns:
        `None` if the theorem does not apply to this scenario, or if the computation would take too long.
    """
    if why_theorem_2_is_silent(scenario):
        return None
    sets = None
    if not scenario.has_same_arms:
        if len(scenario.agents) > MOST_AGENTS_BY_PAIR:
            return None
        place = {arm: position for position, arm in enumerate(scenario.arms.names)}
        sets = [[place[arm] for arm in scenario.arms_of(agent)] for agent in range(len(scenario.agents))]
    totals = []
    for trial in decisions:
        counts = ucb_share_counts(trial, scenario.exchange.threshold)
        totals.append(total_share_bound(counts) if sets is None else sum(map(sum, share_bounds(counts, sets))))
    return statistics.fmean(totals)


def regret_allowed(scenario: Scenario, decisions: Sequence[Sequence[int]]) -> float | None:
    """Return the maximum group regret by Theorem 1: the mean over trials. The arguments are those of `shares_allowed`.

    The theorem is about delta = 1/N (UCB) and 1/N^2 (AAE); with another confidence it is only a reference value. With a
    growing threshold, it requires the values in force at a moment that trials do not record. The largest ones that a
    run with these decisions can reach replace them, so the result is larger than the theorem's, and still a bound.
    """
    if scenario.plugged or any(agent.policy is not None for agent in scenario.agents):
        return None
    if scenario.forgetting is not None:
        return None
    if scenario.course is not None or scenario.arms.rewards != UNIT:  # it is about rewards in [0, 1] and fixed means
        return None
    threshold, policy = scenario.exchange.threshold, scenario.policy
    is_small = isinstance(threshold, Constant) or len(scenario.agents) <= MOST_AGENTS_BY_PAIR
    if not (_is_printed(scenario) and is_bounded(threshold) and is_small and scenario.has_same_arms):
        return None
    if not (isinstance(policy, BuiltIn) and policy.name in ("ucb", "aae") and policy.exploration >= LEAST_ALPHA):
        return None
    theorem = aae_regret_bound if policy.name == "aae" else ucb_regret_bound
    return statistics.fmean(
        theorem(
            gaps_of(scenario.arms.expected),
            agent_count=len(scenario.agents),
            alpha=policy.exploration,
            total_decisions=max(1, sum(trial)),
            thresholds=threshold.size
            if isinstance(threshold, Constant)
            else largest_thresholds(trial, threshold, len(scenario.arms.means)),
            delay=scenario.delay,
        )
        for trial in decisions
    )


def immediate_shares(scenario: Scenario, decisions: Sequence[Sequence[int]]) -> float | None:
    """Return what immediate broadcast would have sent: the mean over trials; `None` if arms or a topology differ."""
    if scenario.topology is not None or not scenario.has_same_arms:
        return None
    return statistics.fmean(immediate_share_count(trial) for trial in decisions)


def _is_printed(scenario: Scenario) -> bool:
    """Return whether agents talk as Algorithm 1 is printed, on a network as the paper assumes it."""
    is_bounded = 1 in protocol_of(scenario.exchange.rules).theorems
    is_paper = is_bounded and scenario.exchange.retry is None and scenario.faults.are_none and not scenario.topology
    return is_paper and not any(agent.absences for agent in scenario.agents)
