"""Reports each trouble once, however often something is retried, and reports when it is over."""

from cobandit.live.transports.base import Inbox


class Troubles:
    """The present troubles, each under a key. The first of them is reported to the member."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._present: dict[str, str] = {}
        self._said: str | None = None

    def begin(self, key: str, what: str) -> None:
        """Note a trouble. Repeating it is no news."""
        self._present[key] = what
        self._say()

    def end(self, key: str) -> None:
        """Note that a trouble is over. Does nothing if there was none."""
        if self._present.pop(key, None) is not None:
            self._say()

    def has(self, key: str) -> bool:
        """Return whether this trouble is present."""
        return key in self._present

    def _say(self) -> None:
        first = next(iter(self._present.values()), None)
        if first != self._said:
            self._said = first
            self._inbox.trouble(first)
