"""An endpoint's state as plain frozen values: what a snapshot is made of.

Only shapes are here; `endpoint.py` fills and reads them. A change of any shape is a new snapshot version.
"""

from typing import NamedTuple

from cobandit.core.messages import AgentId, Receipt
from cobandit.values.tally import Arm, ArmTally

SNAPSHOT_VERSION = 3


class HeldState(NamedTuple):
    """What is held of one origin."""

    agent: AgentId
    boot: int
    version: int
    tallies: tuple[ArmTally, ...]
    lacks: bool


class DeliveryState(NamedTuple):
    """What is kept for one peer so that nothing is lost for good."""

    phase: str
    acknowledged: Receipt
    peer_boot: int | None
    peer_notice: tuple[int, int]
    arms_boot: int | None
    peer_eliminated: int
    peer_formers: int
    returns: tuple[int, ...]
    attempts: int
    can_be_timed: bool
    is_known: bool
    has_counted: bool
    is_unheard: bool
    shared_at: float
    sent_at: float
    retry_at: float
    size: float
    wait: float
    mean: float
    deviation: float


class LinkState(NamedTuple):
    """What is kept for one peer."""

    peer: AgentId
    arms: tuple[Arm, ...]
    present: bool
    candidates: tuple[Arm, ...]
    last_heard: float | None
    demanded: bool
    buffered: int
    share_number: int
    shares_sent: int
    shared_version: int
    shares_received: int
    delivery: DeliveryState | None


class EndpointState(NamedTuple):
    """All of one endpoint."""

    agent: AgentId
    boot: int
    arms: tuple[Arm, ...]
    units_per_reward: int
    own: tuple[ArmTally, ...]
    changed_at: tuple[int, ...]
    eliminated: tuple[Arm, ...]
    """Arms that the agent no longer considers, in the order in which they went."""
    own_eliminations: int
    formers: int
    notices: int
    arms_since: int | None
    held: tuple[HeldState, ...]
    links: tuple[LinkState, ...]
    last_observed: float | None
    wake_at: float | None


class Snapshot(NamedTuple):
    """All that an agent knows, with the version of these shapes. `cobandit.wire` turns it into bytes and back."""

    version: int
    sharing: str
    """How the agent shared, in words: records are replayed under the same rules or not at all."""
    endpoint: EndpointState
