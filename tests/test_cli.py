"""The command line prints what was measured, and says on stderr what is wrong."""

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import cobandit
from cobandit.cli import main
from cobandit.scenario import AgentSpec, Rate
from cobandit.studies import demonstration, messages, paper
from cobandit.studies.demonstration import Line, drawn, scenario
from cobandit.values.errors import LocalError


@pytest.fixture
def small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of every horizon, in threads instead of processes."""
    monkeypatch.setattr(demonstration, "HORIZON", 200)
    short = {name: replace(study, horizon=400) for name, study in paper.TABLES.items()}
    monkeypatch.setattr(paper, "TABLES", short)
    monkeypatch.setattr(messages, "ProcessPoolExecutor", lambda workers, **_: ThreadPoolExecutor(workers))


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"cobandit {cobandit.__version__}\n"


def test_without_a_command_all_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith("usage: cobandit")
    assert all(f"\n    {command} " in shown for command in ("demo", "serve", "status", "simulate", "reproduce"))


def test_an_option_is_not_guessed_and_the_usage_is_that_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["status", "memory://nobody", "--group", "g", "--wat"], ["keys", "group", "g", "--ou", "x"]):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 2
        printed = capsys.readouterr().err
        name = " ".join(word for word in command[:2] if word.isalpha())
        assert printed.startswith(f"usage: cobandit {name} ")
        assert f"cobandit {name}: error: unrecognized arguments: --" in printed


def test_an_unknown_command_is_told_only_of_those_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demonstration"])
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    assert "invalid choice: 'demonstration'" in printed
    assert "demo-agent" not in printed


@pytest.mark.parametrize("option", ["--trials", "--workers"])
@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_trials_and_workers_are_at_least_one(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["messages", option, value])
    assert ended.value.code == 2
    assert re.search(rf"argument {option}: .*{value}", capsys.readouterr().err)


def test_an_unknown_experiment_is_named_before_anything_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["messages", "7", "9"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "cobandit: experiment '9' is not one of 3, 5, 6a, 6b, 7\n"


@pytest.mark.parametrize("command", [["compare"], ["reproduce", "7"], ["simulate", "world.toml"]])
def test_a_file_in_place_of_the_folder_is_named(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("world.toml").write_text("horizon = 1\narms.means = [0.5]\nagents = [{ rate = 1 }]\n", encoding="utf-8")
    Path("taken").write_text("a file", encoding="utf-8")
    assert main([*command, "--out", "taken"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "cobandit: out must be a folder or a new name, but taken is a file\n"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file", encoding="utf-8")
    assert main(["compare", "--out", str(taken / "inside")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("cobandit: ")
    assert str(taken / "inside") in printed.err


@pytest.mark.parametrize("command", ["reproduce 3 --out /proc/x", "compare --out /proc/x"])
def test_a_folder_that_cannot_be_made_is_said_in_words(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 2
    assert capsys.readouterr().err == "cobandit: cannot write /proc/x: No such file or directory\n"


def test_a_full_disk_behind_the_output_is_said_once_and_without_a_number() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "cobandit", "protocols"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "cobandit: No space left on device\n")


@pytest.mark.parametrize(
    ("typed", "told"), [("comparee", "did you mean 'compare'?"), ("xyzzy", "invalid choice: 'xyzzy' (choose from")]
)
def test_a_command_that_there_is_not_has_a_near_one_named(
    typed: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([typed])
    assert told in capsys.readouterr().err


def test_an_interruption_is_not_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(paper, "experiment", interrupted)
    assert main(["messages", "3"]) == 130
    assert capsys.readouterr().err == "cobandit: interrupted\n"


def test_an_interrupted_count_does_not_wait_for_the_trials_that_are_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[dict[str, bool]] = []

    class Pool:
        def __init__(self, workers: int, **_: object) -> None:
            assert workers == 2

        def map(self, *_: object) -> Iterator[int]:
            raise KeyboardInterrupt

        def shutdown(self, **how: bool) -> None:
            ended.append(how)

    monkeypatch.setattr(messages, "ProcessPoolExecutor", Pool)
    assert main(["messages", "3", "--workers", "2"]) == 130
    assert ended == [{"wait": False, "cancel_futures": True}]


@pytest.mark.usefixtures("small_world")
def test_message_counts_are_printed_beside_the_published_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["messages", "3", "7", "--trials", "2", "--workers", "1"]) == 1  # a small world does not agree
    header, *rows, empty, _ = capsys.readouterr().out.splitlines()
    assert (header.split()[:2], empty) == (["algorithm", "published"], "")
    assert [row[:27].rstrip() for row in rows] == [
        "3  UCB-IBC",
        "3  UCB-ODC",
        "3  UCB-ODC, answers of one",
        "3  UCB-ODC, answers keep c",
        "7  UCB-IBC",
        "7  UCB-ODC",
    ]
    assert [row[27:].split()[0] for row in rows] == ["629", "563", "563", "563", "2,293,600", "1,576,200"]


@pytest.mark.usefixtures("small_world")
def test_a_comparison_counts_every_trial() -> None:
    (broadcast, on_demand) = messages.compare(["7"], trials=2, workers=1)
    assert (broadcast.algorithm, on_demand.algorithm) == ("UCB-IBC", "UCB-ODC")
    assert len(broadcast.counted) == len(on_demand.counted) == 2
    assert broadcast.counted[0] != broadcast.counted[1]
    assert on_demand.mean < broadcast.mean
    assert broadcast.mean == sum(broadcast.counted) / 2
    assert broadcast.difference == broadcast.mean / 2_293_600 - 1


def test_a_comparison_knows_how_far_it_is_from_the_published_count() -> None:
    row = messages.Comparison("5", "UCB-ODC", published=1000.0, published_sd=20.0, counted=(900, 1000, 1100, 1040))
    assert (row.mean, row.difference) == pytest.approx((1010.0, 0.01))
    assert row.standard_error == pytest.approx(20 / 2 / 1000)


@pytest.mark.parametrize("name", ["3", "5", "6a", "6b", "7"])
def test_every_table_of_the_paper_is_a_scenario_with_published_numbers(name: str) -> None:
    table = paper.published()
    for algorithm in ("UCB-IBC", "UCB-ODC", "AAE-IBC", "AAE-ODC"):
        assert table[name, algorithm].communications > 0
        world = paper.experiment(name).scenario(algorithm)
        assert (world.horizon, len(world.arms.names), len(world.agents)) == (80_000, 16, 10)


@pytest.mark.usefixtures("small_world")
def test_the_demonstration_prints_a_table_and_draws_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "folder"
    assert main(["compare", "--out", str(folder), "--trials", "2", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line != line.rstrip()] == []
    rows = [line[:27].rstrip() for line in printed.splitlines()[1:6]]
    assert rows == list(demonstration.WAYS)
    assert max(map(len, printed.replace(str(folder), "folder").splitlines())) <= 80
    assert printed.endswith(f"The figure is\n{folder / 'regret-and-messages'}, as .svg and .pdf.\n")
    assert sorted(path.name for path in folder.iterdir()) == ["regret-and-messages.pdf", "regret-and-messages.svg"]


@pytest.mark.usefixtures("small_world")
def test_the_demonstration_claims_no_interval_for_one_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--out", str(tmp_path), "--trials", "1", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert "±" not in printed
    assert "\n1 trial of " in printed
    assert "One trial says nothing about chance: take more." in printed


@pytest.mark.usefixtures("small_world")
def test_the_ways_of_the_demonstration_are_measured_on_the_same_tapes() -> None:
    lines = demonstration.measure(trials=2, workers=1)
    assert [line.way for line in lines] == list(demonstration.WAYS)
    assert len({line.decisions for line in lines}) == 1
    alone, broadcast, on_demand, to_64, doubling = (line.mean_shares for line in lines)
    assert alone == 0
    assert doubling <= to_64 < on_demand < broadcast


def test_the_demonstration_is_two_fast_and_eighteen_slow_agents() -> None:
    worlds = [scenario(way) for way in demonstration.WAYS]
    for world in worlds:
        assert world.agents == (AgentSpec(Rate(0.5)),) * 2 + (AgentSpec(Rate(0.02)),) * 18
        assert (world.horizon, world.arms) == (20_000, paper.surrogate_arms())
    assert len({id(world.exchange.rules) for world in worlds}) == 3


def test_a_line_of_the_demonstration_is_a_mean_with_its_interval() -> None:
    line = Line("alone", shares=(10, 20), regrets=(1.0, 3.0), decisions=5)
    assert (line.mean_shares, line.mean_regret) == (15.0, 2.0)
    assert line.regret_half == pytest.approx(12.706, abs=0.001)  # Student's t, one degree of freedom
    assert Line("alone", shares=(10,), regrets=(1.0,), decisions=5).regret_half == 0.0


def test_a_picture_is_drawn_from_five_lines() -> None:
    lines = [
        Line(way, (messages_sent,), (100.0,), 1000) for way, messages_sent in zip("abcde", (0, 9, 5, 2, 1), strict=True)
    ]
    files = drawn(lines).files()
    assert {name: content[:4] for name, content in files.items()} == {
        "regret-and-messages.svg": b"<?xm",
        "regret-and-messages.pdf": b"%PDF",
    }


def test_without_matplotlib_a_plot_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(LocalError, match=r"a plot needs the extra \"sim\": pip install 'cobandit\[sim\]'"):
        drawn([Line("alone", (0,), (1.0,), 5)])
