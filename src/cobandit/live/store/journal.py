"""What a member keeps on its disk, and the promise of every journal: what was written is there, whole, after any crash.

A journal holds one snapshot and the batches since. A batch is everything that happened in one step of a node: one
write, one sync, however many observations are in it. It also holds a mailbox, into which other processes may put
rewards for this member's decisions, whether it runs or not. `cobandit.testing.check_journal` holds every journal to
this.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cobandit.live.machine.batch import Batch, Mail, NodeState, decode_batch, decode_state, encode_batch, encode_state
from cobandit.values.errors import NotNowError


class JournalError(NotNowError):
    """The disk does not take what it is given: full, read-only, gone. Nothing of the batch was kept."""


class Stored(NamedTuple):
    """What is found at a start."""

    state: NodeState | None
    batches: list[Batch]


class Journal(ABC):
    """Keeps what a member must not forget. Its methods block; none is called by two threads at once."""

    is_durable = True
    """Whether writing takes long enough to be done beside the event loop."""

    name: str = "the state"
    """What it is called in errors."""

    damage: str | None = None
    """What was wrong with it when it was opened, and what is missing since; in words for the operator."""

    remark: str | None = None
    """What else the operator should know about it."""

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


MOST_BATCHES_IN_MEMORY = 10_000


class MemoryJournal(Journal):
    """Keeps everything until the process ends: for members that may forget, and for tests.

    Args:
        log_limit: How many batches the log of decisions has at most.
        is_read_again: Whether it may be read by a later start. If not, it keeps only the log.
    """

    is_durable = False

    def __init__(self, log_limit: int = MOST_BATCHES_IN_MEMORY, *, is_read_again: bool = True) -> None:
        self._log_limit, self._is_read_again = min(log_limit, MOST_BATCHES_IN_MEMORY), is_read_again
        self._state: bytes | None = None
        self._batches: list[bytes] = []
        self._history: list[bytes] = []

    def take(self, stored: Stored) -> None:
        """Hold what another journal does."""
        if stored.state is not None:
            self.replace(stored.state)
        self.write(stored.batches)

    def read(self) -> Stored:
        state = None if self._state is None else decode_state(self._state)
        return Stored(state, [decode_batch(batch) for batch in self._batches])

    def write(self, batches: Sequence[Batch], mail_done: Sequence[int] = ()) -> None:  # noqa: ARG002  # there is none
        encoded = [encode_batch(batch) for batch in batches]
        if self._is_read_again:
            self._batches += encoded
        if self._log_limit:
            self._history += encoded
            del self._history[: -self._log_limit]

    def replace(self, state: NodeState) -> None:
        if self._is_read_again:
            self._state = encode_state(state)
            self._batches.clear()

    def mail(self) -> list[Mail]:
        return []

    def history(self) -> Iterator[Batch]:
        return (decode_batch(batch) for batch in tuple(self._history))

    def close(self) -> None:
        pass
