"""When to talk: one directed pair of agents. This is the machine of Algorithm 1, and nothing else.

Two rules hold here. Everything that changes a pair's state is in this file. And this file does not know who is fast
and who is slow, what is in a buffer, or who the peer is: it counts.

From the paper's symbols to names, for the direction from agent j to agent p:

    E^(j->p)          demanded        the peer has asked for a share, by sending one
    sum_i b_n(i)      buffered        observations made since the last share to the peer
    c^(j->p)          c               1 before the first share
    f(c)              threshold       how much must be buffered before the next share

What it does with an input is looked up in a table: Algorithm 1's is in `protocols/on_demand.py`, and other protocols
are other tables over the same machine. "Reached" means buffered >= f(c), the observation at hand included. A share
renews the buffer and moves c on. What options of a threshold change for answers is in `thresholds.py`.
"""

from typing import NamedTuple

from cobandit.core.protocols.rules import Input, Rules
from cobandit.core.retransmit import RetryTimers
from cobandit.core.state import ExchangeState
from cobandit.core.thresholds import Threshold, answers_wait


class Sharing(NamedTuple):
    """How an agent communicates: which table it follows, and how much a buffer must hold."""

    rules: Rules
    threshold: Threshold
    retry: RetryTimers | None = None
    """When to repeat what may have been lost; `None` to trust the network, as the paper does."""
    literal_notices: bool = False
    """Whether an elimination is announced only to agents that have the arm (Algorithm 5, line 9), and not to all that
    have any arm in common. Pairs with different arms may then never fall silent."""
    forwards: bool = False
    """Whether a relay passes on to other relays what a relay has told it: where not all of them are neighbours."""

    def __repr__(self) -> str:
        retry = "" if self.retry is None else f", {self.retry!r}"
        more = ", literal_notices=True" * self.literal_notices + ", forwards=True" * self.forwards
        return f"{self.rules.name}({self.threshold!r}{retry}{more})"


class Exchange:
    """The state of one directed pair: is a share demanded, how much is buffered, which share comes next.

    Nobody else writes it. The first four methods are the table's inputs; the others are what a network that loses
    messages and agents that restart bring with them.
    """

    __slots__ = ("answers_wait", "buffered", "c", "demanded", "rules", "shares_sent", "threshold")

    def __init__(self, sharing: Sharing, *, buffered: int = 0, threshold: Threshold | None = None) -> None:
        self.rules = sharing.rules
        self.threshold = sharing.threshold if threshold is None else threshold
        self.answers_wait = answers_wait(self.threshold)
        self.demanded = True  # Algorithm 1, line 1: everyone may send a first share
        self.buffered = buffered
        self.c = 1
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

    def peer_left(self) -> None:
        """Take a leave notice."""
        self._take(Input.LEAVE, 1)

    def peer_joined(self) -> None:
        """Take a join notice."""
        self._take(Input.JOIN, 1)

    def put_off(self) -> None:
        """Take a share of the peer that is not answered now, however much is buffered. The demand stands."""
        self.demanded = True

    def ask(self) -> None:
        """Share nothing, and ask for the peer's, as a relay does: it observes nothing, so the peer's pace decides."""
        self.demanded, self.shares_sent = False, self.shares_sent + 1

    def has_reached(self, candidate_count: int) -> bool:
        """Return whether the buffer holds enough for a share, whether or not one is demanded."""
        return self.buffered >= self.threshold.at(self.c, candidate_count)

    def repeat(self, candidate_count: int) -> None:
        """Everything is sent without being demanded. If it is enough for a share, c moves on."""
        self.c += self.has_reached(candidate_count)
        self.buffered = 0

    def renew(self, buffered: int) -> None:
        """Begin the buffer anew: what the peer can use, or whose observations these are, has changed."""
        self.buffered = buffered

    def start_again(self) -> None:
        """Count shares from the first again, because a period has begun: a large threshold would delay what is new."""
        self.c = 1

    def skip_to(self, shares_sent: int) -> None:
        """Go on above a share number that the peer has seen, if this agent has forgotten that it sent as many."""
        self.shares_sent = max(self.shares_sent, shares_sent)

    def state(self) -> ExchangeState:
        """Return where the pair stands."""
        return ExchangeState(self.demanded, self.buffered, self.c, self.shares_sent)

    def restore(self, state: ExchangeState) -> None:
        """Take over what `state` returned."""
        self.demanded, self.buffered, self.c, self.shares_sent = state

    def _take(self, happened: Input, candidate_count: int) -> int:
        buffered, is_answer = self.buffered, happened is Input.SHARE
        least = 1 if is_answer and not self.answers_wait else self.threshold.at(self.c, candidate_count)
        self.demanded, shares = self.rules[happened, self.demanded, buffered >= least]
        if not shares:
            return 0
        self.buffered = 0
        self.shares_sent += 1
        if happened is Input.OBSERVATION or self.threshold.answers_advance:
            self.c += 1
        return buffered
