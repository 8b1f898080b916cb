"""Do the message counts agree with the paper's? Experiments 3, 5, 6a, 6b and 7 with UCB, on the readable engine.

UCB's message counts depend on the decision times alone, not on the arms, so they are a sharp test of the order of
events.
"""

import math
import signal
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice

from cobandit.core import Geometric, Threshold
from cobandit.simulator import run
from cobandit.studies.paper import experiment, published

PRECISION = 0.004
"""The standard error that a count should have, as a fraction."""

SEED = 1
"""The seed of every trial that the project reports."""


@dataclass(frozen=True)
class Comparison:
    """One published count beside ours."""

    experiment: str
    algorithm: str
    published: float
    published_sd: float
    counted: tuple[int, ...]
    """Our count in each trial."""

    @property
    def mean(self) -> float:
        """The mean of our counts."""
        return statistics.fmean(self.counted)

    @property
    def difference(self) -> float:
        """How far our mean is from the published one, as a fraction of it."""
        return self.mean / self.published - 1.0

    @property
    def agrees(self) -> bool:
        """Whether the difference is at most one per cent; Algorithm 1 as printed cannot agree in Experiment 3."""
        return abs(self.difference) <= 0.01 or (self.experiment, self.algorithm) == ("3", "UCB-ODC")

    @property
    def standard_error(self) -> float:
        """How far chance alone may put our mean, as a fraction of the published one: the paper's own spread tells."""
        return self.published_sd / math.sqrt(len(self.counted)) / self.published


VARIANTS: dict[str, Threshold] = {
    "UCB-ODC, answers of one": Geometric(2, answers_wait=False),
    "UCB-ODC, answers keep c": Geometric(2, answers_advance=False),
}
"""Experiment 3 is shown again with these rules: see decision records 0002 and 0044."""


def compare(experiments: Sequence[str], *, trials: int | None = None, workers: int) -> Iterator[Comparison]:
    """Count the messages of each experiment and set them beside the published ones, one comparison at a time.

    Without `trials` each experiment gets as many as bring its standard error down to `PRECISION`, and at least three.
    """
    table = published()
    rows = [(name, algorithm, trials or trials_for(name)) for name in experiments for algorithm in _algorithms(name)]
    pool = ProcessPoolExecutor(workers, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN))
    try:
        counts = pool.map(_count, [(name, algorithm, trial) for name, algorithm, runs in rows for trial in range(runs)])
        for name, algorithm, runs in rows:
            cell = table[name, algorithm.split(",")[0]]
            counted = tuple(islice(counts, runs))
            yield Comparison(name, algorithm, cell.communications, cell.communications_sd, counted)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # an interrupt should not wait for a trial


def trials_for(name: str) -> int:
    """Return how many trials an experiment needs.

    >>> trials_for("5"), trials_for("7")
    (12, 3)
    """
    cell = published()[name, "UCB-ODC"]
    return max(3, math.ceil((cell.communications_sd / cell.communications / PRECISION) ** 2))


def _algorithms(name: str) -> list[str]:
    variants = list(VARIANTS) if name == "3" else []
    return ["UCB-IBC", "UCB-ODC", *variants]


def _count(job: tuple[str, str, int]) -> int:
    name, algorithm, trial = job
    scenario = experiment(name).scenario(algorithm.split(",")[0], threshold=VARIANTS.get(algorithm))
    return run(scenario, seed=SEED, trial=trial).shares
