"""What members did and sent, added up over restarts as far as those were seen; beside it, what broadcast would send."""

from collections.abc import Iterable

from cobandit.dashboard.frame import Messages
from cobandit.dashboard.sight import is_restart
from cobandit.live.status.statistics import Statistics


class Meter:
    """Counts on where a member that was started again begins at zero."""

    def __init__(self) -> None:
        self._last: dict[str, Statistics] = {}
        self.decisions = 0
        """Of all members that were seen, also of those that have left: the sum never falls."""
        self._shares = self._packets = self._bytes = self._observed = self._immediate = 0

    def read(self, members: Iterable[Statistics]) -> Messages:
        """Take what members say of themselves, and return the sums."""
        for member in members:
            last = self._last.get(member.name)
            if last is not None and member.incarnation < last.incarnation:
                continue  # two processes run under one name, and this is the older one
            if last is not None and is_restart(last, member):
                last = None
            self._last[member.name] = member
            now, then = member.communication, None if last is None else last.communication
            self.decisions += member.decisions - (last.decisions if last else 0)
            self._shares += now.shares - (then.shares if then else 0)
            self._packets += now.sent - (then.sent if then else 0)
            self._bytes += now.bytes_sent - (then.bytes_sent if then else 0)
            self._observed += member.observed - (last.observed if last else 0)
            self._immediate += member.immediate - (last.immediate if last else 0)
        return Messages(self._shares, self._packets, self._bytes, self._immediate, self._observed)
