"""What policies with confidence intervals share: how much to explore, and how sure is sure."""

from collections.abc import Sequence

from cobandit.policies.base import Policy
from cobandit.policies.confidence import Confidence, checked_confidence, log_inverse_delta
from cobandit.values.checks import check_positive
from cobandit.values.quantum import MILLIONTH
from cobandit.values.tally import Arm


class Confident(Policy):
    """A policy with an exploration factor and a confidence.

    Args:
        arms: The names of the arms.
        alpha: How much to explore; `usual_alpha` by default.
        confidence: `"observed"` (default), `"own"` (as published) or `Horizon(decisions)`.
        quantum: The smallest step of a reward.
    """

    usual_alpha = 3.0
    """The theorems ask for at least 3."""

    horizon_power = 1
    """With a known horizon N, delta = 1/N to this power."""

    def __init__(
        self,
        arms: Sequence[Arm],
        *,
        alpha: float | None = None,
        confidence: Confidence = "observed",
        quantum: float = MILLIONTH,
    ) -> None:
        super().__init__(arms, quantum=quantum)
        if alpha is not None:
            check_positive("alpha", alpha)
        self.alpha = self.usual_alpha if alpha is None else float(alpha)
        self.confidence = checked_confidence(confidence)

    def budget(self) -> float:
        """Return alpha log(1/delta), which all intervals of a decision share."""
        return self.alpha * log_inverse_delta(
            self.confidence, self.own_pulls, self.tally.observations, self.horizon_power
        )
