"""The command `python -m lab faults`: what it prints and how it ends. The fleets themselves are in tests/live."""

from collections.abc import Iterator

import pytest

from lab.cli import main
from lab.faults import running
from lab.faults.verdict import Verdict

GOOD = Verdict("pause", 3, 2, 1200, 1100, 1150, 0, 0, 6, 6, 1.5)
BAD = GOOD._replace(scenario="clock-back", lost=1, violations=("m1 has counted too little",))
SKIPPED = Verdict("disk-full", skipped="needs root")


def _tried(monkeypatch: pytest.MonkeyPatch, *verdicts: Verdict) -> None:
    def give(names: list[str], *, seed: int, is_quick: bool, jobs: int) -> Iterator[Verdict]:
        assert (names, seed, is_quick, jobs) == (["pause"], 7, True, 4)
        return iter(verdicts)

    monkeypatch.setattr(running, "try_scenarios", give)


def test_a_violation_ends_with_one_and_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _tried(monkeypatch, GOOD, BAD)
    assert main(["faults", "pause", "--quick", "--seed", "7"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "pause                        3       2    1,200    1,100    1,150     0      0     6/6        1.5",
        "clock-back                   3       2    1,200    1,100    1,150     1      0     6/6        1.5",
        "    VIOLATION: m1 has counted too little",
        "    python -m lab faults clock-back --seed 7 --quick",
        "2 scenarios, 4 faults, 2,300 observations: violations in clock-back",
    ]


def test_what_was_not_tried_is_said_loudly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _tried(monkeypatch, GOOD, SKIPPED)
    assert main(["faults", "pause", "--quick", "--seed", "7"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "disk-full             NOT TRIED: needs root",
        "1 scenarios, 2 faults, 1,150 observations: no violation; NOT TRIED: disk-full",
    ]


def test_a_scenario_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "fire"]) == 2
    assert capsys.readouterr().err.startswith("lab: there is no scenario 'fire': choose from kill-tls, kill-nats, ")
