"""The paper's theorems as functions, and bounds beyond the paper, on expected regret and on the number of messages.

Bounds are computed from plain numbers, without a run: means or gaps, decisions per agent, thresholds.
"""

from cobandit.theory.communication import (
    aae_share_counts,
    constant_order,
    doubling_table_order,
    geometric_order,
    immediate_share_count,
    local_aae_share_counts,
    share_bounds,
    total_share_bound,
    ucb_share_counts,
    unsettled_share_bounds,
)
from cobandit.theory.epochs import Epoch, best_epoch_length, epoch_regret_bound, epoch_share_bound
from cobandit.theory.gaps import aae_observations, gaps_of, local_gaps_of, ucb_observations
from cobandit.theory.graphs import graph_arrival, graph_extra_pulls, graph_share_bound, graph_share_bounds
from cobandit.theory.lower_bound import lower_bound_slope, regret_lower_bound
from cobandit.theory.regret import (
    Thresholds,
    aae_extra_pulls,
    aae_regret_bound,
    largest_thresholds,
    local_aae_regret_bound,
    local_ucb_regret_bound,
    synchronous_regret_bound,
    ucb_extra_pulls,
    ucb_regret_bound,
)
from cobandit.theory.relays import (
    check_relay_liveness,
    fleet_share_bound,
    relay_extra_pulls,
    relay_share_bound,
    relay_share_bounds,
    tree_share_bound,
)
from cobandit.theory.wrong_intervals import right_decision_probability, wrong_decisions_bound

__all__ = [
    "Epoch",
    "Thresholds",
    "aae_extra_pulls",
    "aae_observations",
    "aae_regret_bound",
    "aae_share_counts",
    "best_epoch_length",
    "check_relay_liveness",
    "constant_order",
    "doubling_table_order",
    "epoch_regret_bound",
    "epoch_share_bound",
    "fleet_share_bound",
    "gaps_of",
    "geometric_order",
    "graph_arrival",
    "graph_extra_pulls",
    "graph_share_bound",
    "graph_share_bounds",
    "immediate_share_count",
    "largest_thresholds",
    "local_aae_regret_bound",
    "local_aae_share_counts",
    "local_gaps_of",
    "local_ucb_regret_bound",
    "lower_bound_slope",
    "regret_lower_bound",
    "relay_extra_pulls",
    "relay_share_bound",
    "relay_share_bounds",
    "right_decision_probability",
    "share_bounds",
    "synchronous_regret_bound",
    "total_share_bound",
    "tree_share_bound",
    "ucb_extra_pulls",
    "ucb_observations",
    "ucb_regret_bound",
    "ucb_share_counts",
    "unsettled_share_bounds",
    "wrong_decisions_bound",
]
