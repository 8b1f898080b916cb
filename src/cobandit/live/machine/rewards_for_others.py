"""Rewards for other members' decisions: which are kept, which have arrived, which are given up, and what is said of it.

This file owns the rewards that are about to be kept, and the counts since the start. What is owed to whom, and when to
send it, is for the outbox. It does not know how a reward is written down or sent.
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
"""Seconds between two looks for rewards that nobody will ever take."""


class RewardsForOthers:
    """One member's rewards for others.

    Args:
        agent: Knows who was ever met, and who is here.
        outbox: Where they wait.
        alerts: Where it is told what becomes of them.
        expire_after: Those that have waited for so many seconds are given up.
        is_leaf: Whether this member knows nobody but relays, so that any name may be a member's.
    """

    def __init__(
        self, agent: Agent, outbox: Outbox, alerts: Alerts, expire_after: float, *, is_leaf: bool = False
    ) -> None:
        self._agent, self._outbox, self._alerts, self._expire_after = agent, outbox, alerts, expire_after
        self._known: Container[str] = _Everybody() if is_leaf else agent.peers.heard_of
        self.goes_on: Callable[[str], bool] = lambda _: False
        """Whether a reward for a member is handed on to a relay (`routing.py`)."""
        self._offered: deque[tuple[str, str, float]] = deque()
        self._kept, self._gone = list[tuple[str, str, float]](), list[tuple[str, str]]()
        """Since the last batch."""
        self._give_up_at = 0.0
        self.brought = self.given_up = self.handed_on = 0
        """Since this start: taken by those whose decisions they are for, never to be, and taken over by relays."""

    @property
    def are_offered(self) -> bool:
        """Whether there are some that the next step will keep."""
        return bool(self._offered)

    def offer(self, peer: str, token: str, reward: float) -> None:
        """Take a reward for a peer's decision, to be kept with the next step.

        Raises:
            NotNowError: Too many wait already. Nothing changed.
        """
        self._outbox.check_room(peer, token, self._known, len(self._offered))
        self._offered.append((peer, token, reward))

    def keep(self, now: float) -> None:
        """Keep what was offered, and give up what nobody has come for."""
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
        """Keep a reward that another member hands on, with this step. Return whether there is room for it."""
        try:
            self._outbox.check_room(peer, token, self._known, len(self._offered))
        except NotNowError:
            return False
        if self._outbox.add_reward(peer, token, reward):
            self._kept.append((peer, token, reward))
        return True

    def arrived(self, peer: str, tokens: Sequence[str], number: int = 0) -> None:
        """Note that another member has these rewards: for its decisions; or, if it is a relay, to bring them on.

        Args:
            peer: Who it is.
            tokens: The ids of their decisions.
            number: Of the message that handed them on, if the peer says it.
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
        """Bring a peer nothing more. Return what would have been brought: ids and rewards."""
        self._offered, mine = (
            deque(one for one in self._offered if one[0] != peer),
            [one[1:] for one in self._offered if one[0] == peer],
        )
        waiting = [(token, reward) for name, token, reward in self._outbox.rewards if name == peer]
        self._gone += [(peer, token) for token in self._outbox.rewards_taken(peer, [token for token, _ in waiting])]
        return waiting + mine

    def take(self) -> tuple[tuple[tuple[str, str, float], ...], tuple[tuple[str, str], ...]]:
        """Return, for the batch, which were kept and which are gone since the last one."""
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
        after = f"given up after {self._expire_after:g} seconds"
        self._say(
            logging.WARNING,
            LogEvent.REWARDS_WAIT,
            peer,
            f"wait here, for it does not take them: see that it runs. They are {after}",
        )

    def _say(self, level: int, event: LogEvent, peer: str, what: str) -> None:
        """Say something of the rewards for a member: once for each that is known, and once for all that are made up."""
        known = peer if peer in self._agent.peers.heard_of else None
        self._alerts.say_once(level, event, f"rewards for {known or 'a member that was never met'} {what}", known)


class _Everybody:
    """Contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


def counts_for(member: str) -> str:
    """Return to whom rewards for a member's decisions go: of a pen, to the relay that lent it."""
    return lender_of(member) or member


def _owner_of(token: str) -> str | None:
    """Return whose decision a token names; `None` if it is no token."""
    try:
        return counts_for(read(token).member)
    except LocalError:
        return None
