"""What the network side tells a desk: one immutable value, until there is a newer one."""

from collections.abc import Mapping
from typing import NamedTuple

from cobandit.live.decide.allocation import Draw
from cobandit.values.tally import Arm


class Known(NamedTuple):
    """What the network side has counted, at one moment. Tallies are in the order of `arms`."""

    arms: tuple[Arm, ...]
    counts: tuple[int, ...]
    sums: tuple[int, ...]
    own_pulls: int
    absorbed_counts: tuple[int, ...]
    absorbed_sums: tuple[int, ...]
    candidates: tuple[Arm, ...]
    """The arms to choose from: not ruled out, not removed, not frozen."""
    control_arm: Arm | None
    """If the kill switch is on: the only arm to choose."""
    odds: Mapping[Arm, float] | None = None
    """How likely each candidate is the best, if the policy has posteriors."""
    draw: Draw | None = None
    """What to draw from then: these odds, within floors and ceilings."""
    offered: tuple[Arm, ...] = ()
    """The arms that the member serves: all but the removed ones."""

    def propensities(self) -> dict[Arm, float] | None:
        """Return how likely the next decision is each arm; `None` if the policy names one, and draws none."""
        if self.control_arm is not None:
            return {self.control_arm: 1.0}
        return None if self.draw is None else self.draw.shares()


NOTHING = Known((), (), (), 0, (), (), (), None)
"""What a member knows of the plain bandit that has none."""
