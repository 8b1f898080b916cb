"""What a member tells the people who run it: each thing once, with the member's name, as structured log records.

Troubles are what does not work now. They stand in the statistics until they are over.
"""

import logging

log = logging.getLogger("tacit")

MOST_REMEMBERED = 1000
"""So many things that were said once are remembered."""


class Complaints:
    """What one member has to say."""

    def __init__(self, member: str, group: str) -> None:
        self._about: dict[str, object] = {"member": member, "group": group}
        self._member = member
        self._said: set[str] = set()
        self._troubles: dict[str, str] = {}

    @property
    def troubles(self) -> tuple[str, ...]:
        """What does not work now."""
        return tuple(self._troubles.values())

    def say(self, level: int, text: str, peer: str | None = None) -> None:
        """Say something."""
        about = self._about if peer is None else {**self._about, "peer": peer}
        log.log(level, "%s: %s", self._member, text, extra=about)

    def say_once(self, level: int, text: str, peer: str | None = None) -> None:
        """Say something, unless it was said before."""
        if text in self._said:
            return
        if len(self._said) >= MOST_REMEMBERED:
            self._said.clear()
        self._said.add(text)
        self.say(level, text, peer)

    def trouble(self, about: str, what: str | None) -> None:
        """Say that something does not work, or (`None`) works again; nothing if that is no news."""
        if what is None:
            if self._troubles.pop(about, None) is not None:
                self.say(logging.WARNING, f"works again: {about}")
        elif self._troubles.get(about) != what:
            self._troubles[about] = what
            self.say(logging.ERROR, what)

    def crash(self, what: str, error: Exception) -> None:
        """Tell a bug of ours, with its traceback."""
        log.error("%s: %s", self._member, what, extra=self._about, exc_info=error)
