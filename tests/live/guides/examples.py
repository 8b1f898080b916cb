"""What tests of guides share: the examples as processes and as modules, and waiting for what must come."""

import importlib.util
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TypeVar

Value = TypeVar("Value")

EXAMPLES = Path(__file__).parent.parent.parent.parent / "examples"
WITHIN = 60.0
STOP_WITHIN = 60.0


def wait_for(what: Callable[[], Value | None], whose: str) -> Value:
    """Wait until this returns something that is true, and return it."""
    deadline = time.monotonic() + WITHIN
    while not (value := what()):
        assert time.monotonic() < deadline, f"it did not happen: {whose}"
        time.sleep(0.05)
    return value


@contextmanager
def started(*command: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of an example, which is stopped in the end."""
    with subprocess.Popen(command, cwd=folder, env={**os.environ, **environment}) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()


def loaded(path: Path) -> ModuleType:
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
