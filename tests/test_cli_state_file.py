"""`cobandit log`, `cobandit reward` and `cobandit snapshot` work on a state file, whether its member runs or not."""

import csv
import io
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

import cobandit
from cobandit.cli import main, state_file
from cobandit.live.decide.decision import Decision
from cobandit.live.drive.member import Member
from cobandit.live.store.state_file import read_log

NAMES = (f"memory://cli-state-file-{number}" for number in itertools.count())


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def member(state: Path) -> Iterator[Member]:
    with cobandit.connect(next(NAMES), group="g", name="a", arms=["A", "B"], state=state) as member:
        yield member


@pytest.fixture
def decisions(member: Member) -> list[Decision]:
    made = [member.select_arm("ann"), member.select_arm()]
    member.update(made[0], 0.25)
    member.sync()
    return made


def test_the_log_is_json_lines(decisions: list[Decision], state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", str(state)]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first.pop("rewarded_at") >= decisions[0].at
    assert first == {
        "number": decisions[0].number,
        "time": decisions[0].at,
        "arm": decisions[0].arm,
        "propensity": 0.5,
        "subject": "ann",
        "reward": 0.25,
        "expired": False,
        "id": decisions[0].id,
        "held_out": False,
        "bandit": "",
        "segment": "",
    }
    assert second == {
        "number": decisions[1].number,
        "time": decisions[1].at,
        "arm": decisions[1].arm,
        "propensity": 0.5,
        "subject": None,
        "reward": None,
        "rewarded_at": None,
        "expired": False,
        "id": decisions[1].id,
        "held_out": False,
        "bandit": "",
        "segment": "",
    }


def test_the_log_is_a_table_if_wanted(
    decisions: list[Decision], state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(state), "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["number"], row["subject"], row["reward"], row["expired"]) for row in rows] == [
        (str(decisions[0].number), "ann", "0.25", "False"),
        (str(decisions[1].number), "", "", "False"),
    ]


def test_an_id_from_the_log_can_be_rewarded(
    member: Member, decisions: list[Decision], state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(state)]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[1])
    assert member.update(shown["id"], 1.0)
    assert not member.update(decisions[1], 1.0)


def test_only_decisions_since_some_time_are_shown_if_wanted(
    decisions: list[Decision], state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    between = datetime.fromtimestamp((decisions[0].at + decisions[1].at) / 2, UTC)
    for since, expected in (
        (between.isoformat(), [decisions[1].number]),
        (between.replace(tzinfo=None).isoformat(), [decisions[1].number]),
        (between.astimezone(timezone(timedelta(hours=2))).isoformat(), [decisions[1].number]),
        ("1h", [one.number for one in decisions]),
        ("2d", [one.number for one in decisions]),
        ("9999-01-01", []),
    ):
        assert main(["log", str(state), "--since", since]) == 0
        assert [json.loads(line)["number"] for line in capsys.readouterr().out.splitlines()] == expected
    with pytest.raises(SystemExit):
        main(["log", str(state), "--since", "yesterday"])
    assert "'yesterday' is neither a time, such as 2026-03-01T12:00, nor an age, such as 90s" in capsys.readouterr().err


def test_who_follows_sees_what_is_decided_and_again_when_it_is_rewarded(
    member: Member,
    decisions: list[Decision],
    state: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[list[tuple[int, float | None]]] = []
    made = list(decisions)

    def sleep(seconds: float) -> None:
        assert seconds == state_file.FOLLOW_EVERY
        entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        shown.append([(entry["number"], entry["reward"]) for entry in entries])
        match len(shown):
            case 1:
                made.append(member.select_arm())
                member.update(made[1], 0.5)
            case 3:
                member.update(made[2], 1.0)
            case 4:
                raise KeyboardInterrupt
        member.sync()

    monkeypatch.setattr(state_file, "time", SimpleNamespace(sleep=sleep, time=time.time))
    assert main(["log", str(state), "--follow"]) == 0
    first, second, third = (one.number for one in made)
    assert shown == [[(first, 0.25), (second, None)], [(third, None), (second, 0.5)], [], [(third, 1.0)]]


def test_the_table_commands_no_terminal(member: Member, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    member.select_arm("a\x1b[2J\n\x9bb, ü")
    member.sync()
    assert main(["log", str(state), "--csv"]) == 0
    said = capsys.readouterr().out
    assert [row["subject"] for row in csv.DictReader(io.StringIO(said))] == [r"a\x1b[2J\n\x9bb, ü"]


def test_a_reader_of_the_log_may_have_seen_enough(member: Member, state: Path) -> None:
    for _ in range(5000):
        member.select_arm()
    member.sync()
    process = subprocess.Popen(
        [sys.executable, "-m", "cobandit", "log", str(state)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(60) == 0


def test_a_reward_is_counted_when_the_member_next_looks(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cobandit.connect(next(NAMES), group="g", name="a", arms=["A", "B"], state=state) as member:
        decision = member.select_arm()
    assert main(["reward", str(state), decision.id, "0.5"]) == 0
    assert capsys.readouterr().out.startswith("The reward is in the mailbox.")
    with cobandit.connect(next(NAMES), group="g", name="a", arms=["A", "B"], state=state) as member:
        member.sync()
        assert [entry.reward for entry in member.log()] == [0.5]


def test_a_second_reward_is_not_left_and_that_is_said(
    member: Member, decisions: list[Decision], state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewarded, waits = decisions
    assert main(["reward", str(state), rewarded.id, "1"]) == 1
    assert capsys.readouterr().err == (
        "cobandit: this decision was already rewarded or has expired, so this reward is dropped: `cobandit log` "
        "shows the reward it counted with\n"
    )
    assert main(["reward", str(state), waits.id, "0.5"]) == 0
    member.close()
    with cobandit.connect(next(NAMES), group="g", name="a", arms=["A", "B"], state=state) as again:
        again.sync()
    assert [entry.reward for entry in read_log(state)] == [0.25, 0.5]
    # Of decisions that are in no batch any more, and only in the snapshot, it is known too.
    assert [main(["reward", str(state), one.id, "1"]) for one in decisions] == [1, 1]


@pytest.mark.parametrize(("token", "reward", "complaint"), [("d1.x", "0.5", "is not the id"), ("", "2", "is not the")])
def test_a_reward_that_cannot_be_is_refused(
    token: str, reward: str, complaint: str, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reward", str(state), token, reward]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.usefixtures("decisions")
def test_others_start_from_a_snapshot(state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "start"
    assert main(["snapshot", str(state), "--out", str(out)]) == 0
    assert capsys.readouterr().out == (
        f"{out} holds what a knows: 1 observations. Start others from it with snapshot = {str(out)!r}.\n"
    )
    with cobandit.connect(next(NAMES), group="g", name="b", arms=["A", "B"], snapshot=out) as other:
        assert other.statistics().observations == 1
    assert main(["snapshot", str(state), "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"cobandit: {out} already exists: remove it first, or choose another with --out\n"
    assert sorted(path.name for path in tmp_path.iterdir() if "start" in path.name) == ["start"]


@pytest.mark.usefixtures("decisions")
@pytest.mark.parametrize(
    ("out", "complaint"),
    [
        (".", ". is a folder: name a file in it with --out"),
        ("/", "/ is a folder: name a file in it with --out"),
        ("none/start", "none/start cannot be written: No such file or directory"),
    ],
)
def test_where_no_snapshot_can_be_written_is_said_in_words(
    out: str,
    complaint: str,
    state: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["snapshot", str(state), "--out", out]) == 2
    assert capsys.readouterr().err == f"cobandit: {complaint}\n"


@pytest.mark.parametrize("command", [["log"], ["snapshot", "--out", "x"]])
def test_a_state_that_is_not_there_is_named(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(tmp_path / "none.db"), *command[1:]]) == 2
    assert capsys.readouterr().err == (
        f"cobandit: there is no journal at {tmp_path / 'none.db'}: name the state file of a member\n"
    )


def test_an_empty_file_holds_no_member_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.db").touch()
    assert main(["log", str(tmp_path / "empty.db")]) == 2
    assert capsys.readouterr().err == f"cobandit: {tmp_path / 'empty.db'} holds no member yet: start it once\n"
