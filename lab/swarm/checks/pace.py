"""Invariant 5: repetitions come ever more seldom, so an agent that is gone costs O(log N) messages.

And nobody answers repetitions with repetitions for ever: a conversation in which nothing fresh is said ends soon.
"""

from cobandit.core import AgentId
from cobandit.core.retransmit import RetryTimers

LONGEST_CHAIN = 5
"""How many messages without a fresh share may follow from one another, answer upon answer. Three, as a rule; more if a
receiver restarted in between."""

_ROUNDING = 1e-6


class Pace:
    """Watches when one agent says something again on its own accord to one other.

    After the k-th repetition without a word from the peer, the next one comes min(least growth^k, longest) later at the
    earliest. So within N units of time there are at most about log(N / least) / log(growth) of them, and then one every
    `longest`.
    """

    __slots__ = ("_repetitions", "_said_at", "_timers")

    def __init__(self, timers: RetryTimers) -> None:
        self._timers = timers
        self._repetitions = 0
        self._said_at: float | None = None

    def begin(self, said_at: float | None = None) -> None:
        """Begin anew: with a fresh share at some time, or because something changed."""
        self._said_at, self._repetitions = said_at, 0

    def repeat(self, sender: AgentId, receiver: AgentId, now: float) -> list[str]:
        """Take a repetition. Return whether it came too early."""
        said_at, repetitions, timers = self._said_at, self._repetitions, self._timers
        self._said_at, self._repetitions = now, repetitions + 1
        if said_at is None:
            return []
        least = min(timers.least * timers.growth**repetitions, timers.longest)
        if now - said_at >= least - _ROUNDING:
            return []
        waited = f"{sender} repeated itself to {receiver} after {now - said_at:g}"
        return [f"{waited}, for time {repetitions + 1} without a word from it: the wait must be {least:g}"]


def endless_chain(length: int) -> list[str]:
    """Return whether messages follow from one another for too long, with nothing fresh in them."""
    if length <= LONGEST_CHAIN:
        return []
    return [f"{length} messages followed from one another, and nothing in them was fresh"]
