"""How sure is sure: the delta behind a confidence interval.

The paper's interval is CI = sqrt(alpha log(1/delta) / (2 n)) (Equation 1), and it uses three different deltas. This
file defines log(1/delta) for each of them. The count behind delta is taken before the decision and is at least one.

* `own`: delta = 1/n_j, the agent's own number of pulls (the pseudo code; the published tables were made with it). An
  agent that pulls rarely but receives much has intervals that are far too narrow.
* `own+2`: delta = 1/(n_j + 2). A second reading of the pseudo code: a counter that starts at one and is raised before
  it is used. Its intervals always have a width, so AAE eliminates with it from the first decision on.
* `observed`: delta = 1/(all observations that the agent holds). Safe for late and slow agents, and needs no horizon.
  This is the default.
* `Horizon(n)`: delta = 1/n for UCB and 1/n^2 for AAE, with n the number of decisions of all agents together (the
  theorems).
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from cobandit.values.checks import check_whole, keep_plain
from cobandit.values.errors import LocalError


@dataclass(frozen=True, slots=True)
class Horizon:
    """The total number of decisions that all agents will make, known in advance."""

    decisions: int

    def __post_init__(self) -> None:
        keep_plain(self, "decisions")
        check_whole("a horizon", self.decisions, 1)


NamedConfidence = Literal["own", "own+2", "observed"]
NAMED: tuple[NamedConfidence, ...] = get_args(NamedConfidence)
"""The confidences that have a name."""

Confidence = NamedConfidence | Horizon


def checked_confidence(confidence: Confidence) -> Confidence:
    """Return the confidence if it is valid, or raise an error that lists the valid ones."""
    if confidence not in NAMED and not isinstance(confidence, Horizon):
        raise LocalError(f"confidence {confidence!r} is not {', '.join(map(repr, NAMED))} or Horizon(decisions)")
    return confidence


def log_inverse_delta(confidence: Confidence, own_pulls: int, observations: int, horizon_power: int) -> float:
    """Return log(1/delta).

    >>> log_inverse_delta("own", own_pulls=0, observations=500, horizon_power=1)
    0.0
    >>> round(log_inverse_delta("observed", own_pulls=0, observations=500, horizon_power=1), 3)
    6.215
    """
    if confidence == "own":
        return math.log(max(1, own_pulls))
    if confidence == "own+2":
        return math.log(own_pulls + 2)
    if confidence == "observed":
        return math.log(max(1, observations))
    return horizon_power * math.log(confidence.decisions)
