"""The tasks of the benchmark: worlds without a protocol and a policy, frozen by hashes.

A task is a scenario file and its line in `tasks/index.toml`. Of the file the table `sharing` has only what the network
does; who talks how comes from an entry (`cobandit.benchmark.entries`).
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path

from cobandit.benchmark.tape import file_hash, tape_hash
from cobandit.scenario.file import read_scenario
from cobandit.scenario.scenario import Scenario
from cobandit.values.errors import LocalError

VERSION = 1
"""The version of the benchmark. Its tasks never change; other tasks are another version."""

QUICK_TRIALS, TRIALS = 10, 30

FOLDER = Path(__file__).parent / "tasks"


@dataclass(frozen=True)
class Task:
    """One task: a world, a seed, and the hashes that say that it is still the same."""

    name: str
    why: str
    """Why it is there, in a sentence without its end."""
    seed: int
    file: str
    """The hash of its scenario file."""
    tape: str
    """The hash of its tape (`cobandit.benchmark.tape.tape_hash`)."""
    long: bool = False
    """Whether a trial is too long for the readable engine: then only entries with a compiled form run it."""
    folder: Path = FOLDER

    @property
    def path(self) -> Path:
        """Its scenario file."""
        return self.folder / f"{self.name}.toml"

    @cached_property
    def world(self) -> Scenario:
        """The world, with the default policy and protocol in the place of an entry's.

        Raises:
            LocalError: It is not that of this version of the benchmark.
        """
        if file_hash(self.path) != self.file:
            raise LocalError(
                f"{self.path} was changed: it is not task {self.name!r} of benchmark version {VERSION}; get the file "
                "of the release again, or run your own world with `cobandit simulate`"
            )
        scenario = read_scenario(self.path).scenario
        if tape_hash(scenario, self.seed) != self.tape:
            raise LocalError(
                f"this task's tape is not that of benchmark version {VERSION}: {self.name!r} has other decision times "
                "or rewards in this version of cobandit, so it cannot be compared; use the version of the entries"
            )
        return scenario


@cache
def tasks(folder: Path = FOLDER) -> Mapping[str, Task]:
    """Return the tasks of this version by their names, in order."""
    content = tomllib.loads((folder / "index.toml").read_text(encoding="utf-8"))
    return {row["name"]: Task(**row, folder=folder) for row in content["tasks"]}


def chosen_tasks(names: Sequence[str]) -> list[Task]:
    """Return the tasks with these names, or all of them.

    Raises:
        LocalError: There is no task of a name; the text has the nearest.
    """
    known = tasks()
    for name in names:
        if name not in known:
            raise unknown("task", name, known)
    return [task for name, task in known.items() if not names or name in names]


def unknown(what: str, name: str, known: Iterable[str]) -> LocalError:
    """Return the error about a name that nobody has."""
    like = get_close_matches(name, list(known), n=1, cutoff=0.4)
    meant = f"did you mean {like[0]}? " if like else ""
    return LocalError(f"there is no {what} {name!r}: {meant}`cobandit bench list` has them all")
