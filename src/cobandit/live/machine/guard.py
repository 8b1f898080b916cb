"""Decides which senders are heard. Counts refusals, and stops listening to a sender that errs or floods too often.

It also bounds what one peer can cost: how often it may send what is expensive to process, and how much it is sent.

Only a sender whose name was proved can be put into quarantine. Otherwise an attacker could silence a member by sending
nonsense in its name. Unproved packets are refused and counted one by one.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable

from cobandit.live.auth.refusal import Refusal
from cobandit.values.allowance import Allowance
from cobandit.values.errors import ForeignGroupError, FutureError, OutdatedError, PeerError, UnknownKindError

MOST_ERRORS = 10
"""After this many refused packets within `FORGIVEN_AFTER` seconds, the sender is put into quarantine."""

FORGIVEN_AFTER = 60.0
QUARANTINE = 60.0
"""Seconds; doubles each time, up to `LONGEST_QUARANTINE`."""

LONGEST_QUARANTINE = 3600.0
MOST_PER_SECOND = 10_000.0
"""A sender with more packets floods."""

MAX_REPETITIONS_AT_ONCE, MAX_REPETITIONS_PER_SECOND = 256, 20
"""Shares that one peer may repeat. An answer may be a thousand times as long. Honest members wait between
repetitions."""

MAX_SESSIONS_AT_ONCE, MAX_SESSIONS_PER_SECOND = 64, 2
"""Sessions that one peer may begin. In each, all that it already had may be sent again."""

MAX_SETTINGS_AT_ONCE, MAX_SETTINGS_PER_SECOND = 64, 2
"""Messages with new settings that one peer may send. Each causes all settings to be written and sent to all members."""

MAX_BYTES_AT_ONCE, MAX_BYTES_PER_SECOND = 64 * 2**20, 8 * 2**20
"""Bytes sent to one peer, whatever it asks for. All that 300 members know about a thousand arms fits at once."""

MOST_SENDERS = 10_000
"""How many senders are remembered."""

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
"""Refusals that honest members cause too: after restarts, on networks that duplicate packets, during upgrades, and when
they pass on settings of others, or begin many sessions because many arms are added."""

_REASONS = {
    ForeignGroupError: Refusal.FOREIGN_GROUP,
    FutureError: Refusal.FUTURE,
    OutdatedError: Refusal.OUTDATED,
    UnknownKindError: Refusal.UNKNOWN_KIND,
}


def reason_of(error: PeerError) -> Refusal:
    """Return the reason for refusing a packet that could not be read."""
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
        """Whether a member's certificate allows it to pass on observations of others; `None` if nothing proves it."""
        self._senders: OrderedDict[str, _Sender] = OrderedDict()
        self._costs: OrderedDict[str, _Cost] = OrderedDict()

    def admits(self, sender: str | None, now: float) -> bool:
        """Return whether to process a packet from this proved sender. If not, it is counted."""
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
        """Return whether to accept a repeated share of a peer now. If not, it is treated as lost."""
        return self._cost(sender).repetitions.take(now)

    def may_begin(self, sender: str, now: float) -> bool:
        """Return whether a peer may begin another session now. If not, its message is treated as lost."""
        return self._cost(sender).sessions.take(now)

    def may_set(self, sender: str, now: float) -> bool:
        """Return whether to accept new settings from a peer now. If not, they are treated as lost."""
        return self._cost(sender).settings.take(now)

    def may_send(self, receiver: str, size: int, now: float) -> bool:
        """Return whether this many bytes may be sent to a peer now. If not, they are dropped."""
        return self._cost(receiver).answers.take(now, size)

    def refuse(self, reason: Refusal, sender: str | None, now: float) -> bool:
        """Count a refusal, against the proved sender if there is one. Return whether this puts it into quarantine."""
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
        """Return the senders in quarantine."""
        return tuple(name for name, record in self._senders.items() if now < record.until)

    def _cost(self, peer: str) -> _Cost:
        cost = self._costs.get(peer)
        if cost is None:
            cost = self._costs[peer] = _Cost()
            if len(self._costs) > MOST_SENDERS:
                self._costs.popitem(last=False)
        self._costs.move_to_end(peer)  # so that idle peers are forgotten first
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
