"""When to talk: one directed pair of agents. This is the state machine of Algorithm 1, and nothing else.

Two rules hold. Everything that changes a pair's state is in this file. And this file does not know which agent is fast
or slow, what is in a buffer, or who the peer is: it only counts.

From the paper's symbols to names, for the direction from agent j to agent p:

    E^(j->p)          demanded        the peer has asked for a share, by sending one
    sum_i b_n(i)      buffered        observations made since the last share to the peer
    c^(j->p)          c               1 before the first share
    f(c)              threshold       how much must be buffered before the next share

A table decides what each input does. The table of Algorithm 1 is in `protocols/on_demand.py`; other protocols are other
tables for the same machine. "Reached" means buffered >= f(c), including the current observation. A share empties the
buffer and advances c. A threshold may have options that treat answers differently (`thresholds.py`).
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
    """Whether a relay passes on to other relays what a relay has told it: where not all relays are neighbours."""

    def __repr__(self) -> str:
        retry = "" if self.retry is None else f", {self.retry!r}"
        more = ", literal_notices=True" * self.literal_notices + ", forwards=True" * self.forwards
        return f"{self.rules.name}({self.threshold!r}{retry}{more})"


class Exchange:
    """The state of one directed pair: whether a share is demanded, how much is buffered, which share comes next.

    No other class writes it. The first four methods are the table's inputs. The others are needed where a network loses
    messages or agents restart.
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
        """Add own observations that the peer can use. Return how many to share now: the whole buffer, or none.

        Several at once go into one share: no answer can come between them, so there is only one demand to meet.
        """
        self.buffered += observations
        return self._take(Input.OBSERVATION, candidate_count)

    def share_received(self, candidate_count: int) -> int:
        """Handle a share from the peer. Return how many observations to answer with: the whole buffer, or none."""
        return self._take(Input.SHARE, candidate_count)

    def peer_left(self) -> None:
        """Handle a leave notice."""
        self._take(Input.LEAVE, 1)

    def peer_joined(self) -> None:
        """Handle a join notice."""
        self._take(Input.JOIN, 1)

    def put_off(self) -> None:
        """Handle a share from the peer without answering it now, however much is buffered. The demand stands."""
        self.demanded = True

    def ask(self) -> None:
        """Ask for the peer's share with nothing buffered. Relays observe nothing, so the peer sets the pace."""
        self.demanded, self.shares_sent = False, self.shares_sent + 1

    def has_reached(self, candidate_count: int) -> bool:
        """Return whether the buffer holds enough for a share, whether or not one is demanded."""
        return self.buffered >= self.threshold.at(self.c, candidate_count)

    def repeat(self, candidate_count: int) -> None:
        """Note that everything is sent without a demand. If it was enough for a share, c advances."""
        self.c += self.has_reached(candidate_count)
        self.buffered = 0

    def renew(self, buffered: int) -> None:
        """Reset the buffer, because what the peer can use, or the incarnation that observes, has changed."""
        self.buffered = buffered

    def start_again(self) -> None:
        """Reset c, because a period has begun: a large threshold would delay what is new."""
        self.c = 1

    def skip_to(self, shares_sent: int) -> None:
        """Continue above a share number that the peer has seen, if this agent has forgotten that it sent so many."""
        self.shares_sent = max(self.shares_sent, shares_sent)

    def state(self) -> ExchangeState:
        """Return the pair's state."""
        return ExchangeState(self.demanded, self.buffered, self.c, self.shares_sent)

    def restore(self, state: ExchangeState) -> None:
        """Restore what `state` returned."""
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
