"""The published numbers beside ours: how far apart they are, for Algorithm 1 as printed and for the second reading.

This file owns the arithmetic of the comparison. The sentences are in `sentences.py`; it knows nothing of pages.

Means of regret are compared as pseudo-regret. The paper's R is realised regret: it has the same mean, but also the luck
of the rewards, which would only add noise on our side. Its spread is what the paper's "±" tells, so a cell has it too.
"""

import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from cobandit.studies.paper import published
from cobandit.studies.readings import second_reading
from cobandit.studies.reproduction import TRIALS, Reproduced, deviation

FAR = 3.0
"""A number differs if it is further away than this many standard errors."""

NEAR = 2.0
"""A number that is further away than this many gets the probability that chance does it."""

Quantity = Literal["communications", "group regret"]


@dataclass(frozen=True)
class Measured:
    """One number of ours, and the published one that it stands beside."""

    values: tuple[float, ...]
    """Ours, trial by trial."""
    published: float
    published_sd: float

    @property
    def mean(self) -> float:
        """The mean of our trials."""
        return statistics.fmean(self.values)

    @property
    def sd(self) -> float:
        """The standard deviation between our trials."""
        return deviation(self.values)

    @property
    def standard_error(self) -> float:
        """How far chance alone puts the two means apart. A single trial has no spread: the published one stands in."""
        ours = self.sd if len(self.values) > 1 else self.published_sd
        return math.hypot(self.published_sd / math.sqrt(TRIALS), ours / math.sqrt(len(self.values)))

    @property
    def errors(self) -> float:
        """How many standard errors our mean is above the published one."""
        return (self.mean - self.published) / self.standard_error

    @property
    def relative(self) -> float:
        """How far our mean is above the published one, as a fraction of it."""
        return self.mean / self.published - 1.0

    @property
    def probability(self) -> float:
        """How likely chance alone puts the two at least as far apart (two-sided, normal)."""
        return math.erfc(abs(self.errors) / math.sqrt(2.0))

    @property
    def differs(self) -> bool:
        """Whether the two are further apart than chance puts them."""
        return abs(self.errors) > FAR


@dataclass(frozen=True)
class Cell:
    """One number of the paper's tables, beside ours."""

    experiment: str
    algorithm: str
    quantity: Quantity
    printed: Measured
    """Algorithm 1 as printed; of regret, pseudo-regret."""
    best: Measured
    """The second reading; of regret, pseudo-regret."""
    realised: Measured
    """The second reading; of regret, realised regret, whose spread compares with the published one."""

    @property
    def published(self) -> float:
        """The published mean."""
        return self.printed.published

    @property
    def published_sd(self) -> float:
        """The published standard deviation."""
        return self.printed.published_sd

    @property
    def title(self) -> str:
        """What the paper calls the algorithm: with a D where thresholds double."""
        return f"{self.algorithm}{'-D' if self.experiment == '3' else ''}"


def cells(reproduced: Iterable[Reproduced]) -> Iterator[Cell]:
    """Return all cells of the tables among these experiments, in the order of the paper."""
    table = published()
    for one in reproduced:
        for (point, algorithm), run in one.runs.items():
            row = table.get((one.study.name, algorithm))
            if row is None:
                continue
            again = one.run(second_reading(algorithm), point)
            sent, lost = (row.communications, row.communications_sd), (row.group_regret, row.group_regret_sd)
            printed, best = (Measured(tuple(side.values("shares")), *sent) for side in (run, again))
            yield Cell(one.study.name, algorithm, "communications", printed, best, best)
            printed, best = (Measured(tuple(side.values("group_regret")), *lost) for side in (run, again))
            realised = Measured(tuple(again.values("realised_regret")), *lost)
            yield Cell(one.study.name, algorithm, "group regret", printed, best, realised)
