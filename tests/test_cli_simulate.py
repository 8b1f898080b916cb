"""`cobandit simulate` runs a scenario file, prints what it measured, and says what is wrong in one line."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cobandit import immediate, silent
from cobandit.cli import main
from cobandit.scenario import read_scenario
from cobandit.scenario.topology import Relays
from cobandit.simulator import reference
from cobandit.simulator import simulate as simulate_module
from cobandit.simulator.baselines import MOST_SHARES, baselines, why_no_broadcast
from cobandit.simulator.results import Results
from cobandit.simulator.simulate import simulate
from cobandit.simulator.trials import run_jobs

EXAMPLE = re.search(
    r"```toml\n(.*?)```",
    (Path(__file__).parent.parent / "docs" / "scenario-files.md").read_text(encoding="utf-8"),
    re.DOTALL,
)
SMALL = """
horizon = 60
trials = 3
seed = 4
[arms]
means = [0.2, 0.8]
[[agents]]
count = 2
rate = 0.5
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    file = tmp_path / "world.toml"
    file.write_text(SMALL, encoding="utf-8")
    return file


def run(world: Path, *options: str) -> int:
    return main(["simulate", str(world), "--engine", "reference", *options])


def test_the_documented_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert EXAMPLE is not None
    file = tmp_path / "example.toml"
    file.write_text(EXAMPLE[1], encoding="utf-8")
    assert main(["simulate", str(file), "--trials", "2", "--engine", "reference"]) == 0
    assert capsys.readouterr().out.startswith("example: trials 2, seed 1, engine reference\n")


def test_a_table_is_printed_for_people(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(world, "--alone") == 0
    printed = capsys.readouterr()
    shares = simulate(world, engine="reference").summary()["world"]["shares"]
    mean, sd, low, high = (f"{shares[key]:,.1f}" for key in ("mean", "sd", "low", "high"))
    title, _, header, *rows = printed.out.splitlines()
    assert title == "world: trials 3, seed 4, engine reference"
    assert header.split() == ["mean", "sd", "95", "%", "interval"]
    assert [row[:18].rstrip() for row in rows] == [
        "shares",
        "notices",
        "retries",
        "acknowledgements",
        "messages",
        "agent rounds",
        "bytes",
        "definition bits",
        "staleness",
        "decisions",
        "group regret",
        "realised regret",
        "dynamic regret",
    ]
    assert rows[0].split() == ["shares", mean, sd, low, "to", high]
    assert printed.err == ""


def test_a_world_stands_beside_the_same_one_without_talk_and_with_broadcast(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results"
    assert run(world, "--out", str(out)) == 0
    _, _, beside, _ = capsys.readouterr().out.split("\n\n")
    merged = Results.merge(out, out / "baselines")
    means = {name: {key: one["mean"] or 0.0 for key, one in of.items()} for name, of in merged.summary().items()}
    header, *lines, note = beside.splitlines()
    assert header.split() == ["messages", "per", "decision", "group", "regret"]
    assert [line[:25].rstrip() for line in lines] == ["world", "no communication", "immediate broadcast"] == list(means)
    for line, of in zip(lines, means.values(), strict=True):
        messages, per_decision, regret = of["messages"], of["messages"] / of["decisions"], of["group_regret"]
        assert line[25:].split()[:3] == [f"{messages:,.1f}", f"{per_decision:.3f}", f"{regret:,.1f}"]
    assert note == "All on the same tapes; ± is half of the 95 % interval."
    assert (out / "report.html").read_text(encoding="utf-8") == merged.report(subject="world")
    assert merged.over_time["slot"].nunique() == 50


def test_a_baseline_is_left_out_where_it_says_nothing_or_takes_too_long(world: Path) -> None:
    scenario = read_scenario(world).scenario
    far = MOST_SHARES["reference"] + 1
    assert list(baselines(scenario, 60.0, 3, "reference")) == ["no communication", "immediate broadcast"]
    assert list(baselines(replace(scenario, sharing=silent()), 60.0, 3, "reference")) == ["immediate broadcast"]
    assert list(baselines(replace(scenario, sharing=immediate()), 60.0, 3, "reference")) == ["no communication"]
    assert list(baselines(scenario, far, 1, "reference")) == ["no communication"]
    assert why_no_broadcast(scenario, 60.0, 3, "reference") == ""
    assert list(baselines(replace(scenario, topology=Relays(2)), 60.0, 3, "compiled")) == ["no communication"]


def test_what_is_left_out_and_which_engine_is_not_taken_is_said_with_the_reason(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cobandit.simulator.baselines.MOST_SHARES", {"reference": 10, "compiled": 10})
    world.write_text(f'{SMALL}policy = {{ name = "kl-ucb" }}\n', encoding="utf-8")  # an agent with a policy of its own
    assert main(["simulate", str(world), "--trials", "2", "--workers", "1"]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("cobandit: immediate broadcast is left out: it would send ")
    assert "\nUsing the readable engine, because the compiled engine knows one policy for all agents.\n" in printed.out


def test_one_trial_has_no_interval(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(world, "--trials", "1") == 0
    assert [len(row.split()) for row in capsys.readouterr().out.splitlines()[3:7]] == [2, 2, 2, 2]
    assert run(world, "--trials", "1", "--json") == 0
    shares = json.loads(capsys.readouterr().out)["summary"]["shares"]
    assert (shares["sd"], shares["low"], shares["high"]) == (None, None, None)


def test_one_json_object_is_printed_for_programs(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = read_scenario(world).scenario
    beside = {
        "no communication": replace(scenario, sharing=silent()),
        "immediate broadcast": replace(scenario, sharing=immediate()),
    }
    assert run(world, "--json", "--seed", "9", "--workers", "2") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "scenario": "world",
        "trials": 3,
        "seed": 9,
        "engine": "reference",
        "summary": simulate(world, seed=9, engine="reference").summary()["world"],
        "baselines": simulate(beside, trials=3, seed=9, engine="reference").summary(),
    }
    assert printed.err == ""


def test_repetitions_and_acknowledgements_are_told_too(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world.write_text(SMALL + "[sharing]\nloss = 0.3\nloss_tolerant = { first = 4, least = 1 }\n", encoding="utf-8")
    assert run(world, "--json") == 0
    told = json.loads(capsys.readouterr().out)["summary"]
    runs = [reference.run(read_scenario(world).scenario, seed=4, trial=trial) for trial in range(3)]
    quantities = ("shares", "retries", "acknowledgements", "messages", "staleness")
    assert {quantity: told[quantity]["mean"] for quantity in quantities} == pytest.approx(
        {quantity: sum(getattr(one, quantity) for one in runs) / 3 for quantity in quantities}
    )
    assert min(told[quantity]["mean"] for quantity in quantities) > 0


def test_results_go_to_a_folder(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results"
    assert run(world, "--out", str(out), "--checkpoints", "4", "--keep", "links", "--keep", "pulls") == 0
    assert capsys.readouterr().out.endswith(f"\nThe results are in {out}. Open {out / 'report.html'} to see them.\n")
    assert Results.load(out).over_time["slot"].tolist() == [15, 30, 45, 60] * 3
    assert sorted(file.name for file in out.glob("*.parquet")) == [
        "agents.parquet",
        "arms.parquet",
        "links.parquet",
        "over_time.parquet",
        "pulls.parquet",
        "trials.parquet",
    ]


def test_a_broken_file_is_one_line_and_exit_code_two(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world.write_text(SMALL.replace("rate = 0.5", "rate = 5"), encoding="utf-8")
    assert run(world) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"cobandit: {world}: agents[0].rate must be a number in [0, 1], not 5\n"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--trials", "0"], "cobandit: trials must be a whole number from 1 to 10000000, not 0\n"),
        (["--seed", "-1"], "cobandit: seed must be a whole number from 0 to 9223372036854775807, not -1\n"),
        (["--workers", "0"], "cobandit: workers must be a whole number of at least 1, not 0\n"),
        (["--checkpoints", "61"], "cobandit: the number of checkpoints must be a whole number from 1 to 60, not 61\n"),
        (["--checkpoints", "0"], "cobandit: the number of checkpoints must be a whole number from 1 to 60, not 0\n"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(
    options: list[str], text: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(world, *options) == 2
    assert capsys.readouterr().err == text


@pytest.mark.parametrize("options", [["--trials", "many"], ["--engine", "fast"], ["--workers", "2", "--cluster", "x"]])
def test_an_option_that_cannot_be_read_shows_the_usage(
    options: list[str], world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["simulate", str(world), *options])
    assert ended.value.code == 2
    assert "usage: cobandit simulate" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("out", "how"),
    [(True, "run the same command again to resume"), (False, "nothing is kept; use --out DIR to be able to resume")],
)
def test_an_interruption_says_how_to_go_on(
    out: bool,
    how: str,
    world: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*arguments: Any, **options: Any) -> Any:
        for count, trial in enumerate(run_jobs(*arguments, **options)):
            if count == 2:
                raise KeyboardInterrupt
            yield trial

    options = ["--workers", "1", *(["--out", str(tmp_path / "out")] if out else [])]
    with monkeypatch.context() as patch:
        patch.setattr(simulate_module, "run_jobs", interrupted)
        assert run(world, *options) == 130
    assert capsys.readouterr().err == f"cobandit: interrupted with 2 of 3 trials done: {how}\n"
    assert run(world, *options) == 0


LONG = """
horizon = 10000
trials = 1
[arms]
means = [0.2, 0.8]
[[agents]]
count = 1000
rate = 1.0
"""


def test_ctrl_c_in_a_long_compiled_trial_ends_the_process_with_130_and_no_traceback(tmp_path: Path) -> None:
    """The trial would take minutes. The process says when compiled code is about to run; it was compiled before."""
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from cobandit.cli import console; from cobandit.scenario import read_scenario\n"
        "from cobandit.simulator import kernel\n"
        "kernel.run(read_scenario(sys.argv.pop()).scenario, seed=1)\n"
        "run = kernel.engine.run\n"
        "def telling(*tables):\n"
        "    print('running', flush=True)\n"
        "    run(*tables)\n"
        "kernel.engine.run = telling\n"
        "sys.exit(console())"
    )
    long, short = tmp_path / "long.toml", tmp_path / "short.toml"
    long.write_text(LONG, encoding="utf-8")
    short.write_text(SMALL, encoding="utf-8")
    command = ["simulate", str(long), "--engine", "compiled", str(short)]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        try:
            printed, said = process.communicate(timeout=60.0)  # to wait for the trial would take much longer
        finally:
            process.kill()
    assert process.returncode == 130
    assert printed == ""
    *notes, last = said.splitlines()
    assert last == "cobandit: interrupted with 0 of 1 trials done: nothing is kept; use --out DIR to be able to resume"
    assert [note for note in notes if "engine" not in note] == []  # that it is compiled, if no test did that before


def test_a_real_interruption_ends_the_process_with_130_and_the_run_goes_on(world: Path, tmp_path: Path) -> None:
    """The process interrupts itself from a trial, so that no clock is needed."""
    program = (
        "import os, signal, sys; from cobandit.simulator import trials; from cobandit.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "run_job = trials.run_job\n"
        "def interrupting(job):\n"
        "    if job.trial == 1: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return run_job(job)\n"
        "trials.run_job = interrupting\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    out = tmp_path / "out"
    command = ["simulate", str(world), "--engine", "reference", "--workers", "1", "--out", str(out)]
    ended = subprocess.run(
        [sys.executable, "-c", program, *command], check=False, capture_output=True, text=True, env=os.environ
    )
    assert ended.returncode == 130
    assert re.fullmatch(
        r"cobandit: interrupted with \d of 3 trials done: run the same command again to resume\n", ended.stderr
    )
    assert run(world, "--out", str(out)) == 0
    assert len(Results.load(out).trials) == 3


@pytest.mark.parametrize(
    ("sharing", "is_said"),
    [
        ('protocol = "ibc"\nthreshold = { geometric = 2 }', True),
        ('protocol = "ibc"\nthreshold = { constant = 1 }', False),
        ('protocol = "ibc"', False),
        ('protocol = "odc"\nthreshold = { geometric = 2 }', False),
    ],
)
def test_a_broadcast_that_waits_for_a_threshold_is_said(
    world: Path, sharing: str, is_said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write_text(f"{SMALL}[sharing]\n{sharing}\n", encoding="utf-8")
    assert run(world) == 0
    said = (
        "cobandit: world: broadcast uses the threshold in the file, so it waits until that is reached. Leave out "
        "`sharing.threshold` to send every observation at once, as the paper's broadcast does\n"
    )
    assert capsys.readouterr().err == (said if is_said else "")
