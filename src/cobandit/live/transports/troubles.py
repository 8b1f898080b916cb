"""Says each trouble once, however often something is tried, and says when it is over."""

from cobandit.live.transports.base import Inbox


class Troubles:
    """The troubles that there are at present, each under a key. The first of them is what the member is told."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._present: dict[str, str] = {}
        self._said: str | None = None

    def begin(self, key: str, what: str) -> None:
        """Note a trouble; the same again is no news."""
        self._present[key] = what
        self._say()

    def end(self, key: str) -> None:
        """Note that a trouble is over. Harmless if there was none."""
        if self._present.pop(key, None) is not None:
            self._say()

    def has(self, key: str) -> bool:
        """Return whether there is this trouble."""
        return key in self._present

    def _say(self) -> None:
        first = next(iter(self._present.values()), None)
        if first != self._said:
            self._said = first
            self._inbox.trouble(first)
