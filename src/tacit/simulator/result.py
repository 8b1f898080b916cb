"""What a run measured. No protocol and no chance in here: counts, and what follows from them."""

import math
from dataclasses import dataclass

from tacit.protocol import Message, Share
from tacit.wire import encode


@dataclass(slots=True)
class Communication:
    """What one run sent.

    A communication in the sense of the paper's C is a share. Notices (elimination, join, leave) are counted apart.
    """

    shares: list[list[int]]
    """Shares by sender and receiver."""
    notices: list[list[int]]
    """Notices by sender and receiver."""
    bytes: int = 0
    """The size of all messages in the project's own wire format."""
    definition_bits: float = 0.0
    """The size of all shares by the footnote of Definition 1: log2(n + 1) bits for each number in a share of n."""

    def count(self, message: Message, sender: int, receiver: int, common_arm_count: int) -> None:
        """Count one message."""
        self.bytes += len(encode(message))
        if isinstance(message, Share):
            self.shares[sender][receiver] += 1
            self.definition_bits += 2 * common_arm_count * math.log2(message.observations + 1)
        else:
            self.notices[sender][receiver] += 1


@dataclass(slots=True)
class Result:
    """One run: who pulled what, and what was said."""

    agents: tuple[str, ...]
    pulls: list[list[int]]
    """Pulls by agent and arm of the world."""
    gaps: list[list[float]]
    """By agent and arm: how far the arm's mean is below that of the best arm that the agent can pull."""
    communication: Communication

    @property
    def decisions(self) -> list[int]:
        """Decisions by agent (N_j)."""
        return [sum(row) for row in self.pulls]

    @property
    def regrets(self) -> list[float]:
        """Pseudo-regret by agent: the gaps of the arms it pulled, added up."""
        return [
            math.fsum(count * gap for count, gap in zip(pulls, gaps, strict=True))
            for pulls, gaps in zip(self.pulls, self.gaps, strict=True)
        ]

    @property
    def group_regret(self) -> float:
        """The regret of all agents together (E[R] of the paper, for this run)."""
        return math.fsum(self.regrets)

    @property
    def shares(self) -> int:
        """All shares: the paper's communication complexity C."""
        return sum(map(sum, self.communication.shares))

    @property
    def notices(self) -> int:
        """All notices."""
        return sum(map(sum, self.communication.notices))
