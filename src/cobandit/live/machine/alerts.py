"""What a member tells the people who run it: each thing once, with the member's name, as structured log records.

Troubles are what does not work now. They stand in the statistics until they are over.
"""

import logging

log = logging.getLogger("cobandit")

MOST_REMEMBERED = 1000
"""So many different things of one kind are said once. Others may make up as many as they like; the log must not follow
them, nor may they take the place of things of another kind."""

LONGEST_TEXT = 1000


_ONE_LINE = {ord(character): " " for character in "\n\r\v\f\x1b\x85\u2028\u2029"}
"""Names of others stand in what is said, and may contain anything."""


class Alerts:
    """What one member has to say."""

    def __init__(self, member: str, group: str) -> None:
        self._about: dict[str, object] = {"member": member, "group": group}
        self._member = member
        self._said: dict[str, set[str]] = {}
        """What was said once, by kind."""
        self._troubles: dict[str, str] = {}

    @property
    def troubles(self) -> tuple[str, ...]:
        """What does not work now."""
        return tuple(self._troubles.values())

    def trouble_about(self, about: str) -> str | None:
        """Return what does not work about something, or `None` if it works."""
        return self._troubles.get(about)

    def say(self, level: int, text: str, peer: str | None = None) -> None:
        """Say something."""
        about = self._about if peer is None else {**self._about, "peer": peer}
        log.log(level, "%s: %s", self._member, text.translate(_ONE_LINE), extra=about)

    def say_once(self, level: int, text: str, peer: str | None = None, *, kind: str = "") -> None:
        """Say something, unless it was said before. What others bring about is of a kind that they cannot choose."""
        key, said = text[:LONGEST_TEXT], self._said.setdefault(kind, set())
        if key in said or len(said) >= MOST_REMEMBERED:
            return
        said.add(key)
        self.say(level, key, peer)
        if len(said) == MOST_REMEMBERED:
            self.say(logging.WARNING, "so much was wrong already that further kinds of it are only counted")

    def trouble(self, about: str, what: str | None, level: int = logging.ERROR) -> None:
        """Say that something does not work, or (`None`) works again; nothing if that is no news."""
        if what is None:
            if self._troubles.pop(about, None) is not None:
                self.say(logging.WARNING, f"works again: {about}")
        elif self._troubles.get(about) != what:
            self._troubles[about] = what
            self.say(level, what)

    def crash(self, what: str, error: Exception) -> None:
        """Tell a bug of ours, with its traceback."""
        log.error("%s: %s", self._member, what, extra=self._about, exc_info=error)
