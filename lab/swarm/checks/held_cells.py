"""Invariant 1: a held cell is a prefix of what its origin observed, from any teller, and so is a cell that is told."""

from cobandit.core import AgentId, Cells
from cobandit.core.replica import Replica
from cobandit.values.tally import ArmTally
from lab.swarm.history import History


def untrue_cells(told: Cells, history: History) -> list[str]:
    """Return what is untrue about cells that are told."""
    return [
        wrong for entry in told.tallies for wrong in _untrue("a message", told.agent, told.incarnation, entry, history)
    ]


def untrue_holding(holder: AgentId, replica: Replica, history: History) -> list[str]:
    """Return what is untrue about what an agent holds."""
    return [
        wrong for key, entry in replica.cells() for wrong in _untrue(holder, key.agent, key.incarnation, entry, history)
    ]


def _untrue(who: str, agent: AgentId, incarnation: int, entry: ArmTally, history: History) -> list[str]:
    arm, count, reward_sum, square_sum = entry
    true_sum = history.of(agent, incarnation).sum_of(arm, count)
    if true_sum == reward_sum == square_sum:  # rewards are 0 or 1
        return []
    what = f"({count}, {reward_sum}, {square_sum}) of arm {arm} of {agent}, incarnation {incarnation}"
    return [f"{who} has {what}; after as many observations its owner had {true_sum}"]
