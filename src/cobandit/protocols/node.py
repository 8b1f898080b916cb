"""What a protocol sees of the world, and all that it may do there: one node of a run, an agent or a hub.

A node has no clock, no network and no randomness of its own making. The engine sets the slot, collects what it wants to
send, and wakes it when it asks for that. All refusals happen here, and name the node.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import msgspec

from cobandit.policies import Policy
from cobandit.protocols.ledger import Cell, Ledger
from cobandit.values.chance import uniform
from cobandit.values.checks import check_whole
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm

NoteKind = Literal["share", "notice"]
"""A share counts as a communication in the sense of the paper's C; notices are counted separately."""

LARGEST_MESSAGE = 2**24
"""The largest message, in bytes."""

ENVELOPE = 14
"""Bytes around the content of a message: as many as the project's own wire format needs for checksum, version, kind,
sender, receiver and number, with names of one character."""

One = TypeVar("One")


class Note(NamedTuple):
    """A message of a node, ready to be sent."""

    sender: str
    receiver: str
    kind: NoteKind
    number: int
    """Counted from 1 for each receiver and kind."""
    observations: int
    content: bytes
    presence: bool | None = None
    """Whether the sender is here, if the note says only that."""

    @property
    def size(self) -> int:
        """Its bytes on the wire."""
        return ENVELOPE + len(self.content)


class Place(NamedTuple):
    """A node's place in a world: everything that the engine knows about it in advance."""

    position: int
    names: Sequence[str]
    """The names of all nodes: first the agents, then the hubs."""
    agents: int
    neighbours: tuple[int, ...]
    arms: tuple[Arm, ...]
    """The arms that it can pull; for a hub, all arms of the world."""
    horizon: int
    chance_key: int
    graph: Callable[[], tuple[tuple[int, ...], ...]] = tuple
    """Returns the neighbours of every node."""
    is_mesh: bool = True
    has_same_arms: bool = True


class Node:
    """One node, which a protocol's instance receives when it is created."""

    def __init__(self, place: Place, policy: Policy) -> None:
        self.position = place.position
        """Positions identify nodes everywhere: agents come first, in the order of the scenario, then hubs."""
        self.name = place.names[place.position]
        self.agents = place.agents
        """How many agents there are."""
        self.is_hub = place.position >= place.agents
        """Whether it never decides."""
        self.neighbours = place.neighbours
        """The nodes to which it may send, in order."""
        self.here = place.neighbours
        """Its neighbours that are not known to be away."""
        self.arms = place.arms
        self.horizon = place.horizon
        self.slot = 0
        """The slot; the engine advances it."""
        self.policy = policy
        """Chooses, unless the protocol has a `select_arm`. Own pulls are counted in it before `observed`."""
        self.ledger = Ledger()
        """Who observed what. Own pulls are counted in it before `observed`."""
        self.is_mesh = place.is_mesh
        """Whether all nodes talk to each other, so that nothing needs to be passed on."""
        self.has_same_arms = place.has_same_arms
        """Whether all agents have the same arms, in whatever order."""
        self.graph = place.graph
        """Returns the neighbours of every node, for protocols whose agents know the whole network."""
        self.wake_at: int | None = None
        """When `tick` is called next."""
        self._names = place.names
        self._chance_key = place.chance_key
        self._draws = 0
        self._numbers: dict[tuple[int, NoteKind], int] = {}
        self._told: dict[int, int] = {}
        self._outbox: list[Note] = []

    @property
    def own_pulls(self) -> int:
        """How often this node has pulled."""
        return self.policy.own_pulls

    def send(self, to: int, message: object, *, kind: NoteKind = "share", observations: int = 0) -> None:
        """Send a message to a neighbour.

        Args:
            to: The neighbour's position.
            message: Any value that MessagePack can hold: numbers, texts, lists, dictionaries. The receiver gets a copy.
            kind: A share or a notice.
            observations: How many observations the message carries, for the trace.

        Raises:
            LocalError: The receiver is not a neighbour, or the message cannot be encoded or is too long.
        """
        if to not in self.neighbours:
            raise LocalError(f"{self._said()} sends to {to!r}: {self._why_not(to)}")
        if kind not in get_args(NoteKind):
            raise LocalError(f"{self._said()} sends a {kind!r}: kind must be one of {', '.join(get_args(NoteKind))}")
        check_whole(f"the observations that {self._said()} tells", observations, 0)
        try:
            content = msgspec.msgpack.encode(message)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise LocalError(f"{self._said()} sends {message!r}, which cannot be encoded: {error}") from error
        if len(content) > LARGEST_MESSAGE:
            raise LocalError(f"{self._said()} sends {len(content)} bytes: at most {LARGEST_MESSAGE} are allowed")
        self._post(to, kind, observations, content)

    def tell(self, to: int, cells: Sequence[Cell]) -> None:
        """Send cells of the ledger as a share, if there are any. The trace records how many observations they hold."""
        if cells:
            self.send(to, [tuple(cell) for cell in cells], observations=sum(cell.observations for cell in cells))

    def news_for(self, to: int, *, source: int | None = None) -> list[Cell]:
        """Return the cells that changed since the last call for this neighbour, of one source or of all.

        Leaves out what the neighbour itself observed or sent.
        """
        since = self._told.get(to, 0)
        self._told[to] = self.ledger.changes
        return self.ledger.news(since, to=to, source=source)

    def learn(self, told: Iterable[Iterable[object]], teller: int) -> int:
        """Take cells from a neighbour: put them into the ledger, and give the policy what is new about own arms.

        Returns:
            How many observations were new to this node.
        """
        news = self.ledger.merge(told, teller)
        if not self.is_hub:
            self.policy.learn(entry for entry in news if entry.arm in self.policy.tally.counts)
        return sum(entry.observations for entry in news)

    def uniform(self) -> float:
        """Return the next number of this node's own random stream: uniform on [0, 1)."""
        self._draws += 1
        return uniform(self._chance_key, self._draws - 1)

    def pick(self, choices: Sequence[One]) -> One:
        """Return one of these at random, all equally likely.

        Raises:
            LocalError: There are none.
        """
        if not choices:
            raise LocalError(f"{self._said()} picks one of nothing")
        return choices[int(self.uniform() * len(choices))]

    def wake_in(self, slots: int) -> None:
        """Ask for `tick` to be called after this many slots, before any agent decides. Replaces an earlier request."""
        check_whole(f"the slots after which {self._said()} wants to be woken", slots, 1)
        self.wake_at = self.slot + slots

    def take(self) -> tuple[Note, ...]:
        """Take out the messages to be sent. Called by the engine."""
        notes, self._outbox = tuple(self._outbox), []
        return notes

    def announce(self, *, is_here: bool) -> None:
        """Tell every neighbour that this node leaves or is back. Called by the engine."""
        for neighbour in self.neighbours:
            self._post(neighbour, "notice", 0, msgspec.msgpack.encode(is_here), presence=is_here)

    def _post(self, to: int, kind: NoteKind, observations: int, content: bytes, presence: bool | None = None) -> None:
        number = self._numbers[to, kind] = self._numbers.get((to, kind), 0) + 1
        self._outbox.append(Note(self.name, self._names[to], kind, number, observations, content, presence))

    def _said(self) -> str:
        return f"the protocol of {'hub' if self.is_hub else 'agent'} {self.name}"

    def _why_not(self, to: object) -> str:
        if to == self.position:
            return "that is itself"
        if isinstance(to, int) and 0 <= to < len(self._names):
            return f"its neighbours are {', '.join(map(str, self.neighbours)) or 'none'}"
        return f"there are nodes 0 to {len(self._names) - 1}"


def best_arm(indices: Mapping[Arm, float]) -> Arm:
    """Return the arm with the highest index; the first one wins a tie.

    Raises:
        LocalError: An index is not a number.

    >>> best_arm({"A": 0.5, "B": 0.75, "C": 0.75})
    'B'
    """
    for arm, index in indices.items():
        if math.isnan(index):
            raise LocalError(f"the index of arm {arm!r} is not a number: look at what it is computed from")
    return max(indices, key=indices.__getitem__)


def decoded(note: Note) -> Any:  # any plain value
    """Return the content of a note."""
    return msgspec.msgpack.decode(note.content)
