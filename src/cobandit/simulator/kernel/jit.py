"""How functions are compiled: one source, unchanged, ahead of fast-math, outside the GIL, and kept between processes.

Formulas live where they are explained (`cobandit.policies`, `cobandit.values.chance`, `cobandit.scenario.schedules`).
`borrow` makes the very same functions callable from compiled code, so there is no second copy that could differ.

Numba looks only at the file of a compiled function when it decides whether a kept version is still good. Ours call
functions of other files, so what is kept goes into a folder named after a hash of all of them.
"""

import hashlib
import inspect
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import overload

import cobandit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, or take the compiled version of an earlier process."""
    return _kept(function, **_OPTIONS)


def inlined(function: Function) -> Function:
    """Compile a function into each of its callers: for what happens several times in every decision."""
    return _kept(function, inline="always", **_OPTIONS)


def compiled_with_memory(function: Function) -> Function:
    """Compile a function that makes arrays of its own."""
    return _kept(function, **{**_OPTIONS, "_nrt": True})


def compiled_here(function: Function) -> Function:
    """Compile a function that cannot be kept, because it depends on a function of the user's."""
    return numba.njit(**_OPTIONS)(function)


# Without Numba's memory manager (`_nrt`) no references to arrays are counted: half of a run would be counting them.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def _kept(function: Function, **options: Any) -> Function:  # noqa: ANN401
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_folder)
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


def borrow(function: Callable[..., Any]) -> None:
    """Let compiled code call this plain function, compiled from the same source."""

    def implementation(*_: Any) -> Callable[..., Any]:  # noqa: ANN401
        return function

    implementation.__signature__ = inspect.signature(function)
    overload(function, strict=False)(implementation)


def _cache_folder() -> Path:
    package = Path(cobandit.__file__).parent
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(package.rglob("*.py")):
        digest.update(source.read_bytes())
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "cobandit" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only home: compile once a machine and boot instead
        folder = Path(tempfile.gettempdir()) / f"cobandit-{os.getuid()}-{digest.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


_folder = _cache_folder()
