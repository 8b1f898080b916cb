"""Invariant 13: what an agent observed in its present life is not lost as long as it is inside the window.

And what is outside is kept by nobody. The rule is written down here again, apart from the code that it judges.
"""

from cobandit.agent import Agent
from cobandit.core.facts import CellKey
from cobandit.core.replica import Replica
from lab.swarm.history import History


def lost_in_window(agent: Agent, history: History) -> list[str]:
    """Return what an agent has lost of its own, or keeps though it is too old."""
    replica, wrong = agent.endpoint.replica, list[str]()
    held = {key: entry.observations for key, entry in replica.cells()}
    for where, sums in history.of(agent.name, agent.incarnation).sums.items():
        _, name, _, period = where
        count, known = len(sums) - 1, held.get(CellKey(agent.name, agent.incarnation, *where), 0)
        if known != (count if is_inside(replica, name, period) else 0):
            now = replica.calendar.time
            wrong.append(f"{agent.name} has {known} of its {count} observations of {where}, at time {now:g}")
    return wrong


def is_inside(replica: Replica, name: str, period: int, *, ahead: int = 0) -> bool:
    """Return whether a period counts at present, or is so many ahead at most: clocks differ."""
    bandit = replica.bandits[name]
    if not bandit.period:
        return period == 0
    present = int(replica.calendar.time // bandit.period)
    return present - bandit.periods < period <= present + ahead
