"""Running totals of what all agents have observed: for each arm of each place one total, which a relay sends to leaves.

A total is a fact beside the cells that it adds up. It changes whenever one of them does, at the same number of the log.
A leaf must not receive its own observations as those of others, so each agent's part of every total is kept too. This
file does not know who is a leaf, what is in a log, or what a leaf does with a total (`totals.py`).
"""

from collections.abc import Iterable

from cobandit.core.facts import CellKey, Fact, TotalKey
from cobandit.core.messages import EVERYBODY_ELSE, AgentId, Cells
from cobandit.values.tally import Arm, ArmTally

MAX_TOTAL = 2**43
"""The largest total that is sent: with the smallest quantum its sums still fit 64 bits."""


class RunningTotals:
    """What all agents have observed, as one relay knows it.

    >>> totals = RunningTotals()
    >>> totals.add(CellKey("j", 0, "A"), ArmTally("A", 3, 2, 2), number=3).number
    3
    >>> totals.but("j", "A").observations, totals.but("p", "A").observations
    (0, 3)
    """

    def __init__(self) -> None:
        self._facts: dict[TotalKey, Fact] = {}
        self._shares_of: dict[AgentId, dict[TotalKey, ArmTally]] = {}
        """What each agent has contributed to the totals."""

    def add(self, cell: CellKey, added: ArmTally, number: int) -> Fact:
        """Add what a cell grew by. Return its arm's total, which thereby changes at that number of the log."""
        key, shares = total_key(cell), self._shares_of.setdefault(cell.agent, {})
        shares[key] = shares[key].plus(added) if key in shares else added
        total = self._facts.setdefault(key, Fact(key, ArmTally(cell.arm, 0, 0, 0), None))
        total.value = total.cell.plus(added)
        total.number = number
        return total

    def drop(self, cells: Iterable[CellKey]) -> list[Fact]:
        """Drop the totals of the places of some cells, all of which are dropped. Return these totals."""
        gone: list[Fact] = []
        for cell in cells:
            key = total_key(cell)
            if key in self._facts:
                gone.append(self._facts.pop(key))
            shares = self._shares_of.get(cell.agent, {})
            shares.pop(key, None)
            if not shares:
                self._shares_of.pop(cell.agent, None)
        return gone

    def but(self, agent: AgentId, arm: Arm, bandit: str = "", segment: str = "", period: int = 0) -> ArmTally:
        """Return what all agents but one have observed of an arm, in all incarnations."""
        key = TotalKey(arm, EVERYBODY_ELSE, bandit, segment, period)
        fact, nothing = self._facts.get(key), ArmTally(arm, 0, 0, 0)
        own = self._shares_of.get(agent, {}).get(key, nothing)
        return nothing if fact is None else fact.cell.minus(own)

    def told_to(self, agent: AgentId, facts: Iterable[Fact]) -> tuple[Cells, ...]:
        """Return the totals among some facts as a message to one agent carries them: those of all other agents."""
        places: dict[tuple[str, str, int], list[ArmTally]] = {}
        for fact in facts:
            if isinstance(fact.key, TotalKey):
                total = self.but(agent, fact.key.arm, *fact.key[2:])
                if 0 < total.observations <= MAX_TOTAL:
                    places.setdefault(fact.key[2:], []).append(total)
        return tuple(Cells(EVERYBODY_ELSE, 0, tuple(tallies), *place) for place, tallies in places.items())


def total_key(cell: CellKey) -> TotalKey:
    """Return the key of the total that a cell is part of."""
    return TotalKey(cell.arm, EVERYBODY_ELSE, cell.bandit, cell.segment, cell.period)
