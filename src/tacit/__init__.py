"""Agents that share what they learned only when it is wanted.

On-demand communication for asynchronous multi-agent bandits (Chen et al., AISTATS 2023), as software.
"""

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

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return what needs the extra `sim`, and load it only then: agents in production need none of it."""
        if name not in ("Results", "simulate"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from tacit.simulator import results, simulate  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise LocalError(f"tacit.{name} needs {error.name}: pip install tacit[sim]") from error
        return results.Results if name == "Results" else simulate.simulate
