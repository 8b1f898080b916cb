"""Theorems 1 and 2 for the runs of an experiment: how much regret and how many shares they allow to ODC."""

import statistics

from cobandit.core import Constant
from cobandit.core.protocols.registry import protocol_of
from cobandit.simulator import allowed
from cobandit.simulator.trials import Trial
from cobandit.studies.reproduction import KINDS, Run
from cobandit.theory import aae_share_counts, gaps_of, share_bounds, ucb_share_counts

ALPHA = 3.0
"""How much the agents of every experiment explore; the theorems ask for at least so much."""


def is_bounded(run: Run, theorem: int) -> bool:
    """Return whether a theorem is about the protocol of a run."""
    return theorem in protocol_of(run.scenario.exchange.rules).theorems


def regret_allowed(run: Run) -> float | None:
    """Return the most group regret that Theorem 1 allows to ODC: the mean over the trials.

    The theorem is about delta = 1/N (UCB) and 1/N^2 (AAE), and the experiments use 1/n_j: it is a yardstick for them.
    """
    return allowed.regret_allowed(run.scenario, [_decisions(trial) for trial in run.trials])


def is_constant(run: Run) -> bool:
    """Return whether the threshold is constant. Where it grows, Theorem 1 is too loose for a figure."""
    return isinstance(run.scenario.exchange.threshold, Constant)


def shares_allowed(run: Run) -> dict[str, float]:
    """Return the most shares that Theorem 2 allows to ODC, by kind of pair: the mean over the trials.

    It needs nothing from a trial but how often each agent decided.
    """
    by_trial = [_allowed(run, _decisions(trial)) for trial in run.trials]
    return {kind: statistics.fmean(most[kind] for most in by_trial) for kind in KINDS}


def _decisions(trial: Trial) -> list[int]:
    return [round(count) for count in trial.by_agent["decisions"]]


def _allowed(run: Run, decisions: list[int]) -> dict[str, int]:
    threshold = run.scenario.exchange.threshold
    if run.algorithm.startswith("AAE"):
        counts = aae_share_counts(decisions, threshold, gaps_of(run.scenario.arms.means), alpha=ALPHA)
    else:
        counts = ucb_share_counts(decisions, threshold)
    most_by_kind = dict.fromkeys(KINDS, 0)
    for sender, row in enumerate(share_bounds(counts)):
        for receiver, most in enumerate(row):
            fast = (sender in run.world.fast) + (receiver in run.world.fast)
            most_by_kind[("among slow", "between", "among fast")[fast]] += most
    return most_by_kind
