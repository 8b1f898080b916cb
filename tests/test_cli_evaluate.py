"""`cobandit evaluate` and `cobandit log --parquet`: a log on the disk, and what another policy would have brought."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cobandit
from cobandit.cli import main


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "decisions.jsonl"
    rows = [
        {
            "arm": "AB"[n % 2],
            "propensity": 0.5,
            "reward": float(n % 4 == 1),
            "id": str(n),
            "region": "de" if n < 40 else "fr",
        }
        for n in range(200)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"arm": "A", "propensity": 0.5, "reward": None}]))
    return path


def test_without_a_policy_every_arm_is_tried(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(log)]) == 0
    assert capsys.readouterr().out == (
        "200 decisions, as logged: 0.2500 (0.1948 to 0.3147) per decision\n"
        "Left out: 1 without a reward.\n"
        "\n"
        "always A: effective sample size 100 of 200\n"
        "  inverse propensity  0.0000 (0.0000 to 0.0447)\n"
        "  self-normalised     0.0000 (0.0000 to 0.0444)\n"
        "  doubly robust       -0.0012 (-0.0012 to 0.0437)\n"
        "\n"
        "always B: effective sample size 100 of 200\n"
        "  inverse propensity  0.5000 (0.3827 to 0.6173)\n"
        "  self-normalised     0.5000 (0.4036 to 0.5964)\n"
        "  doubly robust       0.5005 (0.4026 to 0.5983)\n"
        "\n"
        "Intervals contain the true value in 95% of such logs.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "target", "decisions"),
    [
        (["--arm", "B"], "always B", 200),
        (["--arms", "A", "B"], "A, B evenly", 200),
        (["--shares", "A=0.25", "B=0.75"], "A 0.25, B 0.75", 200),
        (["--arm", "B", "--where", "region=de"], "always B", 40),
        (["--arm", "A", "--unrewarded", "0"], "always A", 201),
    ],
)
def test_the_other_policy_is_told_by_options(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], target: str, decisions: int
) -> None:
    assert main(["evaluate", str(log), *arguments, "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["target"], found["decisions"]) == (target, decisions)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--arm", "Z"], "arm 'Z' is in no decision that counts"),
        (["--shares", "A"], "--shares needs NAME=VALUE, not 'A'"),
        (["--shares", "A=much"], "--shares needs numbers, such as A=0.25, not A=much"),
        (["--where", "region=it"], "no decision in the log has region=it"),
        (["--column", "new"], "the column 'new' must have an arm"),
    ],
)
def test_what_cannot_be_is_said(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["evaluate", str(log), *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("number,time,arm\n1,2,A\n", "line 1 is no JSON"),
        ("SQLite format 3\0\n", "is the state file of a member: an evaluation reads what `cobandit log "),
        ("[1]\n", "line 1 is no decision"),
        ('{"arm": "A", "propensity": 1.0, "reward": 1.0}\n', "every propensity of this log is 0 or 1"),
    ],
)
def test_a_file_that_is_no_log_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    path = tmp_path / "other"
    path.write_text(content)
    assert main(["evaluate", str(path)]) == 2
    assert words in capsys.readouterr().err


def test_a_log_of_one_decision_is_read_from_the_input_and_its_intervals_are_not_praised(tmp_path: Path) -> None:
    row = json.dumps({"arm": "A", "propensity": 0.5, "reward": 1.0})
    command = [sys.executable, "-m", "cobandit", "evaluate", "-", "--arm", "A"]
    done = subprocess.run(command, input=row, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 decision, as logged: ")
    assert done.stdout.endswith(
        "\nIntervals contain the true value in 95% of such logs, except those with a warning (!).\n"
    )


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl cannot be read: No such file or directory" in capsys.readouterr().err


def test_the_log_of_a_state_file_goes_through_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, path = tmp_path / "a.db", tmp_path / "log.parquet"
    with cobandit.connect("memory://cli-evaluate", group="g", name="a", arms=["A", "B"], state=state) as member:
        for _ in range(40):
            member.update(member.select_arm(), 1.0)
    assert main(["log", str(state), "--parquet", str(path)]) == 0
    assert capsys.readouterr().out == f"{path} holds 40 decisions.\n"
    assert main(["evaluate", str(path), "--arms", "A", "B", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decisions"] == 40
    assert main(["log", str(state), "--parquet", str(path)]) == 2
    assert "already exists: remove it first, or choose another with --parquet" in capsys.readouterr().err
    assert main(["log", str(state), "--parquet", str(tmp_path / "b"), "--follow"]) == 2
    assert "a Parquet file is written once" in capsys.readouterr().err


def test_a_parquet_file_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.parquet"
    path.write_text("no")
    assert main(["evaluate", str(path)]) == 2
    assert "is no Parquet file" in capsys.readouterr().err
