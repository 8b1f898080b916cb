"""The status of a member: immutable values for people, pages and metrics. Created on the network side, read anywhere.

The same structures travel to `cobandit status` as MessagePack, and can be written as JSON (`to_json`).
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from cobandit.agent import Agent
from cobandit.codec import WIRE_VERSION
from cobandit.codec.serializer import NotSoError, reader, write
from cobandit.core.places import MAX_BANDITS
from cobandit.live.status.bandit_statistics import BanditStatistics
from cobandit.live.status.guardrail import GuardrailStatistics
from cobandit.live.status.lift import Lift
from cobandit.live.status.roles import Role, role_of
from cobandit.live.status.verdict import Verdict
from cobandit.policies import Policy
from cobandit.policies.confident import Confident
from cobandit.policies.matching import Posterior
from cobandit.policies.ucb import confidence_width
from cobandit.values.errors import PeerError
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS, Arm

MOST_COUNTED = 2**53
"""Upper limit of all counts, sums and incarnations, which a browser can still represent exactly."""

LONGEST_TEXT = 10_000
MOST_TEXTS = 1000
MOST_PEERS = 10_000

MAX_GONE_NAMED = 100
"""How many members that are gone are listed by name."""

Count = Annotated[int, Meta(ge=0, le=MOST_COUNTED)]
Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Unit = Annotated[float, Meta(ge=0.0, le=1.0)]
Seconds = Annotated[float, Meta(ge=0.0, le=1e12)]
# Statistics also come from other members, so impossible values are refused when they are decoded.


class ArmStatistics(msgspec.Struct, frozen=True):
    """One arm, as this member sees it."""

    arm: Name
    observations: Count
    """All known observations, own and received."""
    own_observations: Count
    """This member's own observations, from all its starts."""
    mean: Unit | None
    low: Unit | None
    high: Unit | None
    """The upper end of an interval that begins at `low`: the policy's confidence interval, or two standard deviations
    of its posterior each way, cut to [0, 1]; `None` if nothing is known or the policy has neither."""
    is_candidate: bool
    """Whether the policy may still choose it."""
    is_frozen: bool
    is_removed: bool
    p_best: Unit | None = None
    """The probability that it is the best of the arms on offer; `None` if it is not on offer or nothing is known."""
    propensity: Unit | None = None
    """The probability that the next decision draws it; `None` if the policy picks one arm instead of drawing."""


class PeerStatistics(msgspec.Struct, frozen=True):
    """One other member, as this member sees it."""

    name: Name
    is_present: bool
    """Whether it is here: it has not said that it is leaving."""
    common_arms: Count
    heard_s: Seconds | None
    """Seconds since it was last heard; `None` if never."""
    shares_sent: Count
    shares_received: Count
    repetitions: Count
    """How often the last share has been repeated so far."""
    held: Count
    """How many of its observations from its current start are known here."""
    lacks: Count
    """How many of this member's observations from the current start it has not acknowledged."""
    incarnation: Count | None = None
    """The number of its start, as far as known. It changes when the peer restarts and may have forgotten something."""
    wire_version: Count = WIRE_VERSION
    """The wire version used to write to it: the newest that both can read, once the peer has said hello."""
    role: Role = Role.MEMBER
    """The role that it claims."""
    observations: Count = 0
    """How many of its observations are known here, from all its starts."""
    lacks_settings: bool = False
    """Whether it has yet to confirm the settings known here."""


KINDS = ("shares", "repetitions", "acknowledgements", "notices", "letters")
"""The kinds of packets that `Communication` counts."""


class Communication(msgspec.Struct, frozen=True):
    """Packets and bytes since the member was started."""

    shares: Count = 0
    repetitions: Count = 0
    acknowledgements: Count = 0
    notices: Count = 0
    letters: Count = 0
    """Control messages. The field keeps its original name, which is on the wire and in metrics."""
    lost: Count = 0
    """Sent, but not accepted by the transport."""
    bytes_sent: Count = 0
    received: Count = 0
    bytes_received: Count = 0

    @property
    def sent(self) -> int:
        """The number of packets sent."""
        return self.shares + self.repetitions + self.acknowledgements + self.notices + self.letters


class Statistics(msgspec.Struct, frozen=True):
    """The state of one member at one moment."""

    name: Name
    group: Name
    at: Seconds
    """When these statistics were taken, in seconds since 1970."""
    uptime_s: Seconds
    incarnation: Count
    policy: Text
    decisions: Count
    """Decisions made since the member started."""
    own_observations: Count
    """Counted rewards of this member's own decisions, from all its starts."""
    observations: Count
    """All observations that this member knows."""
    open_decisions: Count
    arms: Annotated[tuple[ArmStatistics, ...], Meta(max_length=MOST_ARMS)]
    control_arm: Name | None
    """The arm of the kill switch, if it is on."""
    peers: Annotated[tuple[PeerStatistics, ...], Meta(max_length=MOST_PEERS)]
    communication: Communication
    refused: Annotated[dict[Name, Count], Meta(max_length=MOST_TEXTS)]
    """The number of refusals, by reason."""
    quarantined: Annotated[tuple[Name, ...], Meta(max_length=MOST_PEERS)]
    troubles: Annotated[tuple[Text, ...], Meta(max_length=MOST_TEXTS)]
    """What does not work right now, in words for the person who has to act."""
    synced_batches: Count
    observed: Count = 0
    """Rewards of this member's own decisions counted since the member started."""
    immediate: Count = 0
    """Shares that immediate broadcast would have sent for those: one to each present member that has the arm."""
    rewards_waiting: Count = 0
    """Rewards for other members' decisions that wait here until those members take them."""
    rewards_brought: Count = 0
    """Such rewards delivered since the start: the member that decided counts those it can."""
    rewards_given_up: Count = 0
    """Such rewards given up since the start because their member did not come back: they count nowhere."""
    latest_setting: Count = 0
    """The timestamp of the latest control setting it has heard of, in milliseconds since 1970."""
    settings_from: Name | None = None
    """The member that first told it the settings since its start; `None` if it still uses its own state."""
    is_superseded: bool = False
    """Whether a newer start of this member runs elsewhere: this one then decides but does not share."""
    certificate_s: Seconds | None = None
    """Seconds until the certificate that proves its name expires; `None` if it has none."""
    trust_number: Count | None = None
    """The number of the group's trust file in use; `None` if it has none."""
    gone: Count = 0
    """How many names are gone: they said farewell, have long been silent, or are known only from others."""
    gone_observations: Count = 0
    """How many observations of theirs are known here. They count."""
    gone_names: Annotated[tuple[Name, ...], Meta(max_length=MOST_TEXTS)] = ()
    """The most recent of those names, at most 100."""
    version: Text = ""
    """This member's version of cobandit."""
    role: Role = Role.MEMBER
    """Its role in the group."""
    homes: Annotated[tuple[Name, ...], Meta(max_length=MOST_PEERS)] = ()
    """For a leaf: the relays that it talks to and that answer."""
    rewards_handed_on: Count = 0
    """Rewards for other members' decisions that relays have taken over since the start, to deliver them."""
    bandits: Annotated[tuple[BanditStatistics, ...], Meta(max_length=MAX_BANDITS)] = ()
    """The named bandits that it serves."""
    verdict: Verdict | None = None
    """Which arm leads, how sure that is, and what stopping now would cost; `None` if nothing is known."""
    lift: Lift | None = None
    """How much more the bandit brings than the hold-out; `None` if there is no hold-out."""
    guardrail: GuardrailStatistics | None = None
    """How the arms do on the guardrail's metric; `None` if there is no guardrail."""

    @property
    def started_at(self) -> float:
        """When the member started, by its own clock, in seconds since 1970."""
        return self.at - self.uptime_s

    def to_json(self) -> bytes:
        """Return the statistics as JSON."""
        return msgspec.json.encode(self)


_read = reader(Statistics)


def encode_statistics(statistics: Statistics) -> bytes:
    """Return statistics as bytes, for a control message."""
    return write(statistics)


def decode_statistics(content: bytes) -> Statistics:
    """Return the statistics in these bytes.

    Raises:
        PeerError: They are not statistics.
    """
    try:
        statistics = _read(content)
    except NotSoError as error:
        raise PeerError(f"statistics that cannot be read were refused: {error}") from error
    for names in ([arm.arm for arm in statistics.arms], [peer.name for peer in statistics.peers]):
        if len(set(names)) < len(names):
            raise PeerError(f"statistics of {statistics.name} that name something twice were refused")
    return statistics


def arms_of(
    agent: Agent,
    frozen: frozenset[Arm],
    removed: frozenset[Arm],
    *,
    p_best: Mapping[Arm, float],
    propensities: Mapping[Arm, float] | None,
) -> tuple[ArmStatistics, ...]:
    """Return the statistics of every arm of an agent.

    Args:
        agent: The agent.
        frozen: The arms that are frozen.
        removed: The arms that are removed.
        p_best: How likely some of them are the best.
        propensities: How likely the next decision draws each; `None` if the policy does not draw.
    """
    policy, own = agent.policy, agent.knowledge.own_by_arm()
    posteriors = dict(zip(policy.candidates, policy.posteriors() or (), strict=False))
    return tuple(
        msgspec.structs.replace(
            _arm(policy, arm, own[arm], arm in frozen, arm in removed, posteriors.get(arm)),
            p_best=_unit(p_best.get(arm)),
            propensity=None if propensities is None else _unit(propensities.get(arm, 0.0)),
        )
        for arm in policy.arms
    )


def _unit(value: float | None) -> float | None:
    """Return a probability without rounding errors."""
    return None if value is None else min(1.0, max(0.0, value))


def _arm(
    policy: Policy, arm: Arm, own: int, is_frozen: bool, is_removed: bool, posterior: Posterior | None
) -> ArmStatistics:
    count = policy.tally.counts[arm]
    mean = min(1.0, max(0.0, policy.mean(arm))) if count else None
    low = high = None
    if mean is not None and isinstance(policy, Confident):
        width = confidence_width(count, policy.budget())
        low, high = max(0.0, mean - width), min(1.0, mean + width)
        if not width:  # after one observation log(1/delta) is log(1) = 0: delta is 1, and nothing is promised
            low, high = 0.0, 1.0
    elif mean is not None and posterior is not None:
        middle, n = posterior[0] / sum(posterior), sum(posterior)
        width = 2.0 * math.sqrt(middle * (1.0 - middle) / (n + 1.0))
        low, high = max(0.0, min(mean, middle - width)), min(1.0, max(mean, middle + width))
    return ArmStatistics(
        arm=arm,
        observations=count,
        own_observations=own,
        mean=mean,
        low=low,
        high=high,
        is_candidate=arm in policy.candidates and not (is_frozen or is_removed),
        is_frozen=is_frozen,
        is_removed=is_removed,
    )


def peers_of(
    agent: Agent, now: float, version_for: Callable[[str], int], lacks_settings: Callable[[str], bool]
) -> tuple[PeerStatistics, ...]:
    """Return the statistics of every peer of an agent.

    Args:
        agent: The agent.
        now: The time.
        version_for: Returns the version in which to write to a peer.
        lacks_settings: Returns whether a peer has other settings.
    """
    peers = []
    for link in map(agent.peers.link, agent.peers):
        heard, said = link.last_heard, agent.peers.presence_of(link.peer)
        peers.append(
            PeerStatistics(
                name=link.peer,
                is_present=link.is_present,
                common_arms=len(link.common),
                heard_s=None if heard is None or math.isnan(heard) else max(0.0, now - heard),
                shares_sent=link.shares_sent,
                shares_received=link.shares_received,
                repetitions=link.attempts,
                held=link.held,
                lacks=link.unacknowledged,
                incarnation=None if link.session is None else link.incarnation,
                wire_version=version_for(link.peer),
                role=Role.MEMBER if said is None else role_of(is_relay=said.is_relay, is_leaf=said.is_leaf),
                observations=agent.peers.observations_of(link.peer),
                lacks_settings=lacks_settings(link.peer),
            )
        )
    return tuple(peers)
