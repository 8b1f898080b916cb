"""The sentences that must hold whatever the network and the machines do: one file for each.

Every function returns the sentences that are false: an empty list is what everybody wants to see.
"""

from cobandit.testing.swarm.checks.completeness import incompleteness
from cobandit.testing.swarm.checks.deadlock import deadlock
from cobandit.testing.swarm.checks.former_boots import unknown_former_boots
from cobandit.testing.swarm.checks.held_records import untrue_holding, untrue_record
from cobandit.testing.swarm.checks.pace import Pace
from cobandit.testing.swarm.checks.sameness import difference
from cobandit.testing.swarm.checks.share_counts import ShareCounts
from cobandit.testing.swarm.checks.totals import wrong_totals

__all__ = [
    "Pace",
    "ShareCounts",
    "deadlock",
    "difference",
    "incompleteness",
    "unknown_former_boots",
    "untrue_holding",
    "untrue_record",
    "wrong_totals",
]
