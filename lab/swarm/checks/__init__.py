"""The sentences that must hold whatever the network and the machines do: one file for each.

Every function returns the sentences that are false: an empty list is what everybody wants to see.
"""

from lab.swarm.checks.acknowledgements import untrue_acknowledgement
from lab.swarm.checks.completeness import incompleteness
from lab.swarm.checks.deadlock import deadlock
from lab.swarm.checks.definitions import held_of_another
from lab.swarm.checks.earlier_incarnations import unknown_earlier_incarnations
from lab.swarm.checks.economy import told_in_vain
from lab.swarm.checks.following import unfollowed
from lab.swarm.checks.held_cells import untrue_cells, untrue_holding
from lab.swarm.checks.pace import Pace
from lab.swarm.checks.passing_on import not_passed_on
from lab.swarm.checks.sameness import difference
from lab.swarm.checks.share_counts import ShareCounts
from lab.swarm.checks.totals import wrong_totals
from lab.swarm.checks.windows import lost_in_window

__all__ = [
    "Pace",
    "ShareCounts",
    "deadlock",
    "difference",
    "held_of_another",
    "incompleteness",
    "lost_in_window",
    "not_passed_on",
    "told_in_vain",
    "unfollowed",
    "unknown_earlier_incarnations",
    "untrue_acknowledgement",
    "untrue_cells",
    "untrue_holding",
    "wrong_totals",
]
