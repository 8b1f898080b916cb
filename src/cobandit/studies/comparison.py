"""The published numbers beside ours: how far apart they are, and an honest word where that is more than chance.

This file owns the arithmetic of the comparison and the explanations. It knows nothing of pictures or of pages.
"""

import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from cobandit.studies.paper import Published, published
from cobandit.studies.reproduction import OTHER_ANSWERS, TRIALS, Reproduced, Run, deviation

FAR = 3.0
"""A cell differs if it is further away than so many standard errors."""

Quantity = Literal["communications", "group regret"]

_TOTALS: dict[Quantity, str] = {"communications": "shares", "group regret": "group_regret"}


@dataclass(frozen=True)
class Cell:
    """One number of the paper's tables, beside ours."""

    experiment: str
    algorithm: str
    quantity: Quantity
    published: float
    published_sd: float
    values: tuple[float, ...]
    """Ours, trial by trial."""

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
    def title(self) -> str:
        """What the paper calls the algorithm: with a D where thresholds double."""
        printed, comma, variant = self.algorithm.partition(", ")
        return f"{printed}{'-D' if self.experiment == '3' else ''}{comma}{variant}"

    @property
    def is_counted(self) -> bool:
        """Whether it is the paper's algorithm as printed, and no variant of ours."""
        return not self.algorithm.endswith(OTHER_ANSWERS)

    @property
    def differs(self) -> bool:
        """Whether the two are further apart than chance puts them."""
        return abs(self.errors) > FAR


def cells(reproduced: Iterable[Reproduced]) -> Iterator[Cell]:
    """Return all cells of the tables among these experiments, in the order of the paper."""
    table = published()
    for one in reproduced:
        for (_, algorithm), run in one.runs.items():
            key = (one.study.name, algorithm.partition(", ")[0])
            if key in table:
                yield from _cells_of(key[0], run, table[key])


def word(cell: Cell, *, surrogate: bool) -> str:
    """Return what there is to say about a cell: something if it differs, or if the paper's own number is odd.

    Args:
        cell: The cell.
        surrogate: Whether the surrogate arms were used, and not arms that the user passed.
    """
    if (cell.experiment, cell.algorithm, cell.quantity) == ("6b", "AAE-IBC", "communications"):
        told = _EARLY_ENDS.format(early=_early_ends(cell), trials=len(cell.values))
        return told + _RARE_HERE if surrogate else told
    if not cell.differs:
        return ""
    if cell.quantity == "communications":
        return _about_messages(cell)
    if not surrogate:
        return _OWN_ARMS
    if cell.algorithm.startswith("UCB"):
        return _UCB_REGRET
    return _AAE_REGRET_3 if cell.experiment == "3" else _AAE_REGRET


def _about_messages(cell: Cell) -> str:
    if cell.experiment == "3" and cell.algorithm.endswith(OTHER_ANSWERS):
        return _OTHER_ANSWERS
    if cell.experiment == "3" and "ODC" in cell.algorithm:
        return _AS_PRINTED.format(counted=cell.mean)
    return _AAE_MESSAGES if cell.algorithm.startswith("AAE") else _UCB_MESSAGES


def _early_ends(cell: Cell) -> int:
    return sum(value < 0.9 * cell.published for value in cell.values)


def _cells_of(name: str, run: Run, row: Published) -> Iterator[Cell]:
    numbers: dict[Quantity, tuple[float, float]] = {
        "communications": (row.communications, row.communications_sd),
        "group regret": (row.group_regret, row.group_regret_sd),
    }
    for quantity, (mean, sd) in numbers.items():
        yield Cell(name, run.algorithm, quantity, mean, sd, tuple(run.values(_TOTALS[quantity])))


_AS_PRINTED = (
    "Algorithm 1 as printed cannot reach the published number. A slow agent makes about 80 pulls here, and with "
    "fewer than 127 it fills a doubling buffer at most six times, which allows 549 messages in all; we count "
    f"{{counted:,.0f}}. If a share sent in answer does not move the threshold on, the count comes close to the "
    f"published one: see the row “{OTHER_ANSWERS}”. We believe that the published run did that. We do not know."
)

_OTHER_ANSWERS = (
    "This variant is our reading of what the published run did with answers. It comes within about one per cent, "
    "which Algorithm 1 as printed does not, but a few messages are missing: some further detail, not in the paper, "
    "may differ."
)

_EARLY_ENDS = (
    "The oddest cell of the paper: its spread is 200 times that of its neighbours. It is what one gets if about 4 of "
    "30 trials stop talking at slot 40,000. With delta = 1/n_j that can happen: the slow agents wake with everything "
    "the fast ones learned but almost no pulls of their own, so their intervals are far too narrow, they rule out "
    "all arms but one for everybody, and communication ends. Here it happened in {early} of {trials} trials. We let "
    "an agent eliminate only after two pulls of its own; how often it still happens depends on how far the best arm "
    "stands out."
)

_RARE_HERE = " With the surrogate arms it is rare: a longer run had it in 2 of 300 trials, not in 4 of 30."

_AAE_MESSAGES = (
    "AAE stops talking when one candidate is left. With delta = 1/n_j, agents with few pulls of their own have "
    "intervals that are too narrow, and once in a while they end the exploration for everybody too early. A few such "
    "trials more, or fewer, move this count far."
)

_UCB_MESSAGES = (
    "Not explained. UCB's messages depend on the decision times alone, so the arms are no excuse. Three standard "
    "errors come up by chance in one cell of 370; if another seed shows the same, the order of events differs from "
    "the paper's."
)

_UCB_REGRET = (
    "A prediction: the surrogate arms were fitted to nothing but IBC regrets of Experiments 5 and 7. Sixteen other "
    "means with the same regret there give another regret here."
)

_AAE_REGRET = (
    "The surrogate arms were fitted to nothing but IBC regrets of Experiments 5 and 7, and not exactly. AAE's regret "
    "hangs on the gaps of the few best arms, and with delta = 1/n_j on which agent with few pulls of its own is the "
    "first to rule an arm out for everybody; so a difference of this size is no surprise, and no confirmation "
    "either."
)

_AAE_REGRET_3 = (
    "A prediction that fails. Here nearly all pulls are the fast agent's, while the slow ones, with at most about 80 "
    "own pulls, use delta = 1/n_j with a tiny n_j: they rule arms out for everybody long before the fast agent "
    "would. The regret therefore depends on details of that moment that the paper does not tell, and on the gaps of "
    "the few best arms, which we do not have. If delta counts all observations that an agent holds, ours is above "
    "the published one; with 1/n_j it is below."
)

_OWN_ARMS = (
    "Made with the arms that you passed. If they are not the very 16 that the paper drew, another regret is to be "
    "expected; if they are, this cell is not explained."
)
