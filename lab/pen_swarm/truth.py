"""What really happened, kept outside of every machine: which decisions were made, who counted and acknowledged them.

Every function says what is wrong in a sentence; no sentence is what everybody wants to see.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from cobandit.codec import decode_record
from cobandit.core import Observed
from cobandit.core.facts import CellKey
from cobandit.core.settled import BLOCK
from cobandit.live.machine.step import Step
from cobandit.values.tally import Arm
from lab.pen_swarm.station import Station


@dataclass(slots=True, eq=False)
class Made:
    """A decision that was made."""

    pen: str
    number: int
    arm: Arm
    token: str
    units: int
    is_withdrawn: bool = False
    is_brought: bool = False
    """Whether its reward was brought to somebody after the world had healed."""


class Place(NamedTuple):
    """Where a decision was counted: as the n-th of a cell."""

    cell: CellKey
    nth: int


class Log:
    """What one cell is made of, in order."""

    __slots__ = ("decisions", "sums")

    def __init__(self) -> None:
        self.decisions: list[Made] = []
        self.sums = [0]


Known = dict[CellKey, int]
"""How many observations of each cell somebody knows."""


class Truth:
    """All of it."""

    def __init__(self) -> None:
        self.decisions: dict[tuple[str, int], Made] = {}
        self.logs: defaultdict[CellKey, Log] = defaultdict(Log)
        self.places: defaultdict[tuple[str, int], list[Place]] = defaultdict(list)
        self.twice: list[tuple[Made, Place, Place]] = []
        self.holders: dict[str, Station] = {}
        self.acknowledged: dict[tuple[str, int], float] = {}
        """Which decisions a lender has acknowledged, and when."""
        self._counted: defaultdict[Station, dict[int, None]] = defaultdict(dict)
        """Which decisions each holder has counted and not seen acknowledged."""

    def began(self, station: Station) -> list[str]:
        """A pen was lent to a process, which has not done anything yet."""
        agent, wrong = station.machine.agent, list[str]()
        before = self.holders.get(agent.name)
        is_given_back = before is not None and before.is_giving_back
        if before is not None and before.is_up and not (before.is_copy or is_given_back):
            wrong.append(f"the pen {agent.name} is held by two processes at once")
        self.holders[agent.name] = station
        for arm in agent.arms:
            counted = len(self.logs[CellKey(agent.name, agent.incarnation, arm)].decisions)
            given = agent.endpoint.replica.own_count(arm)
            if given != counted:
                wrong.append(f"{agent.name} is handed on with {given} of {arm}: {counted} were observed with it")
        return wrong

    def stepped(self, station: Station, step: Step, time: float) -> None:
        """A machine has taken a step and written it down."""
        if station.is_copy:
            return
        agent, holding = station.machine.agent, station.machine.holding
        if holding is None:
            for record in map(decode_record, step.batch.records):
                if isinstance(record, Observed) and record.tallies:
                    (block,), (tally,) = record.settled, record.tallies
                    number = block.block * BLOCK + int.from_bytes(block.bits, "little").bit_length() - 1
                    self._observed(CellKey(agent.name, agent.incarnation, tally.arm), (block.agent, number), tally[2])
            return
        counted = self._counted[station]
        for entry in step.batch.settled:
            if entry.units is not None:
                self._observed(
                    CellKey(agent.name, agent.incarnation, entry.arm), (agent.name, entry.number), entry.units
                )
                counted[entry.number] = None
        lacking = {entry.number for _, entry in holding._unacknowledged}  # noqa: SLF001  # nobody else is told
        for number in [number for number in counted if number not in lacking]:
            del counted[number]
            self.acknowledged[agent.name, number] = time

    def _observed(self, cell: CellKey, decision: tuple[str, int], units: int) -> None:
        log, made = self.logs[cell], self.decisions[decision]
        log.decisions.append(made)
        log.sums.append(log.sums[-1] + units)
        place = Place(cell, len(log.decisions))
        self.twice += [(made, other, place) for other in self.places[decision]]
        self.places[decision].append(place)

    def compare(self, station: Station) -> list[str]:
        """Compare what a relay knows with what was observed."""
        wrong: list[str] = []
        known: Known = {}
        for key, (arm, count, units, _) in station.machine.agent.endpoint.replica.cells():
            known[key] = count
            log = self.logs[key]
            if count > len(log.decisions):
                wrong.append(
                    f"{station.name} knows {count} of {arm} of {key.agent}: {len(log.decisions)} were observed"
                )
            elif log.sums[count] != units:
                wrong.append(f"{station.name} has {units} for {count} of {arm} of {key.agent}: {log.sums[count]}")
        for made, one, other in self.twice:
            if knows(known, one) and knows(known, other):
                wrong.append(f"{station.name} counts decision {made.number} of {made.pen} twice: {one} and {other}")
        return wrong


def known_to(station: Station) -> Known:
    """Return what a relay knows."""
    return {key: entry.observations for key, entry in station.machine.agent.endpoint.replica.cells()}


def knows(known: Known, place: Place) -> bool:
    """Return whether somebody knows of an observation."""
    return known.get(place.cell, 0) >= place.nth
