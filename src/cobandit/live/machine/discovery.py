"""Members that are not known yet: which may be answered, and which must be greeted again. Sends nothing itself."""

from collections.abc import Container, Iterator

from cobandit.values.allowance import Allowance

ANSWER_EVERY = 1.0
"""Seconds: no sender is answered more often."""

TELL_EVERY = 0.5
"""The same for status. An asker that asks again sooner waits this long for its answer, so rounds are less frequent."""

MAX_ANSWERS_AT_ONCE, MAX_ANSWERS_PER_SECOND = 1024, 64
"""Answers to all non-members together, because names are easily made up. A fleet may start at once."""

MAX_TOLD_AT_ONCE, MAX_TOLD_PER_SECOND = 128, 16
"""The same for status, which may be long."""

FIRST_GREETING, LONGEST_BETWEEN_GREETINGS = 2.0, 600.0
"""Seconds. The pause doubles from the first to the second. The greetings of both sides may be lost."""

MOST_STRANGERS = 10_000
"""How many strangers are remembered."""


class Discovery:
    """The members that were heard or reached, and have not introduced themselves."""

    def __init__(self) -> None:
        self._answered = _Pace(ANSWER_EVERY, Allowance(MAX_ANSWERS_PER_SECOND, MAX_ANSWERS_AT_ONCE))
        self._told = _Pace(TELL_EVERY, Allowance(MAX_TOLD_PER_SECOND, MAX_TOLD_AT_ONCE))
        """Separate, so that frequent status questions do not cost the asker its answer to a greeting."""
        self._shown = _Pace(ANSWER_EVERY, Allowance(MAX_ANSWERS_PER_SECOND, MAX_ANSWERS_AT_ONCE))
        """Separate for the same reason: a leaf looks for relays, and greets the one that it chooses."""
        self._unmet: dict[str, tuple[float, float]] = {}
        """Members that can be reached but have not said who they are: when to greet each again, and the present
        pause."""
        self.newcomers = set[str]()
        """Peers that answered that they have just started themselves, and so do not know earlier settings either."""
        self.waiting = dict[str, tuple[int, int]]()
        """Leaves that got such an answer, with session and notice of their hello. They wait for a better one."""

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The members that can be reached but have not said who they are."""
        return tuple(self._unmet)

    def may_answer(self, who: str, now: float, *, is_member: bool = False) -> bool:
        """Return whether to answer a sender now, given the limits."""
        return self._answered.is_time(who, now, is_member=is_member)

    def may_tell(self, who: str, now: float, *, is_member: bool = False) -> bool:
        """Return whether to send a status to an asker now."""
        return self._told.is_time(who, now, is_member=is_member)

    def may_show(self, who: str, now: float) -> bool:
        """Return whether to answer a leaf that looks for relays now."""
        return self._shown.is_time(who, now, is_member=False)

    def greeted(self, peer: str, now: float) -> None:
        """Note that a reachable peer was greeted."""
        if len(self._unmet) < MOST_STRANGERS:
            self._unmet[peer] = (now + FIRST_GREETING, FIRST_GREETING)

    def due_at(self) -> float | None:
        """Return when the next peer must be greeted again."""
        return min((at for at, _ in self._unmet.values()), default=None)

    def due(self, known: Container[str], now: float) -> Iterator[str]:
        """Return the peers to greet now, and note that they are greeted. Known peers are dropped here."""
        for peer, (at, pause) in tuple(self._unmet.items()):
            if peer in known:
                del self._unmet[peer]
            elif now >= at:
                longer = min(2.0 * pause, LONGEST_BETWEEN_GREETINGS)
                self._unmet[peer] = (now + longer, longer)
                yield peer


class _Pace:
    """How often each sender is answered, and how often all strangers together are."""

    def __init__(self, every_s: float, for_strangers: Allowance) -> None:
        self._every_s, self._for_strangers = every_s, for_strangers
        self._last: dict[str, float] = {}
        """Ordered by time: the most recently answered is last."""

    def is_time(self, who: str, now: float, *, is_member: bool) -> bool:
        if 0.0 <= now - self._last.get(who, -self._every_s) < self._every_s:  # the clock may have gone back
            return False
        if not (is_member or self._for_strangers.take(now)):
            return False
        self._last.pop(who, None)
        self._last[who] = now
        if len(self._last) > MOST_STRANGERS:
            del self._last[next(iter(self._last))]
        return True
