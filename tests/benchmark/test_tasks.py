"""The tasks are frozen: every hash is computed again, and a task that is not what it was is refused."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cobandit.benchmark.tape import file_hash, tape_hash, tape_lines
from cobandit.benchmark.tasks import FOLDER, chosen_tasks, tasks
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
from cobandit.values.errors import LocalError

ROOT = Path(__file__).parent.parent.parent
INDEX_OF_VERSION_1 = "aad347f1163c7f38d5748aa6a2fbd6b2"


def test_version_1_is_frozen() -> None:
    assert file_hash(FOLDER / "index.toml") == INDEX_OF_VERSION_1


@pytest.mark.parametrize("name", tasks())
def test_file_and_tape_of_a_task_are_those_of_the_index(name: str) -> None:
    task = tasks()[name]
    assert (file_hash(task.path), tape_hash(task.world, task.seed)) == (task.file, task.tape)


def test_every_scenario_file_is_a_task() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted([*tasks(), "index"])


def test_rewards_belong_to_arms_in_every_task() -> None:
    assert {task.world.luck for task in tasks().values()} == {"arm"}


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "sync-10.toml"
    path.write_text(path.read_text().replace("1000", "1001"))
    with pytest.raises(LocalError, match="was changed: it is not task 'sync-10' of benchmark version 1"):
        _ = tasks(tmp_path)["sync-10"].world


def test_another_tape_is_refused() -> None:
    with pytest.raises(LocalError, match="this task's tape is not that of benchmark version 1: 'ring' has other"):
        _ = replace(tasks()["ring"], seed=2).world


def test_the_tape_has_decisions_and_rewards_of_two_trials() -> None:
    world = Scenario(20, Arms.of([0.0, 1.0]), (AgentSpec(Rate(1.0), start=17),), luck="arm")
    assert list(tape_lines(world, seed=1)) == [
        "trial 0 agent 0 decides 17 18 19",
        "trial 0 agent 0 arm 0 pays 0000000000000000",
        "trial 0 agent 0 arm 1 pays 1111111111111111",
        "trial 1 agent 0 decides 17 18 19",
        "trial 1 agent 0 arm 0 pays 0000000000000000",
        "trial 1 agent 0 arm 1 pays 1111111111111111",
    ]


def test_an_unknown_task_is_told_with_the_nearest() -> None:
    with pytest.raises(LocalError, match=r"there is no task 'sinc-10': did you mean sync-10\?"):
        chosen_tasks(["sinc-10"])


def test_the_recorded_times_are_those_of_the_example() -> None:
    name = "real_decision_times.csv"
    assert (FOLDER / name).read_bytes() == (ROOT / "examples" / name).read_bytes()
