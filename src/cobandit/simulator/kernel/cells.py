"""A cell in one integer, who observed and which arm, and the places where cells stand, compiled.

Rings have a power of two of places: a remainder would take longer than all else that is done with a cell.
"""

from cobandit.simulator.kernel.jit import inlined
from cobandit.simulator.kernel.tables import Tables


@inlined
def cell_of(t: Tables, origin: int, arm: int) -> int:
    """Return a cell."""
    return origin << t.world.arm_bits | arm


@inlined
def origin_of(t: Tables, cell: int) -> int:
    """Return who observed."""
    return cell >> t.world.arm_bits


@inlined
def arm_of(t: Tables, cell: int) -> int:
    """Return which arm."""
    return cell & ((1 << t.world.arm_bits) - 1)


@inlined
def spot_of(t: Tables, place: int) -> int:
    """Return where in the ring an entry of a parcel stands."""
    return place & (t.parcels.shape[1] - 1)


def ring_room(least: int) -> int:
    """Return how many places a ring has that needs so many.

    >>> [ring_room(least) for least in (1, 2, 3, 4, 5)]
    [1, 2, 4, 4, 8]
    """
    return 1 << (least - 1).bit_length()
