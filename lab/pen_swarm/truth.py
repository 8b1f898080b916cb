"""What really happened, kept outside of every machine: which decisions were made, who counted and acknowledged them.

Every function says what is wrong in a sentence; no sentence is what everybody wants to see.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cobandit.codec import decode_record
from cobandit.core import Adopted, Cells, Received, Share
from cobandit.core.facts import CellKey
from cobandit.core.pen_names import lender_of
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


class Line:
    """What a cell of a pen is made of, in the order in which its lender counted it."""

    __slots__ = ("decisions", "sums")

    def __init__(self) -> None:
        self.decisions: list[Made] = []
        self.sums = [0]

    def cut(self, count: int) -> None:
        """Forget what a relay has lost with its disk, and nobody else knows."""
        del self.decisions[count:], self.sums[count + 1 :]

    def add(self, made: Made) -> list[str]:
        """Count a decision."""
        wrong = [f"decision {made.number} of {made.pen} is counted twice"] * (made in self.decisions)
        self.decisions.append(made)
        self.sums.append(self.sums[-1] + made.units)
        return wrong


class Truth:
    """All of it."""

    def __init__(self) -> None:
        self.decisions: dict[tuple[str, int], Made] = {}
        self.lines: defaultdict[CellKey, Line] = defaultdict(Line)
        self.acknowledged: dict[tuple[str, int], float] = {}
        """Which decisions a lender has acknowledged, and when they were counted."""
        self._holders: dict[tuple[str, int], Station] = {}
        """Who holds or held a pen, by its session."""
        self._last: dict[str, Station] = {}
        self._counted: defaultdict[Station, dict[int, float]] = defaultdict(dict)
        """Which decisions each holder has counted and not seen acknowledged."""
        self._tails: defaultdict[Station, dict[Arm, tuple[int, list[Made]]]] = defaultdict(dict)
        """What each holder has counted of each arm, after so many that it was given."""

    def began(self, station: Station) -> list[str]:
        """A pen was lent to a process, which has not done anything yet."""
        agent, wrong = station.machine.agent, list[str]()
        before = self._last.get(agent.name)
        if before is not None and before.is_up and not (before.is_copy or before.is_giving_back):
            wrong.append(f"the pen {agent.name} is held by two processes at once")
        self._last[agent.name] = self._holders[agent.name, agent.session] = station
        for arm in agent.arms:
            counted = len(self.lines[CellKey(agent.name, agent.incarnation, arm)].decisions)
            given = agent.endpoint.replica.own_count(arm)
            if before is not None:
                start, tail = self._tails[before][arm]
                counted = max(counted, start + len(tail))
            if given != counted:
                wrong.append(f"{agent.name} is handed on with {given} of {arm}: {counted} were observed with it")
            self._tails[station][arm] = given, []
        return wrong

    def stepped(self, station: Station, step: Step, time: float) -> list[str]:
        """A machine has taken a step and written it down."""
        if station.machine.holding is None:
            return [
                wrong
                for record in map(decode_record, step.batch.records)
                if isinstance(record, Adopted | Received)
                for wrong in self._counted_by(station, record)
            ]
        if not station.is_copy:
            self._counted_with(station, step, time)
        return []

    def _counted_with(self, station: Station, step: Step, time: float) -> None:
        """A holder has counted something."""
        holding, counted, name = station.machine.holding, self._counted[station], station.name
        assert holding is not None
        for entry in step.batch.settled:
            if entry.units is not None:
                self._tails[station][entry.arm][1].append(self.decisions[name, entry.number])
                counted[entry.number] = time
        lacking = {entry.number for _, entry in holding._unacknowledged}  # noqa: SLF001  # nobody else is told
        for number in [number for number in counted if number not in lacking]:
            self.acknowledged[name, number] = counted.pop(number)

    def _counted_by(self, station: Station, record: Adopted | Received) -> list[str]:
        """A lender has counted something itself, or heard of it from a holder."""
        wrong: list[str] = []
        if isinstance(record, Adopted):
            for key, line, count in self._told((record.told,)):
                line.cut(count - 1)  # what it does not know, it has lost
                (block,) = record.settled
                number = block.block * BLOCK + int.from_bytes(block.bits, "little").bit_length() - 1
                wrong += line.add(self.decisions[key.agent, number])
            return wrong
        if not isinstance(record.message, Share) or lender_of(record.message.sender) != station.name:
            return []
        delivery = record.message.delivery
        assert delivery is not None
        holder = self._holders[record.message.sender, delivery.session]
        for key, line, count in self._told(record.message.changes.cells):
            start, tail = self._tails[holder][key.arm]
            for place in range(len(line.decisions), count):
                if not 0 <= place - start < len(tail):
                    wrong.append(f"{station.name} takes {count} of {key.arm} of {key.agent}, which nobody observed")
                    break
                wrong += line.add(tail[place - start])
        return wrong

    def _told(self, cells: Sequence[Cells]) -> Iterator[tuple[CellKey, Line, int]]:
        for told in cells:
            for entry in told.tallies:
                key = CellKey(told.agent, told.incarnation, entry.arm)
                yield key, self.lines[key], entry.observations

    def compare(self, station: Station) -> list[str]:
        """Compare what a relay knows with what was counted."""
        wrong: list[str] = []
        for key, (arm, count, units, _) in station.machine.agent.endpoint.replica.cells():
            line = self.lines[key]
            if count > len(line.decisions):
                wrong.append(f"{station.name} knows {count} of {arm} of {key.agent}: {len(line.decisions)} count")
            elif line.sums[count] != units:
                wrong.append(f"{station.name} has {units} for {count} of {arm} of {key.agent}: {line.sums[count]}")
        return wrong

    def counted(self, station: Station) -> set[Made]:
        """Return which decisions a relay knows to be counted."""
        cells = station.machine.agent.endpoint.replica.cells()
        return {made for key, entry in cells for made in self.lines[key].decisions[: entry.observations]}


def cells_of(station: Station) -> dict[CellKey, int]:
    """Return how much a relay knows of each cell."""
    return {key: entry.observations for key, entry in station.machine.agent.endpoint.replica.cells()}
