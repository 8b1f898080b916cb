"""Work in processes: everything comes along, results and errors come back, and nothing is left behind."""

import multiprocessing
import os
import pickle
import signal
from collections.abc import Mapping
from dataclasses import replace

import pytest

from cobandit.policies import UCB
from cobandit.scenario import AgentSpec, Arms, BuiltIn, Rate, Scenario
from cobandit.simulator import trials
from cobandit.simulator.forked import can_fork, in_processes
from cobandit.simulator.result import Result
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
