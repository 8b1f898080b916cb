"""`cobandit demo` runs real processes, counts, and leaves nothing behind, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cobandit.cli import main
from cobandit.live.auth.identity import Identity
from cobandit.live.drive.proof_watch import WARN_BEFORE_EXPIRY
from cobandit.studies import live_demo
from cobandit.studies.live_demo import FAST_PER_SECOND, SLOW_PER_SECOND
from cobandit.studies.live_demo_agent import Spec, decision_times
from cobandit.theory.communication import immediate_share_count
from lab.servers import Server

WITHIN = 120.0


def demo(folder: Path, *options: str) -> "subprocess.Popen[str]":
    folder.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "cobandit", "demo", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
        preexec_fn=_heed_interrupts,  # noqa: PLW1509  # it sets a signal and no more
    )


def _heed_interrupts() -> None:
    """Where this suite runs in the background of a shell, SIGINT is ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def agents_of(folder: Path) -> list[int]:
    """Return the processes that have a file of this folder open: a name, not a guess."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                targets = [str(link.readlink()) for link in (entry / "fd").iterdir()]
            except OSError:
                continue
            if any(target.startswith(str(folder)) for target in targets):
                found.append(int(entry.name))
    return found


def wait_until_nothing_is_left(folder: Path) -> None:
    deadline = time.monotonic() + WITHIN
    while agents_of(folder) or any(folder.iterdir()):
        assert time.monotonic() < deadline, (agents_of(folder), list(folder.rglob("*")))
        time.sleep(0.05)


def check(printed: dict[str, object], seconds: float, agents: int) -> None:
    members = printed["members"]
    assert isinstance(members, list)
    rates = [FAST_PER_SECOND] + [SLOW_PER_SECOND] * (agents - 1)
    specs = [Spec("", number, "", "", "", rate, seconds, seed=1) for number, rate in enumerate(rates)]
    assert [member["decisions"] for member in members] == [len(decision_times(spec)) for spec in specs]
    observations = sum(member["decisions"] for member in members)
    assert [member["known"] for member in members] == [observations] * agents
    assert (printed["observations"], printed["missing"], printed["ungraceful"]) == (observations, 0, [])
    assert printed["immediate"] == immediate_share_count([member["decisions"] for member in members])
    sent = printed["sent"]
    assert isinstance(sent, dict)
    assert isinstance(printed["share_bound"], int)
    assert 0 < sent["shares"] <= printed["share_bound"]


def test_processes_over_tls_end_with_the_same_knowledge_within_the_bound(tmp_path: Path) -> None:
    process = demo(tmp_path / "t", "--seconds", "3", "--agents", "4", "--json")
    out, err = process.communicate(timeout=WITHIN)
    assert (process.returncode, err) == (0, "")
    check(json.loads(out), 3.0, 4)
    wait_until_nothing_is_left(tmp_path / "t")


def test_processes_over_nats_do_too_and_are_shown_to_people(nats: Server, tmp_path: Path) -> None:
    process = demo(tmp_path / "t", "--seconds", "2", "--agents", "3", "--url", nats.url)
    out, err = process.communicate(timeout=WITHIN)
    assert (process.returncode, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"Starting 3 processes, one fast and the rest slow, over {nats.url} ..."
    assert max(map(len, lines[1:])) <= 80
    assert any(line.startswith("All agents know all ") for line in lines)
    wait_until_nothing_is_left(tmp_path / "t")


def test_nobody_is_told_that_its_certificate_expires(tmp_path: Path) -> None:
    specs, _ = live_demo._prepared(live_demo.Plan(agents=2), tmp_path)
    for spec in specs:
        assert spec.keys is not None
        assert Identity.load(spec.keys).valid_until > time.time() + 2 * WARN_BEFORE_EXPIRY


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_is_ended_nothing_is_left(way: signal.Signals, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    process = demo(folder, "--seconds", "60", "--agents", "3")
    deadline = time.monotonic() + WITHIN
    while len(list(folder.rglob("state.db"))) < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(way)
    _, err = process.communicate(timeout=WITHIN)
    said = "\ncobandit: the demo was stopped early, with all 3 processes; nothing is left behind\n"
    assert (process.returncode, err) == ((-way, "") if way == signal.SIGKILL else (128 + way, said))
    wait_until_nothing_is_left(folder)


@pytest.mark.parametrize("options", [["--seconds", "-1"], ["--agents", "0"], ["--seconds", "nan"]])
def test_a_demo_that_cannot_be_is_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", *options]) == 2
    told = "cobandit: a demo takes a positive number of seconds and 2 to 100 agents\n"
    assert capsys.readouterr() == ("", told)  # nothing has begun
