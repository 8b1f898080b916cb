"""The compiled engine with an index function of the user's.

Compiled functions find each other by name in their modules. Here the ones between the loop and the index are made
again, with `custom_index` bound to the user's function, and compiled anew.
"""

from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

from cobandit.simulator.kernel import choosing, engine
from cobandit.simulator.kernel.jit import entrance_here, inlined_here

Index = Callable[[float, int, float], float]


@lru_cache(maxsize=16)
def run_with_index(index: Index) -> Callable[..., None]:
    """Return the engine's `run` with this index in place."""
    bound: dict[str, Any] = {"custom_index": inlined_here(index)}
    for function in (choosing.highest_index, choosing.select_arm, engine.decide, engine.run):
        plain = getattr(function, "py_func", function)  # without a compiler the function is plain already
        again = FunctionType(plain.__code__, {**plain.__globals__, **bound}, plain.__name__)
        bound[plain.__name__] = (entrance_here if function is engine.run else inlined_here)(again)
    run: Callable[..., None] = bound["run"]
    return run
