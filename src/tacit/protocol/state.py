"""An endpoint's state as plain frozen values: what a snapshot is made of.

Only shapes are here; `endpoint.py` fills and reads them. A change of any shape is a new snapshot version.
"""

from typing import NamedTuple

from tacit.protocol.messages import AgentId
from tacit.tally import Arm, ArmTally

SNAPSHOT_VERSION = 1


class HeldState(NamedTuple):
    """What is held of one origin."""

    agent: AgentId
    boot: int
    version: int
    tallies: tuple[ArmTally, ...]


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


class EndpointState(NamedTuple):
    """All of one endpoint."""

    agent: AgentId
    boot: int
    arms: tuple[Arm, ...]
    units_per_reward: int
    own: tuple[ArmTally, ...]
    changed_at: tuple[int, ...]
    candidates: tuple[Arm, ...]
    held: tuple[HeldState, ...]
    links: tuple[LinkState, ...]


class Snapshot(NamedTuple):
    """All that an agent knows, with the version of these shapes. `tacit.wire` turns it into bytes and back."""

    version: int
    sharing: str
    """How the agent shared, in words: records are replayed under the same rules or not at all."""
    endpoint: EndpointState
