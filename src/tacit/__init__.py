"""Agents that share what they learned only when it is wanted.

On-demand communication for asynchronous multi-agent bandits (Chen et al., AISTATS 2023), as software.
"""

from tacit.agent import Agent
from tacit.errors import LocalError, PeerError, TacitError
from tacit.policies import AAE, KLUCB, UCB, Horizon, IndexPolicy, Policy, Thompson
from tacit.protocol import (
    Constant,
    FromFunction,
    Geometric,
    Outcome,
    PerCandidate,
    immediate,
    on_demand,
    silent,
)
from tacit.protocol.state import Snapshot

__version__ = "0.1.0"

__all__ = [
    "AAE",
    "KLUCB",
    "UCB",
    "Agent",
    "Constant",
    "FromFunction",
    "Geometric",
    "Horizon",
    "IndexPolicy",
    "LocalError",
    "Outcome",
    "PeerError",
    "PerCandidate",
    "Policy",
    "Snapshot",
    "TacitError",
    "Thompson",
    "immediate",
    "on_demand",
    "silent",
]
