"""How a reward is drawn: formulas on plain numbers, which both engines use.

Each is a pure function of a key of the tape, so a reward depends on its pull and on nothing before it. The result is a
share of the range of rewards, from 0 to 1. `cobandit.scenario.paying` says which arm pays in which way.
"""

import math

from cobandit.values.chance import gamma, mix, normal, stream, successor, uniform, unit

BERNOULLI, BETA, NORMAL, DISCRETE, REPLAY, OWN = range(6)
"""Ways to pay."""

_SALT = 0x9E3779B97F4A7C15
_FAR = 700.0  # beyond it no exponential is a number


def log_gamma_draw(shape: float, key: int) -> float:
    """Draw the logarithm of a Gamma(shape, 1) variable, for any positive shape (Marsaglia and Tsang, 2000)."""
    if shape >= 1.0:
        return math.log(gamma(shape, key))
    return math.log(gamma(shape + 1.0, key)) + math.log(1.0 - unit(mix(key ^ _SALT))) / shape


def beta_share(mean: float, concentration: float, key: int) -> float:
    """Draw from Beta(mean c, (1 - mean) c), for any mean from 0 to 1 and any positive c, using only the stream `key`.

    >>> 0.0 <= beta_share(0.2, 0.5, stream(1)) <= 1.0
    True
    """
    if mean <= 0.0 or mean >= 1.0:
        return mean
    x = log_gamma_draw(mean * concentration, successor(key))
    y = log_gamma_draw((1.0 - mean) * concentration, successor(mix(key ^ _SALT)))
    if y - x > _FAR:
        return 0.0
    return 1.0 / (1.0 + math.exp(y - x))


def normal_share(mean: float, sd: float, key: int) -> float:
    """Draw from the normal distribution, clipped to [0, 1].

    >>> normal_share(0.5, 0.0, stream(1))
    0.5
    """
    return min(1.0, max(0.0, mean + sd * normal(key)))


def drawn_share(law: int, mean: float, spread: float, key: int, number: int) -> float:
    """Draw the reward with this number of a stream, for a way to pay with a mean and one more parameter."""
    if law == BETA:
        return beta_share(mean, spread, stream(key, number))
    if law == NORMAL:
        return normal_share(mean, spread, stream(key, number))
    return 1.0 if uniform(key, number) < mean else 0.0


def quanta_of(share: float, per_reward: int) -> int:
    """Return a share of the range as whole quanta, rounded to the nearest.

    >>> quanta_of(0.25, 1_000_000)
    250000
    """
    return math.floor(share * per_reward + 0.5)


def first_place(key: int, count: int) -> int:
    """Return the row of a log at which an agent begins to read."""
    return min(count - 1, int(unit(mix(key)) * count))
