"""An index function of the user's in the compiled engine: compiled alone, and called by its address.

So the engine itself is not compiled anew for it. That is slower than a function that is compiled into its caller, by a
call for each arm, and saves all the time to compile the engine.
"""
# ruff: noqa: ANN401  # what a compiler extension is given has no types of its own

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from cobandit.simulator.kernel.jit import compiled_here

Index = Callable[[float, int, float], float]

_SIGNATURE = types.float64(types.float64, types.int64, types.float64)
_uncompiled: dict[int, Index] = {}


@cache  # for good: while it is kept, nothing else gets its address
def address_of(index: Index) -> int:
    """Compile an index function, and return where it is."""
    function: Any = compiled_here(index)
    if isinstance(function, FunctionType):  # there is no compiler
        _uncompiled[id(index)] = index
        return id(index)
    function.compile(_SIGNATURE)
    made = function.overloads[_SIGNATURE.args]
    address: int = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    return address


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
