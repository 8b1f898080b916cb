"""What no consistent policy can beat: the asymptotic lower bound on group regret (Appendix C, Equation 6).

It is a slope. For N towards infinity, regret / log N does not stay below it; a run of any length may. The paper has it
for agents that all have the same arms, and so does this file.
"""

import math
from collections.abc import Sequence

from cobandit.policies.kl_ucb import bernoulli_divergence
from cobandit.theory.gaps import gaps_of, log_total
from cobandit.values.checks import plain_arguments


@plain_arguments
def lower_bound_slope(means: Sequence[float]) -> float:
    """Return the sum of Delta_i / KL(mu_i, mu*) over the arms below the best (last display of Appendix C).

    The other world of the proof raises arm k to mu_k + lambda with lambda > Delta_k; the sum is the limit for lambda
    towards Delta_k. No arm can be raised above a best mean of 1, so in such a world the slope is zero.

    >>> round(lower_bound_slope([0.75, 0.5]), 4)  # 0.25 / 0.1438
    1.738
    >>> lower_bound_slope([1.0, 0.5])
    0.0

    Raises:
        LocalError: There is no arm, or a mean is not in [0, 1].
    """
    gaps = gaps_of(means)
    best = max(means)
    if best == 1.0:
        return 0.0
    return math.fsum(_pull_cost(mean, best, gap) for mean, gap in zip(means, gaps, strict=True) if gap > 0.0)


@plain_arguments
def regret_lower_bound(means: Sequence[float], *, total_decisions: int) -> float:
    """Return the slope times log N: a lower bound on group regret for large N (Equation 6, with its constant).

    >>> round(regret_lower_bound([0.75, 0.5], total_decisions=1000), 2)  # 1.738 x 6.908
    12.01
    """
    return lower_bound_slope(means) * log_total(total_decisions)


def _pull_cost(mean: float, best: float, gap: float) -> float:
    """Return Delta / KL. By Pinsker it is at most 1 / (2 Delta), which also holds when KL is lost to rounding."""
    divergence = bernoulli_divergence(mean, best)
    return gap / divergence if divergence > 2.0 * gap * gap else 0.5 / gap
