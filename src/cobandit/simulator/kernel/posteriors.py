"""Which arm has the highest draw from its posterior, compiled: all are drawn roughly, and exactly those that may win.

A draw from Beta(a, b) is x / (x + y), and x and y are gamma variables: d (1 + c z)^3 with a normal z, where z is the
cosine of one random number times a radius from another one. Two polynomials in place of the logarithm and the cosine
make a rough draw; they are vectors over all arms. A third number decides whether z is taken or drawn again. That it is
taken is sure if the number is large enough:

    log(u) < z^2 / 2 + d - d v + d log(v),  v = (1 + s)^3,  s = c z,  9 c^2 d = 1

The right side is 3 d (-s^4/4 + s^5/5 - ...), so not below -z^4 / (54 d) where |s| < 1/2; and log(u) <= u - 1. What is
not sure is drawn as `chance.beta` does. Only which arm is the highest matters, so what no other arm is near to is never
drawn exactly.
"""

import math

import numpy as np

from cobandit.policies.thompson import thompson_index
from cobandit.simulator.kernel.halves import observations, rewards
from cobandit.simulator.kernel.highest import FAR, highest
from cobandit.simulator.kernel.jit import inlined
from cobandit.simulator.kernel.tables import Record, Table
from cobandit.values import chance

NEAR = 1.0 - 1e-5
"""A rough draw is closer to the exact one than this: a rough z is closer than 1e-6, |s| < 1/2 and c < 0.41."""

_SLACK = 2e-5
"""More than the rounding of d log(v), also of two billion observations, and what a rough z does to z^4 / (54 d)."""

_UNSURE = -1.0
_LOG_TWO = math.log(2.0)


@inlined
def highest_draw(agent: Record, known: Table, rough: Table) -> int:
    """Return the arm with the highest draw from its posterior (`Thompson.select_arm`)."""
    count, stream, pulls = np.uint64(agent.arm_count), agent.policy_key, np.uint64(agent.own_pulls)
    for arm in range(count):
        key = chance.stream(stream, pulls, np.uint64(arm))
        rough[arm] = rough_draw(rewards(known[arm]), observations(known[arm]), key)
    least = NEAR * highest(rough[:count])
    near, first = 0, FAR
    for arm in range(count):
        may_win = (rough[arm] >= least) | (rough[arm] == _UNSURE)
        near += may_win
        first = min(first, np.int64(arm) if may_win else FAR)
    if near == 1:
        return int(first)
    best, best_draw = 0, -math.inf
    for arm in range(agent.arm_count):
        if rough[arm] >= least or rough[arm] == _UNSURE:
            draw = thompson_index(rewards(known[arm]), observations(known[arm]), key_of_draw(agent, arm))
            if draw > best_draw:
                best, best_draw = arm, draw
    return best


@inlined
def rough_draw(hits: float, n: float, key: int) -> float:
    """Return about what `thompson_index` does, or that nothing is sure."""
    x, y = rough_gamma(1.0 + hits, key), rough_gamma(1.0 + n - hits, chance.other(key))
    return _UNSURE if (x == _UNSURE) | (y == _UNSURE) else x / (x + y)


@inlined
def rough_gamma(shape: float, key: int) -> float:
    """Return about what `chance.gamma` does, if its first z is surely taken."""
    radius_key = chance.successor(key)
    angle_key = chance.successor(radius_key)
    u, taking = 1.0 - chance.unit(radius_key), chance.unit(chance.successor(angle_key))
    z = math.sqrt(2.0 * minus_log(u)) * cosine_of_turns(chance.unit(angle_key))
    d = shape - 1.0 / 3.0
    s = z / math.sqrt(9.0 * d)
    is_sure = (u > _LEAST) & (abs(s) < 0.499) & (taking > z * z * z * z / (54.0 * d) + _SLACK)
    return d * (1.0 + s) * (1.0 + s) * (1.0 + s) if is_sure else _UNSURE


_LEAST = 2.0**-12
"""Numbers down to this have a rough logarithm."""


@inlined
def minus_log(u: float) -> float:
    """Return -log(u), of a u above `_LEAST` and up to 1, but for a 2^-25th of it.

    It is -log(1 - w) and some log(2), where 1 - w is at least a half; and -log(1 - w) / w is smooth there.
    """
    sixes = 6 * (u < 0.015625)
    v = u * (64.0 if u < 0.015625 else 1.0)
    halvings = 0 + (v < 0.5) + (v < 0.25) + (v < 0.125) + (v < 0.0625) + (v < 0.03125)
    w = 1.0 - v * np.float64(1 << halvings)
    p = -1.6302116891209353 + w * 1.4079567022463075
    p = -0.18157164730190734 + w * (1.2050138953800809 + w * p)
    p = 0.2434374401122012 + w * (0.26454758373009835 + w * p)
    p = 0.4999937467729937 + w * (0.33366199175575734 + w * p)
    return np.float64(sixes + halvings) * _LOG_TWO + w * (1.0000000193555456 + w * p)


@inlined
def cosine_of_turns(turns: float) -> float:
    """Return cos(2 pi turns), of less than one turn, but for 1.2e-8: a polynomial in the square."""
    y = (turns - 0.5) * (turns - 0.5)
    p = -25.966884612450954 + y * 6.527705962371716
    p = -85.45011342753233 + y * (60.167429792018346 + y * p)
    p = -19.739204466576226 + y * (64.93911592834932 + y * p)
    return -(0.9999999889445768 + y * p)


@inlined
def key_of_draw(agent: Record, arm: int) -> np.uint64:
    """Return the key of the draw for an arm's position (`Thompson._draw`)."""
    return chance.stream(agent.policy_key, np.uint64(agent.own_pulls), np.uint64(arm))
