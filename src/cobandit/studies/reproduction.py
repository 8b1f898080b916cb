"""Every experiment of the paper, run on the compiled engine.

This file owns which worlds and algorithms an experiment compares, and what its runs measured. A table is run twice:
Algorithm 1 as printed, and its second reading (`cobandit.studies.readings`). It knows nothing of the published numbers
(`cobandit.studies.comparison`), of pictures or of pages.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cobandit.scenario import Arms, Scenario
from cobandit.simulator.result import Result
from cobandit.simulator.trials import Job, Trial, jobs_for, run_jobs
from cobandit.studies import beyond, paper
from cobandit.studies.paper import Experiment
from cobandit.studies.readings import is_second, read_again, second_reading
from cobandit.values.errors import LocalError

TRIALS = 30
"""How many trials the paper ran."""

QUICK_TRIALS = 8
"""How many trials a quick run gives to Experiments 1, 2 and 4; the tables and the easy instance are quick anyway."""

SEED = 1
"""The seed of every trial that the project reports."""

ALGORITHMS = ("UCB-IBC", "UCB-ODC", "AAE-IBC", "AAE-ODC")
DOUBLING = tuple(f"{algorithm}-D" for algorithm in ALGORITHMS)

KINDS = ("between", "among slow", "among fast")
"""The kinds of pairs that the paper tells apart, and the names of their shares in `Trial.totals`."""

Progress = Callable[[str, int, int], None]
"""Is told the experiment, how many of its trials are done, and how many there are."""


@dataclass(frozen=True)
class Study:
    """One experiment of the paper: its worlds, and the algorithms that are compared in each."""

    name: str
    worlds: Mapping[int, Experiment]
    """By the number on the figure's horizontal axis; an experiment with a single world has it at 0."""
    algorithms: tuple[str, ...] = ALGORITHMS
    points: int = 0
    """At how many slots, evenly spaced, regret and communication are kept."""
    quick_worlds: tuple[int, ...] = (0,)
    """The worlds of a quick run."""
    trials: int = TRIALS
    """How many trials; more than the paper's where its own counts spread by more than one per cent."""
    quick_trials: int | None = None
    """The trials of a quick run, if fewer."""

    def quick(self) -> "Study":
        """Return the study with the worlds of a quick run only."""
        return replace(self, worlds={point: self.worlds[point] for point in self.quick_worlds})


@dataclass(frozen=True)
class Run:
    """One algorithm in one world, over all trials."""

    world: Experiment
    scenario: Scenario
    algorithm: str
    trials: tuple[Trial, ...]

    def values(self, quantity: str) -> list[float]:
        """Return a total such as `shares` or `group_regret`, trial by trial."""
        return [trial.totals[quantity] for trial in self.trials]

    def mean(self, quantity: str) -> float:
        """Return the mean of a total."""
        return statistics.fmean(self.values(quantity))

    def sd(self, quantity: str) -> float:
        """Return the standard deviation of a total between trials; zero if there is one trial only."""
        return deviation(self.values(quantity))

    def by_agent(self, quantity: str) -> list[float]:
        """Return a number such as `regret` or `decisions` for each agent: the mean over all trials."""
        return [statistics.fmean(column) for column in zip(*self._lists(quantity), strict=True)]

    def individual_regrets(self, *, fast: bool) -> list[float]:
        """Return the regrets of all fast, or of all slow, agents in all trials."""
        return [
            regret
            for regrets in self._lists("regret")
            for agent, regret in enumerate(regrets)
            if (agent in self.world.fast) == fast
        ]

    def over_time(self, quantity: str) -> tuple[list[float], list[float]]:
        """Return slots, and the mean of `shares` or `group_regret` at the beginning of each."""
        kept = [trial.over_time[quantity] for trial in self.trials]
        return self.trials[0].over_time["slot"], [statistics.fmean(column) for column in zip(*kept, strict=True)]

    def _lists(self, quantity: str) -> list[list[float]]:
        return [trial.by_agent[quantity] for trial in self.trials]


@dataclass(frozen=True)
class Reproduced:
    """What the runs of one study measured."""

    study: Study
    runs: Mapping[tuple[int, str], Run]
    """By world and algorithm."""
    trials: int
    seconds: float

    def run(self, algorithm: str, point: int = 0) -> Run:
        """Return one algorithm's run in one world."""
        return self.runs[point, algorithm]


def studies(names: Sequence[str] = (), *, quick: bool = False) -> list[Study]:
    """Return the named experiments in the order of the paper, and then what is beyond it; or all of the paper.

    Raises:
        LocalError: There is no experiment of that name.
    """
    for name in names:
        if name not in {**STUDIES, **BEYOND}:
            raise LocalError(f"experiment {name!r} is not one of {', '.join({**STUDIES, **BEYOND})}")
    chosen = [study for name, study in STUDIES.items() if not names or name in names]
    chosen += [study for name, study in BEYOND.items() if name in names]
    return [study.quick() for study in chosen] if quick else chosen


def reproduce(
    chosen: Iterable[Study],
    *,
    trials: int | None = None,
    quick: bool = False,
    arms: Arms | None = None,
    workers: int | None = None,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Iterator[Reproduced]:
    """Run experiments one after the other, and yield each when all its trials are done.

    Args:
        chosen: The experiments, from `studies`.
        trials: How many trials; by default as many as the paper ran, or those of a quick run.
        quick: Whether each study has the trials of a quick run.
        arms: The arms, if not the surrogate ones. The easy instance keeps its own.
        workers: How many threads; one for each core by default.
        seed: The seed of all chance.
        progress: Is called at the start of each study, and after every trial.
    """
    for study in chosen:
        count = trials or (study.quick_trials if quick else None) or study.trials
        started = time.perf_counter()
        jobs = _jobs(study, trials=count, seed=seed, arms=arms)
        done: dict[str, list[Trial]] = {}
        if progress is not None:
            progress(study.name, 0, len(jobs))
        for number, trial in enumerate(run_jobs(jobs, workers=workers), start=1):
            done.setdefault(trial.name, []).append(trial)
            if progress is not None:
                progress(study.name, number, len(jobs))
        runs = {
            (point, algorithm): Run(
                world,
                _scenario(world, algorithm, arms),
                algorithm,
                tuple(sorted(done[_job_name(point, algorithm)], key=lambda trial: trial.trial)),
            )
            for point, world in study.worlds.items()
            for algorithm in study.algorithms
        }
        yield Reproduced(study, runs, count, time.perf_counter() - started)


def shares_by_kind(_: Scenario, result: Result, *, fast: frozenset[int]) -> dict[str, float]:
    """Return the shares between fast and slow agents, among the slow and among the fast: a worker measures them."""
    shares = result.communication.shares
    is_fast = [agent in fast for agent in range(len(result.agents))]
    is_slow = [not one for one in is_fast]
    among_fast = float(shares[is_fast][:, is_fast].sum())
    among_slow = float(shares[is_slow][:, is_slow].sum())
    return dict(zip(KINDS, (result.shares - among_fast - among_slow, among_slow, among_fast), strict=True))


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; of a single value, zero."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _jobs(study: Study, *, trials: int, seed: int, arms: Arms | None) -> list[Job]:
    return [
        job
        for point, world in study.worlds.items()
        for job in jobs_for(
            {_job_name(point, algorithm): _scenario(world, algorithm, arms) for algorithm in study.algorithms},
            trials=trials,
            seed=seed,
            engine="compiled",
            checkpoints=[world.horizon * step // study.points for step in range(study.points + 1)]
            if study.points
            else (),
            measure=partial(shares_by_kind, fast=world.fast),
        )
    ]


def _job_name(point: int, algorithm: str) -> str:
    return f"{point} {algorithm}"


def _scenario(world: Experiment, algorithm: str, arms: Arms | None) -> Scenario:
    printed = algorithm.partition(", ")[0]
    return read_again(world, printed, arms) if is_second(algorithm) else world.scenario(printed, arms)


_FIGURES = (
    Study(
        "1",
        {ratio: paper.experiment_1(ratio) for ratio in paper.FAST_AGENTS},
        ALGORITHMS + DOUBLING,
        quick_worlds=(10, 20, 30),
        quick_trials=QUICK_TRIALS,
    ),
    Study(
        "2",
        {slow: paper.experiment_2(slow) for slow in paper.SLOW_AGENTS},
        ALGORITHMS + DOUBLING,
        quick_worlds=(5, 15, 30),
        quick_trials=QUICK_TRIALS,
    ),
    Study("4", {0: paper.EXPERIMENT_4}, ("UCB-IBC-D", "UCB-ODC-D"), points=80, quick_trials=QUICK_TRIALS),
    Study("easy", {0: paper.EASY}, ("UCB-ODC", "AAE-ODC"), points=80),
)

_TABLES = tuple(
    Study(
        name,
        {0: world},
        ALGORITHMS + tuple(map(second_reading, ALGORITHMS)),
        trials=2 * TRIALS if name == "5" else TRIALS,
    )
    for name, world in paper.TABLES.items()
)

STUDIES: dict[str, Study] = {study.name: study for study in sorted(_FIGURES + _TABLES, key=lambda study: study.name)}

BEYOND: dict[str, Study] = {
    "loss": Study(
        "loss",
        {percent: beyond.loss_world(percent) for percent in beyond.LOSSES},
        beyond.LOSS_ALGORITHMS,
        quick_worlds=(0, 10, 30),
        trials=10,
        quick_trials=3,
    ),
    "phases": Study(
        "phases",
        {percent: beyond.loss_world(percent) for percent in beyond.PHASE_LOSSES},
        beyond.PHASE_ALGORITHMS,
        quick_worlds=(0, 30),
        trials=20,
        quick_trials=3,
    ),
    "spread": Study(
        "spread",
        {percent: beyond.spread_world(percent) for percent in beyond.PHASE_LOSSES},
        beyond.PHASE_ALGORITHMS[:2],
        quick_worlds=(0, 30),
        trials=20,
        quick_trials=3,
    ),
}
"""What the paper leaves open. It is run when it is named."""
