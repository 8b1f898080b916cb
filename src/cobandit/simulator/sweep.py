"""Runs a scenario over a grid of parameters: `cobandit.sweep`.

A point of the grid is a scenario with a name. All points run on the same tapes. The varied parameters are columns of
every frame. `simulate.py` runs trials, and `store.py` keeps them in a folder.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from itertools import product
from pathlib import Path
from typing import Any

from cobandit.scenario.scenario import Scenario
from cobandit.simulator.details import Detail
from cobandit.simulator.results import Results
from cobandit.simulator.simulate import DEFAULT_SEED, DEFAULT_TRIALS, Progress, run_all
from cobandit.simulator.trials import Engine
from cobandit.values.errors import LocalError

MAX_POINTS = 100_000

ALGORITHM = "algorithm"
"""The column for scenario names, if a point has several scenarios."""

Build = Callable[..., Scenario | Mapping[str, Scenario]]
"""Takes one value per parameter and returns the scenario of that point, or several to compare, by name."""


def sweep(
    build: Build,
    *,
    trials: int = DEFAULT_TRIALS,
    seed: int = DEFAULT_SEED,
    first_trial: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    engine: Engine = "auto",
    checkpoints: int | Sequence[int] = (),
    keep: Sequence[Detail] = (),
    out: Path | str | None = None,
    progress: Progress | None = None,
    **grid: Sequence[Any] | Mapping[str, Any],
) -> Results:
    """Run trials at every point of a grid, all on the same tapes, and return their measurements.

    Args:
        build: Returns the scenario of a point, or several by name (then in the column `algorithm`).
        trials: Number of trials at each point.
        seed: See `simulate`.
        first_trial: See `simulate`.
        workers: See `simulate`.
        executor: See `simulate`.
        engine: See `simulate`.
        checkpoints: See `simulate`.
        keep: See `simulate`.
        out: A folder for the results. It may grow: the same call with more trials or other points adds what is missing.
        progress: See `simulate`.
        grid: The values of each parameter: numbers, strings, true or false. Give any other values by name, such as
            `threshold={"constant": Constant(4), "doubling": Geometric(2)}`; the column holds the names.

    Raises:
        LocalError: An argument is wrong, or the folder holds something else.

    >>> from cobandit import Constant, on_demand
    >>> from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
    >>> def world(threshold, agents):
    ...     group = (AgentSpec(Rate(0.5)),) * agents
    ...     return Scenario(100, Arms.of([0.2, 0.8]), group, sharing=on_demand(Constant(threshold)))
    >>> results = sweep(world, threshold=[1, 4], agents=[2, 3], trials=2, engine="reference")
    >>> results.trials.groupby(["threshold", "agents"])["shares"].mean().astype(int).tolist()
    [82, 254, 21, 66]
    """
    scenarios: dict[str, Scenario] = {}
    parameters: dict[str, dict[str, Any]] = {}
    for labels, values in _points(grid):
        point = ", ".join(f"{name}={label}" for name, label in labels.items())
        built = build(**values)
        for name, scenario in built.items() if isinstance(built, Mapping) else ((None, built),):
            if not isinstance(scenario, Scenario):
                raise LocalError(f"the scenario of {point} must be a Scenario, or several by name, not {scenario!r}")
            whole = point if name is None else f"{name}, {point}"
            scenarios[whole] = scenario
            parameters[whole] = labels if name is None else {ALGORITHM: name, **labels}
    if len({tuple(labels) for labels in parameters.values()}) > 1:
        raise LocalError("every point must have one scenario, or every point several by name")
    return run_all(
        scenarios,
        parameters=parameters,
        trials=trials,
        seed=seed,
        first_trial=first_trial,
        workers=workers,
        executor=executor,
        engine=engine,
        checkpoints=checkpoints,
        keep=keep,
        out=out,
        progress=progress,
    )


def _points(grid: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the labels and the values of every point."""
    if not grid:
        raise LocalError("there is nothing to vary: pass threshold=[1, 4, 16], for example")
    axes = [[(name, *one) for one in _axis(name, given)] for name, given in grid.items()]
    count = 1
    for axis in axes:
        count *= len(axis)
    if count > MAX_POINTS:
        raise LocalError(f"the grid has {count:,} points, more than {MAX_POINTS:,}: leave some out")
    return [
        ({name: label for name, label, _ in point}, {name: value for name, _, value in point})
        for point in product(*axes)
    ]


def _axis(name: str, given: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401  # it is looked at here
    """Return label and value of each step of a parameter."""
    if name in ("scenario", "trial", ALGORITHM):
        raise LocalError(f"{name} is a column of the frames already: give the parameter another name")
    if isinstance(given, str | bytes) or not isinstance(given, Mapping | Sequence | range) or not len(given):
        raise LocalError(f"{name} must be a list of values, or values by name, at least one, not {given!r}")
    if isinstance(given, Mapping):
        return [(str(label), value) for label, value in given.items()]
    for value in given:
        if not isinstance(value, bool | int | float | str):
            raise LocalError(f"{name} has {value!r}, which cannot be in a column: give values by name, {{'a': ...}}")
    if len(set(given)) != len(given):
        raise LocalError(f"{name} has a value twice: {list(given)!r}")
    return [(value, value) for value in given]
