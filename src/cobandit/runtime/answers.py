"""One round of "how are you": who has answered, when to ask again, and when it is over. It sends nothing itself."""

import asyncio
from collections.abc import Callable, Collection

from cobandit.runtime.fleet import Fleet, fleet_of
from cobandit.runtime.letters import StatusTold
from cobandit.runtime.statistics import Statistics, decode_statistics
from cobandit.values.errors import PeerError

ASK_AGAIN_EVERY = 0.3
"""Seconds; the network may have lost the question, or the answer."""

MOST_ANSWERS = 10_000
"""Members that are listened to in one round, and that are waited for."""


class Answers:
    """What members say of themselves, in one round after another."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._told: dict[str, Statistics] = {}
        self._wanted: set[str] = set()
        """Who has not answered and is waited for."""
        self._believes = True
        """Whether those are waited for, too, whom others take to be present."""
        self._came = asyncio.Event()
        self._is_listening = False
        self._has_ended = False

    def end(self) -> None:
        """End the round that is under way, with what was told so far, and every further one at once."""
        self._has_ended = True
        self._came.set()

    def take(self, letter: StatusTold) -> None:
        """Take an answer. One that nobody waits for is dropped unread.

        Raises:
            PeerError: It cannot be read, or is another member's or another group's.
        """
        if not self._is_listening or (len(self._told) >= MOST_ANSWERS and letter.sender not in self._told):
            return
        statistics = decode_statistics(letter.statistics)
        if statistics.name != letter.sender:
            raise PeerError(f"{letter.sender} told how {statistics.name} is")
        if statistics.group != self._group:
            raise PeerError(f"{letter.sender} told how it is in group {statistics.group!r}")
        before = self._told.get(letter.sender)
        if before is None:
            self._came.set()
        elif _speaks_for_it(before) > _speaks_for_it(statistics):
            return  # two processes run under one name, and the other one speaks for it
        self._take(statistics)

    async def collect(
        self,
        ask: Callable[[Collection[str]], None],
        wait_s: float,
        *,
        quiet_s: float,
        expected: Collection[str] = (),
        own: Statistics | None = None,
    ) -> Fleet:
        """Ask, ask again, and return what was told.

        It returns early if everybody has answered who is expected: for a member, those whom it takes to be present
        itself; for a guest, who knows nobody, those whom a member takes to be present.

        Args:
            ask: Asks everybody but those who have answered.
            wait_s: How long to wait at most.
            quiet_s: When everybody known has answered, this long without another answer is enough.
            expected: Who else must have answered before it returns early.
            own: How the asker itself is, if it is a member.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        deadline, ask_again_at = now + wait_s, now + ASK_AGAIN_EVERY
        asked = None if own is None else frozenset(peer.name for peer in own.peers if peer.is_present)
        self._told, self._wanted, self._believes = {}, {*expected, *(asked or ())}, own is None
        if own is not None:
            self._take(own)
        self._is_listening = True
        try:
            ask(self._told.keys())
            while (now := loop.time()) < deadline and not self._has_ended:
                has_all = bool(self._told) and not self._wanted
                if has_all and not quiet_s:
                    break
                if now >= ask_again_at and not has_all:
                    ask(self._told.keys())
                    ask_again_at = now + ASK_AGAIN_EVERY
                self._came.clear()
                try:
                    async with asyncio.timeout(min(deadline - now, quiet_s if has_all else ASK_AGAIN_EVERY)):
                        await self._came.wait()
                except TimeoutError:
                    if has_all:
                        break
        finally:
            self._is_listening = False
        return fleet_of(self._group, self._told.values(), asked)

    def _take(self, statistics: Statistics) -> None:
        self._told[statistics.name] = statistics
        self._wanted.discard(statistics.name)
        if self._believes and len(self._wanted) < MOST_ANSWERS:
            self._wanted |= {peer.name for peer in statistics.peers if peer.is_present} - self._told.keys()


def _speaks_for_it(statistics: Statistics) -> tuple[bool, int]:
    return not statistics.is_superseded, statistics.incarnation
