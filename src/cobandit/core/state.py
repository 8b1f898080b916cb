"""An endpoint's state as plain frozen values: what a snapshot consists of.

Only the shapes are here; the classes that they describe fill and read them. Changing any shape requires a new state
version.
"""

from typing import NamedTuple

from cobandit.core.messages import AgentId, Cells, Changes
from cobandit.core.places import Bandit
from cobandit.values.tally import Arm, ArmTally


class FactState(NamedTuple):
    """One fact: the number of its last change, who reported it in which session, and its value."""

    number: int
    teller: tuple[AgentId, int | None] | None
    told: Changes


class ExchangeState(NamedTuple):
    """The state of one directed pair."""

    demanded: bool
    buffered: int
    c: int
    shares_sent: int


class RetransmitState(NamedTuple):
    """What is kept for one peer so that nothing is lost for good."""

    phase: str
    seen: int
    is_known: bool
    attempts: int
    can_be_timed: bool
    shared_at: float
    sent_at: float
    retry_at: float
    size: float
    wait: float
    mean: float
    deviation: float
    confirmed: int
    in_flight: tuple[tuple[int, int], ...]
    part: int


class LinkState(NamedTuple):
    """What is kept for one peer."""

    peer: AgentId
    arms: tuple[Arm, ...]
    is_present: bool
    session: int | None
    incarnation: int
    last_heard: float | None
    exchange: ExchangeState
    shares_received: int
    acknowledged: int
    held: int
    urgent: int
    is_gone: bool
    is_heard: bool
    is_unconfirmed: bool
    retransmit: RetransmitState | None
    forgotten_at: int | None = None
    bandits: tuple[Bandit, ...] = ()


class Claim(NamedTuple):
    """What one peer says about one incarnation that this agent has forgotten."""

    peer: AgentId
    told: Cells


class TotalState(NamedTuple):
    """What one relay last said that all other agents have observed of one arm."""

    relay: AgentId
    session: int
    upto: int
    """The number of the relay's log at that time."""
    tally: ArmTally
    bandit: str = ""
    segment: str = ""
    period: int = 0


class EndpointState(NamedTuple):
    """The whole state of one endpoint."""

    agent: AgentId
    incarnation: int
    session: int
    arms: tuple[Arm, ...]
    units_per_reward: int
    notices: int
    own_eliminated_at: int
    number: int
    facts: tuple[FactState, ...]
    links: tuple[LinkState, ...]
    last_observed: float | None
    latest: float | None
    wake_at: float | None
    claims: tuple[Claim, ...] = ()
    totals: tuple[TotalState, ...] = ()
    lives: tuple[int, ...] = ()
    bandits: tuple[Bandit, ...] = ()
    """The other bandits that it serves; also the plain one, without its arms, if it has a window."""
    retired: tuple[Bandit, ...] = ()
    """The bandits that it has served before."""
    time: float = 0.0
    """The time of the calendar when a period last began."""
    dropped: int = 0
    """How many own observations of the incarnation are outside their windows."""
    max_facts: int | None = None
    """The most facts in one message, if packets are small."""


class Snapshot(NamedTuple):
    """Everything that an agent knows. `cobandit.codec` converts it to bytes and back, and gives it a version."""

    sharing: str
    """How the agent shared, in words: records are replayed under the same rules or not at all."""
    endpoint: EndpointState
