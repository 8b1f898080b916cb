"""What one agent owes its peers where messages may be lost, and when it checks that again.

Four things are repeated until they are acknowledged. The first is the last share, because it is also the request for
the peer's. It is repeated only when a buffer is full again, so that a repetition has as much to say as a share. The
other three do not wait for that, because they are *urgent*: the arms that this agent has eliminated itself, what
earlier incarnations observed (its own and the peer's), and its presence, once it has announced it. A relay also owes
what others observed.

An agent's observations need no repetition as long as it keeps observing: the next share carries everything that was not
acknowledged. The agent checks its waits with every observation. It must be woken only if it has observed nothing for a
long time.

Where no message is lost, links have no `Retransmit`, nothing is ever owed, and no agent needs to be woken.
"""

import math
from collections.abc import Callable, Iterator

from cobandit.core.candidates import Candidates
from cobandit.core.facts import CellKey, EliminationsKey, Fact, PresenceKey, SettledKey, TotalKey
from cobandit.core.link import Link
from cobandit.core.messages import AgentId
from cobandit.core.replica import Replica
from cobandit.core.retransmit import Phase, Retransmit, RetryTimers
from cobandit.values.checks import check_time


class Agenda:
    """One agent's waits and debts."""

    def __init__(
        self, timers: RetryTimers | None, replica: Replica, candidates: Candidates, links: dict[AgentId, Link]
    ) -> None:
        self.last_observed: float | None = None
        self.wake_at: float | None = None
        self.own_eliminated_at = 0
        """The number of the log at which this agent last eliminated an arm itself, and did not only follow others."""
        self._tick = math.inf if timers is None else timers.tick
        self._replica = replica
        self._candidates = candidates
        self._links = links
        self._next_retry = math.inf if timers is None else -math.inf
        """No wait for a peer is over before this. It may be too early, never too late."""
        self.latest: float | None = None
        """The time of the last input."""

    def look(self, now: float) -> None:
        """Take the time. If the clock went back, waits computed before that are no longer trusted."""
        check_time(now)
        if self.latest is not None and now < self.latest and self._tick < math.inf:
            self._next_retry = -math.inf
            if self.last_observed is not None:
                self.last_observed = min(self.last_observed, now)
            if self.wake_at is not None:
                self.wake_at = min(self.wake_at, now + self._tick)
        self.latest = now

    def standing(self) -> tuple[object, ...]:
        """Return the timer's state as one value to compare."""
        return self.wake_at, self._next_retry, self.own_eliminated_at

    # What is owed.

    def owes(self, link: Link) -> bool:
        """Return whether the peer must acknowledge something."""
        if link.retransmit is None:
            return False
        if not link.peer.is_present:  # it may be back already, and its notice under way or lost
            return not link.is_gone and self._replica.number_of(PresenceKey(link.owner.agent)) > link.acknowledged
        is_waiting = link.retransmit.phase is Phase.WAITING and not self._candidates.are_settled(link.peer)
        return is_waiting or link.urgent > link.acknowledged

    def has_unsaid(self, link: Link) -> bool:
        """Return whether the peer can use observations that it has not acknowledged."""
        if not link.peer.is_present or self._candidates.are_settled(link.peer):
            return False
        wanted = self._replica.wanted(link.acknowledged, link.wants, link.told_of)
        return any(isinstance(fact.key, CellKey | TotalKey | SettledKey) for fact in wanted)

    def find_urgent(self, link: Link, *, is_met_now: bool = False) -> None:
        """Find the number of the log up to which something is urgent for a peer.

        A peer met for the first time knows that this agent is here, or will ask: the presence waits for the next share.
        """
        wanted = self._replica.wanted(0, link.wants, link.told_of)
        facts = (fact for fact in wanted if not (is_met_now and isinstance(fact.key, PresenceKey)))
        link.urgent = max(map(self._urgency, facts), default=0)

    def _urgency(self, fact: Fact) -> int:
        """Return the number of the last change of a fact that does not wait for a full buffer."""
        if isinstance(fact.key, EliminationsKey):
            return self.own_eliminated_at  # other agents announce their own eliminations
        present = (self._replica.agent, self._replica.incarnation)
        return 0 if isinstance(fact.key, CellKey | SettledKey) and fact.key[:2] == present else fact.number

    # When to check it.

    def expect(self, link: Link, now: float) -> None:
        """Give the peer the usual time to acknowledge something new; a wait that is under way continues."""
        if link.retransmit is not None:
            if link.retransmit.retry_at <= now:
                link.retransmit.expect(now)
            self.schedule(link)

    def expect_from_all(self, now: float) -> None:
        """Give every peer the usual time to acknowledge something new."""
        for link in self._links.values():
            self.expect(link, now)

    def schedule(self, link: Link) -> None:
        """Note that something is expected from a peer."""
        if link.retransmit is not None:
            self._next_retry = min(self._next_retry, link.retransmit.retry_at)
            self._wake_by(self._flush_at(link, link.retransmit))

    def schedule_if_needed(self, link: Link) -> None:
        """Note that something is expected from a peer, if anything is."""
        if link.retransmit is not None and (self.owes(link) or self.has_unsaid(link)):
            self.schedule(link)

    def observed(self, now: float) -> Iterator[Link]:
        """Handle an observation. Yield the links on which the last share is repeated now.

        A share is repeated only if there is as much to say as a share must have. So apart from urgent facts and idle
        times, an agent never speaks unprompted more often than its buffers fill.
        """
        self.last_observed = now
        self.wake_at = None if self._tick == math.inf else now + self._tick
        if now < self._next_retry:
            return
        self._next_retry = math.inf
        for link, retransmit in self._retransmitting(self.owes):
            if retransmit.is_over(now) and self._is_worth_it(link, retransmit):
                yield link
            self._next_retry = min(self._next_retry, retransmit.retry_at)

    def woken(self, now: float) -> Iterator[Link]:
        """Handle the timer. Yield the links on which the last share is repeated now, because nothing is observed."""
        self.wake_at = None
        for link, retransmit in self._retransmitting(lambda one: self.owes(one) or self.has_unsaid(one)):
            if now >= self._flush_at(link, retransmit) or now < retransmit.sent_at:
                yield link
            self._wake_by(self._flush_at(link, retransmit))

    def _is_worth_it(self, link: Link, retransmit: Retransmit) -> bool:
        if link.urgent > link.acknowledged or not link.peer.is_present:
            return True
        is_unseen = retransmit.phase is Phase.WAITING and not self._candidates.are_settled(link.peer)
        return is_unseen and link.exchange.has_reached(self._candidates.count)

    def _retransmitting(self, is_meant: Callable[[Link], bool]) -> Iterator[tuple[Link, Retransmit]]:
        for link in self._links.values():
            if link.retransmit is not None and is_meant(link):
                yield link, link.retransmit

    def _flush_at(self, link: Link, retransmit: Retransmit) -> float:
        """Return when an agent that observes nothing repeats what a peer has not acknowledged.

        A relay tells a newcomer at once what others have observed, and again as soon as the wait is over. It tells a
        quiet peer after one tick; the waits grow only if that is not acknowledged.
        """
        if link.owner.is_relay and link.urgent > link.acknowledged:
            return retransmit.retry_at
        if link.owner.is_relay and not (retransmit.attempts and retransmit.in_flight):
            return retransmit.sent_at + self._tick  # the peer answers when it has observed enough, which may be never
        quiet_since = retransmit.sent_at
        if self.last_observed is not None:
            quiet_since = max(quiet_since, self.last_observed)
        return max(retransmit.retry_at, quiet_since + self._tick)

    def flush_by(self, now: float) -> None:
        """Make sure that leaves that ask for nothing hear within one tick what others observed."""
        if self._tick < math.inf:
            self._wake_by(now + self._tick)

    def _wake_by(self, time: float) -> None:
        self.wake_at = time if self.wake_at is None else min(self.wake_at, time)
