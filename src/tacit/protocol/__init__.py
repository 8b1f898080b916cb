"""On-demand communication, without I/O: no clock, no randomness, no logging, the standard library only.

Read `exchange.py` first, beside Algorithm 1 of the paper; then `ledger.py`; then `endpoint.py`.
"""

from tacit.protocol.endpoint import Endpoint
from tacit.protocol.exchange import Sharing, on_demand
from tacit.protocol.immediate import immediate, silent
from tacit.protocol.messages import AgentId, Eliminated, Join, Leave, Message, Record, Share
from tacit.protocol.outcome import InputRecord, Observed, Outcome, PeerJoined, PeerLeft, Received
from tacit.protocol.thresholds import Constant, FromFunction, Geometric, PerCandidate, Threshold

__all__ = [
    "AgentId",
    "Constant",
    "Eliminated",
    "Endpoint",
    "FromFunction",
    "Geometric",
    "InputRecord",
    "Join",
    "Leave",
    "Message",
    "Observed",
    "Outcome",
    "PeerJoined",
    "PeerLeft",
    "PerCandidate",
    "Received",
    "Record",
    "Share",
    "Sharing",
    "Threshold",
    "immediate",
    "on_demand",
    "silent",
]
