"""One fact: what it is about, its value, and how a message carries it.

There are cells, eliminations, presences, settled decisions of pens, and a relay's totals. Each kind has its own kind of
key. This file does not know which facts an agent has, which of two values is later (`replica.py`), or who receives
them.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cobandit.core.messages import EVERYBODY_ELSE, AgentId, Cells, Changes, Eliminations, Presence
from cobandit.core.pen_names import SettledBlock
from cobandit.values.tally import Arm, ArmTally


class CellKey(NamedTuple):
    """Key of a cell: whose observations, and of what."""

    agent: AgentId
    incarnation: int
    arm: Arm
    bandit: str = ""
    segment: str = ""
    period: int = 0


class EliminationsKey(NamedTuple):
    """Key of the arms that one incarnation of an agent has eliminated."""

    agent: AgentId
    incarnation: int


class PresenceKey(NamedTuple):
    """Key of whether an agent is here."""

    agent: AgentId


class SettledKey(NamedTuple):
    """Key of a block of a pen's decisions: which of them are settled (`settled.py`)."""

    agent: AgentId
    incarnation: int
    block: int


class TotalKey(NamedTuple):
    """Key of a total: what all agents have observed of an arm. Relays keep totals beside the cells that they add up."""

    arm: Arm
    agent: AgentId = EVERYBODY_ELSE
    bandit: str = ""
    segment: str = ""
    period: int = 0


Key = CellKey | EliminationsKey | PresenceKey | SettledKey | TotalKey
Teller = tuple[AgentId, int | None]


class Fact:
    """The latest known value of one key."""

    __slots__ = ("key", "number", "teller", "value")

    def __init__(self, key: Key, value: object, teller: Teller | None) -> None:
        self.key = key
        self.value = value
        """The `ArmTally` of a cell or a total; a tuple of arms; a `Presence`; a bitmap of settled numbers."""
        self.number = 0
        """The number of its last change in this agent's log."""
        self.teller = teller
        """Who reported it, in which of its sessions: that peer need not get it. `None` for this agent's own facts."""

    @property
    def cell(self) -> ArmTally:
        """The value of a cell."""
        return self.value  # type: ignore[return-value]


def told(facts: Iterable[Fact], base: int = 0, upto: int = 0) -> Changes:
    """Return facts as a message carries them."""
    cells: dict[tuple[AgentId, int, str, str, int], list[ArmTally]] = {}
    eliminations: list[Eliminations] = []
    presences: list[Presence] = []
    settled: list[SettledBlock] = []
    for fact in facts:
        match fact.key:
            case CellKey() as key:
                place = (key.agent, key.incarnation, key.bandit, key.segment, key.period)
                cells.setdefault(place, []).append(fact.cell)
            case EliminationsKey(agent, incarnation):
                eliminations.append(Eliminations(agent, incarnation, fact.value))  # type: ignore[arg-type]
            case PresenceKey():
                presences.append(fact.value)  # type: ignore[arg-type]
            case SettledKey(agent, incarnation, block):
                value: int = fact.value  # type: ignore[assignment]
                bits = value.to_bytes((value.bit_length() + 7) // 8, "little")
                settled.append(SettledBlock(agent, incarnation, *((value, b"") if block < 0 else (block, bits))))
    listed = [
        Cells(agent, incarnation, tuple(tallies), bandit, segment, period)
        for (agent, incarnation, bandit, segment, period), tallies in cells.items()
    ]
    return Changes(base, upto, tuple(listed), tuple(eliminations), tuple(presences), tuple(settled))


def cell_key(told: Cells, arm: Arm) -> CellKey:
    """Return the key of a received cell."""
    return CellKey(told.agent, told.incarnation, arm, told.bandit, told.segment, told.period)
