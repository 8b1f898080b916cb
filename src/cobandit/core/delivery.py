"""When to say it again: exchange numbers, receipts and retries of one directed pair. Loss tolerance, and nothing else.

The paper assumes that no message is lost. If one is, both sides wait for each other for ever. Here is what makes up
for it, and it changes nothing as long as answers come within their time:

* Every fresh share has the next number. Only a number above every number seen so far asks for a share, so neither a
  repetition nor a duplicate can ask twice.
* Every message carries a `Receipt`: the highest number seen from the receiver, and how much of what it knows.
* A share whose number is not acknowledged in time is repeated: the same number, the newest state. The wait adapts to
  how long the peer takes to answer, and grows with every repetition.
* A repetition of what has arrived already is answered: with the answer again if that is what is missing, and else with
  a bare acknowledgement, which ends the repetitions.

A pair is in one of three phases, seen from one side. The table is `RETRIES` below.

    OPEN      the peer has asked: the next share is this side's to send
    WAITING   this side has shared, and does not know whether the share has arrived
    TRUSTING  the peer has the share, so the next one is the peer's to send, and the peer's to repeat

    what happens                                          in       then      effect
    a fresh share goes out                                any      WAITING
    a fresh share comes in and is not answered at once    any      OPEN
    a receipt shows that the peer has seen the share      WAITING  TRUSTING
    the peer has restarted and has not seen the share     TRUSTING WAITING
    the wait is over                                      WAITING  WAITING   repeat
    a repetition comes in, from a peer that lacks         WAITING  WAITING   repeat
      this side's last share                              other    as it was acknowledge
    a repetition comes in, from a peer that has it        any      as it was acknowledge

A repetition that is itself an answer to one is acknowledged and no more (`tolerant.py`), so answers come to an end.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from cobandit.core.messages import Receipt
from cobandit.core.state import DeliveryState
from cobandit.values.checks import check_positive
from cobandit.values.errors import LocalError

MEAN_GAIN, DEVIATION_GAIN, DEVIATIONS = 0.125, 0.25, 5.0
"""How a mean wait and its deviation are learned, as TCP does (RFC 6298), and how many deviations to wait on top. TCP
takes four; five because an answer comes when the peer decides, which is far more irregular than a network."""

UNKNOWN = -1.0
"""Stands for a mean wait when no answer has been timed."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait before a share is repeated. Times are in the unit of `now`: slots in a simulation.

    Args:
        first: The wait for a peer whose answers have not been timed yet.
        least: No wait is shorter.
        growth: By how much the wait grows with every repetition.
        tick: After so long without an own observation, what the peers have not acknowledged is sent all the same.
        longest: No wait is longer: so often is a peer probed that seems to be gone.
    """

    first: float = 256.0
    least: float = 1.0
    growth: float = 1.5
    tick: float = 16_384.0
    longest: float = 65_536.0

    def __post_init__(self) -> None:
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
    DUE = "the wait is over"
    REPEATED_LACKING = "a repetition comes in, from a peer that lacks the last share"
    REPEATED = "a repetition comes in, from a peer that has the last share"


class Effect(Enum):
    """What to do about it."""

    NOTHING = "nothing"
    REPEAT = "repeat the last share"
    ACKNOWLEDGE = "acknowledge"


class Turn(NamedTuple):
    """What the table decides: the phase after, and what to do."""

    phase: Phase
    effect: Effect


def _retries() -> dict[tuple[Phase, Event], Turn]:
    nothing, repeat, acknowledge = Effect.NOTHING, Effect.REPEAT, Effect.ACKNOWLEDGE
    table: dict[tuple[Phase, Event], Turn] = {}
    for phase in Phase:
        table[phase, Event.SHARED] = Turn(Phase.WAITING, nothing)
        table[phase, Event.ASKED] = Turn(Phase.OPEN, nothing)
        table[phase, Event.SEEN] = Turn(phase, nothing)
        table[phase, Event.FORGOTTEN] = Turn(phase, nothing)
        table[phase, Event.DUE] = Turn(phase, nothing)
        table[phase, Event.REPEATED_LACKING] = Turn(phase, acknowledge)
        table[phase, Event.REPEATED] = Turn(phase, acknowledge)
    table[Phase.WAITING, Event.SEEN] = Turn(Phase.TRUSTING, nothing)
    table[Phase.TRUSTING, Event.FORGOTTEN] = Turn(Phase.WAITING, nothing)
    table[Phase.WAITING, Event.DUE] = Turn(Phase.WAITING, repeat)
    table[Phase.WAITING, Event.REPEATED_LACKING] = Turn(Phase.WAITING, repeat)
    return table


RETRIES = _retries()


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


class Delivery:
    """What one side of a pair keeps so that nothing is lost for good."""

    __slots__ = (
        "acknowledged",
        "arms_boot",
        "attempts",
        "can_be_timed",
        "deviation",
        "has_counted",
        "is_known",
        "is_unheard",
        "mean",
        "patience",
        "peer_boot",
        "peer_eliminated",
        "peer_formers",
        "peer_notice",
        "phase",
        "retry_at",
        "returns",
        "sent_at",
        "shared_at",
        "size",
        "wait",
    )

    def __init__(self, patience: Patience, boot: int) -> None:
        self.patience = patience
        self.phase = Phase.OPEN
        self.acknowledged = Receipt(boot, 0, 0, 0, 0)
        """What the peer has of this agent, as far as its messages say."""
        self.peer_boot: int | None = None
        """The newest boot of the peer that was heard of."""
        self.peer_notice = (0, 0)
        """The newest notice of the peer's coming or going that was taken: its boot, and its number."""
        self.arms_boot: int | None = None
        """The boot of the peer that said which arms it has; `None` while the driver's word is all there is."""
        self.peer_eliminated = 0
        """How many eliminations of that boot are known here."""
        self.peer_formers = 0
        """How much of what that boot knows of its former boots is known here."""
        self.returns: frozenset[int] = frozenset()
        """Former boots of the peer of which this agent knows more than the peer."""
        self.attempts = 0
        """How often the last share was repeated."""
        self.can_be_timed = False
        """Whether the next answer is surely one to the last share as it was first sent."""
        self.is_known = False
        """Whether the peer has heard of this agent's boot. From then on it takes nothing from an earlier one."""
        self.has_counted = False
        """Whether a share of the peer has arrived in this boot, so that its numbers are known."""
        self.is_unheard = False
        """Whether this agent said that it is here, and the peer has not acknowledged that."""
        self.shared_at = 0.0
        self.sent_at = 0.0
        self.retry_at = 0.0
        self.size = 1.0
        self.wait = patience.first  # the wait must grow even if nothing was ever shared, only said
        self.mean = UNKNOWN
        self.deviation = 0.0

    def state(self) -> DeliveryState:
        """Return everything that is kept, as plain frozen values."""
        values = {name: getattr(self, name) for name in DeliveryState._fields}
        return DeliveryState(**{**values, "phase": self.phase.value, "returns": tuple(sorted(self.returns))})

    def restore(self, state: DeliveryState) -> None:
        """Take over what `state` returned."""
        for name in DeliveryState._fields:
            setattr(self, name, getattr(state, name))
        self.phase, self.returns = Phase(state.phase), frozenset(state.returns)

    def take(self, event: Event) -> Effect:
        """Look an event up in the table."""
        self.phase, effect = RETRIES[self.phase, event]
        return effect

    def shared(self, size: float, now: float) -> None:
        """Take it that a fresh share goes out."""
        self.take(Event.SHARED)
        self.shared_at = now
        self.size = float(size)
        self.attempts = 0
        self.can_be_timed = True
        self.expect(now)

    def expect(self, now: float) -> None:
        """Wait for something new to be acknowledged, as for an answer."""
        patience = self.patience
        self.wait = first_wait(self.mean, self.deviation, self.size, patience.first, patience.least, patience.longest)
        self.sent_at = now
        self.retry_at = now + self.wait

    def repeated(self, now: float) -> None:
        """Take it that the last share goes out again."""
        self.attempts += 1
        self.can_be_timed = False
        self.wait = min(self.wait * self.patience.growth, self.patience.longest)
        self.sent_at = now
        self.retry_at = now + self.wait

    def is_over(self, now: float) -> bool:
        """Return whether the wait is over. A clock that went backwards ends it too, or it might never end."""
        return now >= self.retry_at or now < self.sent_at

    def quenched(self) -> None:
        """Take a bare acknowledgement: the last share had arrived before it was repeated."""
        if self.phase is Phase.WAITING and self.attempts == 1:
            self.can_be_timed = True

    def answered(self, now: float) -> None:
        """Take it that the answer to the last share is here, and learn how long it took.

        A repetition leaves open which of the two was answered, so such a wait is not learned from (Karn's rule), unless
        the peer said that the first one had arrived.
        """
        if self.phase is Phase.OPEN or not self.can_be_timed:
            return
        wait = max(0.0, now - self.shared_at) / self.size
        self.deviation = learned_deviation(self.mean, self.deviation, wait)
        self.mean = learned_mean(self.mean, wait)
