"""How functions are compiled: one source, unchanged, ahead of fast-math, outside the GIL, and kept between processes.

Formulas live where they are explained (`cobandit.policies`, `cobandit.values.chance`, `cobandit.scenario.schedules`).
`borrow` makes the very same functions callable from compiled code, so there is no second copy that could differ.

What is compiled is kept between processes, and one process at a time compiles (`keeping.py`).

Every function takes all tables as one argument, `t`, which is an address in compiled code (`passing.py`). A function
that is called often is `inlined`. Decision records 0018 and 0047 have the measurements.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba
from numba import types
from numba.extending import overload

from cobandit.simulator.kernel import keeping

Function = TypeVar("Function", bound=Callable[..., Any])


def entrance(function: Function) -> Function:
    """Compile a function that Python calls, or take the compiled version of an earlier process."""
    return in_turn(_kept(function))


def entrance_with_memory(function: Function) -> Function:
    """Compile a function that Python calls and that makes arrays of its own."""
    return in_turn(_kept(function, _nrt=True))


def compiled(function: Function) -> Function:
    """Compile a function that only compiled functions call: for what is large, and called from several places."""
    return _kept(function, **_WITHIN)


def inlined(function: Function) -> Function:
    """Compile a function into each of its callers."""
    return _kept(function, forceinline=True, **_WITHIN)


def compiled_here(function: Function, kept_as: str | None) -> Function:
    """Compile a function of the user's. It is kept under a hash of all that it depends on, if that is known."""
    if kept_as is None:
        return numba.njit(**_OPTIONS, **_WITHIN)(function)
    with _keeping_in(FOLDER / "own" / kept_as):
        return in_turn(numba.njit(cache=True, **_OPTIONS, **_WITHIN)(function))


# Without Numba's memory manager (`_nrt`) no references to arrays are counted: half of a run would be counting them.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}

# What Python never calls needs no wrapper that unpacks all tables: that would be a third of the time to compile.
_WITHIN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _kept(function: Function, **options: Any) -> Function:  # noqa: ANN401
    with _keeping_in(FOLDER):
        return _general(numba.njit(cache=True, **{**_OPTIONS, **options})(function))


@contextmanager
def _keeping_in(folder: Path) -> Iterator[None]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def _general(function: Function) -> Function:
    """Let compiled callers share one version of a function: Numba would compile it for each constant, and int32 too."""
    if isinstance(function, FunctionType):  # there is no compiler
        return function
    get_call_template = function.get_call_template

    def get_general_template(args: Sequence[Any], kws: Any) -> Any:  # noqa: ANN401
        plain = (types.unliteral(kind) for kind in args)
        return get_call_template(tuple(types.int64 if kind == types.int32 else kind for kind in plain), kws)

    function.get_call_template = get_general_template
    return function


def in_turn(function: Function) -> Function:
    """Let one process at a time compile: those that wait find what the first one has kept."""
    if isinstance(function, FunctionType):  # there is no compiler
        return function
    compile_now = function.compile

    def compile_in_turn(signature: Any) -> Any:  # noqa: ANN401
        with keeping.in_turn(FOLDER):
            return compile_now(signature)

    function.compile = compile_in_turn
    return function


def borrow(function: Callable[..., Any]) -> None:
    """Let compiled code call this plain function, compiled from the same source."""

    def implementation(*_: Any) -> Callable[..., Any]:  # noqa: ANN401
        return function

    implementation.__signature__ = inspect.signature(function)
    overload(function, strict=False)(implementation)


FOLDER = keeping.folder_of_this_version()
"""Where this version is kept."""
