"""What the network side publishes to a desk: one immutable value, until a newer one replaces it."""

from collections.abc import Mapping
from typing import NamedTuple

from cobandit.live.decide.allocation import Draw
from cobandit.values.tally import Arm


class Known(NamedTuple):
    """What the network side had counted at one moment. Each mapping has all arms, in their order."""

    arms: tuple[Arm, ...]
    counts: Mapping[Arm, int]
    sums: Mapping[Arm, int]
    observations: int
    own_pulls: int
    absorbed_counts: Mapping[Arm, int]
    """How many of these pulls the network side received from this desk."""
    absorbed_sums: Mapping[Arm, int]
    candidates: tuple[Arm, ...]
    """The arms to choose from: not ruled out, not removed, not frozen."""
    control_arm: Arm | None
    """The only arm to choose, if the kill switch is on."""
    odds: Mapping[Arm, float] | None = None
    """How likely each candidate is the best, if the policy has posteriors."""
    draw: Draw | None = None
    """The draw made from these odds, within floors and ceilings."""
    offered: tuple[Arm, ...] = ()
    """The arms that the member serves: all except removed ones."""

    def propensities(self) -> dict[Arm, float] | None:
        """Return how likely each arm is for the next decision; `None` if the policy names one arm and does not draw."""
        if self.control_arm is not None:
            return {self.control_arm: 1.0}
        return None if self.draw is None else self.draw.shares()


NOTHING = Known((), {}, {}, 0, 0, {}, {}, (), None)
"""The value for the plain bandit at a member that has none."""
