"""The status of named bandits, as values: a summary of all, and one segment arm by arm.

A member may have thousands of segments, so the summaries sent to others say only how much is known about each bandit.
This file only reads.
"""

from collections.abc import Mapping
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from cobandit.agent import Agent
from cobandit.core.places import Bandit
from cobandit.live.status.guardrail import GuardrailStatistics
from cobandit.live.status.lift import Lift
from cobandit.live.status.verdict import Verdict
from cobandit.values.tally import LONGEST_NAME, Arm

_Name = Annotated[str, Meta(max_length=LONGEST_NAME)]


class BanditStatistics(msgspec.Struct, frozen=True):
    """One bandit at one member."""

    name: _Name
    arms: tuple[_Name, ...]
    segments: int
    """The number of segments at this member."""
    observations: int
    """All observations that this member knows, inside the window."""
    own_observations: int
    rewards: tuple[float, float]
    """The smallest and the largest reward."""
    window_s: float | None = None
    half_life_s: float | None = None
    control_arm: _Name | None = None
    """The arm of its kill switch, or of the fleet's, if one is on."""
    frozen: tuple[_Name, ...] = ()
    lift: Lift | None = None
    """How much more it brings than its hold-out, over all segments; `None` if it has no hold-out."""
    guardrail: GuardrailStatistics | None = None
    """How its arms do on the guardrail's metric, over all segments; `None` if there is no guardrail."""
    verdict: Verdict | None = None
    """Which arm leads in the best-known segment; `None` if nothing is known. Figures are fractions of the range."""
    judged_segment: str = ""
    """That segment."""


class SegmentArm(msgspec.Struct, frozen=True):
    """One arm of one segment."""

    arm: _Name
    observations: int
    mean: float | None
    """In the range of the bandit's rewards; `None` if nothing is known."""
    odds: float | None
    """The probability that it is the best, as last computed; `None` if the policy has no posteriors."""
    is_frozen: bool


class SegmentStatistics(msgspec.Struct, frozen=True):
    """One segment of one bandit at one member."""

    bandit: _Name
    segment: str
    policy: str
    observations: int
    arms: tuple[SegmentArm, ...]


class _Bandits(Protocol):
    def frozen(self, bandit: str) -> frozenset[Arm]:
        """Return the arms of a bandit that get no traffic."""

    def control_arm_of(self, bandit: str) -> Arm | None:
        """Return the arm of a kill switch that is on."""

    def odds_of(self, at: tuple[str, str]) -> "object":
        """Return how likely each arm of a place is the best."""


def bandits_of(
    agent: Agent,
    bandits: _Bandits,
    lifts: Mapping[str, Lift],
    guardrails: Mapping[str, GuardrailStatistics],
    verdicts: Mapping[str, tuple[str, Verdict]],
) -> tuple[BanditStatistics, ...]:
    """Return the statistics of every named bandit that an agent serves.

    Args:
        agent: The agent.
        bandits: What operators have set for them.
        lifts: How much more some bring than their hold-outs.
        guardrails: The standing of some in their second metric.
        verdicts: For some, the segment with the most data, and who leads in it.
    """
    known, own = agent.knowledge.by_bandit()
    return tuple(
        BanditStatistics(
            name=bandit.name,
            arms=bandit.arms,
            segments=len(agent.segments_of(bandit.name)),
            observations=known.get(bandit.name, 0),
            own_observations=own.get(bandit.name, 0),
            rewards=bandit.rewards,
            window_s=bandit.period * bandit.periods if bandit.period and not bandit.half_life else None,
            half_life_s=bandit.half_life or None,
            control_arm=bandits.control_arm_of(bandit.name),
            frozen=tuple(sorted(bandits.frozen(bandit.name))),
            lift=lifts.get(bandit.name),
            guardrail=guardrails.get(bandit.name),
            verdict=verdicts[bandit.name][1] if bandit.name in verdicts else None,
            judged_segment=verdicts[bandit.name][0] if bandit.name in verdicts else "",
        )
        for bandit in agent.bandits
    )


def segment_of(agent: Agent, bandits: _Bandits, name: str, segment: str) -> SegmentStatistics:
    """Return the statistics of one segment, arm by arm."""
    bandit: Bandit = next(one for one in agent.bandits if one.name == name)
    policy, frozen = agent.learners.seen((name, segment)).policy, bandits.frozen(name)
    odds = bandits.odds_of((name, segment))
    chances = odds if isinstance(odds, dict) else {}
    low, high = bandit.rewards
    return SegmentStatistics(
        bandit=name,
        segment=segment,
        policy=type(policy).__name__,
        observations=policy.tally.observations,
        arms=tuple(
            SegmentArm(
                arm=arm,
                observations=policy.tally.counts[arm],
                mean=low + (high - low) * policy.mean(arm) if policy.tally.counts[arm] else None,
                odds=chances.get(arm),
                is_frozen=arm in frozen,
            )
            for arm in policy.arms
        ),
    )
