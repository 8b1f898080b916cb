"""Golden traces: small worlds as scenario files, and what each of them did in the version that wrote it down.

`worlds/NAME.toml` is a scenario file. Two comments come first: what kind of world it is, and how it is judged.
`traces/NAME.txt` is its story as text: the counts, then the rows of the trace (`cobandit.scenario.trace`). Bytes on the
wire are not in it.

* `exact`: every count and every row is as it was.
* `counts`: eliminations or churn on a network with faults. There one message more moves all later losses, so the story
  may become another one. The counts, added up over many trials, must stay what they were: within one per cent, or
  within four times what luck alone does, where that is more. The file has the totals, and how far each may be off.

This file reads worlds and writes stories. It judges nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cobandit.scenario.file import read_scenario
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.trace import Row
from cobandit.simulator import reference
from cobandit.simulator.result import Result

WORLDS = Path(__file__).parent / "worlds"
TRACES = Path(__file__).parent / "traces"

TRIAL = 0
"""The trial whose story is told."""

READABLE_TRIALS = 30
"""Over how many trials the readable engine adds up; the compiled one over as many as the world's file says."""

Run = Callable[[Scenario, int, int, list[Row] | None], Result]
"""Runs a scenario with a seed, a trial, and a list for its trace."""


@dataclass(frozen=True)
class World:
    """A world and how it is judged."""

    name: str
    about: str
    judged: str
    """`exact` or `counts`."""
    scenario: Scenario
    seed: int
    trials: int


class Total(NamedTuple):
    """One count, added up over trials."""

    trials: int
    what: str
    value: float
    allowed: float
    """How far it may be off."""


def all_worlds() -> list[World]:
    """Return the worlds of the folder, in the order of their names."""
    return [_read_world(path) for path in sorted(WORLDS.glob("*.toml"))]


def _read_world(path: Path) -> World:
    about, judged = path.read_text(encoding="utf-8").splitlines()[:2]
    file = read_scenario(path)
    assert about.startswith("# "), f"{path.name} does not say in its first line what kind of world it is"
    assert judged in ("# judged: exact", "# judged: counts"), f"{path.name} does not say in line 2 how it is judged"
    assert file.seed is not None, f"{path.name} has no seed"
    return World(path.stem, about[2:], judged.removeprefix("# judged: "), file.scenario, file.seed, file.trials or 1)


def run_readable(scenario: Scenario, seed: int, trial: int, trace: list[Row] | None) -> Result:
    """Run the readable engine."""
    return reference.run(scenario, seed=seed, trial=trial, trace=trace)


def story(world: World, run: Run) -> list[str]:
    """Return what happens in a world, as lines: counts and rows."""
    rows: list[Row] = []
    result = run(world.scenario, world.seed, TRIAL, rows)
    return [*counts(world, result), *_rows(rows)]


def counts(world: World, result: Result) -> list[str]:
    """Return what a run counted, as lines. By agent and arm, and by sender and receiver, a line is one row."""
    sent = result.communication
    return [
        f"seed {world.seed}",
        f"trial {TRIAL}",
        f"decisions {_joined(result.decisions)}",
        *_matrix("pulls", result.pulls.tolist()),
        *_matrix("shares", sent.shares.tolist()),
        *_matrix("retries", sent.retries.tolist()),
        *_matrix("acknowledgements", sent.acknowledgements.tolist()),
        *_matrix("notices", sent.notices.tolist()),
        f"definition_bits {sent.definition_bits!r}",
        f"lacking {result.lacking}",
        f"group_regret {result.group_regret!r}",
    ]


def totals(world: World, run: Run, trials: int) -> dict[str, float]:
    """Return the counts of a world, added up over its first trials."""
    added: dict[str, float] = defaultdict(float)
    for trial in range(trials):
        for what, value in summary(run(world.scenario, world.seed, trial, None)).items():
            added[what] += value
    return dict(added)


def summary(result: Result) -> dict[str, float]:
    """Return the counts by which a world is judged whose story may become another one."""
    return {
        "decisions": sum(result.decisions),
        "shares": result.shares,
        "retries": result.retries,
        "acknowledgements": result.acknowledgements,
        "notices": result.notices,
        "definition_bits": result.communication.definition_bits,
        "lacking": result.lacking,
        "group_regret": result.group_regret,
    }


def written_story(world: World) -> list[str]:
    """Return the story in a world's file."""
    return [line for line in _lines(world) if not line.startswith("total ")]


def written_totals(world: World) -> list[Total]:
    """Return the totals in a world's file."""
    found = []
    for line in _lines(world):
        if line.startswith("total "):
            _, trials, what, value, allowed = line.split()
            found.append(Total(int(trials), what, float(value), float(allowed)))
    return found


def write(world: World, told: Sequence[str], added: Sequence[Total]) -> None:
    """Write a world's file: the story, and before it the totals if there are any."""
    sums = [f"total {total.trials} {total.what} {total.value!r} {total.allowed!r}" for total in added]
    TRACES.mkdir(exist_ok=True)
    (TRACES / f"{world.name}.txt").write_text("\n".join([*sums, *told]) + "\n", encoding="utf-8")


def first_difference(written: Sequence[str], told: Sequence[str]) -> str:
    """Return where two stories part, or nothing if they are the same.

    Two stories that are the same in every line are the same in every value: numbers are written in full.
    """
    for number, (old, new) in enumerate(zip(written, told, strict=False), start=1):
        if old != new:
            return f"line {number} of the story was {old!r} and is {new!r}"
    if len(written) != len(told):
        return f"the story had {len(written)} lines and has {len(told)}"
    return ""


def _lines(world: World) -> list[str]:
    return (TRACES / f"{world.name}.txt").read_text(encoding="utf-8").splitlines()


def _rows(rows: Sequence[Row]) -> Iterator[str]:
    yield f"rows {len(rows)}: {_joined(Row._fields)}"
    yield from map(_joined, rows)


def _matrix(name: str, rows: Sequence[Sequence[int]]) -> Iterator[str]:
    for position, row in enumerate(rows):
        yield f"{name} {position}: {_joined(row)}"


def _joined(values: Sequence[object]) -> str:
    return " ".join(map(str, values))
