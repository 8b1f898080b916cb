"""The measurements of a run. There is no protocol and no randomness here: only counts, and what follows from them.

Regret is reported twice. Pseudo-regret adds up the gaps of the arms that were pulled. Realised regret is what the best
arm pays on average for as many pulls, minus the rewards that were received, as Section 2 of the paper defines R. Both
have the same mean. Realised regret also contains the luck of the rewards, so it varies more between trials. The "±" in
the paper's tables is the standard deviation of realised regret between trials; ours is half of the 95 % interval of the
mean, unless stated otherwise.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cobandit.scenario.arms import Arms
from cobandit.simulator.moving import Moving
from cobandit.values.quantum import Quantum
from cobandit.values.reward_range import UNIT

Counts = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[np.float64]

_ROWS_AT_ONCE = 4096
"""Plain numbers take more room than arrays, so only some rows of a million agents are converted at a time."""

UNKNOWN = -1
"""What agents lacked, if they do not send each other observations."""


def _none() -> Counts:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class Communication:
    """What one run sent.

    A communication in the sense of the paper's C is a share. Notices (elimination, join, leave) are counted separately,
    and so is everything that only loss-tolerant agents send.
    """

    shares: Counts
    """Shares by sender and receiver."""
    notices: Counts
    """Notices by sender and receiver."""
    retries: Counts
    """Repeated shares by sender and receiver."""
    acknowledgements: Counts
    """Bare acknowledgements by sender and receiver."""
    bytes: int = 0
    """The size of all messages in the project's own wire format."""
    definition_bits: float = 0.0
    """The size of all shares by the footnote of Definition 1: log2(n + 1) bits for each number in a share of n. Totals
    from a relay to a leaf count as 0, because no buffer has held them."""
    agent_rounds: int = 0
    """The number of slots in which an agent or relay sent at least one message of any kind, summed over all of them."""
    links: Counts | None = None
    """In a topology other than a mesh, sender and receiver of every link (`cobandit.simulator.wiring`). All counts then
    have an entry for each link rather than for each pair, because a large fleet has few links."""

    @classmethod
    def none(cls, agents: int, links: Counts | None = None) -> "Communication":
        """Return what a run has sent before it begins."""
        shape = (agents, agents) if links is None else (len(links),)
        shares, notices, retries, acknowledgements = np.zeros((4, *shape), np.int64)
        return cls(shares, notices, retries, acknowledgements, links=links)

    def sent(self, counts: Counts, agents: int) -> Counts:
        """Return how many of these messages each of the first agents sent."""
        return self._by_end(counts, agents, 0)

    def received(self, counts: Counts, agents: int) -> Counts:
        """Return how many of these messages each of the first agents was sent."""
        return self._by_end(counts, agents, 1)

    def _by_end(self, counts: Counts, agents: int, end: int) -> Counts:
        if self.links is None:
            total: Counts = counts.sum(axis=1 - end)
            return total
        totals = np.zeros(max(agents, 1 + int(self.links.max(initial=0))), np.int64)
        np.add.at(totals, self.links[:, end], counts)
        return totals[:agents]


def received(arms: Arms, pulls: Counts, units: Counts) -> Counts | Numbers:
    """Return rewards in quanta as rewards. For arms that pay 0 or 1, these are the same."""
    if arms.are_binary and arms.rewards == UNIT:
        return units
    per_reward = Quantum(arms.quantum).per_reward
    return pulls * arms.rewards.low + units * (arms.rewards.width / per_reward)


COUNTED_AT = ("shares_at", "messages_at", "bytes_at", "agent_rounds_at", "lacking_at")
"""The counts of a run up to each checkpoint, for all agents together."""


@dataclass(slots=True)
class Result:
    """One run: what each agent pulled, and what was sent."""

    agents: tuple[str, ...]
    pulls: Counts
    """Pulls by agent and arm of the world."""
    gaps: Numbers
    """By agent and arm: the gap between the arm's mean and that of the best arm that the agent can pull."""
    rewards: Counts | Numbers
    """Rewards received, by agent and arm of the world; whole numbers if every reward is 0 or 1."""
    best: Numbers
    """By agent: the mean of the best arm that it can pull."""
    communication: Communication
    lacking: int = 0
    """How many observations by others of its own arms an agent did not know when it decided, added up over all
    decisions. `UNKNOWN` with a plug-in that sends no observations."""
    checkpoints: Counts = field(default_factory=_none)
    """Slots at whose beginning the counts were recorded."""
    pulls_at: Counts = field(default_factory=_none)
    """Pulls by checkpoint, agent and arm."""
    shares_at: Counts = field(default_factory=_none)
    """Shares by checkpoint."""
    messages_at: Counts = field(default_factory=_none)
    """Shares, repeated shares and bare acknowledgements by checkpoint."""
    bytes_at: Counts = field(default_factory=_none)
    """Bytes by checkpoint."""
    agent_rounds_at: Counts = field(default_factory=_none)
    """Agent-rounds by checkpoint."""
    lacking_at: Counts = field(default_factory=_none)
    """What was lacking (`lacking`), by checkpoint."""
    moving: Moving | None = None
    """What was offered and taken, if the means of arms change."""

    @property
    def decisions(self) -> list[int]:
        """Decisions by agent (N_j)."""
        decisions: list[int] = self.pulls.sum(axis=1).tolist()
        return decisions

    @property
    def regrets(self) -> list[float]:
        """Pseudo-regret by agent: the sum of the gaps of the arms it pulled.

        Where means change, the reference is the arm that would have paid most over all of the agent's decisions.
        """
        if self.moving is not None:
            return (self.moving.best - self.moving.gained).tolist()  # type: ignore[no-any-return]
        rows = range(0, len(self.pulls), _ROWS_AT_ONCE)
        parts = (self.pulls[row : row + _ROWS_AT_ONCE] * self.gaps[row : row + _ROWS_AT_ONCE] for row in rows)
        return [math.fsum(row) for part in parts for row in part.tolist()]

    @property
    def group_regret(self) -> float:
        """The pseudo-regret of all agents together."""
        return math.fsum(self.regrets)

    @property
    def dynamic_regrets(self) -> list[float]:
        """Dynamic regret by agent: the sum of the gaps between the arms it pulled and the best arm of the moment."""
        return self.regrets if self.moving is None else self.moving.dynamic.tolist()

    @property
    def dynamic_regret(self) -> float:
        """The dynamic regret of all agents together; equal to the pseudo-regret if means do not change."""
        return math.fsum(self.dynamic_regrets)

    @property
    def realised_regrets(self) -> list[float]:
        """Realised regret by agent: what its best arm pays on average for its pulls, minus the rewards received."""
        paid = self.rewards.sum(axis=1)
        if self.moving is not None:
            return (self.moving.best - paid).tolist()  # type: ignore[no-any-return]
        return [
            float(best) * pulls - float(rewards)
            for best, pulls, rewards in zip(self.best, self.decisions, paid, strict=True)
        ]

    @property
    def realised_regret(self) -> float:
        """The realised regret of all agents together (R of the paper's Section 2). Luck may make it negative."""
        return math.fsum(self.realised_regrets)

    @property
    def group_regret_at(self) -> list[float]:
        """The pseudo-regret of all agents together, by checkpoint."""
        if self.moving is not None:
            return [math.fsum(regrets) for regrets in self.regrets_at.tolist()]
        return [math.fsum((pulls * self.gaps).ravel().tolist()) for pulls in self.pulls_at]

    @property
    def dynamic_regret_at(self) -> list[float]:
        """The dynamic regret of all agents together, by checkpoint."""
        if self.moving is None:
            return self.group_regret_at
        return [math.fsum(regrets) for regrets in self.moving.dynamic_at.tolist()]

    @property
    def decisions_at(self) -> list[int]:
        """The decisions of all agents together, by checkpoint."""
        return [int(pulls.sum()) for pulls in self.pulls_at]

    @property
    def staleness_at(self) -> list[float]:
        """The staleness of all decisions before each checkpoint."""
        pairs = zip(self.lacking_at.tolist(), self.decisions_at, strict=True)
        return [lacking / max(1, decisions) for lacking, decisions in pairs]

    @property
    def regrets_at(self) -> Numbers:
        """Pseudo-regret by checkpoint and agent."""
        if self.moving is not None:
            return self.moving.best_at - self.moving.gained_at
        regrets: Numbers = (self.pulls_at * self.gaps).sum(axis=2)
        return regrets

    @property
    def shares(self) -> int:
        """All shares: the paper's communication complexity C."""
        return int(self.communication.shares.sum())

    @property
    def notices(self) -> int:
        """All notices."""
        return int(self.communication.notices.sum())

    @property
    def retries(self) -> int:
        """All repeated shares."""
        return int(self.communication.retries.sum())

    @property
    def acknowledgements(self) -> int:
        """All bare acknowledgements."""
        return int(self.communication.acknowledgements.sum())

    @property
    def messages(self) -> int:
        """Shares, repeated shares and bare acknowledgements."""
        return self.shares + self.retries + self.acknowledgements

    @property
    def staleness(self) -> float:
        """The mean number of other agents' observations that an agent did not know when it decided; NaN if unknown."""
        if self.lacking == UNKNOWN:
            return math.nan
        return self.lacking / max(1, int(self.pulls.sum()))

    def __eq__(self, other: object) -> bool:
        """Return whether two runs measured exactly the same."""
        if not isinstance(other, Result):
            return NotImplemented
        mine, theirs = self.communication, other.communication
        return (
            self.agents == other.agents
            and np.array_equal(self.pulls, other.pulls)
            and np.array_equal(self.gaps, other.gaps)
            and np.array_equal(self.rewards, other.rewards)
            and np.array_equal(self.best, other.best)
            and np.array_equal(mine.shares, theirs.shares)
            and np.array_equal(mine.notices, theirs.notices)
            and np.array_equal(mine.retries, theirs.retries)
            and np.array_equal(mine.acknowledgements, theirs.acknowledgements)
            and np.array_equal(() if mine.links is None else mine.links, () if theirs.links is None else theirs.links)
            and self.lacking == other.lacking
            and (mine.bytes, mine.definition_bits) == (theirs.bytes, theirs.definition_bits)
            and mine.agent_rounds == theirs.agent_rounds
            and np.array_equal(self.checkpoints, other.checkpoints)
            and np.array_equal(self.pulls_at, other.pulls_at)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in COUNTED_AT)
            and self.moving == other.moving
        )

    __hash__ = None  # type: ignore[assignment]  # a result is compared, not used as a key
