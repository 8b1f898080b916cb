"""Sets of agents as words of 64 bits, walked from the lowest member."""
# ruff: noqa: ANN401, ARG001  # what a compiler extension is given has no types of its own

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

WORD = 64


def lowest(word: int) -> int:
    """Return the position of the lowest bit that is set."""
    number = int(word)
    return (number & -number).bit_length() - 1


@intrinsic
def _count_trailing_zeros(_context: Any, word: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@overload(lowest)
def _lowest(word: Any) -> Any:
    def implementation(word: Any) -> Any:
        return _count_trailing_zeros(word)  # type: ignore[call-arg]  # the context is the compiler's to give

    return implementation


def full_sets(count: int) -> Any:
    """Return, for each of `count` agents, the set of all the others."""
    words = np.full((count, (count + WORD - 1) // WORD), 2**WORD - 1, np.uint64)
    if count % WORD:
        words[:, -1] = (1 << count % WORD) - 1
    agents = np.arange(count)
    words[agents, agents // WORD] &= ~(np.uint64(1) << (agents % WORD).astype(np.uint64))
    return words
