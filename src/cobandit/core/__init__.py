"""On-demand communication without I/O: no clock, no randomness, no logging, only the standard library.

Read `messages.py`, `replica.py`, `exchange.py`, `protocols/on_demand.py`, `link.py` and `endpoint.py`, in this order,
beside Algorithm 1 of the paper. Use `facts.py`, `peers.py` and `speech.py` as reference.
"""

from cobandit.core.endpoint import Endpoint
from cobandit.core.exchange import Sharing
from cobandit.core.messages import (
    Acknowledgement,
    AgentId,
    Cells,
    Changes,
    Delivery,
    Eliminations,
    Message,
    Notice,
    Presence,
    Receipt,
    Share,
)
from cobandit.core.outcome import (
    Adopted,
    Began,
    Flushed,
    Forgot,
    InputRecord,
    Introduced,
    Limited,
    Observed,
    Outcome,
    PeerJoined,
    PeerLeft,
    Received,
    Turned,
    Woke,
)
from cobandit.core.places import Bandit, Change, Placed
from cobandit.core.protocols.immediate import immediate
from cobandit.core.protocols.on_demand import on_demand
from cobandit.core.protocols.silent import silent
from cobandit.core.retransmit import RetryTimers
from cobandit.core.snapshots import LinkView
from cobandit.core.thresholds import Constant, FromFunction, Geometric, PerCandidate, Threshold

__all__ = [
    "Acknowledgement",
    "Adopted",
    "AgentId",
    "Bandit",
    "Began",
    "Cells",
    "Change",
    "Changes",
    "Constant",
    "Delivery",
    "Eliminations",
    "Endpoint",
    "Flushed",
    "Forgot",
    "FromFunction",
    "Geometric",
    "InputRecord",
    "Introduced",
    "Limited",
    "LinkView",
    "Message",
    "Notice",
    "Observed",
    "Outcome",
    "PeerJoined",
    "PeerLeft",
    "PerCandidate",
    "Placed",
    "Presence",
    "Receipt",
    "Received",
    "RetryTimers",
    "Share",
    "Sharing",
    "Threshold",
    "Turned",
    "Woke",
    "immediate",
    "on_demand",
    "silent",
]
