"""Whom a member does not know yet: who may be answered, and who must be greeted again. It sends nothing itself."""

from collections.abc import Container, Iterator

from cobandit.values.allowance import Allowance

ANSWER_EVERY = 1.0
"""Anybody is answered at most so often, in seconds."""

TELL_EVERY = 0.5
"""The same for how this member is. Who asks again sooner waits for its answer that long, so rounds come less often."""

MAX_ANSWERS_AT_ONCE, MAX_ANSWERS_PER_SECOND = 1024, 64
"""Answers to all those together who are not members: a name is easily made up. A fleet may start at once."""

MAX_TOLD_AT_ONCE, MAX_TOLD_PER_SECOND = 128, 16
"""The same for how this member is, which may be long."""

FIRST_GREETING, LONGEST_BETWEEN_GREETINGS = 2.0, 600.0
"""Seconds; the pause doubles from the one to the other. Both sides' greetings may be lost."""

MOST_STRANGERS = 10_000
"""So many are remembered."""


class Discovery:
    """Those who were heard or reached, and have not said who they are."""

    def __init__(self) -> None:
        self._answered = _Pace(ANSWER_EVERY, Allowance(MAX_ANSWERS_PER_SECOND, MAX_ANSWERS_AT_ONCE))
        self._told = _Pace(TELL_EVERY, Allowance(MAX_TOLD_PER_SECOND, MAX_TOLD_AT_ONCE))
        """Apart, so that who keeps asking how this member is does not thereby miss the answer to a greeting."""
        self._shown = _Pace(ANSWER_EVERY, Allowance(MAX_ANSWERS_PER_SECOND, MAX_ANSWERS_AT_ONCE))
        """Apart for the same reason: a leaf looks for relays, and greets the one that it chooses."""
        self._unmet: dict[str, tuple[float, float]] = {}
        """Who can be reached and has not said who it is: when to greet it again, and how long that was."""
        self.newcomers = set[str]()
        """Peers that answered that they have just started themselves: what was set before they do not know either."""
        self.waiting = dict[str, tuple[int, int]]()
        """Leaves that were answered so, each with session and notice of its hello: they wait for a better answer."""

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Who can be reached and has not said who it is."""
        return tuple(self._unmet)

    def may_answer(self, who: str, now: float, *, is_member: bool = False) -> bool:
        """Return whether somebody is answered now: not more often than it is worth."""
        return self._answered.is_time(who, now, is_member=is_member)

    def may_tell(self, who: str, now: float, *, is_member: bool = False) -> bool:
        """Return whether somebody is told now how this member is."""
        return self._told.is_time(who, now, is_member=is_member)

    def may_show(self, who: str, now: float) -> bool:
        """Return whether a leaf that looks for relays is told now that this one is here."""
        return self._shown.is_time(who, now, is_member=False)

    def greeted(self, peer: str, now: float) -> None:
        """Note that a peer that can be reached was greeted."""
        if len(self._unmet) < MOST_STRANGERS:
            self._unmet[peer] = (now + FIRST_GREETING, FIRST_GREETING)

    def due_at(self) -> float | None:
        """Return when the next peer must be greeted again."""
        return min((at for at, _ in self._unmet.values()), default=None)

    def due(self, known: Container[str], now: float) -> Iterator[str]:
        """Return whom to greet now, and note that it is done. Who is known by now is forgotten here."""
        for peer, (at, pause) in tuple(self._unmet.items()):
            if peer in known:
                del self._unmet[peer]
            elif now >= at:
                longer = min(2.0 * pause, LONGEST_BETWEEN_GREETINGS)
                self._unmet[peer] = (now + longer, longer)
                yield peer


class _Pace:
    """How often each is answered, and how often all strangers together are."""

    def __init__(self, every_s: float, for_strangers: Allowance) -> None:
        self._every_s, self._for_strangers = every_s, for_strangers
        self._last: dict[str, float] = {}
        """The one that was answered last is last."""

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
