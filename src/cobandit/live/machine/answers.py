"""One round of "how are you": who has answered, and who is waited for. It sends nothing itself, and has no clock.

When to ask again, and when it is over, is for `cobandit.live.drive.rounds`.
"""

from collections.abc import Callable, Collection

from cobandit.live.machine.control_messages import MAX_STATUS, StatusPassedOn, StatusTold
from cobandit.live.status.fleet import Fleet, expected_of, fleet_of
from cobandit.live.status.parts import Parts
from cobandit.live.status.roles import Role
from cobandit.live.status.statistics import Statistics, decode_statistics
from cobandit.values.errors import PeerError

MOST_ANSWERS = 10_000
"""Members that are listened to in one round, and that are waited for."""

MAX_ROUND_BYTES = 256 * 2**20
"""Of all answers of one round: those of five hundred members with a thousand arms and as many peers fit."""


class Answers:
    """What members say of themselves, in one round after another."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._told: dict[str, Statistics] = {}
        self._parts = Parts(MAX_STATUS)
        self._wanted: set[str] = set()
        """Who has not answered and is waited for."""
        self._believes = True
        """Whether those are waited for, too, whom others take to be present."""
        self._asked: frozenset[str] | None = None
        """Whom a member asks. A guest knows nobody."""
        self._bytes = 0
        """What was said in this round."""
        self._is_listening = False
        self.has_ended = False
        """Whether there is no round any more."""
        self.on_news: Callable[[], None] = lambda: None
        """Called when somebody has answered who had not before, and at the end."""

    def end(self) -> None:
        """End the round that is under way, with what was told so far, and every further one at once."""
        self.has_ended = True
        self.on_news()

    def take(self, message: StatusTold) -> None:
        """Take an answer, or a part of one. One that nobody waits for is dropped unread.

        Raises:
            PeerError: It cannot be read, or is another member's or another group's.
        """
        statistics = self._read(message)
        if statistics is None:
            return
        if statistics.name != message.sender:
            raise PeerError(f"{message.sender} told how {statistics.name} is")
        self._take_answer(statistics)

    def take_passed_on(self, message: StatusPassedOn) -> None:
        """Take how another member is, from a relay that was asked. What a member says of itself counts more.

        Raises:
            PeerError: It cannot be read, or is of another group.
        """
        statistics = self._read(message)
        if statistics is not None and statistics.name not in self._told:
            self._take_answer(statistics)

    def _read(self, message: StatusTold | StatusPassedOn) -> Statistics | None:
        """Return what is in an answer; `None` if nobody waits for it."""
        if not self._is_listening or (len(self._told) >= MOST_ANSWERS and message.sender not in self._told):
            return None
        if self._asked is not None and message.sender not in self._asked:
            return None  # nobody has asked it
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
            expected: Who must have answered before all have.
            own: How the asker itself is, if it is a member.
        """
        self._asked = None if own is None else frozenset(expected_of(own))
        self._bytes = 0
        self._parts.clear()
        # A leaf knows its relays only, and takes their word for who else is here.
        self._believes = own is None or own.role is Role.LEAF
        self._told, self._wanted = {}, {*expected, *(self._asked or ())}
        if own is not None:
            self._take(own)
        self._is_listening = True

    def close(self) -> None:
        """Listen no more."""
        self._is_listening = False

    @property
    def has_all(self) -> bool:
        """Whether somebody has answered, and nobody else is waited for."""
        return bool(self._told) and not self._wanted

    @property
    def answered(self) -> Collection[str]:
        """Who has answered."""
        return self._told.keys()

    def fleet(self) -> Fleet:
        """Return what was told."""
        return fleet_of(self._group, self._told.values(), None if self._believes else self._asked)

    def _take(self, statistics: Statistics) -> None:
        self._told[statistics.name] = statistics
        self._wanted.discard(statistics.name)
        if self._believes and len(self._wanted) < MOST_ANSWERS:
            self._wanted |= expected_of(statistics) - self._told.keys()


def _speaks_for_it(statistics: Statistics) -> tuple[bool, int]:
    return not statistics.is_superseded, statistics.incarnation
