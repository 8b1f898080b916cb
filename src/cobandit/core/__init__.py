"""On-demand communication, without I/O: no clock, no randomness, no logging, the standard library only.

Read `exchange.py` first, beside Algorithm 1 of the paper; then `ledger.py`; then `endpoint.py`.
"""

from cobandit.core.delivery import Patience
from cobandit.core.endpoint import Endpoint
from cobandit.core.exchange import Sharing, on_demand
from cobandit.core.immediate import immediate, silent
from cobandit.core.messages import Acknowledgement, AgentId, Eliminated, Join, Leave, Message, Record, Share
from cobandit.core.outcome import (
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
from cobandit.core.thresholds import Constant, FromFunction, Geometric, PerCandidate, Threshold
from cobandit.core.tolerant import TolerantEndpoint

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
