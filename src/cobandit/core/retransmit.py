"""When to repeat: share numbers, receipts and waits of one directed pair. Loss tolerance, and nothing else.

The paper assumes that no message is lost. If one is, both sides wait for each other for ever. This file prevents that,
and changes nothing as long as answers arrive in time:

* Every fresh share has the next number. Only a number above every number seen so far asks for a share, so neither a
  repetition nor a duplicate can ask twice.
* Every message carries a `Receipt`: the highest number seen from the receiver, and how far its log is held.
* A share whose number is not acknowledged in time is repeated: the same number, the newest state. The wait adapts to
  how long the peer takes to answer, and grows with every repetition.
* A repetition of a share that has already arrived is answered: with the answer again if that is missing, and otherwise
  with a bare acknowledgement, which ends the repetitions.

A pair is in one of three phases, seen from one side. The table is `PHASES` below.

    OPEN      the peer has asked: the next share is this side's to send
    WAITING   this side has shared, and does not know whether the share has arrived
    TRUSTING  the peer has the share, so the next one is the peer's to send, and the peer's to repeat

    what happens                                          in        then
    a fresh share goes out                                any       WAITING
    a fresh share comes in and is not answered at once    any       OPEN
    a receipt shows that the peer has seen the share      WAITING   TRUSTING
    the peer has restarted and has not seen the share     TRUSTING  WAITING

The last share is repeated only while WAITING: when the wait is over, and in answer to a repetition of a peer that lacks
it. Every other incoming repetition is acknowledged.

A link has this object where messages may be lost, and not where they cannot: see `link.py`. A repetition that is itself
an answer is only acknowledged (`uncertain.py`), so answers come to an end.
"""

from dataclasses import dataclass
from enum import Enum

from cobandit.core.state import RetransmitState
from cobandit.values.checks import check_positive, keep_plain
from cobandit.values.errors import LocalError

MEAN_GAIN, DEVIATION_GAIN, DEVIATIONS = 0.125, 0.25, 5.0
"""How a mean wait and its deviation are learned, as TCP does (RFC 6298), and how many deviations to add. TCP adds four.
Five, because an answer comes when the peer decides, which is far more irregular than a network."""

UNKNOWN = -1.0
"""Stands for a mean wait when no answer has been timed."""

MAX_IN_FLIGHT = 256
"""How many messages to one peer are remembered until one is acknowledged. Only a peer that is gone is sent more, and
then the number of observations it lacks is merely less exact."""


@dataclass(frozen=True, slots=True)
class RetryTimers:
    """How long to wait before a share is repeated. Times are in the unit of `now`: slots in a simulation.

    Args:
        first: The wait for a peer whose answers have not been timed yet.
        least: The shortest wait.
        growth: The factor by which the wait grows with every repetition.
        tick: After this long without an own observation, send what the peers have not acknowledged anyway.
        longest: The longest wait, and so the interval at which a peer that seems to be gone is probed.
    """

    first: float = 256.0
    least: float = 1.0
    growth: float = 1.5
    tick: float = 16_384.0
    longest: float = 65_536.0

    def __post_init__(self) -> None:
        keep_plain(self, "first", "least", "growth", "tick", "longest")
        for name in ("first", "least", "growth", "tick", "longest"):
            check_positive(name, getattr(self, name))
        if not self.least <= self.first <= self.longest:
            raise LocalError(
                f"waits must be ordered, least <= first <= longest, but are {self.least}, {self.first}, {self.longest} "
                "(1, 256 and 65536 where not given)"
            )
        if self.growth < 1.0:
            raise LocalError(f"growth must be at least 1, not {self.growth!r}")


class Phase(Enum):
    """Where a pair stands, seen from one side."""

    OPEN = "open"
    WAITING = "waiting"
    TRUSTING = "trusting"


class Event(Enum):
    """What can happen to a phase."""

    SHARED = "a fresh share goes out"
    ASKED = "a fresh share comes in and is not answered at once"
    SEEN = "a receipt shows that the peer has seen the last share"
    FORGOTTEN = "the peer has restarted and has not seen the last share"


PHASES = {
    **{(phase, Event.SHARED): Phase.WAITING for phase in Phase},
    **{(phase, Event.ASKED): Phase.OPEN for phase in Phase},
    (Phase.WAITING, Event.SEEN): Phase.TRUSTING,
    (Phase.TRUSTING, Event.FORGOTTEN): Phase.WAITING,
}
"""The phase after an event; if there is no entry, the phase stays."""


def first_wait(mean: float, deviation: float, size: float, first: float, least: float, longest: float) -> float:
    """Return how long to wait for the answer to a fresh share.

    Waits are learned per observation that a buffer must hold (`size`), because a peer answers when its own buffer is
    full: with doubling thresholds every exchange takes twice as long as the one before.

    >>> first_wait(UNKNOWN, 0.0, 1.0, 64.0, 1.0, 65536.0), first_wait(10.0, 5.0, 2.0, 64.0, 1.0, 65536.0)
    (64.0, 70.0)
    """
    wait = first * size if mean < 0.0 else (mean + DEVIATIONS * deviation) * size
    return min(max(wait, least), longest)


def learned_mean(mean: float, wait: float) -> float:
    """Return the mean wait after one more."""
    return wait if mean < 0.0 else mean + MEAN_GAIN * (wait - mean)


def learned_deviation(mean: float, deviation: float, wait: float) -> float:
    """Return the mean deviation after one more wait; `mean` is the mean before it."""
    return wait / 2.0 if mean < 0.0 else deviation + DEVIATION_GAIN * (abs(wait - mean) - deviation)


class Retransmit:
    """What one side of a pair keeps so that nothing is lost for good."""

    __slots__ = (
        "attempts",
        "can_be_timed",
        "confirmed",
        "deviation",
        "in_flight",
        "is_known",
        "mean",
        "part",
        "phase",
        "retry_at",
        "seen",
        "sent_at",
        "shared_at",
        "size",
        "timers",
        "wait",
    )

    def __init__(self, timers: RetryTimers) -> None:
        self.timers = timers
        self.phase = Phase.OPEN
        self.seen = 0
        """The highest number of this side's shares that the peer has seen, as far as its messages say."""
        self.is_known = False
        """Whether the peer has heard of this side's session. From then on it heeds no earlier one."""
        self.attempts = 0
        """How many times the last share was repeated."""
        self.can_be_timed = False
        """Whether the next answer is certainly one to the last share as it was first sent."""
        self.shared_at = 0.0
        self.sent_at = 0.0
        self.retry_at = 0.0
        self.size = 1.0
        self.wait = timers.first  # the wait must grow even if only notices were sent
        self.mean = UNKNOWN
        self.deviation = 0.0
        self.confirmed = 0
        """How many of this incarnation's observations the peer has acknowledged."""
        self.in_flight: dict[int, int] = {}
        """Unacknowledged messages: the number of the log up to which each went, and how many observations this side had
        made."""
        self.part = 0
        """The number of the log up to which the last message went, if not everything fit."""

    def state(self) -> RetransmitState:
        """Return everything that is kept, as plain frozen values."""
        values = {name: getattr(self, name) for name in RetransmitState._fields}
        return RetransmitState(**{**values, "phase": self.phase.value, "in_flight": tuple(self.in_flight.items())})

    def restore(self, state: RetransmitState) -> None:
        """Restore what `state` returned."""
        for name in RetransmitState._fields:
            setattr(self, name, getattr(state, name))
        self.phase, self.in_flight = Phase(state.phase), dict(state.in_flight)

    def take(self, event: Event) -> None:
        """Look an event up in the table."""
        self.phase = PHASES.get((self.phase, event), self.phase)

    def told(self, upto: int, observations: int) -> None:
        """Note that the peer is sent the log up to a number, when this side had made this many observations."""
        self.in_flight[upto] = observations
        while len(self.in_flight) > MAX_IN_FLIGHT:
            del self.in_flight[next(iter(self.in_flight))]

    def acknowledged(self, held: int) -> None:
        """Note that the peer holds the log up to a number."""
        self.confirmed = self.observations_at(held)
        self.in_flight = {upto: observations for upto, observations in self.in_flight.items() if upto > held}

    def observations_at(self, held: int) -> int:
        """Return how many of this side's observations a peer has that holds the log up to a number."""
        return max((self.confirmed, *(told for upto, told in self.in_flight.items() if upto <= held)))

    def forget(self, *, tells_at_once: bool = False) -> None:
        """Start over: a new session has acknowledged nothing yet, and the time of a restart is no answer time."""
        self.confirmed = self.part = 0
        self.can_be_timed = self.is_known = False
        self.in_flight.clear()
        self.retry_at = 0.0 if tells_at_once else self.retry_at

    def shared(self, size: float, now: float) -> None:
        """Note that a fresh share goes out."""
        self.take(Event.SHARED)
        self.shared_at = now
        self.size = float(size)
        self.attempts = 0
        self.can_be_timed = True
        self.expect(now)

    def expect(self, now: float) -> None:
        """Wait for something new to be acknowledged, as for an answer."""
        timers = self.timers
        self.wait = first_wait(self.mean, self.deviation, self.size, timers.first, timers.least, timers.longest)
        self.sent_at = now
        self.retry_at = now + self.wait

    def repeated(self, now: float) -> None:
        """Note that the last share goes out again."""
        self.attempts += 1
        self.can_be_timed = False
        self.wait = min(self.wait * self.timers.growth, self.timers.longest)
        self.sent_at = now
        self.retry_at = now + self.wait

    def is_over(self, now: float) -> bool:
        """Return whether the wait is over. A clock that went backwards ends it too, or it might never end."""
        return now >= self.retry_at or now < self.sent_at

    def quenched(self) -> None:
        """Handle a bare acknowledgement: the last share had arrived before it was repeated."""
        if self.phase is Phase.WAITING and self.attempts == 1:
            self.can_be_timed = True

    def answered(self, now: float) -> None:
        """Handle the answer to the last share, and learn how long it took.

        After a repetition it is unclear which of the two was answered, so the wait is not learned from (Karn's rule),
        unless the peer said that the first one had arrived.
        """
        if self.phase is Phase.OPEN or not self.can_be_timed:
            return
        wait = max(0.0, now - self.shared_at) / self.size
        self.deviation = learned_deviation(self.mean, self.deviation, wait)
        self.mean = learned_mean(self.mean, wait)


def check_notices(*, literal: bool, retry: RetryTimers | None) -> None:
    """Refuse notices as Algorithm 5 prints them where the network is not as the paper assumes it.

    Raises:
        LocalError: They are to be literal, and messages are repeated: a repetition sends everything to all peers.
    """
    if literal and retry is not None:
        raise LocalError("literal_notices is Algorithm 5 as printed, which trusts the network: leave loss_tolerant out")
