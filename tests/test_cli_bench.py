"""The command `cobandit bench`."""

from pathlib import Path

import pytest

from cobandit.benchmark import entries, tasks
from cobandit.cli import main


def test_tasks_and_entries_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "list"]) == 0
    told = capsys.readouterr().out
    assert [name for name in (*tasks(), *entries()) if f"  {name} " not in told] == []
    assert main(["bench", "list", "tasks"]) == 0
    assert "gossip" not in capsys.readouterr().out


def test_a_run_and_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench"
    command = ["bench", "run", "real-times", "--protocol", "gossip", "tcom", "--trials", "2", "--workers", "1"]
    assert main([*command, "--out", str(out)]) == 0
    assert main(["bench", "report", str(out)]) == 0
    assert capsys.readouterr().out == (
        f"The trials are in {out}. Run `cobandit bench report {out}` to see the results.\n"
        f"The report is in {out / 'report.html'}.\n"
    )
    written = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*"))
    assert written == [
        "benchmark.json",
        "benchmark/real-times.pdf",
        "benchmark/real-times.svg",
        "entries/gossip.json",
        "entries/tcom.json",
        "real-times/journal.jsonl",
        "report.html",
        "report.md",
    ]
    assert "<h2>real-times</h2>" in (out / "report.html").read_text()


def test_a_protocol_of_ones_own_that_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "falling.py").write_text(
        "class Falls:\n    def __init__(self, node):\n        pass\n\n    def observed(self, arm, reward):\n"
        "        raise KeyError('fell')\n\n    def received(self, sender, message):\n        pass\n"
    )
    monkeypatch.chdir(tmp_path)
    command = ["bench", "run", "real-times", "--protocol", "tcom", "--own", "falling:Falls", "--trials", "1"]
    assert main([*command, "--workers", "1", "--out", "bench"]) == 1
    assert "cobandit: falls failed on real-times: trial 0: KeyError: 'fell'" in capsys.readouterr().err
    assert main(["bench", "report", "bench"]) == 0
    assert "<h2>What failed</h2>" in Path("bench/report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "sink-10"], "there is no task 'sink-10': did you mean sync-10? `cobandit bench list` has them all"),
        (["run", "--protocol", "gossipp"], "there is no protocol 'gossipp': did you mean gossip?"),
        (["run", "--trials", "0"], "trials must be"),
        (["run", "--own", "nowhere"], "name your own protocol as module:Class"),
        (["report", "nothing-here"], "nothing-here holds no benchmark"),
    ],
)
def test_what_is_wrong_is_told(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert told in capsys.readouterr().err
