"""Whom a member does not know yet: who may be answered, and who must be greeted again. It sends nothing itself."""

from collections.abc import Container, Iterator

ANSWER_EVERY = 1.0
"""A stranger is answered at most so often, in seconds."""

TELL_EVERY = 0.5
"""The same for how this member is. Who asks again sooner waits for its answer that long, so rounds come less often."""

FIRST_GREETING, LONGEST_BETWEEN_GREETINGS = 2.0, 600.0
"""Seconds; the pause doubles from the one to the other. Both sides' greetings may be lost."""

MOST_STRANGERS = 1000
"""So many are remembered."""


class Discovery:
    """Those who were heard or reached, and have not said who they are."""

    def __init__(self) -> None:
        self._answered: dict[str, float] = {}
        self._told: dict[str, float] = {}
        """Apart, so that who keeps asking how this member is does not thereby miss the answer to a greeting."""
        self._unmet: dict[str, tuple[float, float]] = {}
        """Who can be reached and has not said who it is: when to greet it again, and how long that was."""

    def may_answer(self, stranger: str, now: float) -> bool:
        """Return whether a stranger is answered now: not more often than it is worth."""
        return _is_time(self._answered, stranger, now, ANSWER_EVERY)

    def may_tell(self, stranger: str, now: float) -> bool:
        """Return whether a stranger is told now how this member is."""
        return _is_time(self._told, stranger, now, TELL_EVERY)

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


def _is_time(last: dict[str, float], stranger: str, now: float, every_s: float) -> bool:
    if 0.0 <= now - last.get(stranger, -every_s) < every_s:  # the clock may have gone back
        return False
    if len(last) >= MOST_STRANGERS:
        last.clear()
    last[stranger] = now
    return True
