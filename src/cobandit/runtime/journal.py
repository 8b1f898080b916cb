"""What a member keeps on its disk, and the promise of every journal: what was written is there, whole, after any crash.

A journal holds one snapshot and the batches since. A batch is everything that happened in one turn of a node: one
write, one sync, however many observations are in it. It also holds a mailbox, into which other processes may put
rewards for this member's decisions, whether it runs or not. `cobandit.testing.check_journal` holds every journal to
this.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from cobandit.codec import STATE_VERSION, Format, StateCodec
from cobandit.runtime.controls import Setting
from cobandit.runtime.desk import Decided, Settled
from cobandit.runtime.outstanding import OutstandingState
from cobandit.values.errors import NotNowError


class JournalError(NotNowError):
    """The disk does not take what it is given: full, read-only, gone. Nothing of the batch was kept."""


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """What happened in one turn."""

    decided: tuple[Decided, ...] = ()
    settled: tuple[Settled, ...] = ()
    records: tuple[bytes, ...] = ()
    """Inputs of the agent, to be replayed (`cobandit.codec.encode_record`)."""
    settings: tuple[Setting, ...] | None = None
    """The controls, if they changed."""
    rewards_kept: tuple[tuple[str, str, float], ...] = ()
    """Rewards for other members: for whom, the token, the reward."""
    rewards_gone: tuple[tuple[str, str], ...] = ()
    """Which of those have arrived: with whom, the token."""
    trusted_since: int | None = None
    """If others had seen what this journal had forgotten: the first start whose decisions may still be rewarded."""


class NodeState(msgspec.Struct, frozen=True, array_like=True):
    """Everything that a member knows, at one moment."""

    agent: bytes
    """`cobandit.codec.encode_snapshot`."""
    run: int
    """Which of its starts this is: later ones have higher numbers (`cobandit.runtime.restoring.fresh_run`)."""
    secret: bytes
    """What its decisions are signed with."""
    is_clean: bool
    """Whether it was stopped after this, with everything written down."""
    settings: tuple[Setting, ...] = ()
    rewards: tuple[tuple[str, str, float], ...] = ()
    outstanding: OutstandingState = OutstandingState()
    group: str = ""


class Stored(NamedTuple):
    """What is found at a start."""

    state: NodeState | None
    batches: list[Batch]


class Mail(NamedTuple):
    """A reward that another process left."""

    number: int
    token: str
    reward: float


class Journal(ABC):
    """Keeps what a member must not forget. Its methods block; none is called by two threads at once."""

    is_durable = True
    """Whether writing takes long enough to be done beside the event loop."""

    @abstractmethod
    def read(self) -> Stored:
        """Return what was written.

        Raises:
            LocalError: It is damaged, or of another version.
        """

    @abstractmethod
    def write(self, batches: Sequence[Batch], mail_done: Sequence[int] = ()) -> None:
        """Keep these batches, all or none, and drop this mail. When it returns they survive a power failure.

        Raises:
            JournalError: Nothing was kept.
        """

    @abstractmethod
    def replace(self, state: NodeState) -> None:
        """Keep this in the place of the snapshot; batches before it are only history from now on.

        Raises:
            JournalError: All is as it was.
        """

    @abstractmethod
    def mail(self) -> list[Mail]:
        """Return what other processes left, oldest first."""

    @abstractmethod
    def history(self) -> Iterator[Batch]:
        """Return the batches with decisions or rewards that are still there, from before the snapshot too.

        For the log of decisions. Others may be among them.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of it, so that another process may open it."""


class MemoryJournal(Journal):
    """Keeps everything until the process ends: for members that may forget, and for tests."""

    is_durable = False

    def __init__(self) -> None:
        self._state: bytes | None = None
        self._batches: list[bytes] = []
        self._history: list[bytes] = []

    def read(self) -> Stored:
        state = None if self._state is None else decode_state(self._state)
        return Stored(state, [decode_batch(batch) for batch in self._batches])

    def write(self, batches: Sequence[Batch], mail_done: Sequence[int] = ()) -> None:  # noqa: ARG002  # there is none
        encoded = [encode_batch(batch) for batch in batches]
        self._batches += encoded
        self._history += encoded
        del self._history[:-MOST_BATCHES_IN_MEMORY]

    def replace(self, state: NodeState) -> None:
        self._state = encode_state(state)
        self._batches.clear()

    def mail(self) -> list[Mail]:
        return []

    def history(self) -> Iterator[Batch]:
        return (decode_batch(batch) for batch in tuple(self._history))

    def close(self) -> None:
        pass


MOST_BATCHES_IN_MEMORY = 10_000

_CURE = ". Restore the file, or remove it to start anew"
BATCHES = StateCodec("a batch of a journal", Format(STATE_VERSION, {64: Batch}), cure=_CURE)
STATES = StateCodec("the state of a member", Format(STATE_VERSION, {65: NodeState}), cure=_CURE)


def encode_batch(batch: Batch) -> bytes:
    """Return a batch as bytes."""
    return BATCHES.encode(batch)


def decode_batch(stored: bytes) -> Batch:
    """Return the batch in these bytes.

    Raises:
        LocalError: They are damaged, or of a version that is not read here.
    """
    batch: Batch = BATCHES.decode(stored)
    return batch


def encode_state(state: NodeState) -> bytes:
    """Return a member's state as bytes."""
    return STATES.encode(state)


def decode_state(stored: bytes) -> NodeState:
    """Return the state in these bytes.

    Raises:
        LocalError: They are damaged, or of a version that is not read here.
    """
    state: NodeState = STATES.decode(stored)
    return state
