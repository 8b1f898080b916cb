"""Chance as a pure function: the same key and counter give the same number, in any order, on any machine.

This file provides randomness but holds none: there is no generator object and no state. A stream is a 64-bit key, and
its n-th number is a hash of (key, n). So two engines can walk the same run in different orders, many workers can share
one seed, and a run over eight million slots stores nothing.

The hash is SplitMix64 (Steele, Lea and Flood, 2014): `uniform(key, 1), uniform(key, 2), ...` is the output of a
SplitMix64 generator whose state starts at `key`. The scalar functions below are written so that a compiler can use them
unchanged with unsigned 64-bit arguments. That is why they mask instead of relying on Python's big integers.
"""

import math

_MASK = 0xFFFFFFFFFFFFFFFF
_GOLDEN = 0x9E3779B97F4A7C15
_TWO_TO_MINUS_53 = 1.1102230246251565e-16


def mix(x: int) -> int:
    """Scramble 64 bits (the finalizer of SplitMix64).

    >>> hex(mix(1))
    '0x5692161d100b05e5'
    """
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _MASK
    return x ^ (x >> 31)


def unit(bits: int) -> float:
    """Return 64 bits as a number in [0, 1), keeping 53 of them."""
    return (bits >> 11) * _TWO_TO_MINUS_53


def uniform(key: int, n: int) -> float:
    """Return the n-th number of the stream `key`: uniform on [0, 1).

    >>> uniform(stream(1, 2), 0) == uniform(stream(1, 2), 0)
    True
    """
    return unit(mix((key + n * _GOLDEN) & _MASK))


def stream(*coordinates: int) -> int:
    """Return the key of the stream at these coordinates, for example (seed, trial, agent, purpose).

    Different coordinates give unrelated streams; their order matters.

    >>> stream(7, 0) == stream(0, 7)
    False
    """
    key = _GOLDEN
    for coordinate in coordinates:
        key = mix((mix(key) + coordinate * _GOLDEN) & _MASK)
    return key


def successor(key: int) -> int:
    """Return the next key: for draws that need a number of uniforms not known in advance."""
    return mix((key + _GOLDEN) & _MASK)


def beta(a: float, b: float, key: int) -> float:
    """Draw from Beta(a, b), for a and b of at least one, using only the stream `key`.

    The quotient of two gamma variables, each drawn by the method of Marsaglia and Tsang (2000).

    >>> 0.0 < beta(3.0, 5.0, stream(1)) < 1.0
    True
    """
    x = gamma(a, key)
    y = gamma(b, other(key))
    return x / (x + y)


def other(key: int) -> int:
    """Return the key of the second of two draws that belong together."""
    return mix(key ^ _GOLDEN)


def gamma(shape: float, key: int) -> float:
    """Draw from Gamma(shape, 1), for a shape of at least one, using only the stream `key`."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        # Box and Muller, with 1 - u in place of u because u may be zero and its logarithm must exist.
        key = successor(key)
        radius = math.sqrt(-2.0 * math.log(1.0 - unit(key)))
        key = successor(key)
        x = radius * math.cos(2.0 * math.pi * unit(key))
        key = successor(key)
        t = 1.0 + c * x
        v = t * t * t
        if v > 0.0:
            u = 1.0 - unit(key)
            # The first condition, without logarithms, implies the second one, and holds nearly always.
            if u < 1.0 - 0.0331 * x * x * x * x or math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


def normal(key: int) -> float:
    """Draw from the standard normal distribution (Box and Muller), using only the stream `key`.

    >>> -9.0 < normal(stream(1)) < 9.0
    True
    """
    first = successor(key)
    return math.sqrt(-2.0 * math.log(1.0 - unit(first))) * math.cos(2.0 * math.pi * unit(successor(first)))
