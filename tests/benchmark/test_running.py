"""Runs of the benchmark: the same bits, going on where they stopped, and past entries that fail."""

import json
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cobandit.benchmark import own_entry, run, tasks
from cobandit.benchmark.running import STAMP, open_journal
from cobandit.benchmark.standings import cards_of
from cobandit.protocols.gossip import Gossip
from cobandit.protocols.node import Node
from cobandit.protocols.plug_in import About
from cobandit.simulator.trials import Trial
from cobandit.values.errors import LocalError

SUBSET = Path(__file__).parent / "subset.json"
"""What a part of the benchmark measured when version 1 was made."""
SUBSET_TASKS, SUBSET_ENTRIES = ("ring", "arm-sets", "real-times"), ("odc-double64-thompson", "gossip", "gosine")


class Fragile:
    """A protocol that fails in the middle."""

    about = About(title="fragile", told="They talk until they fail")

    def __init__(self, node: Node) -> None:
        self.node = node

    def observed(self, arm: str, reward: float) -> None:
        """Fail at the third pull."""
        del arm, reward
        if self.node.own_pulls == 3:
            raise ZeroDivisionError("the third pull")

    def received(self, sender: int, message: Any) -> None:
        """Nobody sends anything."""


def test_a_part_of_the_benchmark_measures_the_same_bits(tmp_path: Path) -> None:
    run(SUBSET_TASKS, protocols=SUBSET_ENTRIES, trials=2, out=tmp_path, workers=1)
    found = {
        task: {f"{trial.name}, {trial.trial}": _bits(trial) for trial in _done(tmp_path, task)} for task in SUBSET_TASKS
    }
    assert found == json.loads(SUBSET.read_text())


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    for trials in (1, 3):
        run(["real-times"], protocols=["gossip"], trials=trials, out=tmp_path, workers=1)
    run(["real-times"], protocols=["gossip", "tcom"], trials=3, out=tmp_path, workers=1, progress=_keeping(told))
    assert told[0] == ("real-times", 3, 6)
    assert told[-1] == ("real-times", 6, 6)


def test_an_interrupted_run_keeps_what_is_finished(tmp_path: Path) -> None:
    def interrupt(_task: str, done: int, _count: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(["real-times"], protocols=["gossip", "tcom"], trials=2, out=tmp_path, workers=1, progress=interrupt)
    assert [(trial.name, trial.trial) for trial in _done(tmp_path, "real-times")] == [("gossip", 0), ("tcom", 0)]


def test_any_executor_measures_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        run(["real-times"], protocols=["gossip"], trials=3, out=tmp_path / "a", executor=threads)
    run(["real-times"], protocols=["gossip"], trials=3, out=tmp_path / "b", workers=1)
    ours, theirs = ({one.trial: _bits(one) for one in _done(tmp_path / name, "real-times")} for name in "ab")
    assert ours == theirs


def test_an_entry_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    (played,) = run(["real-times"], protocols=["gossip"], own=[own_entry(Fragile)], trials=2, out=tmp_path, workers=1)
    why = "trial 0: ZeroDivisionError: the third pull"
    assert played.failures == {"fragile": why}
    gossip, fragile = cards_of(tmp_path)
    assert (gossip.standings["real-times"].trials, gossip.failures) == (2, {})
    assert (fragile.standings, fragile.failures) == ({}, {"real-times": why})


def test_a_worker_that_dies_is_told(tmp_path: Path) -> None:
    class Dying(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(BrokenExecutor("killed"))
            return future

    with pytest.raises(LocalError, match=r"a worker ended \(killed\): what is finished is kept"):
        run(["real-times"], protocols=["gossip"], trials=1, out=tmp_path, executor=Dying())


def test_a_folder_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / STAMP).write_text('{"benchmark": 2}')
    with pytest.raises(LocalError, match="holds version 2 of the benchmark, and this is version 1"):
        run(["real-times"], out=tmp_path)


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(LocalError, match=r"holds no benchmark: it has no benchmark\.json that can be read"):
        run(["real-times"], out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_trials_of_another_tape_are_refused(tmp_path: Path) -> None:
    run(["real-times"], protocols=["gossip"], trials=1, out=tmp_path, workers=1)
    journal = tmp_path / "real-times" / "journal.jsonl"
    journal.write_text(journal.read_text().replace(tasks()["real-times"].tape, "0" * 32))
    with pytest.raises(LocalError, match=f"holds another run \\(tape '{'0' * 32}' in place of"):
        cards_of(tmp_path)


def test_another_entry_of_the_same_name_is_refused(tmp_path: Path) -> None:
    run(["real-times"], protocols=["dpe2"], own=[own_entry(Fragile, name="mine")], trials=1, out=tmp_path, workers=1)
    with pytest.raises(LocalError, match="holds another scenario as 'mine'"):
        run(["real-times"], protocols=["dpe2"], own=[own_entry(Gossip, name="mine")], trials=1, out=tmp_path)


def _done(out: Path, task: str) -> list[Trial]:
    with closing(open_journal(out, tasks()[task])) as journal:
        return list(journal.done.values())


def _bits(trial: Trial) -> dict[str, float | str]:
    """Return what was measured but for the time that it took; floats as their exact digits, for NaN is not equal.

    Dynamic regret is younger than version 1, whose means do not change.
    """
    return {name: repr(value) for name, value in trial.totals.items() if name not in ("seconds", "dynamic_regret")}


def _keeping(told: list[tuple[str, int, int]]) -> Callable[[str, int, int], None]:
    return lambda task, done, count: told.append((task, done, count))
