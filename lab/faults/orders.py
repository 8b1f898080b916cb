"""What a worker process is told and what it says: lines of JSON, with these shapes and no others."""

from typing import Literal

import msgspec

from cobandit.core import Geometric, RetryTimers, Sharing, on_demand
from cobandit.live.machine.sharing import LIVE_SHARING
from cobandit.values.tally import ArmTally


class Spec(msgspec.Struct, frozen=True):
    """How a worker runs its member."""

    url: str
    group: str
    name: str
    arms: tuple[str, ...]
    state: str | None
    truth: str
    """The file for what really happens; a new one for every start."""
    seed: int
    start: int
    """How often a member was started with this state."""
    tick: float
    """Seconds without an observation after which what is new is sent all the same."""
    longest: float
    """The longest wait before something is said again, in seconds."""
    rate: float
    """Decisions in a second."""
    peers: tuple[str, ...] = ()
    keys: str | None = None
    given_away: float = 0.15
    """Which share of decisions is not rewarded here: their ids go to the parent."""
    clock_behind_s: float = 0.0
    """By how much the member's clock is behind."""
    is_relay: bool = False
    relays: tuple[str, ...] = ()
    """Where the relays are, if it is a leaf."""
    is_patient: bool = False
    """Whether it talks as live members do, and not in a hurry."""
    sabotage: str | None = None
    """A Python file that breaks the live part on purpose, to see whether that is noticed."""
    is_nameless: bool = False
    """Whether a relay lends it a name; its own is then only for the parent."""
    bandits: tuple[str, ...] = ()
    """If it is a member of a fleet: the bandits that it declares when it starts (`named_bandits.py`)."""
    lease: float = 120.0
    """Seconds after which a relay ends the name of a process that is not heard."""

    def sharing(self) -> Sharing:
        """Return how the member talks: as live members do, but in a hurry unless it is patient."""
        if self.is_patient:
            return LIVE_SHARING
        patience = RetryTimers(first=0.3, least=0.05, growth=1.5, tick=self.tick, longest=self.longest)
        return on_demand(Geometric(2, cap=16), loss_tolerant=patience)


class Order(msgspec.Struct, frozen=True):
    """What to do."""

    do: Literal["go", "rest", "observe", "reward", "control", "declare", "look", "close"]
    tokens: tuple[str, ...] = ()
    """Decisions to reward, the arm of the kill switch, or bandits to declare."""


class Origin(msgspec.Struct, frozen=True):
    """What is known of one start of a member."""

    member: str
    incarnation: int
    tallies: tuple[ArmTally, ...]


class Look(msgspec.Struct, frozen=True, tag="look"):
    """How a member is."""

    incarnation: int
    origins: tuple[Origin, ...]
    troubles: tuple[str, ...]
    refused: dict[str, int]
    is_superseded: bool
    decisions: int
    owes: int
    """Rewards for others that are not delivered yet."""
    first_arm: str = ""
    """That of its very first decision."""
    control_arm: str = ""
    """Where the kill switch points."""
    known: dict[str, int] = {}
    """How many observations it decides by, of each arm."""
    homes: tuple[str, ...] = ()
    """The relays that a leaf talks to."""
    packets: int = 0
    """How many it has sent."""
    observations: int = 0
    """How many it knows of, its own and others'."""
    resident_kb: int = 0
    """Memory of its process."""


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The member has started."""

    incarnation: int


class NotStarted(msgspec.Struct, frozen=True, tag="not started"):
    """The member could not be started."""

    why: str


class GivenAway(msgspec.Struct, frozen=True, tag="given away"):
    """Decisions that another member shall reward."""

    tokens: tuple[str, ...]


class Done(msgspec.Struct, frozen=True, tag="done"):
    """An order is carried out, and synced unless it says why not."""

    do: str
    why_not: str | None = None


class Twice(msgspec.Struct, frozen=True, tag="twice"):
    """A reward was taken a second time."""

    token: str


class Said(msgspec.Struct, frozen=True, tag="said"):
    """What the member told the people who run it."""

    level: int
    text: str


class Synced(msgspec.Struct, frozen=True, tag="synced"):
    """Another sync went well (or, with a reason, did not)."""

    why_not: str | None = None


Event = Look | Ready | NotStarted | GivenAway | Done | Twice | Said | Synced

encode = msgspec.json.encode
decode_spec = msgspec.json.Decoder(Spec).decode
decode_order = msgspec.json.Decoder(Order).decode
decode_event = msgspec.json.Decoder(Event).decode
