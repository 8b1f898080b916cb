"""Run many trials and keep what they measured: `cobandit.simulate`.

This file puts the others together: which scenarios, how many trials, from which seed; what is done already; where the
rest runs; what comes out.
"""

import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path

import numba
import numpy as np

import cobandit
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario.file import MOST_TRIALS, ScenarioFile, read_scenario
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import LARGEST_SEED
from cobandit.scenario.writing import scenario_to_mapping
from cobandit.simulator.results import About, Results
from cobandit.simulator.store import Journal, read_manifest
from cobandit.simulator.trials import Engine, Trial, engine_for, jobs_for, run_jobs
from cobandit.values.checks import check_whole, plain_arguments
from cobandit.values.errors import LocalError
from cobandit.values.provenance import source_hash

DEFAULT_TRIALS = 30
DEFAULT_SEED = 1

World = Scenario | Path | str
"""A scenario, or the path of a scenario file."""

Progress = Callable[[int, int], None]
"""Told how many trials are done, and of how many."""


@plain_arguments
def simulate(
    scenario: World | Mapping[str, World],
    *,
    trials: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    engine: Engine = "auto",
    checkpoints: int | Sequence[int] = (),
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run trials of a scenario, or of several on the same tapes, and return what they measured.

    The same seed gives the same bits, whatever the number of workers and wherever they are.

    Args:
        scenario: A `Scenario`, the path of a scenario file, or several of them by name, for a paired comparison.
        trials: How many trials of each; as the file says, or 30.
        seed: The seed of all chance; as the file says, or 1.
        workers: How many threads; one for each core by default.
        executor: Where to run in place of threads: any `concurrent.futures.Executor`.
        engine: `"auto"`, `"compiled"` or `"reference"`. Both engines give the same results.
        checkpoints: Slots at whose beginning regret and communication are kept, or how many such slots, evenly spaced.
        out: A folder for the results. Finished trials are kept there as they finish, so that the same call goes on
            where an earlier one was interrupted; at the end it holds Parquet files that `Results.load` reads.
        progress: Called with the number of trials done and of all trials, at the start and after each.

    Raises:
        LocalError: Something of this is wrong, or the folder holds another run or cannot be written.

    >>> from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
    >>> world = Scenario(horizon=100, arms=Arms.of([0.2, 0.8]), agents=(AgentSpec(Rate(1.0)), AgentSpec(Rate(0.1))))
    >>> results = simulate(world, trials=3, seed=1, engine="reference")
    >>> len(results.trials), len(results.agents)
    (3, 6)
    >>> sorted(results.summary()["scenario"]["shares"])
    ['high', 'low', 'mean', 'sd']
    """
    worlds = _worlds(scenario)
    scenarios = {name: world.scenario for name, world in worlds.items()}
    runs = _agreed("trials", trials, [world.trials for world in worlds.values()], DEFAULT_TRIALS)
    check_whole("trials", runs, 1, MOST_TRIALS)
    own_parts: list[str] = []
    about = About(
        scenarios={name: _written(one, own_parts) for name, one in scenarios.items()},
        trials=runs,
        seed=_agreed("seed", seed, [world.seed for world in worlds.values()], DEFAULT_SEED),
        checkpoints=_slots(checkpoints, min(one.horizon for one in scenarios.values())),
        engine=" and ".join(sorted({engine_for(one, engine) for one in scenarios.values()})),
        versions=versions(),
    )
    check_whole("seed", about.seed, 0, LARGEST_SEED)
    if workers is not None:
        check_whole("workers", workers, 1)
    jobs = jobs_for(scenarios, trials=runs, seed=about.seed, engine=engine, checkpoints=about.checkpoints)
    report = progress or (lambda _done, _all: None)
    if out is None:
        done: dict[tuple[str, int], Trial] = {}
        report(0, len(jobs))
        for trial in run_jobs(jobs, executor, workers=workers):
            done[trial.name, trial.trial] = trial
            report(len(done), len(jobs))
        return Results.of(list(done.values()), about)
    with closing(Journal(Path(out), about.identity, trials=runs, resumable=not own_parts)) as journal:
        kept = read_manifest(Path(out))
        if kept is not None and kept["about"]["trials"] == runs:
            report(len(jobs), len(jobs))
            return Results.load(out)
        left = [job for job in jobs if (job.name, job.trial) not in journal.done]
        report(len(jobs) - len(left), len(jobs))
        for count, trial in enumerate(run_jobs(left, executor, workers=workers), start=1):
            journal.append(trial)
            report(len(jobs) - len(left) + count, len(jobs))
        results = Results.of([journal.done[job.name, job.trial] for job in jobs], about)
        results.save(out)
        return results


def versions() -> dict[str, str]:
    """Return the versions of what a result depends on."""
    return {
        "cobandit": cobandit.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def _worlds(scenario: World | Mapping[str, World]) -> dict[str, ScenarioFile]:
    if isinstance(scenario, Mapping):
        if not scenario:
            raise LocalError("there is no scenario to simulate: give at least one")
        return {str(name): _world(world) for name, world in scenario.items()}
    world = _world(scenario)
    return {"scenario" if isinstance(scenario, Scenario) else Path(scenario).stem: world}


def _world(scenario: object) -> ScenarioFile:
    if isinstance(scenario, Scenario):
        return ScenarioFile(scenario)
    if isinstance(scenario, Path | str):
        return read_scenario(scenario)
    raise LocalError(f"a scenario is a Scenario or the path of a scenario file, not {scenario!r}")


def _agreed(what: str, given: int | None, in_files: Sequence[int | None], default: int) -> int:
    """Return the number that is given, or the one that the files agree on."""
    if given is not None:
        return given
    named = sorted({number for number in in_files if number is not None})
    if len(named) > 1:
        raise LocalError(f"the scenario files disagree on {what} ({', '.join(map(str, named))}): say which")
    return named[0] if named else default


def _slots(checkpoints: int | Sequence[int], horizon: int) -> tuple[int, ...]:
    if isinstance(checkpoints, int):
        check_whole("the number of checkpoints", checkpoints, 1, horizon)
        return tuple(horizon * position // checkpoints for position in range(1, checkpoints + 1))
    for slot in checkpoints:
        check_whole("a checkpoint", slot, 0, horizon)
    return tuple(sorted(set(checkpoints)))


def _written(scenario: Scenario, own_parts: list[str]) -> dict[str, object]:
    """Return the scenario as in a file; parts of the user's own go by their names, and are listed."""

    def name(path: str, value: object) -> object:
        own_parts.append(path)
        if isinstance(value, PlugIn):
            return _own_protocol(value)
        kind = value if hasattr(value, "__qualname__") else type(value)
        return {"python": f"{kind.__module__}.{kind.__qualname__}"}

    return scenario_to_mapping(scenario, own=name)


def _own_protocol(plugged: PlugIn) -> dict[str, object]:
    """Return what a result says of a protocol that no file can name: which class it was, and what it did."""
    build = plugged.build
    return {
        "python": f"{build.__module__}.{build.__qualname__}",
        "parameters": {name: _plain(value) for name, value in plugged.parameters.items()},
        "hubs": plugged.hubs,
        "source": source_hash(build),
        "told": plugged.about.told,
    }


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
