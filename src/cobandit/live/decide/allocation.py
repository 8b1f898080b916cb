"""Floors and ceilings on the traffic of each arm, applied inside the decision so that propensities are known.

A policy either has odds for each arm or, like UCB, names one arm that would get everything. Every arm gets its floor.
The rest is split by odds, up to the ceilings. Whatever is left goes to arms that are still below their ceilings: by
odds, and evenly among arms without odds. This file owns that distribution. It takes its random number as an argument.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from cobandit.values.checks import check_probability
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm

ROUNDING = 1e-9


class Allocation:
    """Floors and ceilings.

    Args:
        floors: The least share of decisions for some arms.
        ceilings: The greatest share of decisions for some arms.

    >>> Allocation({"A": 0.1}, {"B": 0.6}).shares({"A": 0.0, "B": 1.0, "C": 0.0})
    {'A': 0.25, 'B': 0.6, 'C': 0.15000000000000002}
    """

    def __init__(self, floors: Mapping[Arm, float] | None = None, ceilings: Mapping[Arm, float] | None = None) -> None:
        self.floors, self.ceilings = dict(floors or {}), dict(ceilings or {})
        for what, shares in (("floor", self.floors), ("ceiling", self.ceilings)):
            for arm, share in shares.items():
                check_probability(f"the {what} of arm {arm!r}", share)
        if sum(self.floors.values()) > 1.0 + ROUNDING:
            raise LocalError(f"the floors add up to {sum(self.floors.values()):g}, which is more than all traffic")
        for arm, floor in self.floors.items():
            if floor > self.ceilings.get(arm, 1.0):
                raise LocalError(f"the floor of arm {arm!r}, {floor:g}, is above its ceiling, {self.ceilings[arm]:g}")

    def check(self, arms: Sequence[Arm]) -> None:
        """Refuse limits for unknown arms, and ceilings too low to allot all traffic."""
        for arm in (*self.floors, *self.ceilings):
            if arm not in arms:
                raise LocalError(f"there is a floor or ceiling for {arm!r}, which is not one of {', '.join(arms)}")
        if sum(self.ceilings.get(arm, 1.0) for arm in arms) < 1.0 - ROUNDING:
            raise LocalError("the ceilings of all arms add up to less than all traffic: raise one")

    def shares(self, odds: Mapping[Arm, float]) -> dict[Arm, float]:
        """Return the probability of each of these arms, given the odds with which the policy would choose them.

        If some arms are unavailable, the remaining share may not fit under the ceilings. Then the arm with the best
        odds exceeds its ceiling, because some arm must be chosen.
        """
        shares = {arm: self.floors.get(arm, 0.0) for arm in odds}
        left = 1.0 - sum(shares.values())
        open_arms = [arm for arm in odds if odds[arm] > 0.0]
        others = [arm for arm in odds if odds[arm] <= 0.0]
        while left > ROUNDING and (open_arms or others):
            if not open_arms:
                open_arms, others = others, []
            weights = [odds[arm] for arm in open_arms]
            if (total := sum(weights)) <= 0.0:
                weights, total = [1.0] * len(open_arms), float(len(open_arms))
            to_give = left
            for arm, weight in zip(open_arms, weights, strict=True):
                given = min(to_give * weight / total, max(0.0, self.ceilings.get(arm, 1.0) - shares[arm]))
                shares[arm] += given
                left -= given
            open_arms = [arm for arm in open_arms if shares[arm] < self.ceilings.get(arm, 1.0) - ROUNDING]
        shares[max(odds, key=odds.__getitem__)] += max(0.0, left)
        return shares


class Draw:
    """Draws an arm by its share, with one bisection however many arms there are.

    The likelihood that a draw reports is exactly the width of the interval that it fell into.

    >>> draw = Draw({"A": 0.1, "B": 0.9})
    >>> draw.by(0.05), draw.by(0.5)
    (('A', 0.1), ('B', 0.9))
    """

    __slots__ = ("_arms", "_ends", "_widths")

    def __init__(self, shares: Mapping[Arm, float]) -> None:
        ends = list(accumulate(shares.values()))
        if ends[-1] <= 0.0:  # nothing is known about the remaining arms
            ends = [float(place) for place in range(1, len(shares) + 1)]
        self._arms = tuple(shares)
        self._ends = [end / ends[-1] for end in ends]
        self._widths = [end - start for start, end in pairwise((0.0, *self._ends))]

    def shares(self) -> dict[Arm, float]:
        """Return how likely each arm is."""
        return dict(zip(self._arms, self._widths, strict=True))

    def by(self, chance: float) -> tuple[Arm, float]:
        """Return the arm that a number in [0, 1) selects, and how likely it was."""
        place = bisect_right(self._ends, chance)
        return self._arms[place], self._widths[place]


def drawn_by(odds: Mapping[Arm, float], arms: Sequence[Arm], allocation: Allocation | None) -> Draw:
    """Return the draw over these arms alone: relative odds are kept, then floors and ceilings apply.

    Arms are ordered by name, so that a subject's place means the same arm at every member. If they were ordered by
    odds, nearly all subjects would move when two arms change places. A new arm, whose odds have not been computed yet,
    gets an even share until they are.
    """
    wanted = {arm: odds.get(arm, 1.0 / len(arms)) for arm in sorted(arms)}  # the same order at every member
    if allocation is None:
        return Draw(wanted)
    total = sum(wanted.values())
    return Draw(allocation.shares({arm: share / total for arm, share in wanted.items()} if total else wanted))


class Lottery:
    """Floors and ceilings around a policy that names one arm. Caches the draw for each arm.

    >>> lottery = Lottery(Allocation({"A": 0.1}), ("A", "B"))
    >>> lottery.draw("B", 0.05), lottery.draw("B", 0.5)
    (('A', 0.1), ('B', 0.9))
    """

    def __init__(self, allocation: Allocation, arms: Sequence[Arm]) -> None:
        self._allocation = allocation
        self._arms = arms
        self._draws: dict[Arm, Draw] = {}

    def draw(self, best: Arm, chance: float) -> tuple[Arm, float]:
        """Return an arm, and how likely it was."""
        draw = self._draws.get(best)
        if draw is None:
            odds = {arm: float(arm == best) for arm in sorted(self._arms)}
            draw = self._draws[best] = Draw(self._allocation.shares(odds))
        return draw.by(chance)
