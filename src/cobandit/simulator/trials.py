"""Many trials of one or several scenarios, on any executor.

All algorithms in a comparison run on the same tapes: trial 7 of each has the same decision times and the same luck. A
trial depends only on its scenario, the seed and its number, so it does not matter on which worker, or in which order,
it runs. What comes back is small: the measurements, not the run.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from cobandit.scenario.scenario import Scenario
from cobandit.simulator import kernel, reference
from cobandit.simulator.details import arms_of, details_of, over_time_of
from cobandit.simulator.forked import can_fork, in_processes
from cobandit.simulator.kernel.refusing import why_not_compiled
from cobandit.simulator.result import Result
from cobandit.values.chance import stream
from cobandit.values.cores import core_count
from cobandit.values.errors import LocalError

Engine = Literal["auto", "compiled", "reference"]
"""`auto` uses the compiled engine for everything that it can run."""

Measure = Callable[[Scenario, Result], Mapping[str, float]]
"""Takes further measurements from a run, on the worker: a name for each."""


@dataclass(frozen=True)
class Job:
    """One trial of one scenario, with everything that a worker needs."""

    name: str
    """The name of the scenario in a comparison, such as "UCB-ODC"."""
    scenario: Scenario
    seed: int
    trial: int
    engine: Engine = "auto"
    checkpoints: tuple[int, ...] = ()
    measure: Measure | None = None
    keep: tuple[str, ...] = ()
    """Frames that are kept only on request (`details.Detail`)."""


@dataclass(frozen=True)
class Trial:
    """The measurements of one trial."""

    name: str
    trial: int
    totals: dict[str, float]
    """The columns of `frames.TOTALS`, and what `measure` added."""
    by_agent: dict[str, list[float]]
    """The columns of `frames.BY_AGENT`, each with an entry for every agent."""
    over_time: dict[str, list[float]] = field(default_factory=dict)
    """The columns of `frames.OVER_TIME`, each with an entry for every checkpoint."""
    by_arm: dict[str, list[Any]] = field(default_factory=dict)
    """`arm` (its position), `pulls` and `rewards` of all agents together."""
    details: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    """The columns of each requested frame."""


def run_job(job: Job) -> Trial:
    """Run one trial."""
    run = kernel.run if engine_for(job.scenario, job.engine) == "compiled" else reference.run
    result = run(job.scenario, seed=job.seed, trial=job.trial, checkpoints=job.checkpoints)
    said, agents = result.communication, len(result.agents)
    totals: dict[str, float] = {
        "decisions": sum(result.decisions),
        "shares": result.shares,
        "notices": result.notices,
        "retries": result.retries,
        "acknowledgements": result.acknowledgements,
        "messages": result.messages,
        "agent_rounds": said.agent_rounds,
        "bytes": said.bytes,
        "definition_bits": said.definition_bits,
        "staleness": result.staleness,
        "group_regret": result.group_regret,
        "realised_regret": result.realised_regret,
        "dynamic_regret": result.dynamic_regret,
    }
    if job.measure is not None:
        totals.update(job.measure(job.scenario, result))
    return Trial(
        name=job.name,
        trial=job.trial,
        totals=totals,
        by_agent={
            "decisions": [float(count) for count in result.decisions],
            "regret": result.regrets,
            "realised_regret": result.realised_regrets,
            "dynamic_regret": result.dynamic_regrets,
            "shares_sent": said.sent(said.shares, agents).astype(float).tolist(),
            "shares_received": said.received(said.shares, agents).astype(float).tolist(),
            "notices_sent": said.sent(said.notices, agents).astype(float).tolist(),
        },
        over_time=over_time_of(result),
        by_arm=arms_of(result),
        details=details_of(result, job.keep),
    )


def run_seeded_job(job: Job) -> Trial:
    """Run one trial with `random` and `numpy.random` seeded for it, wherever it runs.

    Forked processes begin with the same generators, so a policy's draws from them would repeat in other trials. No
    other thread may use them meanwhile. Afterwards they are restored. Compiled trials leave them alone.
    """
    if not _is_readable(job):
        return run_job(job)
    before = random.getstate(), np.random.get_state()  # noqa: NPY002  # a user's policy may use it
    key = stream(job.seed, job.trial)
    random.seed(key)
    np.random.seed(key >> 32)  # noqa: NPY002
    try:
        return run_job(job)
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


def run_jobs(jobs: Sequence[Job], executor: Executor | None = None, *, workers: int | None = None) -> Iterator[Trial]:
    """Run trials, and yield each as soon as it is done, in no particular order.

    Args:
        jobs: The trials.
        executor: Where to run them. By default, compiled trials run in threads of this process (they release the GIL),
            and those of the readable engine in processes, if there are several and processes can be forked.
        workers: How many at once; by default, one for each core that this process may use.
    """
    if executor is not None:
        yield from _run_all(run_job, jobs, executor)
        return
    most, readable = workers or core_count(), [*filter(_is_readable, jobs)]
    if min(most, len(readable)) > 1 and can_fork():
        yield from in_processes(run_seeded_job, readable, most)
        jobs, readable = [job for job in jobs if not _is_readable(job)], []
    threads = ThreadPoolExecutor(most)
    try:
        yield from _run_all(run_job if min(most, len(readable)) > 1 else run_seeded_job, jobs, threads)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)  # an interrupt should not wait for a trial


def _run_all(run: Callable[[Job], Trial], jobs: Sequence[Job], executor: Executor) -> Iterator[Trial]:
    futures = [executor.submit(run, job) for job in jobs]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _is_readable(job: Job) -> bool:
    return engine_for(job.scenario, job.engine) == "reference"


def jobs_for(
    scenarios: Mapping[str, Scenario],
    *,
    trials: int | range,
    seed: int,
    engine: Engine = "auto",
    checkpoints: Sequence[int] = (),
    measure: Measure | None = None,
    keep: Sequence[str] = (),
) -> list[Job]:
    """Return the jobs of a paired comparison: the same trials of every scenario, on the same tapes."""
    return [
        Job(name, scenario, seed, trial, engine, tuple(checkpoints), measure, tuple(keep))
        for trial in (range(trials) if isinstance(trials, int) else trials)
        for name, scenario in scenarios.items()
    ]


def engine_for(scenario: Scenario, engine: Engine) -> Literal["compiled", "reference"]:
    """Return the engine that runs a scenario.

    Raises:
        LocalError: The compiled engine is requested for something without a compiled form.
    """
    if engine not in get_args(Engine):
        raise LocalError(f"engine {engine!r} is not one of {', '.join(get_args(Engine))}")
    if engine != "auto":
        return engine
    return "reference" if why_not_compiled(scenario) else "compiled"
