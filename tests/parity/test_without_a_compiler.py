"""The engines are equal without a compiler, too. In a file of its own, so that it runs beside the tests with one.

For the built-in protocols, `test_mutants.py` shows it: the kernel as it is differs in no small world.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = ("test_protocols_equal.py", "choosing_alone.py")


@pytest.mark.parametrize("name", FILES)
def test_without_a_compiler(name: str) -> None:
    file = str(Path(__file__).with_name(name))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", file]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
