"""Epochs: time is cut into windows, and statistics and thresholds begin anew in each. None of it is in the paper.

Inside an epoch everything is as in the paper, so its theorems hold there word for word; what remains is to add them up,
and to give up the epochs in which the arms change. docs/bounds.md has the arguments.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from cobandit.core.thresholds import Threshold
from cobandit.theory.communication import total_share_bound, ucb_share_counts
from cobandit.theory.regret import Thresholds, ucb_regret_bound
from cobandit.values.checks import check_positive, check_whole, plain_arguments
from cobandit.values.errors import LocalError


class Epoch(NamedTuple):
    """One epoch, as plain numbers."""

    decisions: tuple[int, ...]
    """N_j of every agent in this epoch."""
    gaps: tuple[float, ...]
    """Delta_i of every arm in this epoch, zero for the best; where arms change, the largest gap of each."""
    changes: bool = False
    """Whether arms change in this epoch."""


@plain_arguments
def epoch_share_bound(epochs: Sequence[Epoch], threshold: Threshold) -> int:
    """Return the most shares of all epochs: the sum of min{C_j, C_j'} + 1 over epochs and ordered pairs.

    Thresholds start over in each epoch, and so does demand.

    >>> from cobandit.core import Constant
    >>> epoch_share_bound([Epoch((10, 3), (0.0, 0.5)), Epoch((4, 4), (0.5, 0.0))], Constant(1))  # 2 x 4 + 2 x 5
    18
    """
    return sum(total_share_bound(ucb_share_counts(epoch.decisions, threshold)) for epoch in epochs)


@plain_arguments
def epoch_regret_bound(epochs: Sequence[Epoch], *, alpha: float, thresholds: Thresholds = 1, delay: int = 0) -> float:
    """Return the bound on the group regret of UCB-ODC with epochs, in expectation, with delta = 1/N_e in each.

    Theorem 1(a) applies separately to each epoch in which nothing changes. Of an epoch with a change, we only know that
    no pull costs more than the largest gap.

    >>> quiet = Epoch((500, 500), (0.0, 0.5))
    >>> changed = Epoch((10, 10), (0.5, 0.5), changes=True)
    >>> round(epoch_regret_bound([quiet, changed], alpha=3.0), 2)  # 12 + 82.89 + 2 x 1 x 0.5, and 20 x 0.5
    105.89
    """
    bound = 0.0
    for epoch in epochs:
        if epoch.changes:
            bound += sum(epoch.decisions) * max(epoch.gaps)
        else:
            bound += ucb_regret_bound(
                epoch.gaps,
                agent_count=len(epoch.decisions),
                alpha=alpha,
                total_decisions=sum(epoch.decisions),
                thresholds=thresholds,
                delay=delay,
            )
    return bound


@plain_arguments
def best_epoch_length(horizon: int, changes: int, *, decisions_per_slot: float, regret_per_epoch: float) -> float:
    """Return roughly how long an epoch should be: sqrt(T G / (Y n)), where both terms of the bound are equal.

    Args:
        horizon: T, the number of slots.
        changes: Y, how often the arms change.
        decisions_per_slot: n, of all agents together.
        regret_per_epoch: G, what one quiet epoch may cost: `ucb_regret_bound` for it, over the largest gap.

    >>> best_epoch_length(80_000, 4, decisions_per_slot=2.0, regret_per_epoch=100.0)
    1000.0
    """
    check_whole("the horizon", horizon, 1)
    check_whole("how often the arms change", changes, 0)
    if changes < 1:
        raise LocalError("without a change the best epoch is the whole run")
    check_positive("the decisions per slot", decisions_per_slot)
    check_positive("the regret of an epoch", regret_per_epoch)
    return math.sqrt(horizon * regret_per_epoch / (changes * decisions_per_slot))
