"""Who is let in: counts what was refused, and stops listening to a sender who was wrong too often or says too much.

It also bounds what one peer can cost: how often it may say what is expensive to hear, and how much it is told.

Only a sender whose name was proved can be put into quarantine. Otherwise anybody could silence a member by speaking
nonsense in its name; what comes unproved is refused and counted, one by one.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable

from cobandit.live.auth.refusal import Refusal
from cobandit.values.allowance import Allowance
from cobandit.values.errors import ForeignGroupError, FutureError, OutdatedError, PeerError, UnknownKindError

MOST_ERRORS = 10
"""So many refused packets within `FORGIVEN_AFTER` seconds, and the sender is in quarantine."""

FORGIVEN_AFTER = 60.0
QUARANTINE = 60.0
"""Seconds; doubled each time, up to `LONGEST_QUARANTINE`."""

LONGEST_QUARANTINE = 3600.0
MOST_PER_SECOND = 10_000.0
"""More packets from one sender are a flood."""

MAX_REPETITIONS_AT_ONCE, MAX_REPETITIONS_PER_SECOND = 256, 20
"""Shares that one peer may repeat. An answer may be a thousand times as long. Honest members wait between two."""

MAX_SESSIONS_AT_ONCE, MAX_SESSIONS_PER_SECOND = 64, 2
"""Sessions that one peer may begin: what it held before may be told again."""

MAX_SETTINGS_AT_ONCE, MAX_SETTINGS_PER_SECOND = 64, 2
"""Messages with new settings that one peer may send: all settings are written for each, and told to everybody."""

MAX_BYTES_AT_ONCE, MAX_BYTES_PER_SECOND = 64 * 2**20, 8 * 2**20
"""What one peer is sent, whatever it asks for. All that three hundred members know of a thousand arms fits at once."""

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
        Refusal.TOO_OFTEN,
    }
)
"""Happens to honest members too: after restarts, on networks that double packets, while a fleet is upgraded, and when
they pass on what others have set, or begin many sessions because many arms are added."""

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
    __slots__ = ("allowance", "errors", "sentence", "since", "until")

    def __init__(self, now: float) -> None:
        self.allowance = Allowance(MOST_PER_SECOND, MOST_PER_SECOND)
        self.errors = 0
        self.since = now
        self.sentence = QUARANTINE
        self.until = 0.0


class _Cost:
    """What one peer may still cost, by the name that it has or claims."""

    __slots__ = ("answers", "repetitions", "sessions", "settings")

    def __init__(self) -> None:
        self.repetitions = Allowance(MAX_REPETITIONS_PER_SECOND, MAX_REPETITIONS_AT_ONCE)
        self.sessions = Allowance(MAX_SESSIONS_PER_SECOND, MAX_SESSIONS_AT_ONCE)
        self.settings = Allowance(MAX_SETTINGS_PER_SECOND, MAX_SETTINGS_AT_ONCE)
        self.answers = Allowance(MAX_BYTES_PER_SECOND, MAX_BYTES_AT_ONCE)


class Guard:
    """Decides for each sender whether to listen."""

    def __init__(self) -> None:
        self.refusals: Counter[Refusal] = Counter()
        self.may_relay: Callable[[str], bool | None] = lambda _: None
        """Whether a member's certificate says that it may pass on what others observed; `None` if nothing proves it."""
        self._senders: OrderedDict[str, _Sender] = OrderedDict()
        self._costs: OrderedDict[str, _Cost] = OrderedDict()

    def admits(self, sender: str | None, now: float) -> bool:
        """Return whether to look at a packet from this proved sender; if not, it is counted."""
        if sender is None:
            return True
        record = self._record(sender, now)
        if now < record.until:
            self.refusals[Refusal.QUARANTINED] += 1
            return False
        if not record.allowance.take(now):
            self.refuse(Refusal.FLOOD, sender, now)
            return False
        return True

    def may_repeat(self, sender: str, now: float) -> bool:
        """Return whether a share that a peer repeats is heard now. If not, it is as if it was lost."""
        return self._cost(sender).repetitions.take(now)

    def may_begin(self, sender: str, now: float) -> bool:
        """Return whether a peer that begins another session is heard now. If not, it is as if it was lost."""
        return self._cost(sender).sessions.take(now)

    def may_set(self, sender: str, now: float) -> bool:
        """Return whether new settings of a peer are heard now. If not, it is as if they were lost."""
        return self._cost(sender).settings.take(now)

    def may_send(self, receiver: str, size: int, now: float) -> bool:
        """Return whether so many bytes are sent to a peer now. If not, they are lost."""
        return self._cost(receiver).answers.take(now, size)

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

    def _cost(self, peer: str) -> _Cost:
        cost = self._costs.get(peer)
        if cost is None:
            cost = self._costs[peer] = _Cost()
            if len(self._costs) > MOST_SENDERS:
                self._costs.popitem(last=False)
        self._costs.move_to_end(peer)  # so that who is idle is forgotten first
        return cost

    def _record(self, sender: str, now: float) -> _Sender:
        record = self._senders.get(sender)
        if record is None:
            record = self._senders[sender] = _Sender(now)
            if len(self._senders) > MOST_SENDERS:
                free = (name for name, one in self._senders.items() if now >= one.until and name != sender)
                del self._senders[next(free, sender)]
        else:
            self._senders.move_to_end(sender)
        return record
