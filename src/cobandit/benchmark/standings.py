"""What entries measured on tasks: means with their 95 % intervals, from a folder's journals, and as JSON and back.

An entry's JSON file has all its tasks. A leaderboard takes it only if version and tapes are those of this benchmark.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cobandit.benchmark.entries import Entry, entries
from cobandit.benchmark.running import check_stamp, failures_of, open_journal
from cobandit.benchmark.tasks import VERSION, Task, tasks
from cobandit.look.files import write_whole
from cobandit.simulator.interval import Estimate, estimate
from cobandit.simulator.simulate import versions
from cobandit.simulator.store import JOURNAL
from cobandit.simulator.trials import Trial
from cobandit.values.errors import LocalError

QUANTITIES = {
    "group_regret": "group regret",
    "largest_regret": "largest individual regret",
    "messages": "messages",
    "agent_rounds": "agent-rounds",
    "notices": "notices",
    "bytes": "bytes",
    "staleness": "staleness",
}
"""What is told of every entry and task, with its words."""

COSTS = ("messages", "agent_rounds")
"""The two measures of what talking costs."""


@dataclass(frozen=True)
class Standing:
    """How one entry did on one task."""

    task: str
    entry: str
    trials: int
    measured: Mapping[str, Estimate]
    """By the keys of `QUANTITIES`. Of a quantity that the protocol does not have the mean is NaN."""
    seconds: float
    """How long a trial took on average, where it ran."""

    def mean(self, quantity: str) -> float:
        """Return the mean of a quantity."""
        return self.measured[quantity].mean


@dataclass(frozen=True)
class Card:
    """All that one entry brings to a leaderboard."""

    entry: str
    title: str
    told: Mapping[str, Any]
    """What it is: protocol, parameters, policy, and the hash of its source if it is not ours."""
    standings: Mapping[str, Standing]
    """By task."""
    not_played: Mapping[str, str]
    """Why not, by task."""
    failures: Mapping[str, str]
    """Why it failed, by task."""
    versions: Mapping[str, str]


def cards_of(out: Path) -> list[Card]:
    """Return what the folder of a benchmark holds, in the order of entries.

    Raises:
        LocalError: It is no such folder, or it is of another version, or of another tape.
    """
    check_stamp(out)
    known = entries()
    found: dict[str, dict[str, Standing]] = {}
    told: dict[str, Any] = {}
    failed: dict[str, dict[str, str]] = {}
    played = [task for task in tasks().values() if (out / task.name / JOURNAL).exists()]
    for task in played:
        with closing(open_journal(out, task)) as journal:
            told.update(journal.worlds)
            done = list(journal.done.values())
        for name in dict.fromkeys(trial.name for trial in done):
            found.setdefault(name, {})[task.name] = standing(task.name, [one for one in done if one.name == name])
        for name, why in failures_of(out, task).items():
            failed.setdefault(name, {})[task.name] = why
    order = [*(name for name in known if name in told), *(name for name in told if name not in known)]
    return [
        Card(
            name,
            known[name].title if name in known else name,
            told[name],
            found.get(name, {}),
            _not_played(known.get(name), [task for task in played if task.name not in found.get(name, {})]),
            failed.get(name, {}),
            versions(),
        )
        for name in order
    ]


def standing(task: str, trials: Sequence[Trial]) -> Standing:
    """Return the means and intervals of an entry's trials on a task."""
    ordered = sorted(trials, key=lambda trial: trial.trial)
    columns = {key: [float(trial.totals[key]) for trial in ordered] for key in (*QUANTITIES, "seconds")}
    measured = {key: estimate(columns[key], least=0.0) for key in QUANTITIES}
    return Standing(task, ordered[0].name, len(ordered), measured, estimate(columns["seconds"]).mean)


def front(standings: Iterable[Standing], cost: str) -> list[Standing]:
    """Return who is beaten by nobody, by mean regret and mean cost, from the cheapest on.

    >>> def one(entry, regret, messages):
    ...     measured = {"group_regret": estimate([regret]), "messages": estimate([messages])}
    ...     return Standing("t", entry, 1, measured, 0.0)
    >>> [best.entry for best in front([one("a", 5, 10), one("b", 6, 10), one("c", 4, 90)], "messages")]
    ['a', 'c']
    """
    best: list[Standing] = []
    for one in sorted(standings, key=lambda one: (one.mean(cost), one.mean("group_regret"))):
        if not best or one.mean("group_regret") < best[-1].mean("group_regret"):
            best.append(one)
    return best


def write_cards(cards: Iterable[Card], folder: Path) -> None:
    """Write a JSON file for each entry."""
    folder.mkdir(parents=True, exist_ok=True)
    for card in cards:
        write_whole(folder / f"{card.entry}.json", json.dumps(as_json(card), indent=1) + "\n")


def read_cards(folder: Path) -> list[Card]:
    """Return the entries of a leaderboard: ours in their order, then others by name.

    Raises:
        LocalError: A file cannot be read, or is of another version or tape.
    """
    order = {name: place for place, name in enumerate(entries())}
    found = [_read(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        raise LocalError(f"{folder} has no entries: `cobandit bench report` writes some")
    return sorted(found, key=lambda card: (order.get(card.entry, len(order)), card.entry))


def as_json(card: Card) -> dict[str, Any]:
    """Return an entry as plain values."""
    return {
        "benchmark": VERSION,
        "entry": card.entry,
        "title": card.title,
        "told": dict(card.told),
        "versions": dict(card.versions),
        "tasks": {
            name: {
                "tape": tasks()[name].tape,
                "trials": one.trials,
                "seconds": round(one.seconds, 3),
                **{key: _interval(one.measured[key]) for key in QUANTITIES},
            }
            for name, one in card.standings.items()
        },
        "not_played": dict(card.not_played),
        "failures": dict(card.failures),
    }


def _read(path: Path) -> Card:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version, name = content["benchmark"], content["entry"]
        if version != VERSION:
            raise LocalError(f"{path} is of version {version} of the benchmark, and this is version {VERSION}")
        for task, one in content["tasks"].items():
            if task not in tasks() or one["tape"] != tasks()[task].tape:
                raise LocalError(
                    f"{path}: the tape of {task} is not that of benchmark version {VERSION}, so the entry cannot be "
                    "compared with the others: run it again with this version"
                )
        standings = {
            task: Standing(
                task, name, one["trials"], {key: _estimate(one[key]) for key in QUANTITIES}, float(one["seconds"])
            )
            for task, one in content["tasks"].items()
        }
        rest = (content["not_played"], content["failures"], content["versions"])
        return Card(name, content["title"], content["told"], standings, *rest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LocalError(f"{path} is no entry of a leaderboard: {type(error).__name__}: {error}") from error


def _interval(one: Estimate) -> dict[str, float | None]:
    return {key: _short(getattr(one, key)) for key in ("mean", "low", "high")}


def _short(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(f"{value:.6g}")


def _estimate(numbers: Mapping[str, float | None]) -> Estimate:
    mean = numbers["mean"]
    return Estimate(math.nan if mean is None else mean, None, numbers["low"], numbers["high"])


def _not_played(entry: Entry | None, missing: Iterable[Task]) -> dict[str, str]:
    if entry is None:
        return {}
    reasons = {task.name: entry.why_not(task) for task in missing}
    return {name: why for name, why in reasons.items() if why}
