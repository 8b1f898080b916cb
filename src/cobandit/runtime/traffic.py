"""How much traffic an arm gets at least and at most, inside the decision, so that propensities are known.

A policy such as UCB names one best arm, and would give it all. With floors and ceilings the decision is a draw: every
arm gets its floor, the best arm gets the rest up to its ceiling, and what is then left over is spread evenly over
the other arms below theirs. This file owns that distribution; chance comes in as a number from 0 to 1.
"""

from collections.abc import Mapping, Sequence

from cobandit.values.checks import check_probability
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm

ROUNDING = 1e-9


class Traffic:
    """Floors and ceilings.

    Args:
        floors: The least share of decisions for some arms.
        ceilings: The greatest share of decisions for some arms.

    >>> Traffic({"A": 0.1}, {"B": 0.6}).shares("B", ["A", "B", "C"])
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
        """Refuse limits for arms that there are not, and ceilings that leave traffic for nobody."""
        for arm in (*self.floors, *self.ceilings):
            if arm not in arms:
                raise LocalError(f"there is a floor or ceiling for {arm!r}, which is not one of {', '.join(arms)}")
        if sum(self.ceilings.get(arm, 1.0) for arm in arms) < 1.0 - ROUNDING:
            raise LocalError("the ceilings of all arms together leave some traffic for nobody: raise one")

    def shares(self, best: Arm, arms: Sequence[Arm]) -> dict[Arm, float]:
        """Return how likely each of these arms is when the policy prefers this one.

        If some arms are not available, what is left may not fit under the ceilings: then the best arm gets more than
        its ceiling, because one arm must.
        """
        shares = {arm: self.floors.get(arm, 0.0) for arm in arms}
        left = 1.0 - sum(shares.values())
        given = min(left, max(0.0, self.ceilings.get(best, 1.0) - shares[best]))
        shares[best] += given
        left -= given
        open_arms = [arm for arm in arms if arm != best]
        while left > ROUNDING and open_arms:
            part = left / len(open_arms)
            for arm in open_arms:
                given = min(part, max(0.0, self.ceilings.get(arm, 1.0) - shares[arm]))
                shares[arm] += given
                left -= given
            open_arms = [arm for arm in open_arms if shares[arm] < self.ceilings.get(arm, 1.0) - ROUNDING]
        shares[best] += max(0.0, left)
        return shares


class Lottery:
    """Draws arms by their shares; what was computed once for a best arm is kept.

    >>> lottery = Lottery(Traffic({"A": 0.1}), ("A", "B"))
    >>> lottery.draw("B", 0.05), lottery.draw("B", 0.5)
    (('A', 0.1), ('B', 0.9))
    """

    def __init__(self, traffic: Traffic, arms: Sequence[Arm]) -> None:
        self._traffic = traffic
        self._arms = arms
        self._shares: dict[Arm, dict[Arm, float]] = {}

    def draw(self, best: Arm, chance: float) -> tuple[Arm, float]:
        """Return an arm, and how likely it was."""
        shares = self._shares.get(best)
        if shares is None:
            shares = self._shares[best] = self._traffic.shares(best, self._arms)
        for arm, share in shares.items():
            chance -= share
            if chance < 0.0:
                return arm, share
        return best, shares[best]
