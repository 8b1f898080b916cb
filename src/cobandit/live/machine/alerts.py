"""What a member tells its operators: each thing once, with the member's name, as structured log records.

Troubles are things that do not work at present. They stay in the statistics until they are over.
"""

import logging

from cobandit.live.log_events import OVER, TROUBLES, LogEvent, log_event

MOST_REMEMBERED = 1000
"""How many different things of one event are said once. Others can make up any number of things, which must not fill
the log, nor displace things of another event."""

LONGEST_TEXT = 1000
"""Characters of the text, and as many again of the rest (`more`)."""


_ONE_LINE = {ord(character): " " for character in "\n\r\v\f\x1b\x85\u2028\u2029"}
"""Texts contain names that others chose, which may contain anything."""


class Alerts:
    """The alerts of one member."""

    def __init__(self, member: str, group: str) -> None:
        self._about: dict[str, object] = {"member": member, "group": group}
        self._member = member
        self.group = group
        """The member's group."""
        self._said: dict[LogEvent, set[str]] = {}
        """What was already said once, by event."""
        self._troubles: dict[LogEvent, str] = {}

    @property
    def troubles(self) -> tuple[str, ...]:
        """What does not work at present."""
        return tuple(self._troubles.values())

    def say(self, level: int, event: LogEvent | str, text: str, peer: str | None = None) -> None:
        """Log one line, which is cut if it is too long."""
        about = self._about if peer is None else {**self._about, "peer": peer}
        log_event(level, event, f"{self._member}: {text[: 2 * LONGEST_TEXT].translate(_ONE_LINE)}", about)

    def say_once(self, level: int, event: LogEvent, text: str, peer: str | None = None, *, more: str = "") -> None:
        """Log something unless it was logged before, with any value of `more`.

        Others cannot choose the event.
        """
        key, said = text[:LONGEST_TEXT], self._said.setdefault(event, set())
        if key in said or len(said) >= MOST_REMEMBERED:
            return
        said.add(key)
        self.say(level, event, key + more[:LONGEST_TEXT], peer)
        if len(said) == MOST_REMEMBERED:
            self.say(
                logging.WARNING,
                LogEvent.LOG_LIMITED,
                f"{event.value}: so much was wrong already that further kinds of it are only counted",
            )

    def trouble(self, event: LogEvent, what: str | None, level: int = logging.ERROR) -> None:
        """Log that something does not work, or (`None`) works again. Do nothing if that is no news."""
        if what is None:
            if self._troubles.pop(event, None) is not None:
                self.say(logging.INFO, event.value + OVER, f"works again: {TROUBLES[event]}")
        elif self._troubles.get(event) != what:
            self._troubles[event] = what
            self.say(level, event, what)

    def crash(self, what: str, error: Exception) -> None:
        """Log a bug of ours, with its traceback."""
        log_event(logging.ERROR, LogEvent.STEP_FAILED, f"{self._member}: {what}", self._about, error=error)
