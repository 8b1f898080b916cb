"""Bandit agents that learn together and share what they learn only on demand.

Implements on-demand communication for asynchronous multi-agent bandits (Chen et al., AISTATS 2023).
"""

import importlib
from typing import TYPE_CHECKING

from cobandit.agent import Agent
from cobandit.core import (
    Constant,
    FromFunction,
    Geometric,
    Outcome,
    PerCandidate,
    RetryTimers,
    immediate,
    on_demand,
    silent,
)
from cobandit.core.state import Snapshot
from cobandit.policies import AAE, KLUCB, UCB, UCBV, Horizon, IndexPolicy, NormalThompson, Policy, Thompson
from cobandit.values.errors import CobanditError, LocalError, MissingExtraError, PeerError, StrangerError
from cobandit.values.extras import needed_by

if TYPE_CHECKING:
    from cobandit.live.decide.decision import Decision as Decision
    from cobandit.live.decide.taken import Taken as Taken
    from cobandit.live.drive.joining import connect as connect
    from cobandit.live.drive.joining import join as join
    from cobandit.live.drive.joining import reward as reward
    from cobandit.live.drive.member import Member as Member
    from cobandit.live.store.importing import snapshot_of as snapshot_of
    from cobandit.simulator.results import Results as Results
    from cobandit.simulator.simulate import simulate as simulate
    from cobandit.simulator.sweep import sweep as sweep

__version__ = "0.1.0"

__all__ = [
    "AAE",
    "KLUCB",
    "UCB",
    "UCBV",
    "Agent",
    "CobanditError",
    "Constant",
    "FromFunction",
    "Geometric",
    "Horizon",
    "IndexPolicy",
    "LocalError",
    "MissingExtraError",
    "NormalThompson",
    "Outcome",
    "PeerError",
    "PerCandidate",
    "Policy",
    "RetryTimers",
    "Snapshot",
    "StrangerError",
    "Thompson",
    "immediate",
    "on_demand",
    "silent",
]

_LATER = {
    "Decision": "cobandit.live.decide.decision",
    "Taken": "cobandit.live.decide.taken",
    "Member": "cobandit.live.drive.member",
    "connect": "cobandit.live.drive.joining",
    "join": "cobandit.live.drive.joining",
    "reward": "cobandit.live.drive.joining",
    "snapshot_of": "cobandit.live.store.importing",
    "Results": "cobandit.simulator.results",
    "simulate": "cobandit.simulator.simulate",
    "sweep": "cobandit.simulator.sweep",
}
"""Names that are loaded on first use: live members need no simulator, and simulations need no network. They are not in
`__all__`, so that `from cobandit import *` needs no extra. Completion still finds them."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load what is wanted."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with needed_by(f"cobandit.{name}"):
            return getattr(importlib.import_module(_LATER[name]), name)

    def __dir__() -> list[str]:
        """List what is loaded later, too: it is found by completion before it is used."""
        return sorted({*globals(), *_LATER})
