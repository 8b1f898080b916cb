"""The command `python -m lab swarm`."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cobandit
import lab
from cobandit.core.agenda import Agenda
from lab.cli import main
from lab.live_swarm.inspector import Inspector
from lab.swarm import run_seed


def test_it_runs_seeds_and_sums_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["swarm", "--seeds", "0:6", "--workers", "1"]) == 0
    printed = capsys.readouterr()
    first, last = printed.out.splitlines()
    assert first.startswith("6 seeds, ")
    assert first.endswith("seeds a minute a core")
    assert last == "no violation"
    assert printed.err == ""  # nobody is looking, so there is no progress to see


def test_one_seed_tells_what_happens_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["swarm", "--seeds", "3", "--transcript"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    verdict = run_seed(3)
    assert last == f"seed 3: {verdict.events} events, fingerprint {verdict.fingerprint}, no violation"
    assert sum(" says " in line for line in lines) == verdict.messages


def test_a_failing_seed_says_what_is_wrong_and_how_to_see_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Agenda, "owes", lambda _self, _link: False)
    assert main(["swarm", "--seeds", "0:2", "--workers", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "both wait" in lines[0]
    assert lines[0].startswith("seed 0: ")
    assert lines[1] == "    python -m lab swarm --seeds 0 --transcript"
    assert lines[-1] == "2 seeds with a violation"
    assert main(["swarm", "--seeds", "0", "--transcript"]) == 1
    assert capsys.readouterr().out.splitlines()[-2] == lines[0]


def test_live_members_are_run_and_a_failing_seed_says_how_to_see_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["swarm", "--live", "--seeds", "0:2", "--workers", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no violation"
    monkeypatch.setattr(Inspector, "wrote", lambda self, process: self.complain(f"{process.name} has written"))
    command = ["swarm", "--live", "--allow", "controls_outlive_disks", "--seeds", "0"]
    assert main([*command, "--workers", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "seed 0: m0 has written"
    assert lines[1] == "    python -m lab swarm --live --allow controls_outlive_disks --seeds 0 --transcript"
    assert main([*command, "--transcript"]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == lines[:2]


def test_a_failing_seed_says_of_which_kind_of_worlds_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Inspector, "wrote", lambda self, process: self.complain(f"{process.name} has written"))
    command = ["swarm", "--live", "--worlds", "bandits", "--seeds", "2"]
    assert main([*command, "--workers", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "    python -m lab swarm --live --worlds bandits --seeds 2 --transcript"
    assert main([*command, "--transcript"]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == lines[:2]


@pytest.mark.parametrize("seeds", ["", "x", "3:x", "5:5", "5:3", "-1", "1:2:3"])
def test_seeds_that_are_none_are_refused(seeds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["swarm", f"--seeds={seeds}"])
    assert "--seeds" in capsys.readouterr().err


def test_progress_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["swarm", "--seeds", "0:3", "--workers", "1"]) == 0
    assert "3 of 3 seeds" in terminal.getvalue()


def test_it_needs_the_core_only() -> None:
    program = (
        "import sys\n"
        "for name in ('numpy', 'numba', 'pandas', 'matplotlib', 'pyarrow'): sys.modules[name] = None\n"
        "from lab.cli import main\n"
        "sys.exit(main(['swarm', '--seeds', '1', '--workers', '1']))"
    )
    paths = (Path(module.__file__ or "").parent.parent for module in (cobandit, lab))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    assert "no violation" in done.stdout
