"""Invariant 1: a held cell is a prefix of what its origin observed, from any teller, and so is a cell that is told."""

from cobandit.core import AgentId, Cells
from cobandit.core.facts import CellKey, cell_key
from cobandit.core.messages import EVERYBODY_ELSE
from cobandit.core.replica import Replica
from cobandit.values.tally import ArmTally
from lab.swarm.history import History


def untrue_cells(told: Cells, receiver: AgentId, history: History) -> list[str]:
    """Return what is untrue about cells that are told, or about a total of everybody but the receiver."""
    if told.agent == EVERYBODY_ELSE:
        return [
            wrong for entry in told.tallies for wrong in untrue_total("a total", receiver, entry, history, *told[3:])
        ]
    return [
        wrong for entry in told.tallies for wrong in _untrue("a message", cell_key(told, entry.arm), entry, history)
    ]


def untrue_total(
    who: str, leaf: AgentId, entry: ArmTally, history: History, bandit: str = "", segment: str = "", period: int = 0
) -> list[str]:
    """Return whether others than a leaf have never observed as much, or with other rewards."""
    arm, count, reward_sum, _ = entry
    observed, rewarded = history.total_but(leaf, (arm, bandit, segment, period))
    if count <= observed and reward_sum <= rewarded and count - reward_sum <= observed - rewarded:
        return []
    return [f"{who} says {reward_sum}/{count} of arm {arm} of all but {leaf}: {rewarded}/{observed} were ever observed"]


def untrue_holding(holder: AgentId, replica: Replica, history: History) -> list[str]:
    """Return what is untrue about what an agent holds."""
    return [wrong for key, entry in replica.cells() for wrong in _untrue(holder, key, entry, history)]


def _untrue(who: str, key: CellKey, entry: ArmTally, history: History) -> list[str]:
    arm, count, reward_sum, square_sum = entry
    agent, incarnation = key[:2]
    true_sum = history.of(agent, incarnation).sum_of(key[2:], count)
    if true_sum == reward_sum == square_sum:  # rewards are 0 or 1
        return []
    what = f"({count}, {reward_sum}, {square_sum}) of arm {arm} of {agent}, incarnation {incarnation}"
    return [f"{who} has {what}; after as many observations its owner had {true_sum}"]
