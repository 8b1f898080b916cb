"""Theorem 2 for the runs of an experiment: how many shares it allows, by kind of pair."""

import statistics

from tacit.studies.reproduction import KINDS, Run
from tacit.theory import aae_share_counts, gaps_of, share_bounds, ucb_share_counts


def shares_allowed(run: Run) -> dict[str, float]:
    """Return the most shares that Theorem 2 allows to ODC, by kind of pair: the mean over the trials.

    It needs nothing from a trial but how often each agent decided.
    """
    by_trial = [_allowed(run, [round(count) for count in trial.by_agent["decisions"]]) for trial in run.trials]
    return {kind: statistics.fmean(allowed[kind] for allowed in by_trial) for kind in KINDS}


def _allowed(run: Run, decisions: list[int]) -> dict[str, int]:
    threshold = run.scenario.sharing.threshold
    if run.algorithm.startswith("AAE"):
        counts = aae_share_counts(decisions, threshold, gaps_of(run.scenario.arms.means), alpha=3.0)
    else:
        counts = ucb_share_counts(decisions, threshold)
    allowed = dict.fromkeys(KINDS, 0)
    for sender, row in enumerate(share_bounds(counts)):
        for receiver, most in enumerate(row):
            fast = (sender in run.world.fast) + (receiver in run.world.fast)
            allowed[("among slow", "between", "among fast")[fast]] += most
    return allowed
