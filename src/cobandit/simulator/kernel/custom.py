"""An index function of the user's in the compiled engine: compiled alone, and called by its address.

So the engine itself is not compiled anew for it. That is slower than a function that is compiled into its caller, by a
call for each arm, and saves all the time to compile the engine. What is compiled is kept between processes under a hash
of the function and of what it depends on. What the compiler cannot take is told in words of the function, not of the
compiler.
"""
# ruff: noqa: ANN401  # what a compiler extension is given has no types of its own

import linecache
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from cobandit.simulator.kernel.jit import compiled_here
from cobandit.values.errors import LocalError
from cobandit.values.provenance import source_hash

Index = Callable[[float, int, float], float]

_SIGNATURE = types.float64(types.float64, types.int64, types.float64)
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_GENERAL = ("Failed in nopython mode", "During:", "File ")
_uncompiled: dict[int, Index] = {}


@cache  # for good: while it is kept, nothing else gets its address
def address_of(index: Index) -> int:
    """Compile an index function, and return where it is."""
    function: Any = compiled_here(index, source_hash(index))
    if isinstance(function, FunctionType):  # there is no compiler
        _uncompiled[id(index)] = index
        return id(index)
    try:
        function.compile(_SIGNATURE)
    except Exception as error:  # noqa: BLE001  # a compiler has many ways to refuse
        raise _unfit(index, error) from None
    made = function.overloads[_SIGNATURE.args]
    address: int = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    return address


def _unfit(index: Index, error: Exception) -> LocalError:
    """Return what is wrong with an index function: its name, the line, and why."""
    text, name = _COLOURS.sub("", str(error)), getattr(index, "__qualname__", repr(index))
    return LocalError(
        f"the function {name} cannot be compiled{_where(index, text)}: {_why(text)}. Use numbers and the "
        'functions of math only, or run it with engine="reference", which takes any Python'
    )


def _where(index: Index, text: str) -> str:
    """Return the line of the function at which the compiler stopped, as far as it says so."""
    code = getattr(index, "__code__", None)
    if code is None:
        return ""
    file, lines = Path(code.co_filename), {line for *_, line in code.co_lines()}
    told = re.findall(re.escape(file.name) + r"\"?,? (?:line |\()(\d+)", text)
    number = next((int(line) for line in reversed(told) if int(line) in lines), code.co_firstlineno)
    return f" ({file.name}, line {number}: {linecache.getline(code.co_filename, number).strip()})"


def _why(text: str) -> str:
    if "NRT required" in text:
        return "it makes a list, a text, a dictionary or an array"
    lines = [line.strip() for line in text.splitlines()]
    told = next((line for line in lines if line and not line.startswith(_GENERAL)), "the compiler does not say why")
    return told.rstrip(".:")


def call_index(address: int, mean: float, count: int, budget: float) -> float:
    """Return what the function at this address gives an arm."""
    return _uncompiled[address](mean, count, budget)


@intrinsic
def _call(_context: Any, _address: Any, _mean: Any, _count: Any, _budget: Any) -> Any:
    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(_SIGNATURE.return_type, _SIGNATURE.args)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        status, value = convention.call_function(
            builder, function, _SIGNATURE.return_type, _SIGNATURE.args, arguments[1:]
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return value

    return _SIGNATURE.return_type(types.int64, *_SIGNATURE.args), generate


@overload(call_index)
def _call_index(address: Any, mean: Any, count: Any, budget: Any) -> Any:  # noqa: ARG001
    def implementation(address: Any, mean: Any, count: Any, budget: Any) -> Any:
        return _call(address, mean, count, budget)  # type: ignore[call-arg]  # the context is the compiler's to give

    return implementation
