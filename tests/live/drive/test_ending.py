"""What ends by itself: a certificate, and a program that is told to stop."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

import cobandit
from cobandit.live.auth import keys
from cobandit.live.status.metrics import MemberCollector
from cobandit.live.store.sqlite_journal import read_state
from cobandit.values.errors import LocalError

WITHIN = 60.0

IMPATIENT = """
import os, signal, sys
import cobandit
with cobandit.connect(
    "memory://x", group="g", name="m", arms=["A", "B"], state=sys.argv[1], close_on_sigterm=True
) as member:
    member.update(member.select_arm(), 1.0)
    close = member.close
    def closing():
        os.kill(os.getpid(), signal.SIGTERM)  # again, in the middle of it
        close()
    member.close = closing
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
"""

PROGRAM = """
import sys, time
import cobandit
member = cobandit.connect(
    "memory://x", group="g", name="m", arms=["A", "B"], state=sys.argv[1], close_on_sigterm=True
)
member.update(member.select_arm(), 1.0)
print("ready", flush=True)
time.sleep(600)
"""


class Ahead:
    """A clock that is some days ahead."""

    def __init__(self) -> None:
        self.days = 0

    def now(self) -> float:
        return time.time() + 86_400 * self.days

    time_of_day = now


@pytest.mark.parametrize("url", ["nats://127.0.0.1:1", "mqtt://127.0.0.1:1", "udp://127.0.0.1:0", "tls://127.0.0.1:0"])
def test_a_certificate_that_expires_soon_is_told_in_time(url: str, tmp_path: Path) -> None:
    keys.make_group("g", tmp_path)
    bundle, clock = keys.issue("m", tmp_path, days=100), Ahead()

    def told(within: float = WITHIN) -> list[str]:
        with cobandit.connect(url, group="g", name="m", arms=["A"], keys=bundle, clock=clock) as member:
            deadline = time.monotonic() + within
            while time.monotonic() < deadline:
                if found := [one for one in member.statistics().troubles if "certificate" in one]:
                    break
                time.sleep(0.01)
            registry = CollectorRegistry()
            registry.register(MemberCollector(member))
            left = registry.get_sample_value("cobandit_certificate_seconds", {"group": "g", "member": "m"})
            assert left == pytest.approx(max(0.0, 86_400 * (100 - clock.days)), abs=120)
            return found

    assert told(within=1.0) == []
    clock.days = 87
    (soon,) = told()
    assert soon.startswith("the certificate of this member expires on ")
    clock.days = 101
    (gone,) = told()
    assert "expired on" in gone
    assert "make a new one with `cobandit keys agent`" in gone


def test_a_member_without_a_certificate_has_none_that_expires() -> None:
    with cobandit.connect("memory://ending", group="g", name="m", arms=["A"]) as member:
        assert member.statistics().certificate_s is None


def test_a_program_may_let_sigterm_close_its_members(tmp_path: Path) -> None:
    state = tmp_path / "m.db"
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(state)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(WITHIN) == 128 + signal.SIGTERM
    assert read_state(state).is_clean


def test_a_second_sigterm_does_not_interrupt_the_end(tmp_path: Path) -> None:
    state = tmp_path / "m.db"
    ended = subprocess.run([sys.executable, "-c", IMPATIENT, str(state)], timeout=WITHIN, check=False)
    assert (ended.returncode, read_state(state).is_clean) == (128 + signal.SIGTERM, True)


def test_a_program_that_handles_sigterm_itself_is_told() -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with pytest.raises(LocalError, match="this program handles SIGTERM itself: close the member there"):
            cobandit.connect("memory://ending", group="g", name="m", arms=["A"], close_on_sigterm=True)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_only_the_main_thread_can_ask_for_it() -> None:
    said: list[str] = []

    def ask() -> None:
        try:
            cobandit.connect("memory://ending", group="g", name="m", arms=["A"], close_on_sigterm=True)
        except LocalError as error:
            said.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert said == ["close_on_sigterm needs the main thread: Python takes signals there"]
