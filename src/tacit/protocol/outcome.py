"""What an input produced.

Every input of an agent returns one `Outcome`; there is no queue that a caller must remember to drain. Its order is
part of the contract: persist the records, then send the outgoing messages. A record says which input happened. An
agent is deterministic, so the records since a snapshot, given back in order, rebuild it exactly.
"""

from typing import NamedTuple

from tacit.protocol.messages import AgentId, Message
from tacit.tally import Arm, ArmTally


class Observed(NamedTuple):
    """The agent pulled an arm and received a reward of this many quanta."""

    arm: Arm
    units: int
    now: float


class Received(NamedTuple):
    """A message arrived and was accepted."""

    message: Message
    now: float


class PeerJoined(NamedTuple):
    """The driver said that a peer is here."""

    peer: AgentId
    arms: tuple[Arm, ...]
    now: float


class PeerLeft(NamedTuple):
    """The driver said that a peer is gone."""

    peer: AgentId
    now: float


InputRecord = Observed | Received | PeerJoined | PeerLeft


class Outcome(NamedTuple):
    """What one input produced. Persist `records`, then send `outgoing`."""

    records: tuple[InputRecord, ...] = ()
    outgoing: tuple[Message, ...] = ()
    news: tuple[ArmTally, ...] = ()
    """Observations of others that this input brought and that were not counted before: for the policy."""
    ruled_out: tuple[Arm, ...] = ()
    """Arms that this input removed from this agent's own candidates: for the policy."""
