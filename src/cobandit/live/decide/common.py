"""What all places of a member share: one lock, decision numbers, open decisions, and the queues to the network side.

Decisions, rewards and reports stay in queues until the network side empties them. The network side is woken if it has
announced that it is not looking at the queues anyway. This file knows no policies and no arms.
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
"""How many subjects keep their arm. Beyond that, the least recently seen one is forgotten."""

MOST_WAITING = 1_000_000
"""How many decisions and rewards may wait for the journal. Only a disk that fails for a long time causes so many."""


class Open(NamedTuple):
    """A decision that waits for its reward."""

    arm: Arm
    """The arm as written, with a mark if the decision is held out."""
    guess: int
    """The reward, in quanta, that the decision counts with until the real one is known."""
    at: float
    desk: "Desk | None" = None
    """Where it was made. `None` if its bandit has not been declared since the start; `arm` is then a full name."""


class Decided(NamedTuple):
    """A journal entry: a decision was made."""

    number: int
    arm: Arm
    propensity: float | None
    at: float
    subject: str | None
    is_forced: bool = False
    """Whether the kill switch chose the arm, so that it is not the subject's own."""


class Settled(NamedTuple):
    """A journal entry: a decision got its reward, in quanta, or will not get one (`None`)."""

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
        clock: The clock.
        signer: Signs the ids of decisions.
        salt: Determines the places of subjects. It is the same at every member of the group.
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
        """Whether the network side will look at the queues anyway, and need not be woken."""
        self.refusal: str | None = None
        """Why no more rewards are accepted, if the journal has been failing for long."""
        self._wake = wake

    def call(self) -> None:
        """Wake the network side."""
        self.is_awake = True
        self._wake()
