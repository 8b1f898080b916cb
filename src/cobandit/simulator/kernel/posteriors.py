"""Which arm has the highest draw from its posterior, compiled: an arm that cannot win is not drawn.

A draw from Beta(a, b) is x / (x + y), and x and y are gamma variables: d (1 + c z)^3 with a normal z, where z is the
cosine of one random number times a radius from another one. Bits of the second one bound the radius, and with it x and
y, without a logarithm or a cosine. A third number decides whether z is taken or drawn again. That it is taken is sure
if the number is large enough:

    log(u) < z^2 / 2 + d - d v + d log(v),  v = (1 + s)^3,  s = c z,  9 c^2 d = 1

The right side is 3 d (-s^4/4 + s^5/5 - ...), so not below -r^4 / (108 d (1 - q)) where |z| <= r and q = c r < 1; and
log(u) <= u - 1. What is not sure is drawn as `chance.beta` does.
"""

import math

import numpy as np

from cobandit.policies.thompson import thompson_index
from cobandit.simulator.kernel.halves import observations, rewards
from cobandit.simulator.kernel.highest import first_highest
from cobandit.simulator.kernel.jit import inlined
from cobandit.simulator.kernel.tables import Record, Table
from cobandit.values import chance

ROUNDED = 1.0 - 1e-12
"""Makes a bound hold though its numbers are rounded."""

_TWO_LOG_TWO = 2.0 * math.log(2.0) * (1.0 + 1e-9)
_SLACK = 1e-5
"""More than the rounding of d log(v), also of two billion observations."""

_UNSURE = 2.0


@inlined
def highest_draw(agent: Record, known: Table, bounds: Table) -> int:
    """Return the arm with the highest draw from its posterior (`Thompson.select_arm`).

    The arm with the highest mean is drawn first. Of the others those are drawn that can win, and the second half of a
    draw is left out where it cannot win any more.
    """
    count = np.uint64(agent.arm_count)
    for arm in range(count):
        bounds[arm] = (1.0 + rewards(known[arm])) / (2.0 + observations(known[arm]))
    first = first_highest(bounds[:count])
    best, best_draw = (
        first,
        thompson_index(rewards(known[first]), observations(known[first]), key_of_draw(agent, first)),
    )
    for arm in range(count):
        bounds[arm] = highest_possible(rewards(known[arm]), observations(known[arm]), key_of_draw(agent, np.int64(arm)))
    for arm in range(agent.arm_count):
        if arm == first or bounds[arm] < ROUNDED * best_draw:
            continue
        hits, key = rewards(known[arm]), key_of_draw(agent, arm)
        misses = observations(known[arm]) - hits
        x = chance.gamma(1.0 + hits, key)
        if x < ROUNDED * best_draw * (x + lowest_possible(misses, chance.other(key))):
            continue
        draw = x / (x + chance.gamma(1.0 + misses, chance.other(key)))  # as `chance.beta`
        if draw > best_draw or (draw == best_draw and arm < best):
            best, best_draw = arm, draw
    return best


@inlined
def highest_possible(hits: float, n: float, key: int) -> float:
    """Return a number that the draw of an arm is not above."""
    up, down = reach(1.0 + hits, key), reach(1.0 + n - hits, chance.other(key))
    above, below = 1.0 + up, 1.0 - down
    x = (hits + 2.0 / 3.0) * above * above * above
    y = (n - hits + 2.0 / 3.0) * below * below * below
    return _UNSURE if up + down >= _UNSURE else x / (x + y)


@inlined
def lowest_possible(misses: float, key: int) -> float:
    """Return a number that the second half of a draw is not below."""
    down = reach(1.0 + misses, key)
    below = 1.0 - down
    return chance.least_gamma(1.0 + misses) if down == _UNSURE else (misses + 2.0 / 3.0) * below * below * below


@inlined
def reach(shape: float, key: int) -> float:
    """Return how far c z of `chance.gamma` can be from 0, if its first z is surely taken and c z is below a half."""
    radius_key = chance.successor(key)
    taking = chance.unit(chance.successor(chance.successor(radius_key)))
    u = 1.0 - chance.unit(radius_key)
    halvings = 1 + (u < 0.5) + (u < 0.25) + (u < 0.125) + (u < 0.0625) + (u < 0.03125)
    # -log(u) is convex, so below its chord from one power of two to the next
    square = _TWO_LOG_TWO * (1.0 + halvings - u * np.float64(1 << halvings))
    d = shape - 1.0 / 3.0
    q = math.sqrt(square / (9.0 * d))
    is_sure = (u >= 0.015625) & (q < 0.5) & (taking > square * square / (54.0 * d) + _SLACK)
    return q if is_sure else _UNSURE


@inlined
def key_of_draw(agent: Record, arm: int) -> np.uint64:
    """Return the key of the draw for an arm's position (`Thompson._draw`)."""
    return chance.stream(agent.policy_key, np.uint64(agent.own_pulls), np.uint64(arm))
