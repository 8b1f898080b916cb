"""Work in processes: everything comes along, results and errors come back, and nothing is left behind."""

import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from cobandit.policies import UCB
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Rate, Scenario
from cobandit.simulator import trials
from cobandit.simulator.forked import can_fork, in_processes
from cobandit.simulator.result import Result
from cobandit.simulator.store import Journal
from cobandit.simulator.trials import jobs_for, run_jobs
from cobandit.values.errors import LocalError

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here")

AGENTS = (AgentSpec(Rate(0.5)), AgentSpec(Rate(0.1)))
WORLD = Scenario(100, Arms.of([0.2, 0.8]), AGENTS, lambda arms, _seed: UCB(arms, quantum=1.0))
"""With a policy that cannot be pickled."""


class TwoPartError(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one}, {other}")


def whereabouts(_scenario: Scenario, _result: Result) -> Mapping[str, float]:
    return {"process": os.getpid()}


def test_trials_of_the_readable_engine_run_in_other_processes_with_the_same_results() -> None:
    jobs = jobs_for({"own": WORLD}, trials=4, seed=1, measure=whereabouts)
    there = sorted(run_jobs(jobs, workers=2), key=lambda trial: trial.trial)
    here = sorted(run_jobs(jobs, workers=1), key=lambda trial: trial.trial)
    assert os.getpid() not in {trial.totals.pop("process") for trial in there}
    assert {trial.totals.pop("process") for trial in here} == {os.getpid()}
    assert there == here


def test_compiled_trials_stay_in_this_process() -> None:
    jobs = jobs_for(
        {"built in": replace(WORLD, policy=BuiltIn("ucb")), "own": WORLD}, trials=2, seed=1, measure=whereabouts
    )
    done = [(trial.name, trial.totals["process"] == os.getpid()) for trial in run_jobs(jobs, workers=2)]
    assert sorted(done) == [("built in", True), ("built in", True), ("own", False), ("own", False)]


def test_where_nothing_can_be_forked_threads_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "can_fork", lambda: False)
    jobs = jobs_for({"own": WORLD}, trials=2, seed=1, measure=whereabouts)
    assert {trial.totals["process"] for trial in run_jobs(jobs, workers=2)} == {os.getpid()}


def test_a_worker_of_multiprocessing_cannot_fork() -> None:
    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=lambda: sender.send(can_fork()), daemon=True)
    process.start()
    assert receiver.recv() is False
    process.join()


def fail(kind: str) -> None:
    raise LocalError(kind) if kind == "plain" else TwoPartError(kind, "twice")


@pytest.mark.parametrize(("kind", "text"), [("plain", "plain"), ("odd", "TwoPartError: odd, twice")])
def test_an_error_comes_back_and_says_where_it_was_raised(kind: str, text: str) -> None:
    with pytest.raises(LocalError, match=f"^{text}") as raised:
        list(in_processes(fail, [kind] * 3, 2))
    assert "in fail" in raised.value.__notes__[0]
    assert multiprocessing.active_children() == []


def test_what_cannot_be_sent_back_is_an_error() -> None:
    with pytest.raises((AttributeError, pickle.PicklingError), match="pickle"):
        list(in_processes(lambda _: lambda: None, [1, 2], 2))


def test_a_process_that_is_ended_from_outside_is_an_error_and_not_a_wait_for_ever() -> None:
    with pytest.raises(LocalError, match="exit code -9"):
        list(in_processes(lambda _: os.kill(os.getpid(), signal.SIGKILL), [1, 2, 3], 2))
    assert multiprocessing.active_children() == []


def test_who_stops_early_waits_for_nobody() -> None:
    returned = in_processes(lambda is_long: signal.pause() if is_long else None, [False, True, True], 2)
    assert next(returned) is None
    returned.close()  # type: ignore[attr-defined]  # it is a generator
    assert multiprocessing.active_children() == []


def interrupt(_: int) -> NoReturn:
    raise KeyboardInterrupt


def break_pipe(_: int) -> NoReturn:
    raise BrokenPipeError("a pipe of the policy's own")


@pytest.mark.parametrize(
    ("work", "kind"), [(sys.exit, SystemExit), (interrupt, KeyboardInterrupt), (break_pipe, BrokenPipeError)]
)
def test_whatever_ends_a_trial_is_raised_here(work: Callable[[int], NoReturn], kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        list(in_processes(work, [0, 0, 0], 2))
    assert multiprocessing.active_children() == []


def test_a_trial_that_does_not_come_back_is_missed() -> None:
    with pytest.raises(LocalError, match="1 of 4 trials are missing"):
        list(in_processes(lambda number: os._exit(0) if number == 1 else number, range(4), 2))


def test_a_handler_of_sigterm_does_not_keep_processes_alive() -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        returned = in_processes(lambda is_long: pause() if is_long else None, [False, True, True], 2)
        assert next(returned) is None
        returned.close()  # type: ignore[attr-defined]  # it is a generator
    finally:
        signal.signal(signal.SIGTERM, before)
    assert multiprocessing.active_children() == []


def pause() -> NoReturn:
    """Wait for ever, whatever signals are handled."""
    while True:
        signal.pause()


KILLED = """
import os, signal, sys
from cobandit.simulator.forked import in_processes
from cobandit.simulator.store import Journal
from pathlib import Path

journal = Journal(Path(sys.argv[1]), {}, trials=1, resumable=True)

def work(number):
    os.write(1, b"begun\\n")  # at once, or two of them may mix
    return bytes(300_000) if number else signal.pause()

for _ in in_processes(work, range(3), 2):
    signal.pause()  # so that another process waits until it can send
"""


def test_processes_end_with_the_one_that_forked_them_and_hold_nothing_of_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        said = [killed.stdout.readline() for _ in range(3)]
        killed.kill()
        killed.wait()
        assert said == 3 * ["begun\n"]
        Journal(tmp_path, {}, trials=1, resumable=True).close()
        assert killed.communicate(timeout=60)[0] == ""  # when the last of them has ended


def test_who_is_forked_has_no_journal_and_the_lock_stays(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {}, trials=1, resumable=True)

    def use(_: int) -> tuple[bool, str]:
        files = {os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()}
        try:
            Journal(tmp_path, {}, trials=1, resumable=True)
        except LocalError as error:
            return str(journal.path) in files, str(error)
        finally:
            journal.close()  # which does nothing here
        return str(journal.path) in files, "open"

    in_use = f"{tmp_path} is in use: another run is writing its results there"
    assert list(in_processes(use, [0], 1)) == [(False, in_use)]
    journal.close()


def test_two_threads_may_do_it_at_once() -> None:
    def run(place: int) -> None:
        returned[place] = sorted(in_processes(lambda number: 10 * place + number, range(4), 2))

    returned: dict[int, list[int]] = {}
    threads = [threading.Thread(target=run, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert returned == {place: [10 * place + number for number in range(4)] for place in range(4)}


class Careless(UCB):
    """Draws from the generators that all have in common."""

    def select_arm(self) -> str:
        return self.arms[(random.random() + np.random.random() > 1.0)]  # noqa: NPY002


def test_what_a_policy_draws_from_common_generators_depends_on_the_trial_alone() -> None:
    jobs = jobs_for({"own": replace(WORLD, policy=lambda arms, _seed: Careless(arms))}, trials=6, seed=1)

    def pulls(workers: int, jobs: list[Any]) -> dict[int, list[int]]:
        return {trial.trial: trial.by_arm["pulls"] for trial in run_jobs(jobs, workers=workers)}

    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    alone = pulls(1, jobs)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]  # noqa: NPY002
    assert len({str(drawn) for drawn in alone.values()}) == 6
    assert pulls(2, jobs) == pulls(3, jobs[::-1]) == alone
