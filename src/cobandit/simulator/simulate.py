"""Runs many trials and keeps their measurements: `cobandit.simulate`.

This file combines the others: which scenarios, how many trials, from which seed; what is done already; where the rest
runs; what comes out.
"""

import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np

import cobandit
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario.file import MOST_TRIALS, ScenarioFile, read_scenario
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import LARGEST_SEED
from cobandit.scenario.writing import scenario_to_mapping
from cobandit.simulator.details import Detail, check_details
from cobandit.simulator.results import About, Results
from cobandit.simulator.store import Journal, read_manifest
from cobandit.simulator.trials import Engine, Trial, engine_for, jobs_for, run_jobs
from cobandit.values.checks import check_whole, plain_arguments
from cobandit.values.errors import LocalError
from cobandit.values.provenance import is_own, provenance, source_hash

DEFAULT_TRIALS = 30
DEFAULT_SEED = 1

World = Scenario | Path | str
"""A scenario, or the path of a scenario file."""

Progress = Callable[[int, int], None]
"""Called with the number of trials done, and the total."""


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
    keep: Sequence[Detail] = (),
    first_trial: int = 0,
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run trials of a scenario, or of several on the same tapes, and return their measurements.

    The same seed gives the same bits, whatever the number of workers and wherever they run. Your own policy or protocol
    keeps that promise if all its randomness comes from the seed that it is given. A generator created outside of it
    gives the same numbers in each process. `random` and `numpy.random` are reseeded for each trial, from `seed` and the
    trial's number, and restored afterwards; but not where trials share them, in several threads or in your own
    executor.

    Args:
        scenario: A `Scenario`, the path of a scenario file, or several of them by name, for a paired comparison.
        trials: Number of trials of each scenario; by default as the file says, or 30.
        seed: The random seed; by default as the file says, or 1.
        workers: Number of trials to run at once; by default one per core that this process may use. On Linux, trials of
            the readable engine run in forked processes, so changes that a policy makes outside of itself, such as to a
            list of yours, are visible only with 1. If your program has other threads, a lock that one of them holds at
            the fork (in a logger, in a library) stays held in the process, and a policy that needs it waits forever;
            Python 3.12 and later warn about this. With 1, everything runs in your process.
        executor: Where to run instead of threads and processes: any `concurrent.futures.Executor`.
        engine: `"auto"`, `"compiled"` or `"reference"`. Both engines give the same results.
        checkpoints: Slots at whose beginning to record regret and communication, or a number of evenly spaced slots.
        keep: Further, larger frames: `"pulls"` (by agent and arm), `"links"` (what each node sent to each other) and
            `"agents_over_time"` (decisions and regret of each agent at each checkpoint).
        first_trial: The number of the first trial. Other machines may run other trials; `Results.merge` combines them.
        out: A folder for the results. Trials are saved there as they finish, so that the same call resumes an
            interrupted run. At the end it holds Parquet files that `Results.load` reads.
        progress: Called with the number of finished trials and the total, at the start and after each trial.

    Raises:
        LocalError: An argument is wrong, or the folder holds another run or cannot be written.

    >>> from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
    >>> world = Scenario(horizon=100, arms=Arms.of([0.2, 0.8]), agents=(AgentSpec(Rate(1.0)), AgentSpec(Rate(0.1))))
    >>> results = simulate(world, trials=3, seed=1, engine="reference")
    >>> len(results.trials), len(results.agents)
    (3, 6)
    >>> sorted(results.summary()["scenario"]["shares"])
    ['high', 'low', 'mean', 'sd']
    """
    worlds = _worlds(scenario)
    return run_all(
        {name: world.scenario for name, world in worlds.items()},
        trials=_agreed("trials", trials, [world.trials for world in worlds.values()], DEFAULT_TRIALS),
        seed=_agreed("seed", seed, [world.seed for world in worlds.values()], DEFAULT_SEED),
        first_trial=first_trial,
        workers=workers,
        executor=executor,
        engine=engine,
        checkpoints=checkpoints,
        keep=keep,
        out=out,
        progress=progress,
    )


def run_all(
    scenarios: Mapping[str, Scenario],
    *,
    trials: int,
    seed: int,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    first_trial: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    engine: Engine = "auto",
    checkpoints: int | Sequence[int] = (),
    keep: Sequence[str] = (),
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run scenarios by name: the common part of `simulate` and `sweep`. With `parameters`, this is a sweep."""
    check_whole("trials", trials, 1, MOST_TRIALS)
    check_whole("first_trial", first_trial, 0, MOST_TRIALS)
    check_whole("seed", seed, 0, LARGEST_SEED)
    if workers is not None:
        check_whole("workers", workers, 1)
    if isinstance(keep, str) or not isinstance(keep, Iterable):
        raise LocalError(f"keep must be a list of names, such as ['pulls'], not {keep!r}")
    if not (out is None or isinstance(out, str | Path)):
        raise LocalError(f"out must be a folder, as a text or a Path, not {out!r}")
    slots = _slots(checkpoints, min(one.horizon for one in scenarios.values()))
    unknown: list[str] = []
    engines = {name: engine_for(one, engine) for name, one in scenarios.items()}
    about = About(
        scenarios={name: _written(one, unknown) for name, one in scenarios.items()},
        trials=trials,
        seed=seed,
        checkpoints=slots,
        engine=_joined(engines.values()),
        versions=versions(),
        keep=tuple(keep),
        first_trial=first_trial,
        parameters={} if parameters is None else parameters,
    )
    for one in scenarios.values():
        check_details(one, about.keep, len(slots))
    numbers = range(first_trial, first_trial + trials)
    jobs = jobs_for(scenarios, trials=numbers, seed=seed, engine=engine, checkpoints=slots, keep=keep)
    report = progress or (lambda _done, _all: None)
    if out is None:
        done: dict[tuple[str, int], Trial] = {}
        report(0, len(jobs))
        for trial in run_jobs(jobs, executor, workers=workers):
            done[trial.name, trial.trial] = trial
            report(len(done), len(jobs))
        return Results.of(list(done.values()), about)
    points = {name: _point(about, name, engines[name]) for name in scenarios if about.parameters}
    opened = Journal(Path(out), about.identity, trials=trials, resumable=not unknown, worlds=points)
    with closing(opened) as journal:
        kept = read_manifest(Path(out))
        if kept is not None and kept["about"]["trials"] == trials and set(scenarios) == set(kept["about"]["scenarios"]):
            report(len(jobs), len(jobs))
            return Results.load(out)
        _check_others(Path(out), journal, scenarios, numbers)
        left = [job for job in jobs if (job.name, job.trial) not in journal.done]
        report(len(jobs) - len(left), len(jobs))
        for count, trial in enumerate(run_jobs(left, executor, workers=workers), start=1):
            journal.append(trial)
            report(len(jobs) - len(left) + count, len(jobs))
        results = Results.of([journal.done[job.name, job.trial] for job in jobs], about)
        _with_all_points(results, journal, numbers).save(out)
        return results


def _point(about: About, name: str, engine: str) -> dict[str, Any]:
    point = {"scenario": about.scenarios[name], "parameters": about.parameters[name], "engine": engine}
    plain: dict[str, Any] = json.loads(json.dumps(point))
    return plain


def _check_others(out: Path, journal: Journal, scenarios: Mapping[str, Scenario], numbers: range) -> None:
    """Raise if a folder has points that are not run now with other trials: all points of a result have the same."""
    others = [name for name in journal.worlds if name not in scenarios]
    if any((name, number) not in journal.done for name in others for number in numbers):
        raise LocalError(
            f"{out} holds points that this sweep does not have ({'; '.join(others[:3])}), with fewer trials or not "
            f"finished: sweep over them too, or choose another folder"
        )


def _with_all_points(results: Results, journal: Journal, numbers: range) -> Results:
    """Return the results together with those of points in the same folder that were not run now."""
    about, worlds = results.about, journal.worlds
    if set(worlds) <= set(about.scenarios):
        return results
    every = replace(
        about,
        scenarios={name: world["scenario"] for name, world in worlds.items()},
        parameters={name: world["parameters"] for name, world in worlds.items()},
        engine=_joined(world["engine"] for world in worlds.values()),
    )
    return Results.of([journal.done[name, number] for name in worlds for number in numbers], every)


def _joined(engines: Iterable[str]) -> str:
    return " and ".join(sorted(set(engines)))


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
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
    """Return the given number, or the one that the files agree on."""
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
    if not isinstance(checkpoints, Iterable):
        raise LocalError(f"checkpoints must be a whole number, or a list of slots, not {checkpoints!r}")
    for slot in checkpoints:
        check_whole("a checkpoint", slot, 0, horizon)
    return tuple(sorted(set(checkpoints)))


def _written(scenario: Scenario, unknown: list[str]) -> dict[str, object]:
    """Return the scenario as in a file. Parts of the user's own are given by their origin; unknown ones are listed."""

    def name(path: str, value: object) -> object:
        told = _own_protocol(value) if isinstance(value, PlugIn) else provenance(value)
        if told["source"] is None:
            unknown.append(path)
        return told

    written: dict[str, Any] = scenario_to_mapping(scenario, own=name)
    plugged = scenario.plugged
    if plugged is not None and is_own(plugged.build.__module__):  # a name does not say which version it was
        sharing = {key: value for key, value in written["sharing"].items() if key not in plugged.parameters}
        written["sharing"] = sharing | {"protocol": name("sharing.protocol", plugged)}
    return written


def _own_protocol(plugged: PlugIn) -> dict[str, object]:
    """Return what a result records about a protocol that a file cannot name: its class, and what it did."""
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
