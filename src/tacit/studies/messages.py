"""Do the message counts agree with the paper's? Experiments 3, 5, 6a, 6b and 7 with UCB, on the readable engine.

UCB's message counts depend on the decision times alone, not on the arms, so they are a sharp test of the order of
events.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice

from tacit.protocol import Geometric, Threshold
from tacit.simulator import run
from tacit.studies.paper import experiment, published

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


VARIANTS: dict[str, Threshold] = {"UCB-ODC, answers do not advance": Geometric(2, answers_advance=False)}
"""Experiment 3 is shown a second time with this rule: see the decision record on answers."""


def compare(
    experiments: Sequence[str], *, trials: int, workers: int, progress: Callable[[str], None] = lambda _: None
) -> Iterator[Comparison]:
    """Count the messages of each experiment and set them beside the published ones, one comparison at a time."""
    table = published()
    rows = [(name, algorithm) for name in experiments for algorithm in _algorithms(name)]
    jobs = [(name, algorithm, trial) for name, algorithm in rows for trial in range(trials)]
    with ProcessPoolExecutor(workers) as pool:
        counts = pool.map(_count, jobs)
        for name, algorithm in rows:
            progress(f"experiment {name}, {algorithm}")
            counted = tuple(islice(counts, trials))
            cell = table[name, algorithm.split(",")[0]]
            yield Comparison(name, algorithm, cell.communications, cell.communications_sd, counted)


def _algorithms(name: str) -> list[str]:
    variants = list(VARIANTS) if name == "3" else []
    return ["UCB-IBC", "UCB-ODC", *variants]


def _count(job: tuple[str, str, int]) -> int:
    name, algorithm, trial = job
    scenario = experiment(name).scenario(algorithm.split(",")[0], threshold=VARIANTS.get(algorithm))
    return run(scenario, seed=SEED, trial=trial).shares
