"""One round of status questions: which members have answered, and which are awaited. Sends nothing and has no clock.

`cobandit.live.drive.rounds` decides when to ask again, and when a round is over.
"""

from collections.abc import Callable, Collection

from cobandit.live.machine.control_messages import MAX_STATUS, StatusPassedOn, StatusTold
from cobandit.live.status.fleet import Fleet, expected_of, fleet_of
from cobandit.live.status.parts import Parts
from cobandit.live.status.roles import Role
from cobandit.live.status.statistics import Statistics, decode_statistics
from cobandit.values.errors import PeerError

MOST_ANSWERS = 10_000
"""How many members one round listens to, and waits for."""

MAX_ROUND_BYTES = 256 * 2**20
"""Bytes of all answers in one round. Those of 500 members with a thousand arms and as many peers fit."""


class Answers:
    """What members say about themselves, in one round after another."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._told: dict[str, Statistics] = {}
        self._parts = Parts(MAX_STATUS)
        self._wanted: set[str] = set()
        """The members that are awaited and have not answered."""
        self._believes = True
        """Whether to wait also for members that others take to be present."""
        self._asked: frozenset[str] | None = None
        """The members that were asked. `None` for a guest, which knows nobody."""
        self._bytes = 0
        """The size of all answers in this round."""
        self._is_listening = False
        self.has_ended = False
        """Whether rounds are over for good."""
        self.on_news: Callable[[], None] = lambda: None
        """Called when a member answers for the first time in a round, and at the end."""

    def end(self) -> None:
        """End the current round with the answers so far, and every further round at once."""
        self.has_ended = True
        self.on_news()

    def take(self, message: StatusTold) -> None:
        """Take an answer, or a part of one. An answer that is not awaited is dropped unread.

        Raises:
            PeerError: It cannot be read, or belongs to another member or group.
        """
        statistics = self._read(message)
        if statistics is None:
            return
        if statistics.name != message.sender:
            raise PeerError(f"{message.sender} told how {statistics.name} is")
        self._take_answer(statistics)

    def take_passed_on(self, message: StatusPassedOn) -> None:
        """Take another member's status from a relay that was asked. A member's own answer takes precedence.

        Raises:
            PeerError: It cannot be read, or belongs to another group.
        """
        statistics = self._read(message)
        if statistics is not None and statistics.name not in self._told:
            self._take_answer(statistics)

    def _read(self, message: StatusTold | StatusPassedOn) -> Statistics | None:
        """Return the content of an answer; `None` if it is not awaited."""
        if not self._is_listening or (len(self._told) >= MOST_ANSWERS and message.sender not in self._told):
            return None
        if self._asked is not None and message.sender not in self._asked:
            return None  # it was not asked
        self._bytes += len(message.statistics)
        if self._bytes > MAX_ROUND_BYTES:
            return None
        content = self._parts.add(message.sender, message.statistics)
        if content is None:
            return None
        statistics = decode_statistics(content)
        if statistics.group != self._group:
            raise PeerError(f"{message.sender} told how it is in group {statistics.group!r}")
        return statistics

    def _take_answer(self, statistics: Statistics) -> None:
        before = self._told.get(statistics.name)
        if before is None:
            self.on_news()
        elif _speaks_for_it(before) > _speaks_for_it(statistics):
            return  # two processes run under one name, and the other one speaks for it
        self._take(statistics)

    def begin(self, expected: Collection[str], own: Statistics | None) -> None:
        """Begin a round: listen from now on.

        Args:
            expected: The members whose answers complete the round.
            own: The asker's own status, if it is a member.
        """
        self._asked = None if own is None else frozenset(expected_of(own))
        self._bytes = 0
        self._parts.clear()
        # A leaf knows only its relays, and believes them about who else is present.
        self._believes = own is None or own.role is Role.LEAF
        self._told, self._wanted = {}, {*expected, *(self._asked or ())}
        if own is not None:
            self._take(own)
        self._is_listening = True

    def close(self) -> None:
        """Stop listening."""
        self._is_listening = False

    @property
    def has_all(self) -> bool:
        """Whether at least one member has answered, and none is still awaited."""
        return bool(self._told) and not self._wanted

    @property
    def answered(self) -> Collection[str]:
        """The members that have answered."""
        return self._told.keys()

    def fleet(self) -> Fleet:
        """Return the fleet as the answers describe it."""
        return fleet_of(self._group, self._told.values(), None if self._believes else self._asked)

    def _take(self, statistics: Statistics) -> None:
        self._told[statistics.name] = statistics
        self._wanted.discard(statistics.name)
        if self._believes and len(self._wanted) < MOST_ANSWERS:
            self._wanted |= expected_of(statistics) - self._told.keys()


def _speaks_for_it(statistics: Statistics) -> tuple[bool, int]:
    return not statistics.is_superseded, statistics.incarnation
