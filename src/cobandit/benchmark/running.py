"""Play tasks with entries, on any executor; what is finished is kept, and a run goes on where it stopped.

A folder of a benchmark has a folder for each task, with a journal of finished trials (`cobandit.simulator.store`). A
trial that fails is told and stays out of the journal, so that it is tried again. The order does not matter: a trial
depends on task, entry and number alone.
"""

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import cobandit
from cobandit.benchmark.entries import Entry, chosen_entries
from cobandit.benchmark.tasks import QUICK_TRIALS, TRIALS, VERSION, Task, chosen_tasks
from cobandit.look.files import write_whole
from cobandit.simulator.store import Identity, Journal
from cobandit.simulator.trials import Job, Trial, run_job
from cobandit.values.checks import check_whole
from cobandit.values.cores import core_count
from cobandit.values.errors import LocalError

STAMP = "benchmark.json"
"""The file that says of which version a folder is."""

FAILURES = "failures.json"
"""In the folder of a task: why trials failed, by entry."""

MAX_TRIALS = 1_000

Progress = Callable[[str, int, int], None]
"""Is told the task, how many of its trials are done, and how many there are."""


@dataclass(frozen=True)
class Played:
    """What became of one task."""

    task: Task
    trials: int
    """Trials of each entry."""
    failures: dict[str, str]
    """Why an entry failed, by its name: its first failure."""


def run(
    tasks: Sequence[str] = (),
    *,
    out: Path | str,
    protocols: Sequence[str] = (),
    own: Sequence[Entry] = (),
    quick: bool = False,
    trials: int | None = None,
    slow: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Played]:
    """Play tasks of the benchmark, and keep in a folder what was measured.

    Args:
        tasks: Their names; all of them by default.
        out: The folder. The same call, or one with more of anything, goes on where an earlier one stopped.
        protocols: Names of entries, or words of protocols; all of them by default.
        own: Entries of your own (`own_entry`), which are played too.
        quick: Whether 10 trials are enough; 30 by default.
        trials: Another number of trials.
        slow: Whether entries are played that take long there, because they have no compiled form.
        workers: How many processes; one for each core by default. With one, everything runs in this process.
        executor: Where to run in place of processes: any `concurrent.futures.Executor`.
        progress: Is told how far each task is.

    Raises:
        LocalError: A name is unknown, or the folder holds something else, or a task is not the frozen one.
    """
    chosen, players = chosen_tasks(tasks), chosen_entries(protocols, own)
    count = trials if trials is not None else QUICK_TRIALS if quick else TRIALS
    check_whole("trials", count, 1, MAX_TRIALS)
    if workers is not None:
        check_whole("workers", workers, 1)
    folder = Path(out)
    _stamp(folder)
    report = progress or (lambda _task, _done, _all: None)
    pool, most = executor, workers or core_count()
    if pool is None and most > 1:
        quiet = (signal.SIGINT, signal.SIG_IGN)  # an interrupt is for who began them
        pool = ProcessPoolExecutor(most, initializer=signal.signal, initargs=quiet)
    try:
        return [_play(task, players, count, folder, pool, report, slow=slow) for task in chosen]
    finally:
        if pool is not None and executor is None:
            pool.shutdown(wait=False, cancel_futures=True)  # an interrupt should not wait for a trial


def _play(
    task: Task, players: Sequence[Entry], trials: int, out: Path, pool: Executor | None, report: Progress, *, slow: bool
) -> Played:
    able = [entry for entry in players if not entry.why_not(task, slow=slow)]
    failures: dict[str, str] = {}
    with closing(open_journal(out, task, able)) as journal:
        jobs = [
            Job(entry.name, entry.scenario(task), task.seed, trial)
            for trial in range(trials)
            for entry in able
            if (entry.name, trial) not in journal.done
        ]
        done, count = len(able) * trials - len(jobs), len(able) * trials
        report(task.name, done, count)
        for number, found in enumerate(_run(jobs, pool), start=1):
            if isinstance(found, Trial):
                journal.append(found)
            else:
                failures.setdefault(*found)
            report(task.name, done + number, count)
    _keep_failures(out / task.name / FAILURES, [entry.name for entry in able], failures)
    return Played(task, trials, failures)


def open_journal(out: Path, task: Task, players: Sequence[Entry] = ()) -> Journal:
    """Open the journal of a task in the folder of a benchmark, or begin one.

    Raises:
        LocalError: It is of another tape or version, or an entry of the same name was another one.
    """
    told = {entry.name: entry.told for entry in players}
    resumable = all(one.get("source", "") is not None for one in told.values())
    return Journal(out / task.name, _identity(task), trials=MAX_TRIALS, resumable=resumable, worlds=told)


def check_stamp(folder: Path) -> None:
    """Raise unless a folder is one of this version of the benchmark."""
    try:
        found = json.loads((folder / STAMP).read_text(encoding="utf-8"))["benchmark"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LocalError(f"{folder} holds no benchmark: it has no {STAMP} that can be read") from error
    if found != VERSION:
        raise LocalError(
            f"{folder} holds version {found} of the benchmark, and this is version {VERSION}: choose another folder"
        )


def failures_of(out: Path, task: Task) -> dict[str, str]:
    """Return why entries failed in a task, by their names."""
    path = out / task.name / FAILURES
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def play(job: Job) -> Trial | tuple[str, str]:
    """Run one trial on a worker: what it measured, or the name of the entry and why it failed."""
    began = time.perf_counter()
    try:
        trial = run_job(job)
    except Exception as error:  # noqa: BLE001  # whatever a stranger's protocol does, the others go on
        return job.name, f"trial {job.trial}: {type(error).__name__}: {error}"
    largest = max(trial.by_agent["regret"])
    totals = {**trial.totals, "largest_regret": largest, "seconds": time.perf_counter() - began}
    return Trial(trial.name, trial.trial, totals, by_agent={})


def _run(jobs: Sequence[Job], pool: Executor | None) -> Iterator[Trial | tuple[str, str]]:
    if pool is None:
        yield from map(play, jobs)
        return
    futures = [pool.submit(play, job) for job in jobs]
    try:
        for future in as_completed(futures):
            yield future.result()
    except BrokenExecutor as error:
        raise LocalError(f"a worker ended ({error}): what is finished is kept, run the same again to go on") from error
    finally:
        for future in futures:
            future.cancel()


def _identity(task: Task) -> Identity:
    return {
        "benchmark": VERSION,
        "task": task.name,
        "file": task.file,
        "tape": task.tape,
        "seed": task.seed,
        "version": cobandit.__version__,
    }


def _stamp(folder: Path) -> None:
    """Say of which version a folder is, if it is new or empty."""
    if folder.exists() and not folder.is_dir():
        raise LocalError(f"out must be a folder or a new name, but {folder} is a file")
    if (folder / STAMP).exists() or (folder.exists() and any(folder.iterdir())):
        check_stamp(folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / STAMP, json.dumps({"benchmark": VERSION}) + "\n")


def _keep_failures(path: Path, played: Sequence[str], failures: dict[str, str]) -> None:
    """Keep the failures of entries that were played now in place of their earlier ones."""
    kept = dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
    now = {**{name: why for name, why in kept.items() if name not in played}, **failures}
    if now:
        write_whole(path, json.dumps(now, indent=1) + "\n")
    else:
        path.unlink(missing_ok=True)
