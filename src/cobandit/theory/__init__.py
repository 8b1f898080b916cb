"""The paper's theorems as functions: what regret and how many messages to expect at most, and at least.

Bounds are computed from plain numbers, without a run: means or gaps, decisions by agent, thresholds.
"""

from cobandit.theory.communication import (
    aae_share_counts,
    constant_order,
    geometric_order,
    immediate_share_count,
    local_aae_share_counts,
    share_bounds,
    total_share_bound,
    ucb_share_counts,
    unsettled_share_bounds,
)
from cobandit.theory.gaps import aae_observations, gaps_of, local_gaps_of, ucb_observations
from cobandit.theory.lower_bound import lower_bound_slope, regret_lower_bound
from cobandit.theory.regret import (
    Thresholds,
    aae_extra_pulls,
    aae_regret_bound,
    local_aae_regret_bound,
    local_ucb_regret_bound,
    ucb_extra_pulls,
    ucb_regret_bound,
)

__all__ = [
    "Thresholds",
    "aae_extra_pulls",
    "aae_observations",
    "aae_regret_bound",
    "aae_share_counts",
    "constant_order",
    "gaps_of",
    "geometric_order",
    "immediate_share_count",
    "local_aae_regret_bound",
    "local_aae_share_counts",
    "local_gaps_of",
    "local_ucb_regret_bound",
    "lower_bound_slope",
    "regret_lower_bound",
    "share_bounds",
    "total_share_bound",
    "ucb_extra_pulls",
    "ucb_observations",
    "ucb_regret_bound",
    "ucb_share_counts",
    "unsettled_share_bounds",
]
