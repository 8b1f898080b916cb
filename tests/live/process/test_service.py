"""Signals of a member that runs as a process."""

import signal
import subprocess
import sys

import pytest

WITHIN = 60.0

PROGRAM = """
import os, signal, sys
from cobandit.live.process.service import stop_signals
with stop_signals() as signals:
    os.kill(os.getpid(), signal.SIGTERM)
    assert signals.wait(60.0) == signal.SIGTERM
    signals.let_go()
    os.kill(os.getpid(), int(sys.argv[1]))
print("ends in order")
"""


@pytest.mark.parametrize(
    ("again", "code", "said"), [(signal.SIGTERM, 0, "ends in order\n"), (signal.SIGINT, -signal.SIGINT, "")]
)
def test_a_second_sigterm_is_no_crash_and_a_second_ctrl_c_ends_it_at_once(
    again: signal.Signals, code: int, said: str
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(int(again))]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=WITHIN, check=False)
    assert (ended.returncode, ended.stdout) == (code, said)
