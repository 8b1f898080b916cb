"""Who is let in: counts what was refused, and stops listening to a sender who was wrong too often or says too much.

Only a sender whose name was proved can be put into quarantine. Otherwise anybody could silence a member by speaking
nonsense in its name; what comes unproved is refused and counted, one by one.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable

from cobandit.live.auth.refusal import Refusal
from cobandit.values.errors import ForeignGroupError, FutureError, OutdatedError, PeerError, UnknownKindError

MOST_ERRORS = 10
"""So many refused packets within `FORGIVEN_AFTER` seconds, and the sender is in quarantine."""

FORGIVEN_AFTER = 60.0
QUARANTINE = 60.0
"""Seconds; doubled each time, up to `LONGEST_QUARANTINE`."""

LONGEST_QUARANTINE = 3600.0
MOST_PER_SECOND = 10_000.0
"""More packets from one sender are a flood."""

MOST_SENDERS = 10_000
"""So many senders are remembered."""

_HARMLESS = frozenset(
    {
        Refusal.STRANGER,
        Refusal.QUARANTINED,
        Refusal.REPLAYED,
        Refusal.FUTURE,
        Refusal.OUTDATED,
        Refusal.UNKNOWN_KIND,
        Refusal.SETTING,
    }
)
"""Happens to honest members too: after restarts, on networks that double packets, while a fleet is upgraded, and when
they pass on what others have set."""

_REASONS = {
    ForeignGroupError: Refusal.FOREIGN_GROUP,
    FutureError: Refusal.FUTURE,
    OutdatedError: Refusal.OUTDATED,
    UnknownKindError: Refusal.UNKNOWN_KIND,
}


def reason_of(error: PeerError) -> Refusal:
    """Return as what a packet is refused that could not be read."""
    return _REASONS.get(type(error), Refusal.MALFORMED)


class _Sender:
    __slots__ = ("allowance", "errors", "last", "sentence", "since", "until")

    def __init__(self, now: float) -> None:
        self.allowance = MOST_PER_SECOND
        self.last = now
        self.errors = 0
        self.since = now
        self.sentence = QUARANTINE
        self.until = 0.0


class Guard:
    """Decides for each sender whether to listen."""

    def __init__(self) -> None:
        self.refusals: Counter[Refusal] = Counter()
        self.may_relay: Callable[[str], bool | None] = lambda _: None
        """Whether a member's certificate says that it may pass on what others observed; `None` if nothing proves it."""
        self._senders: OrderedDict[str, _Sender] = OrderedDict()

    def admits(self, sender: str | None, now: float) -> bool:
        """Return whether to look at a packet from this proved sender; if not, it is counted."""
        if sender is None:
            return True
        record = self._record(sender, now)
        if now < record.until:
            self.refusals[Refusal.QUARANTINED] += 1
            return False
        elapsed = max(0.0, now - record.last)
        record.last = now
        record.allowance = min(MOST_PER_SECOND, record.allowance + elapsed * MOST_PER_SECOND)
        if record.allowance < 1.0:
            self.refuse(Refusal.FLOOD, sender, now)
            return False
        record.allowance -= 1.0
        return True

    def refuse(self, reason: Refusal, sender: str | None, now: float) -> bool:
        """Count a refusal, against this proved sender if there is one. Return whether it is now put into quarantine."""
        self.refusals[reason] += 1
        if sender is None or reason in _HARMLESS:
            return False
        record = self._record(sender, now)
        if now - record.since > FORGIVEN_AFTER:
            record.errors, record.since = 0, now
        record.errors += 1
        if record.errors < MOST_ERRORS or now < record.until:
            return False
        record.errors, record.until = 0, now + record.sentence
        record.sentence = min(2.0 * record.sentence, LONGEST_QUARANTINE)
        return True

    def quarantined(self, now: float) -> tuple[str, ...]:
        """Return who is not listened to now."""
        return tuple(name for name, record in self._senders.items() if now < record.until)

    def _record(self, sender: str, now: float) -> _Sender:
        record = self._senders.get(sender)
        if record is None:
            record = self._senders[sender] = _Sender(now)
            if len(self._senders) > MOST_SENDERS:
                self._senders.popitem(last=False)
        return record
