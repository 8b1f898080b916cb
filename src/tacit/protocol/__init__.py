"""On-demand communication, without I/O: no clock, no randomness, no logging, the standard library only.

Read `exchange.py` first, beside Algorithm 1 of the paper; then `ledger.py`; then `endpoint.py`.
"""

from tacit.protocol.delivery import Patience
from tacit.protocol.endpoint import Endpoint
from tacit.protocol.exchange import Sharing, on_demand
from tacit.protocol.immediate import immediate, silent
from tacit.protocol.messages import Acknowledgement, AgentId, Eliminated, Join, Leave, Message, Record, Share
from tacit.protocol.outcome import (
    Flushed,
    InputRecord,
    Introduced,
    Observed,
    ObservedMany,
    Outcome,
    PeerJoined,
    PeerLeft,
    Received,
    Woke,
)
from tacit.protocol.thresholds import Constant, FromFunction, Geometric, PerCandidate, Threshold
from tacit.protocol.tolerant import TolerantEndpoint

__all__ = [
    "Acknowledgement",
    "AgentId",
    "Constant",
    "Eliminated",
    "Endpoint",
    "Flushed",
    "FromFunction",
    "Geometric",
    "InputRecord",
    "Introduced",
    "Join",
    "Leave",
    "Message",
    "Observed",
    "ObservedMany",
    "Outcome",
    "Patience",
    "PeerJoined",
    "PeerLeft",
    "PerCandidate",
    "Received",
    "Record",
    "Share",
    "Sharing",
    "Threshold",
    "TolerantEndpoint",
    "Woke",
    "immediate",
    "on_demand",
    "silent",
]
