"""The tutorial is true: its commands are run in order, in an empty folder, with the files that it says to save.

The Python blocks without a file name are run by sybil, as those of every document.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from lab.servers import free_port

ROOT = Path(__file__).parent.parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"

WITHIN = 900.0
"""How long all commands may take before something hangs; that a reader needs less is said, not tested."""

BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
PORT = re.compile(r"\b(?:71\d\d|8700)\b")
REAL_TIME = ("python shop.py", "cobandit demo")
"""What these print depends on the clock: only the words of the sample are compared."""


class Step(NamedTuple):
    """Commands of the tutorial, and the sample of what they print."""

    commands: str
    sample: str


class Printed(NamedTuple):
    """What a step printed, and its sample."""

    step: Step
    output: str


def blocks() -> list[tuple[str, str | None, str]]:
    found = BLOCK.finditer(TUTORIAL.read_text(encoding="utf-8"))
    return [(block["language"], block["file"], block["text"]) for block in found]


def steps() -> list[Step]:
    """The shell blocks, each with the sample that follows it at once."""
    every = blocks()
    following = [*every[1:], ("", None, "")]
    return [
        Step(text, sample if kind in {"text", "json"} else "")
        for (language, _, text), (kind, _, sample) in zip(every, following, strict=True)
        if language == "sh"
    ]


INSTALLING, *STEPS = steps()


def program(folder: Path, name: str, *arguments: str) -> None:
    """Make a command, as an installation has it."""
    path = folder / name
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {" ".join(arguments)} "$@"\n', encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[Printed]:
    """What every step printed, when all were run in one shell."""
    if shutil.which("curl") is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have every program: there is no curl")
        pytest.skip("NOT TESTED: there is no curl on this machine")
    folder, programs = tmp_path_factory.mktemp("tutorial"), tmp_path_factory.mktemp("bin")
    program(programs, "python")
    program(programs, "cobandit", "-m", "cobandit")
    ports: dict[str, str] = {}

    def another_port(found: re.Match[str]) -> str:
        return ports.setdefault(found.group(), str(free_port()))

    for _, file, text in blocks():
        if file is not None:
            (folder / file).write_text(PORT.sub(another_port, text), encoding="utf-8")
    script = "set -e\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n" + "echo '=== step'\n".join(
        PORT.sub(another_port, step.commands) for step in STEPS
    )
    ended = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=WITHIN,
    )
    assert ended.returncode == 0, ended.stdout
    return [Printed(*pair) for pair in zip(STEPS, ended.stdout.split("=== step\n"), strict=True)]


def test_what_it_installs_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"pip install '\.\[([\w,]+)\]'", INSTALLING.commands)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert "cobandit" in project["scripts"]


def test_every_command_prints_what_the_tutorial_shows(printed: list[Printed]) -> None:
    missing = []
    for step, output in printed:
        if step.commands.startswith(REAL_TIME):
            wanted, got = re.findall(r"[A-Za-z_-]{2,}", step.sample), output
        elif "/v1/select" in step.commands:  # ids differ, and now and then it tries another arm
            wanted, got = re.findall(r'"\w+":', step.sample), output
        else:
            wanted = [" ".join(line.split()) for line in step.sample.splitlines()]
            got = "\n".join(" ".join(line.split()) for line in output.splitlines())
        if step.commands.startswith("cobandit log"):
            got = got.splitlines()[0]  # the names of the columns, and all of them
            assert wanted == [got]
        missing += [part for part in wanted if part not in got]
    assert missing == []


def test_there_is_a_sample_for_most_commands() -> None:
    assert sum(bool(step.sample) for step in STEPS) >= 5


def test_the_quiet_replica_knows_what_the_busy_one_observed(printed: list[Printed]) -> None:
    (shop,) = [output for step, output in printed if "python shop.py" in step.commands]
    ends = re.findall(r"(web-\d) made (\d+) decisions and knows (\d+) observations", shop)
    decided = {name: int(own) for name, own, _ in ends}
    known = {name: int(all_) for name, _, all_ in ends}
    assert sorted(known) == ["web-1", "web-2"]
    assert decided["web-2"] < decided["web-1"]
    assert known["web-2"] > 2 * decided["web-2"]


def test_the_sidecar_counts_the_reward_and_stops_when_it_is_told_to(printed: list[Printed]) -> None:
    served = [
        " ".join(output.split())
        for step, output in printed
        if re.search(r"cobandit serve|/v1/update|kill", step.commands)
    ]
    decided, rewarded, stopped = served
    assert re.search(r'"arm":"(plain|bold|playful)"', decided)
    assert rewarded == '{"counted":true}'
    assert stopped == "web-1 has stopped, with everything written down."
