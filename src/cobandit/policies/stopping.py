"""Can we stop? Which arm to stay with, and what that would cost, given what is known of all arms' means.

The leader is the arm with the highest mean after lowering each by two standard deviations. So an arm of which little is
known does not lead, however promising it is. Staying with arm l costs max(0, M - m) per decision, compared with the
best arm, where m is the mean of l and M the highest of the others. Let F be the distribution function of m and G that
of M, which is the product of the others'. Then the expected loss is the integral of F (1 - G): the probability that x
is above the mean of l and below the highest. This file computes that integral; `matching.py` has the odds that an arm
is the best.
"""

import math
from collections.abc import Callable, Sequence

from cobandit.policies.matching import Posterior, beta_below, highest_of

CONVERGED = 0.01
"""A bandit has converged when staying with its leader is expected to cost at most this part of the leader's mean."""

MOST_SEEDED = 8
"""For how many of the arms that may be better the integral has points around their means from the start."""

_PRECISION = 0.001
_SMALLEST = 1e-9
_MOST_HALVINGS = 20
_BREAKS = (-8.0, -6.0, -4.5, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.5, 6.0, 8.0)


def leader_of(posteriors: Sequence[Posterior]) -> int:
    """Return the index of the leading arm.

    >>> leader_of([(51.0, 951.0), (41.0, 961.0), (1.0, 4.0)])  # 50 and 40 clicks of 1000 each, and none of 3
    0
    """
    return max(range(len(posteriors)), key=lambda place: _pessimistic(*posteriors[place]))


def expected_loss(posteriors: Sequence[Posterior], leader: int, rest: Callable[[], object] = lambda: None) -> float:
    """Return how much a decision is expected to lose if we stay with the leader instead of the (unknown) best arm.

    >>> round(expected_loss([(51.0, 951.0), (41.0, 961.0)], 0), 5)
    0.00068

    Args:
        posteriors: What is known of each mean: a Beta distribution.
        leader: Which of them to stay with.
        rest: Called now and then, every millisecond or so, for threads that must let others have their turn.
    """
    a, b = posteriors[leader]
    others = [(highest_of(*other), *other) for place, other in enumerate(posteriors) if place != leader]
    others.sort(reverse=True)

    def regretted(x: float) -> float:
        """F (1 - G) at x."""
        rest()
        below = 1.0
        for highest, other_a, other_b in others:
            if x > highest or below < _SMALLEST:
                break
            below *= beta_below(x, other_a, other_b)
        return (1.0 - below) * beta_below(x, a, b) if below < 1.0 else 0.0

    centres = [(a, b), *((one, other) for _, one, other in others[:MOST_SEEDED])]
    points = sorted({x for mean in centres for x in _around(*mean)})
    return _integral(regretted, points)


def _pessimistic(a: float, b: float) -> float:
    mean = a / (a + b)
    return mean - 2.0 * math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))


def _around(a: float, b: float) -> list[float]:
    """Return points where the distribution of a mean rises."""
    mean = a / (a + b)
    deviation = math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    return [min(1.0 - _SMALLEST, max(_SMALLEST, mean + place * deviation)) for place in _BREAKS]


def _integral(function: Callable[[float], float], points: Sequence[float]) -> float:
    """Return the integral of a function between the first and the last point, by Simpson's rule where it is smooth.

    Cells are halved until the two halves agree with the whole.
    """
    values = [function(x) for x in points]
    rough = sum(
        0.5 * (high - low) * (one + other)
        for low, high, one, other in zip(points, points[1:], values, values[1:], strict=False)
    )
    cells = [
        (low, high, one, function(0.5 * (low + high)), other, 0)
        for low, high, one, other in zip(points, points[1:], values, values[1:], strict=False)
    ]
    tolerance = max(_SMALLEST, _PRECISION * rough) / len(cells)
    total = 0.0
    while cells:
        low, high, one, middle, other, halvings = cells.pop()
        width, centre = high - low, 0.5 * (low + high)
        whole = width / 6.0 * (one + 4.0 * middle + other)
        left, right = function(0.5 * (low + centre)), function(0.5 * (centre + high))
        halves = width / 12.0 * (one + 4.0 * left + 2.0 * middle + 4.0 * right + other)
        if abs(halves - whole) <= tolerance or halvings == _MOST_HALVINGS:
            total += halves
        else:
            cells += [
                (low, centre, one, left, middle, halvings + 1),
                (centre, high, middle, right, other, halvings + 1),
            ]
    return max(0.0, total)
