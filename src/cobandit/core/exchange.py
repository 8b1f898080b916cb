"""When to talk: one directed pair of agents. This is Algorithm 1 of the paper, and nothing else.

Two rules hold here. Everything that changes a pair's state is in this file. And this file does not know who is fast
and who is slow, what is in a buffer, or who the peer is: it counts.

From the paper's symbols to names, for the direction from agent j to agent p:

    E^(j->p)          demanded        the peer has asked for a share, by sending one
    sum_i b_n(i)      buffered        observations made since the last share to the peer
    c^(j->p)          share_number    1 before the first share
    f(c)              threshold       how much must be buffered before the next share

The table, as `ON_DEMAND` below. "Reached" means buffered >= f(c), the observation at hand included.

    input             demanded   reached   demanded after   effect
    own observation   yes        yes       no               share           (lines 8 to 11)
    own observation   yes        no        yes              buffer          (line 7)
    own observation   no         any       no               buffer          (line 7)
    share received    any        yes       as it was        share back      (lines 17 to 19)
    share received    any        no        yes                              (line 21)
    leave notice      any        any       no               go on buffering (Section 3.1, last paragraph)
    join notice       any        any       yes              what was buffered may flow at the next observation

A share renews the buffer and moves c on. The immediate-broadcast baseline and "no communication" are other tables
over the same machine: see `immediate.py`.
"""

from enum import IntEnum
from typing import NamedTuple

from cobandit.core.delivery import Patience
from cobandit.core.thresholds import Threshold, checked_threshold
from cobandit.values.errors import LocalError


class Input(IntEnum):
    """What can happen to one directed pair."""

    OBSERVATION = 0
    SHARE = 1
    LEAVE = 2
    JOIN = 3


class Rule(NamedTuple):
    """One row of a table. `None` stands for "any" on the left and "as it was" on the right."""

    input: Input
    demanded: bool | None
    reached: bool | None
    demanded_after: bool | None
    shares: bool


class Step(NamedTuple):
    """What a rule decided for one input."""

    demanded: bool
    shares: bool


class Rules(dict[tuple[Input, bool, bool], Step]):
    """A complete table, with a name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __reduce__(self) -> tuple[object, ...]:
        return Rules, (self.name,), None, None, iter(self.items())


def rules(name: str, *rows: Rule) -> Rules:
    """Expand rows into a complete table, and refuse one that leaves a case open or decides a case twice."""
    table = Rules(name)
    for row in rows:
        for demanded in (False, True) if row.demanded is None else (row.demanded,):
            for reached in (False, True) if row.reached is None else (row.reached,):
                case = (row.input, demanded, reached)
                assert case not in table, f"{case} is decided twice"
                table[case] = Step(demanded if row.demanded_after is None else row.demanded_after, row.shares)
    assert len(table) == 4 * len(Input), "a table must decide every case"
    return table


ON_DEMAND = rules(
    "on_demand",
    Rule(Input.OBSERVATION, demanded=True, reached=True, demanded_after=False, shares=True),
    Rule(Input.OBSERVATION, demanded=True, reached=False, demanded_after=None, shares=False),
    Rule(Input.OBSERVATION, demanded=False, reached=None, demanded_after=None, shares=False),
    Rule(Input.SHARE, demanded=None, reached=True, demanded_after=None, shares=True),
    Rule(Input.SHARE, demanded=None, reached=False, demanded_after=True, shares=False),
    Rule(Input.LEAVE, demanded=None, reached=None, demanded_after=False, shares=False),
    Rule(Input.JOIN, demanded=None, reached=None, demanded_after=True, shares=False),
)


class Sharing(NamedTuple):
    """How an agent talks: which table it follows, and how much a buffer must hold."""

    rules: Rules
    threshold: Threshold
    patience: Patience | None = None
    """When to repeat what may have been lost; `None` trusts the network, as the paper does."""

    def __repr__(self) -> str:
        return f"{self.rules.name}({self.threshold!r}{'' if self.patience is None else f', {self.patience!r}'})"


def on_demand(threshold: Threshold | None = None, *, loss_tolerant: bool | Patience = False) -> Sharing:
    """Talk on demand (ODC, Algorithm 1).

    Args:
        threshold: How much a buffer must hold: one observation unless told otherwise.
        loss_tolerant: Whether messages may be lost, and if you like how long to wait before one is repeated. The paper
            assumes that none is.
    """
    if not isinstance(loss_tolerant, bool | Patience):
        raise LocalError(f"loss_tolerant must be True, False or Patience(...), not {loss_tolerant!r}")
    patience = Patience() if loss_tolerant is True else loss_tolerant or None
    return Sharing(ON_DEMAND, checked_threshold(threshold), patience)


class Exchange:
    """The state of one directed pair: is a share demanded, how much is buffered, which share comes next."""

    __slots__ = ("buffered", "demanded", "rules", "share_number", "shares_sent", "threshold")

    def __init__(self, sharing: Sharing, *, buffered: int = 0) -> None:
        self.rules = sharing.rules
        self.threshold = sharing.threshold
        self.demanded = True  # Algorithm 1, line 1: everyone may send a first share
        self.buffered = buffered
        self.share_number = 1
        self.shares_sent = 0

    def observe(self, candidate_count: int, observations: int = 1) -> int:
        """Take own observations that the peer can use. Return how many to share now: the whole buffer, or none.

        Several at once are shared at once: no answer can come between them, so there is only one demand to meet.
        """
        self.buffered += observations
        return self._take(Input.OBSERVATION, candidate_count)

    def share_received(self, candidate_count: int) -> int:
        """Take a share of the peer. Return how many observations to answer with: the whole buffer, or none."""
        return self._take(Input.SHARE, candidate_count)

    def put_off(self) -> None:
        """Take a share of the peer that is not answered now, however much is buffered. The demand stands."""
        self.demanded = True

    def has_reached(self, candidate_count: int) -> bool:
        """Return whether the buffer holds enough for a share, whether or not one is demanded."""
        return self.buffered >= self.threshold.at(self.share_number, candidate_count)

    def repeat(self, candidate_count: int) -> None:
        """Take it that everything was sent without being demanded. If it was enough for a share, c moves on."""
        self.share_number += self.has_reached(candidate_count)
        self.buffered = 0

    def peer_left(self) -> None:
        """Take a leave notice."""
        self._take(Input.LEAVE, 1)

    def peer_joined(self) -> None:
        """Take a join notice."""
        self._take(Input.JOIN, 1)

    def _take(self, happened: Input, candidate_count: int) -> int:
        buffered = self.buffered
        reached = buffered >= self.threshold.at(self.share_number, candidate_count)
        self.demanded, shares = self.rules[happened, self.demanded, reached]
        if not shares:
            return 0
        self.buffered = 0
        self.shares_sent += 1
        if happened is Input.OBSERVATION or self.threshold.answers_advance:
            self.share_number += 1
        return buffered
