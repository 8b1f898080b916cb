"""Merges several results, or says why they do not belong together.

They must come from the same seed, version, checkpoints and frames. Together they must have the same trials of every
scenario, each once and without a gap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pandas as pd

from cobandit.simulator.frames import COLUMNS
from cobandit.simulator.results import About, Results
from cobandit.values.errors import LocalError

_SAME = {"seed": "seeds", "checkpoints": "checkpoints", "keep": "kept frames", "varied": "parameters"}


def merged(parts: Sequence[Results]) -> Results:
    """Return one result.

    Raises:
        LocalError: The parts do not belong together.
    """
    if not parts:
        raise LocalError("there is nothing to merge: give at least one result")
    abouts = [part.about for part in parts]
    for name, words in _SAME.items():
        _agreed(words, [getattr(about, name) for about in abouts])
    _agreed("versions of cobandit", [about.versions["cobandit"] for about in abouts])
    _agreed("columns", [list(part.trials.columns) for part in parts])
    scenarios: dict[str, Mapping[str, Any]] = {}
    held: dict[str, list[int]] = {}
    for about in abouts:
        for name, scenario in about.scenarios.items():
            if scenarios.setdefault(name, scenario) != scenario:
                raise LocalError(f"two different scenarios are called {name!r}: they cannot be merged")
            held.setdefault(name, []).extend(range(about.first_trial, about.first_trial + about.trials))
    first, count = _trials(held)
    about = replace(
        abouts[0],
        scenarios=scenarios,
        trials=count,
        first_trial=first,
        engine=_both([about.engine for about in abouts]),
        versions={name: _both([about.versions[name] for about in abouts]) for name in abouts[0].versions},
        parameters={name: value for about in abouts for name, value in about.parameters.items()},
    )
    return Results(**{name: _stacked([getattr(part, name) for part in parts], about) for name in COLUMNS}, about=about)


def _agreed(what: str, values: Sequence[object]) -> None:
    for value in values[1:]:
        if value != values[0]:
            raise LocalError(f"results with different {what} cannot be merged: {values[0]!r} and {value!r}")


def _trials(held: Mapping[str, list[int]]) -> tuple[int, int]:
    """Return the first trial of all scenarios, and the number of trials."""
    for name, numbers in held.items():
        ordered = sorted(numbers)
        twice = [number for number, after in pairwise(ordered) if number == after]
        if twice:
            raise LocalError(f"trial {twice[0]} of {name!r} is in two of the results: they cannot be merged")
        if ordered != list(range(ordered[0], ordered[0] + len(ordered))):
            missing = next(number for number in range(ordered[0], ordered[-1]) if number not in set(ordered))
            raise LocalError(f"trial {missing} of {name!r} is missing between the others: run it, and merge then")
    ends = {name: (min(numbers), len(numbers)) for name, numbers in held.items()}
    if len(set(ends.values())) > 1:
        (one, (first, count)), (other, (second, more)) = _two_that_differ(ends)
        raise LocalError(
            f"{one!r} has trials {first} to {first + count - 1}, and {other!r} {second} to {second + more - 1}: "
            "run the same trials of all"
        )
    return next(iter(ends.values()))


def _two_that_differ(ends: Mapping[str, tuple[int, int]]) -> tuple[Any, Any]:
    items = list(ends.items())
    return items[0], next(item for item in items if item[1] != items[0][1])


def _both(texts: Sequence[str]) -> str:
    return " and ".join(sorted({one for text in texts for one in text.split(" and ")}))


def _stacked(frames: Sequence[pd.DataFrame], about: About) -> pd.DataFrame:
    """Return the frames stacked, in the order of the scenarios and of the trials' numbers."""
    whole = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    places = {name: place for place, name in enumerate(about.scenarios)}
    order = pd.DataFrame({"scenario": whole["scenario"].map(places), "trial": whole["trial"]})
    rows = order.sort_values(["scenario", "trial"], kind="stable").index
    return whole.loc[rows].reset_index(drop=True)
