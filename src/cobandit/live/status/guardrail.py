"""A guardrail: a second metric that must stay below a limit, whatever an arm earns. Values, and the rule.

Values of the metric, from 0 to 1, are reported for decisions and counted by arm beside their bandit, for all its
segments together. No policy learns from them. An arm violates the guardrail if values as high as its own would occur
with a probability of at most about one in a thousand if the mean were at the limit (an exact test for values of 0 and
1). This file does not know the consequences.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cobandit.agent import Agent
from cobandit.core.places import GUARDRAIL
from cobandit.live.status.lift import Rewards, rewards_by_bandit
from cobandit.policies.matching import beta_below
from cobandit.values.checks import check_name, is_number
from cobandit.values.errors import LocalError
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS

DOUBT = 0.001
"""An arm is in violation if chance explains its reports with at most this probability."""

LEAST_REPORTS = 20
"""An arm with fewer reports is never in violation."""

_Unit = Annotated[float, Meta(ge=0.0, le=1.0)]


class GuardrailTerms(NamedTuple):
    """The metric that is watched, and its limit."""

    metric: str
    limit: float


class ArmGuardrail(msgspec.Struct, frozen=True):
    """How one arm does on the metric."""

    arm: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    reports: Annotated[int, Meta(ge=0, le=2**53)]
    """The number of known reports, from the whole fleet."""
    mean: _Unit
    is_violated: bool


class GuardrailStatistics(msgspec.Struct, frozen=True):
    """How all arms do on the metric."""

    metric: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    limit: _Unit
    arms: Annotated[tuple[ArmGuardrail, ...], Meta(max_length=MOST_ARMS)]
    """The arms that have reports."""


def checked_guardrail(given: object) -> GuardrailTerms | None:
    """Return the metric and limit to watch, or raise an error that says what is wrong with them.

    >>> checked_guardrail(("errors", 0.02))
    GuardrailTerms(metric='errors', limit=0.02)
    """
    if given is None:
        return None
    if not (isinstance(given, tuple | list) and len(given) == 2):
        raise LocalError(f'guardrail must be a metric and its limit, such as ("errors", 0.02), not {given!r}')
    metric, limit = given
    check_name("the metric of a guardrail", metric, LONGEST_NAME)
    if not (is_number(limit) and 0.0 < limit < 1.0):
        raise LocalError(f"the limit of guardrail {metric!r} must be a number between 0 and 1, not {limit!r}")
    return GuardrailTerms(metric, float(limit))


def standings_of(agent: Agent, watched: Mapping[str, GuardrailTerms]) -> dict[str, GuardrailStatistics]:
    """Return the standing of all arms, as far as an agent knows, for each bandit with a guardrail."""
    known = rewards_by_bandit(agent, GUARDRAIL) if watched else {}
    return {
        bandit: GuardrailStatistics(
            terms.metric,
            terms.limit,
            tuple(
                ArmGuardrail(arm, one.number, min(1.0, one.total / one.number), is_violated(one, terms.limit))
                for arm, one in sorted(known.get(bandit, {}).items())
                if one.number
            ),
        )
        for bandit, terms in watched.items()
    }


def is_violated(values: Rewards, limit: float) -> bool:
    """Return whether values are too high to be due to chance.

    >>> is_violated(Rewards(100, 4.0, 4.0), 0.02), is_violated(Rewards(100, 9.0, 9.0), 0.02)
    (False, True)
    """
    if values.number < LEAST_REPORTS or values.total < 1.0 or values.total <= limit * values.number:
        return False
    return beta_below(limit, values.total, max(1.0, values.number - values.total + 1.0)) < DOUBT


def words(values: ArmGuardrail, terms: GuardrailTerms, bandit: str = "") -> str:
    """Return what an arm does, in words."""
    where = f" of bandit {bandit!r}" if bandit else ""
    return (
        f"arm {values.arm!r}{where} violates the guardrail: {terms.metric} is {values.mean:.4g} in {values.reports:,} "
        f"reports, and must stay below {terms.limit:g}"
    )
