"""Rewards for decisions of other members: which are kept, have arrived, or are given up, and what is logged.

This file owns the rewards that are about to be kept, and the counts since the start. The outbox owns what is owed to
each member, and when to send it. This file does not know how a reward is written down or sent.
"""

import logging
from collections import deque
from collections.abc import Callable, Container, Sequence

from cobandit.agent import Agent
from cobandit.core.pen_names import lender_of
from cobandit.live.decide.decision import read
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.outbox import Outbox
from cobandit.values.errors import LocalError, NotNowError

GIVE_UP_EVERY = 3600.0
"""Seconds between two checks for rewards that will never be taken."""


class RewardsForOthers:
    """The rewards that one member keeps for others.

    Args:
        agent: Knows which members were ever met, and which are present.
        outbox: Where the rewards wait.
        alerts: Where their fate is reported.
        expire_after: Seconds of waiting after which rewards are given up.
        is_leaf: Whether this member knows only relays, so that any name may be a member's.
    """

    def __init__(
        self, agent: Agent, outbox: Outbox, alerts: Alerts, expire_after: float, *, is_leaf: bool = False
    ) -> None:
        self._agent, self._outbox, self._alerts, self._expire_after = agent, outbox, alerts, expire_after
        self._known: Container[str] = _Everybody() if is_leaf else agent.peers.heard_of
        self.goes_on: Callable[[str], bool] = lambda _: False
        """Whether rewards for a member are handed on to a relay (`routing.py`)."""
        self._offered: deque[tuple[str, str, float]] = deque()
        self._kept, self._gone = list[tuple[str, str, float]](), list[tuple[str, str]]()
        """The changes since the last batch."""
        self._give_up_at = 0.0
        self.brought = self.given_up = self.handed_on = 0
        """Counts since this start: delivered to their members, given up, and taken over by relays."""

    @property
    def are_offered(self) -> bool:
        """Whether there are rewards that the next step will keep."""
        return bool(self._offered)

    def offer(self, peer: str, token: str, reward: float) -> None:
        """Take a reward for a peer's decision, to be kept with the next step.

        Raises:
            NotNowError: Too many rewards wait already. Nothing changed.
        """
        self._outbox.check_room(peer, token, self._known, len(self._offered))
        self._offered.append((peer, token, reward))

    def keep(self, now: float) -> None:
        """Keep what was offered, and give up what has waited too long."""
        given_up: list[str] = []
        while self._offered:
            reward_for = self._offered.popleft()
            peer, token, _ = reward_for
            if not self._outbox.has_room_for(peer, token, self._known):
                given_up.append(peer)
            elif self._outbox.add_reward(*reward_for):
                self._kept.append(reward_for)
                if not self._agent.peers.is_present(peer) and not self.goes_on(peer):
                    self._say_waiting(peer)
        if self._kept:
            too_many = self._outbox.make_room(self._known)
            self._gone += too_many
            given_up += [peer for peer, _ in too_many]
        if now >= self._give_up_at:
            self._give_up_at = now + GIVE_UP_EVERY
            for peer in self._outbox.found_waiting:
                self._say_waiting(peer)
            gone = self._outbox.give_up(self._expire_after, now)
            self._gone += gone
            given_up += [peer for peer, _ in gone]
        self._count_given_up(given_up)

    def take_over(self, peer: str, token: str, reward: float) -> bool:
        """Keep a reward that another member hands on, in this step. Return whether there is room for it."""
        try:
            self._outbox.check_room(peer, token, self._known, len(self._offered))
        except NotNowError:
            return False
        if self._outbox.add_reward(peer, token, reward):
            self._kept.append((peer, token, reward))
        return True

    def arrived(self, peer: str, tokens: Sequence[str], number: int = 0) -> None:
        """Note that another member has rewards: for its own decisions, or, if it is a relay, to bring them on.

        Args:
            peer: The other member.
            tokens: The ids of the decisions.
            number: The number of the message that handed them on, if the peer says it.
        """
        taken = self._outbox.rewards_taken(peer, tokens)
        self.brought += len(taken)
        self._gone += [(peer, token) for token in taken]
        for token in tokens if self._agent.peers.is_relay(peer) else ():
            owner = _owner_of(token)
            if owner is not None and owner != peer and self._outbox.handed_on(owner, token, number):
                self.handed_on += 1
                self._gone.append((owner, token))

    def take_back(self, peer: str) -> list[tuple[str, float]]:
        """Stop bringing rewards to a peer. Return the remaining ones: ids and rewards."""
        self._offered, mine = (
            deque(one for one in self._offered if one[0] != peer),
            [one[1:] for one in self._offered if one[0] == peer],
        )
        waiting = [(token, reward) for name, token, reward in self._outbox.rewards if name == peer]
        self._gone += [(peer, token) for token in self._outbox.rewards_taken(peer, [token for token, _ in waiting])]
        return waiting + mine

    def take(self) -> tuple[tuple[tuple[str, str, float], ...], tuple[tuple[str, str], ...]]:
        """Return, for the batch, the rewards kept and the rewards gone since the last one."""
        kept, gone = tuple(self._kept), tuple(self._gone)
        self._kept, self._gone = [], []
        return kept, gone

    def _count_given_up(self, peers: list[str]) -> None:
        self.given_up += len(peers)
        for peer in dict.fromkeys(peers):
            self._say(
                logging.ERROR,
                LogEvent.REWARDS_GIVEN_UP,
                peer,
                "are given up, because their members did not come back: statistics().rewards_given_up counts them",
            )

    def _say_waiting(self, peer: str) -> None:
        after = f"given up after {_long(self._expire_after)}"
        self._say(
            logging.WARNING,
            LogEvent.REWARDS_WAIT,
            peer,
            f"wait here, for it does not take them: see that it runs. They are {after}",
        )

    def _say(self, level: int, event: LogEvent, peer: str, what: str) -> None:
        """Log something about a member's rewards: once for each known member, and once for all unknown names."""
        known = peer if peer in self._agent.peers.heard_of else None
        self._alerts.say_once(level, event, f"rewards for {known or 'a member that was never met'} {what}", known)


def _long(seconds: float) -> str:
    """Return how long that is, in the largest unit of which there are two.

    >>> _long(30 * 86400.0), _long(86400.0), _long(5400.0), _long(90.0), _long(0.5)
    ('30 days', '24 hours', '90 minutes', '90 seconds', '0.5 seconds')
    """
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds:.3g} seconds"


class _Everybody:
    """Contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


def counts_for(member: str) -> str:
    """Return the member that counts rewards for a member's decisions: for a pen, the relay that lent it."""
    return lender_of(member) or member


def _owner_of(token: str) -> str | None:
    """Return the member named in a token; `None` if it is no token."""
    try:
        return counts_for(read(token).member)
    except LocalError:
        return None
