"""What all places of a member have in common: one lock, numbers, open decisions, and the queues to the network side.

What is decided, rewarded and reported lies in queues until the network side empties them; it is woken if it said that
it does not look at them anyway. This file knows no policies and no arms.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cobandit.live.decide.clock import Clock
from cobandit.live.decide.decision import Signer
from cobandit.values.tally import Arm

if TYPE_CHECKING:
    from cobandit.live.decide.desk import Desk

MOST_SUBJECTS = 100_000
"""How many subjects keep their arm. With one more, the one that was seen least recently is forgotten."""

MOST_WAITING = 1_000_000
"""How many decisions and rewards may wait for the journal. Only if a disk has failed for long are there so many."""


class Open(NamedTuple):
    """A decision that waits for its reward."""

    arm: Arm
    """As it is written: with a mark if it is held out."""
    guess: int
    """The reward, in quanta, that it counts with until it is known."""
    at: float
    desk: "Desk | None" = None
    """Where it was made. `None` if its bandit is not declared since the start: then `arm` is a full name."""


class Decided(NamedTuple):
    """For the journal: a decision was made."""

    number: int
    arm: Arm
    propensity: float | None
    at: float
    subject: str | None
    is_forced: bool = False
    """Whether the kill switch chose, so that it is not the subject's own arm."""


class Settled(NamedTuple):
    """For the journal: a decision got its reward, in quanta, or (`None`) will not get one."""

    number: int
    arm: Arm
    units: int | None
    at: float
    is_expired: bool = False


class Report(NamedTuple):
    """A value of a guardrail's metric, in quanta of its bandit."""

    bandit: str
    arm: Arm
    units: int


class Common:
    """What the places of one member share.

    Args:
        clock: What time it is.
        signer: What the ids of decisions are signed with.
        salt: By which subjects are placed: the same at every member of the group.
        first_number: The number of the first decision since the start.
        wake: Wakes the network side.
    """

    def __init__(
        self, clock: Clock, signer: Signer, *, salt: str = "", first_number: int, wake: Callable[[], None]
    ) -> None:
        self.now, self.signer, self.salt = clock.now, signer, salt
        self.lock = threading.Lock()
        self.first_number = self.next_number = first_number
        self.open: dict[int, Open] = {}
        self.subjects: OrderedDict[str, tuple[Arm, float | None]] = OrderedDict()
        self.decided: deque[Decided] = deque()
        self.settled: deque[Settled] = deque()
        self.reports: deque[Report] = deque()
        self.reported: set[int] = set()
        """The open decisions that have a report."""
        self.is_awake = True
        """Whether the network side will look at the queues anyway, so that nobody needs to wake it."""
        self.refusal: str | None = None
        """Why no more rewards are taken, if the journal has failed for long."""
        self._wake = wake

    def call(self) -> None:
        """Wake the network side."""
        self.is_awake = True
        self._wake()
