"""The highest of some numbers, compiled: walks of which a compiler makes vectors, and no jumps."""

import numpy as np

from cobandit.simulator.kernel.jit import inlined
from cobandit.simulator.kernel.tables import Table

FAR = np.int64(2**62)
"""Behind every position."""


@inlined
def highest(index: Table) -> float:
    """Return the highest number: four walks side by side."""
    a, b, c, d = index[0], index[0], index[0], index[0]
    count = np.uint64(index.shape[0])
    fours = count & ~np.uint64(3)
    for arm in range(np.uint64(0), fours, np.uint64(4)):
        a, b = max(a, index[arm]), max(b, index[arm + np.uint64(1)])
        c, d = max(c, index[arm + np.uint64(2)]), max(d, index[arm + np.uint64(3)])
    for arm in range(fours, count):
        a = max(a, index[arm])
    return max(max(a, b), max(c, d))  # noqa: PLW3301  # two at a time, which vectors can


@inlined
def first_highest(index: Table) -> int:
    """Return the first of the highest numbers, without a jump."""
    best, first = highest(index), FAR
    for arm in range(np.uint64(index.shape[0])):
        first = min(first, np.int64(arm) if index[arm] == best else FAR)
    return int(first)
