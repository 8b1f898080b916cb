"""Which bandits an agent serves, and which of their periods count at present.

It owns the definitions, the arms of each bandit, and the time by which periods are counted. It holds no cells: its
caller drops what is over. It knows no peers.
"""

import math
from collections.abc import Collection, Iterable
from typing import NamedTuple

from cobandit.core.facts import CellKey
from cobandit.core.messages import Cells
from cobandit.core.places import APART, Bandit, beside
from cobandit.values.tally import Arm, ArmTally


class Turn(NamedTuple):
    """What follows when a period begins."""

    is_own: bool
    """Whether this incarnation has observed anything of that bandit in the period before."""
    gone: tuple[tuple[CellKey, ArmTally], ...]
    """The cells that are outside their windows."""


class Calendar:
    """The bandits of one agent, and their periods.

    Args:
        arms: The arms of the plain bandit, a set that may grow.
        units_per_reward: How many quanta a reward of the plain bandit has.

    >>> calendar = Calendar({"A"}, 1)
    >>> calendar.serve([Bandit("home", ("A",), 1, period=60.0, periods=2)])
    >>> calendar.turn(200.0), calendar.period_of("home"), calendar.is_over("home", 1)
    ({'home'}, 3, True)
    """

    def __init__(self, arms: set[Arm], units_per_reward: int) -> None:
        self.bandits: dict[str, Bandit] = {"": Bandit("", (), units_per_reward)}
        """The bandits that this agent serves or has served, by name. The plain one has no name."""
        self.time = 0.0
        """The time at which a period last began. Within an incarnation it never goes back: a cell would be started
        twice."""
        self._arms: dict[str, set[Arm]] = {"": arms}
        self._periods: dict[str, int] = {"": 0}
        """The present period of each bandit."""
        self.turns_at = math.inf
        """When the next period of any bandit begins."""
        self.shortest = math.inf
        """The length of the shortest period of any bandit."""

    def serve(self, bandits: Iterable[Bandit]) -> None:
        """Add bandits, or arms to them, that were checked. Other bandits stay known."""
        for bandit in bandits:
            self.bandits[bandit.name] = bandit
            if bandit.name:
                self._arms[bandit.name] = set(bandit.arms)
        self._look_up()

    def has(self, bandit: str, arm: Arm) -> bool:
        """Return whether an arm of a bandit is served here."""
        return arm in self._arms.get(bandit, ())

    def arms_of(self, bandit: str) -> Collection[Arm]:
        """Return the arms of a bandit that are served here."""
        return self._arms.get(bandit, ())

    def units_of(self, bandit: str) -> int:
        """Return how many quanta a reward of a bandit has."""
        return self.bandits[bandit].units_per_reward

    def period_of(self, bandit: str) -> int:
        """Return the present period of a bandit."""
        return self._periods[bandit]

    def turn(self, time: float) -> set[str]:
        """Set the time. Return the bandits whose period has changed."""
        self.time, before = time, self._periods
        self._look_up()
        return {name for name, period in self._periods.items() if period != before[name]}

    def is_over(self, bandit: str, period: int) -> bool:
        """Return whether a period is outside the window of its bandit."""
        return period <= self._periods[bandit] - self.bandits[bandit].periods

    def is_ahead(self, told: Cells | CellKey) -> bool:
        """Return whether cells are from a period too far ahead: the sender's clock is wrong, or this agent's."""
        return told.bandit in self._periods and told.period > self._periods[told.bandit] + 1

    def is_before(self, time: float) -> bool:
        """Return whether a time is further back than clocks may differ: before the previous period of some bandit."""
        if time >= self.time:
            return False
        return any(bandit.number_at(time) < self._periods[name] - 1 for name, bandit in self.bandits.items())

    def counts(self, told: Cells) -> bool:
        """Return whether cells are of a served bandit and of a period that counts. The next period counts too."""
        present = self._periods.get(told.bandit)
        if present is None or (told.segment and beside(told.bandit, told.segment) not in ("", *APART)):
            return False
        bandit = self.bandits[told.bandit]
        return present - bandit.periods < told.period <= present + (bandit.period > 0.0)

    def _look_up(self) -> None:
        self._periods = {name: bandit.number_at(self.time) for name, bandit in self.bandits.items()}
        windowed = [bandit for bandit in self.bandits.values() if bandit.period]
        ends = (bandit.period * (self._periods[bandit.name] + 1) for bandit in windowed)
        self.turns_at = min(ends, default=math.inf)
        self.shortest = min((bandit.period for bandit in windowed), default=math.inf)
