"""What a run measured. No protocol and no chance in here: counts, and what follows from them."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[np.float64]


def _none() -> Counts:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class Communication:
    """What one run sent.

    A communication in the sense of the paper's C is a share. Notices (elimination, join, leave) are counted apart.
    """

    shares: Counts
    """Shares by sender and receiver."""
    notices: Counts
    """Notices by sender and receiver."""
    bytes: int = 0
    """The size of all messages in the project's own wire format."""
    definition_bits: float = 0.0
    """The size of all shares by the footnote of Definition 1: log2(n + 1) bits for each number in a share of n."""


@dataclass(slots=True)
class Result:
    """One run: who pulled what, and what was said."""

    agents: tuple[str, ...]
    pulls: Counts
    """Pulls by agent and arm of the world."""
    gaps: Numbers
    """By agent and arm: how far the arm's mean is below that of the best arm that the agent can pull."""
    communication: Communication
    checkpoints: Counts = field(default_factory=_none)
    """Slots at whose beginning the counts were kept."""
    pulls_at: Counts = field(default_factory=_none)
    """Pulls by checkpoint, agent and arm."""
    shares_at: Counts = field(default_factory=_none)
    """Shares by checkpoint."""

    @property
    def decisions(self) -> list[int]:
        """Decisions by agent (N_j)."""
        decisions: list[int] = self.pulls.sum(axis=1).tolist()
        return decisions

    @property
    def regrets(self) -> list[float]:
        """Pseudo-regret by agent: the gaps of the arms it pulled, added up."""
        return [math.fsum(row) for row in (self.pulls * self.gaps).tolist()]

    @property
    def group_regret(self) -> float:
        """The regret of all agents together (E[R] of the paper, for this run)."""
        return math.fsum(self.regrets)

    @property
    def group_regret_at(self) -> list[float]:
        """The regret of all agents together, by checkpoint."""
        return [math.fsum((pulls * self.gaps).ravel().tolist()) for pulls in self.pulls_at]

    @property
    def shares(self) -> int:
        """All shares: the paper's communication complexity C."""
        return int(self.communication.shares.sum())

    @property
    def notices(self) -> int:
        """All notices."""
        return int(self.communication.notices.sum())

    def __eq__(self, other: object) -> bool:
        """Return whether two runs measured exactly the same."""
        if not isinstance(other, Result):
            return NotImplemented
        mine, theirs = self.communication, other.communication
        return (
            self.agents == other.agents
            and np.array_equal(self.pulls, other.pulls)
            and np.array_equal(self.gaps, other.gaps)
            and np.array_equal(mine.shares, theirs.shares)
            and np.array_equal(mine.notices, theirs.notices)
            and (mine.bytes, mine.definition_bits) == (theirs.bytes, theirs.definition_bits)
            and np.array_equal(self.checkpoints, other.checkpoints)
            and np.array_equal(self.pulls_at, other.pulls_at)
            and np.array_equal(self.shares_at, other.shares_at)
        )

    __hash__ = None  # type: ignore[assignment]  # a result is compared, not looked up
