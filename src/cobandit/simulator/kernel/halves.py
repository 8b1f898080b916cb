"""What is known of an arm, in one integer: its two halves (`tables.ONE_OBSERVATION`)."""

import numpy as np

from cobandit.simulator.kernel.jit import inlined


@inlined
def observations(known: int) -> float:
    """Return the upper half, how many observations there are, as a float because floats divide faster."""
    return np.float64(np.int32(known >> 32))


@inlined
def rewards(known: int) -> float:
    """Return the lower half, the sum of their rewards."""
    return np.float64(np.int32(known & 0xFFFFFFFF))
