"""Agents that share what they learned only when it is wanted.

On-demand communication for asynchronous multi-agent bandits (Chen et al., AISTATS 2023), as software.
"""

import importlib
from typing import TYPE_CHECKING

from tacit.agent import Agent
from tacit.errors import LocalError, PeerError, StrangerError, TacitError
from tacit.policies import AAE, KLUCB, UCB, Horizon, IndexPolicy, Policy, Thompson
from tacit.protocol import (
    Constant,
    FromFunction,
    Geometric,
    Outcome,
    Patience,
    PerCandidate,
    immediate,
    on_demand,
    silent,
)
from tacit.protocol.state import Snapshot

if TYPE_CHECKING:
    from tacit.runtime.decision import Decision as Decision
    from tacit.runtime.importing import snapshot_of as snapshot_of
    from tacit.runtime.member import Member as Member
    from tacit.runtime.member import connect as connect
    from tacit.runtime.member import join as join
    from tacit.runtime.member import reward as reward
    from tacit.simulator.results import Results as Results
    from tacit.simulator.simulate import simulate as simulate

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
    "Patience",
    "PeerError",
    "PerCandidate",
    "Policy",
    "Snapshot",
    "StrangerError",
    "TacitError",
    "Thompson",
    "immediate",
    "on_demand",
    "silent",
]

_LATER = {
    "Decision": "tacit.runtime.decision",
    "Member": "tacit.runtime.member",
    "connect": "tacit.runtime.member",
    "join": "tacit.runtime.member",
    "reward": "tacit.runtime.member",
    "snapshot_of": "tacit.runtime.importing",
    "Results": "tacit.simulator.results",
    "simulate": "tacit.simulator.simulate",
}
"""What is loaded only when it is asked for: live members need no simulator, and simulations need no network."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load what is wanted."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(_LATER[name]), name)
        except ModuleNotFoundError as error:
            raise LocalError(f"tacit.{name} needs {error.name}: pip install tacit[sim]") from error
