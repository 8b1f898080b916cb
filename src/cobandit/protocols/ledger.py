"""What a node knows of who observed what, as numbers that only grow, so that nothing counts twice.

A cell is all that one source has observed of one arm. A source is an agent, or a hub that sends the total of others. Of
two values of a cell, the one with more observations is later. So messages may arrive late, twice or out of order, and
the next message with the same cell makes up for a lost one. This file knows no policy and no network.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cobandit.values.tally import Arm, ArmTally

NOBODY = -1
"""The teller of a cell that the node itself counts."""


class Cell(NamedTuple):
    """Everything one source has observed of one arm: how often, the sum of the rewards and the sum of their squares."""

    source: int
    arm: Arm
    observations: int
    reward_sum: int
    square_sum: int


class Ledger:
    """A table of cells, each with the number of its last change.

    >>> ledger = Ledger()
    >>> ledger.merge([(0, "A", 2, 1, 1), (0, "A", 1, 1, 1)])
    [ArmTally(arm='A', observations=2, reward_sum=1, square_sum=1)]
    >>> ledger.merge([(0, "A", 3, 2, 2)])
    [ArmTally(arm='A', observations=1, reward_sum=1, square_sum=1)]
    """

    def __init__(self) -> None:
        self.changes = 0
        """How many changes there have been; `news` takes such a number."""
        self._cells: dict[tuple[int, Arm], Cell] = {}
        self._changed: dict[tuple[int, Arm], tuple[int, int]] = {}
        """For each cell: the number of its last change, and who reported it."""

    def add(self, source: int, arm: Arm, reward_sum: int, square_sum: int) -> None:
        """Count one observation of a source. Called by its own node."""
        old = self.cell(source, arm)
        self._set(Cell(source, arm, old.observations + 1, old.reward_sum + reward_sum, old.square_sum + square_sum))

    def merge(self, told: Iterable[Iterable[object]], teller: int = NOBODY) -> list[ArmTally]:
        """Merge cells from another node. Return what is new in them, for the policy."""
        found = []
        for numbers in told:
            cell = Cell(*numbers)  # type: ignore[arg-type]  # messages are lists of plain values
            old = self.cell(cell.source, cell.arm)
            if cell.observations > old.observations:
                self._set(cell, teller)
                found.append(ArmTally(cell.arm, *(new - known for new, known in zip(cell[2:], old[2:], strict=True))))
        return found

    def cell(self, source: int, arm: Arm) -> Cell:
        """Return a cell, which is empty if no node has sent it."""
        return self._cells.get((source, arm), Cell(source, arm, 0, 0, 0))

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell, in the order in which they first arrived."""
        return tuple(self._cells.values())

    def news(self, since: int, *, to: int = NOBODY, source: int | None = None) -> list[Cell]:
        """Return the cells that changed after the change with this number, of one source or of all.

        Leaves out what `to` itself observed or sent.
        """
        found = []
        for key, cell in self._cells.items():
            number, teller = self._changed[key]
            if number > since and to not in (teller, cell.source) and source in (None, cell.source):
                found.append(cell)
        return found

    def total(self, source: int, arms: Iterable[Arm], *, without: int) -> list[Cell]:
        """Return what all sources but one have observed of each of these arms, as cells of `source`: a hub's answer."""
        sums: dict[Arm, list[int]] = {arm: [0, 0, 0] for arm in arms}
        for cell in self._cells.values():
            if cell.source != without and cell.arm in sums:
                for place, number in enumerate(cell[2:]):
                    sums[cell.arm][place] += number
        return [Cell(source, arm, *numbers) for arm, numbers in sums.items() if numbers[0]]

    def _set(self, cell: Cell, teller: int = NOBODY) -> None:
        self.changes += 1
        self._cells[cell.source, cell.arm] = cell
        self._changed[cell.source, cell.arm] = self.changes, teller
