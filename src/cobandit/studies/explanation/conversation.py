"""What happened between two agents of a run, as values: moments, and messages that fly from one to the other.

Every row of the engine's trace that concerns the two is in it. How it is found out is in `listening.py`; this file
knows nothing of engines, words and pictures.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from cobandit.core.retransmit import Phase
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.trace import Row


class Cause(Enum):
    """What made a moment."""

    PULL = "pull"
    SHARE = "share arrives"
    ACKNOWLEDGEMENT = "acknowledgement arrives"
    NOTICE = "notice arrives"
    WAKE = "wakes"
    LEAVE = "leaves"
    JOIN = "is back"


class Form(Enum):
    """What kind of message flies."""

    SHARE = "share"
    ANSWER = "answer"
    REPETITION = "repetition"
    ACKNOWLEDGEMENT = "acknowledgement"
    NOTICE = "notice"


class Ending(Enum):
    """Why the conversation ends where it does."""

    HORIZON = "the run ends"
    SLOTS = "as many slots as asked for"
    ENOUGH = "enough to see"
    LIMIT = "more would not fit"
    LARGE = "more would take too long"


class Side(NamedTuple):
    """What one of the two thinks of the other."""

    demanded: bool
    """Whether the other has asked for a share."""
    buffered: int
    threshold: int
    share_number: int
    heard: int
    """The highest number of a share of the other that arrived."""
    is_settled: bool
    """Whether there is nothing left to say: both have one candidate arm."""
    phase: Phase | None
    """Only where messages may be lost."""


@dataclass(frozen=True)
class Flight:
    """A message from one of the two to the other."""

    form: Form
    sender: int
    number: int
    """Of the share; zero for what is not one."""
    observations: int
    sent: int
    """The moment in which it was sent."""
    says: str = ""
    """What a notice says."""
    arrivals: tuple[int, ...] = ()
    """The moments in which it arrived: none while it is under way, two if the network doubled it."""
    is_lost: bool = False
    row: Row | None = None


@dataclass(frozen=True)
class Moment:
    """Something that happened to one of the two, and what it made of it."""

    slot: int
    actor: int
    """0 or 1: which of the two."""
    cause: Cause
    before: Side
    """What the actor thought of the other."""
    sides: tuple[Side, Side]
    """What each thinks of the other afterwards."""
    needed: int
    """The threshold that counted."""
    arm: str = ""
    reward: float = 0
    is_usable: bool = True
    """Whether the other can pull the arm too."""
    eliminated: tuple[str, ...] = ()
    """Arms that the actor gave up in this moment."""
    flight: int | None = None
    """What arrived."""
    sent: tuple[int, ...] = ()
    """What was sent for it."""

    @property
    def counted(self) -> int:
        """How many observations waited for the other when the actor decided whether to share."""
        adds = self.cause is Cause.PULL and self.is_usable and not self.after.is_settled
        return self.before.buffered + adds

    @property
    def is_reached(self) -> bool:
        """Whether that was enough for a share."""
        return self.counted >= self.needed

    @property
    def after(self) -> Side:
        """What the actor thinks of the other afterwards."""
        return self.sides[self.actor]


class Event(NamedTuple):
    """A line of the table: a row of the trace, or an arrival that the trace leaves out."""

    moment: int
    row: Row | None
    flight: int | None = None


@dataclass(frozen=True)
class Conversation:
    """What two agents of a scenario said to each other in the first slots of a run."""

    scenario: Scenario
    pair: tuple[int, int]
    """Their positions in the scenario."""
    seed: int
    trial: int
    moments: tuple[Moment, ...]
    flights: tuple[Flight, ...]
    events: tuple[Event, ...]
    start: tuple[Side, Side]
    """What each thought of the other before anything happened."""
    ending: Ending

    @property
    def rows(self) -> list[Row]:
        """The engine's trace, as far as it concerns the two."""
        return [event.row for event in self.events if event.row is not None]

    def pulls(self, side: int) -> list[Moment]:
        """Return the decisions of one of the two."""
        return [moment for moment in self.moments if moment.cause is Cause.PULL and moment.actor == side]

    def sent(self, side: int, *forms: Form) -> list[Flight]:
        """Return the messages of one of the two that have one of these forms."""
        return [flight for flight in self.flights if flight.sender == side and flight.form in forms]
