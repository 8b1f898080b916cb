"""An endpoint's state as plain frozen values: what a snapshot is made of.

Only shapes are here; the classes that they describe fill and read them. A change of any shape is a new state version.
"""

from typing import NamedTuple

from cobandit.core.messages import AgentId, Cells, Changes
from cobandit.core.places import Bandit
from cobandit.values.tally import Arm, ArmTally


class FactState(NamedTuple):
    """One fact: the number of its last change, who told it in which session, and what it says."""

    number: int
    teller: tuple[AgentId, int | None] | None
    told: Changes


class ExchangeState(NamedTuple):
    """Where one directed pair stands."""

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
    """What one peer says of one life that this agent has forgotten."""

    peer: AgentId
    told: Cells


class TotalState(NamedTuple):
    """What one relay last said that everybody else has observed of one arm."""

    relay: AgentId
    session: int
    upto: int
    """The number of the relay's log at which it said so."""
    tally: ArmTally
    bandit: str = ""
    segment: str = ""
    period: int = 0


class EndpointState(NamedTuple):
    """All of one endpoint."""

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
    """The bandits that it serves besides; and the plain one, without its arms, if that has a window."""
    retired: tuple[Bandit, ...] = ()
    """Those that it has served."""
    time: float = 0.0
    """What the calendar said when a period last began."""
    dropped: int = 0
    """How many own observations of the incarnation are outside their windows."""
    max_facts: int | None = None
    """How many facts one message tells at most, if packets are small."""


class Snapshot(NamedTuple):
    """Everything that an agent knows. `cobandit.codec` converts it to bytes and back, and gives it a version."""

    sharing: str
    """How the agent shared, in words: records are replayed under the same rules or not at all."""
    endpoint: EndpointState
