"""Theorems 1 and 2 for the runs of an experiment: how much regret and how many shares they allow to ODC."""

import statistics

from cobandit.core import Constant
from cobandit.core.protocols.registry import protocol_of
from cobandit.studies.reproduction import KINDS, Run
from cobandit.theory import (
    aae_regret_bound,
    aae_share_counts,
    gaps_of,
    share_bounds,
    ucb_regret_bound,
    ucb_share_counts,
)

ALPHA = 3.0
"""How much the agents of every experiment explore; the theorems ask for at least so much."""


def is_bounded(run: Run, theorem: int) -> bool:
    """Return whether a theorem is about the protocol of a run."""
    return theorem in protocol_of(run.scenario.sharing.rules).theorems


def regret_allowed(run: Run) -> float | None:
    """Return the most group regret that Theorem 1 allows to ODC: the mean over the trials.

    It needs nothing from a trial but how often all agents together decided, as long as the threshold is constant. With
    one that grows, the theorem asks for the thresholds in force at a moment that no trial keeps: there is no number.
    The theorem is about delta = 1/N (UCB) and 1/N^2 (AAE), and the experiments use 1/n_j: it is a yardstick for them.
    """
    threshold = run.scenario.sharing.threshold
    if not isinstance(threshold, Constant):
        return None
    theorem = aae_regret_bound if run.algorithm.startswith("AAE") else ucb_regret_bound
    return statistics.fmean(
        theorem(
            gaps_of(run.scenario.arms.means),
            agent_count=len(run.scenario.agents),
            alpha=ALPHA,
            total_decisions=round(sum(trial.by_agent["decisions"])),
            thresholds=threshold.size,
        )
        for trial in run.trials
    )


def shares_allowed(run: Run) -> dict[str, float]:
    """Return the most shares that Theorem 2 allows to ODC, by kind of pair: the mean over the trials.

    It needs nothing from a trial but how often each agent decided.
    """
    by_trial = [_allowed(run, [round(count) for count in trial.by_agent["decisions"]]) for trial in run.trials]
    return {kind: statistics.fmean(allowed[kind] for allowed in by_trial) for kind in KINDS}


def _allowed(run: Run, decisions: list[int]) -> dict[str, int]:
    threshold = run.scenario.sharing.threshold
    if run.algorithm.startswith("AAE"):
        counts = aae_share_counts(decisions, threshold, gaps_of(run.scenario.arms.means), alpha=ALPHA)
    else:
        counts = ucb_share_counts(decisions, threshold)
    allowed = dict.fromkeys(KINDS, 0)
    for sender, row in enumerate(share_bounds(counts)):
        for receiver, most in enumerate(row):
            fast = (sender in run.world.fast) + (receiver in run.world.fast)
            allowed[("among slow", "between", "among fast")[fast]] += most
    return allowed
