"""Trials run on a real Dask cluster, and a worker that dies in the middle loses none and doubles none."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from distributed import Client
from pandas.testing import assert_frame_equal

from cobandit.cli import main
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.simulator import cluster as cluster_module
from cobandit.simulator.cluster import cluster
from cobandit.simulator.details import Detail
from cobandit.simulator.frames import COLUMNS
from cobandit.simulator.simulate import simulate
from cobandit.values.errors import LocalError
from lab.servers import free_port

WORLD = Scenario(200, Arms.of([0.2, 0.5, 0.8]), (AgentSpec(Rate(0.9)),) * 6)
TRIALS = 12
WAIT_S = 120.0

WORLD_FILE = "horizon = 100\narms.means = [0.2, 0.8]\nagents = [{ count = 2, rate = 0.5 }]"


@contextmanager
def dask(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Dask command while the block lasts."""
    with (folder / "dask.log").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", "dask", *arguments], stdout=log, stderr=log, cwd=folder)
        try:
            yield process
        finally:
            process.kill()
            process.wait(WAIT_S)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler without workers."""
    port = str(free_port())
    with dask(
        tmp_path_factory.mktemp("scheduler"), "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"
    ):
        yield f"tcp://127.0.0.1:{port}"


@pytest.fixture
def observer(address: str) -> Iterator[Any]:
    with Client(address, timeout=WAIT_S, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        yield client


@pytest.fixture
def workers(address: str, observer: Any, tmp_path: Path) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Two worker processes of one thread each, by name."""
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path), "--name")
    with ExitStack() as stack:
        processes = {name: stack.enter_context(dask(tmp_path, "worker", address, *options, name)) for name in "ab"}
        observer.wait_for_workers(2, timeout=WAIT_S)
        yield processes


def test_a_worker_killed_in_the_middle_loses_no_trial_and_doubles_none(
    address: str,
    observer: Any,
    workers: dict[str, subprocess.Popen[bytes]],
    tmp_path: Path,
) -> None:
    keep: tuple[Detail, ...] = ("pulls", "links", "agents_over_time")
    ref = simulate(WORLD, trials=TRIALS, seed=3, engine="reference", checkpoints=2, keep=keep)
    reported: list[int] = []
    had: list[int] = []

    def kill_one(done: int, _total: int) -> None:
        reported.append(done)
        if done == 3:
            names = {
                worker["name"]: where for where, worker in observer.scheduler_info(n_workers=-1)["workers"].items()
            }
            had.append(len(observer.processing()[names["a"]]))
            workers["a"].kill()
            workers["a"].wait(WAIT_S)

    with cluster(address) as executor:
        got = simulate(
            WORLD,
            trials=TRIALS,
            seed=3,
            engine="reference",
            checkpoints=2,
            keep=keep,
            executor=executor,
            out=tmp_path / "out",
            progress=kill_one,
        )
    assert had[0] > 0
    assert reported == list(range(TRIALS + 1))
    for frame in COLUMNS:
        assert_frame_equal(getattr(got, frame), getattr(ref, frame))
    assert len((tmp_path / "out" / "journal.jsonl").read_text().splitlines()) == 1 + TRIALS


@pytest.mark.usefixtures("workers")
def test_the_command_line_runs_on_a_cluster(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "world.toml"
    file.write_text(WORLD_FILE, encoding="utf-8")
    command = ["simulate", str(file), "--trials", "4", "--engine", "reference", "--json"]
    assert main(command) == 0
    ref = capsys.readouterr().out
    assert main([*command, "--cluster", address]) == 0
    assert capsys.readouterr().out == ref


@pytest.mark.usefixtures("workers")
def test_workers_with_another_version_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cobandit.__version__", "9.9")
    with pytest.raises(LocalError, match=r"worker tcp://.* must have cobandit 9\.9, not '"), cluster(address):
        pytest.fail("the cluster was accepted")


def test_nobody_at_the_address_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "world.toml"
    file.write_text(WORLD_FILE, encoding="utf-8")
    monkeypatch.setattr(cluster_module, "CONNECT_WITHIN_S", 0.2)
    address = f"tcp://127.0.0.1:{free_port()}"
    assert main(["simulate", str(file), "--cluster", address]) == 2
    assert capsys.readouterr().err.startswith(f"cobandit: no Dask scheduler answers at {address}: ")


def test_without_dask_a_cluster_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = r"a cluster needs the extra \"cluster\": pip install 'cobandit\[cluster\]'"
    with pytest.raises(LocalError, match=said), cluster("tcp://127.0.0.1:8786"):
        pytest.fail("there is no cluster")
