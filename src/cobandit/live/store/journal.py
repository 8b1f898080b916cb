"""What a member keeps on its disk, and what every journal guarantees: what was written survives any crash, intact.

A journal holds one snapshot and the batches since. A batch is everything that happened in one step of a node: one write
and one sync, however many observations it contains. The journal also has a mailbox, in which other processes may leave
rewards for this member's decisions, whether it runs or not. `cobandit.testing.check_journal` checks these guarantees.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cobandit.live.machine.batch import Batch, Mail, NodeState, decode_batch, decode_state, encode_batch, encode_state
from cobandit.values.errors import NotNowError


class JournalError(NotNowError):
    """The disk refused a write: it is full, read-only or gone. No part of the batch was kept."""


class Stored(NamedTuple):
    """What a journal holds at a start."""

    state: NodeState | None
    batches: list[Batch]


class Journal(ABC):
    """Keeps what a member must not forget. Its methods block and are never called by two threads at once."""

    is_durable = True
    """Whether writing is slow enough to be done off the event loop."""

    name: str = "the state"
    """Its name in error messages."""

    damage: str | None = None
    """What was wrong when it was opened, and what has been missing since, in words for the operator."""

    remark: str | None = None
    """What else the operator should know about it."""

    @abstractmethod
    def read(self) -> Stored:
        """Return what was written.

        Raises:
            LocalError: It is damaged, or has another version.
        """

    @abstractmethod
    def write(self, batches: Sequence[Batch], mail_done: Sequence[int] = ()) -> None:
        """Keep these batches, all or none, and drop this mail. Once it returns, they survive a power failure.

        Raises:
            JournalError: Nothing was kept.
        """

    @abstractmethod
    def replace(self, state: NodeState) -> None:
        """Replace the snapshot with this one. Earlier batches are only history from now on.

        Raises:
            JournalError: Nothing changed.
        """

    @abstractmethod
    def mail(self) -> list[Mail]:
        """Return the rewards that other processes left, oldest first."""

    @abstractmethod
    def history(self) -> Iterator[Batch]:
        """Return the batches with decisions or rewards that are still there, including those before the snapshot.

        For the log of decisions. Other batches may be among them.
        """

    @abstractmethod
    def close(self) -> None:
        """Release it, so that another process may open it."""


MOST_BATCHES_IN_MEMORY = 10_000


class MemoryJournal(Journal):
    """Keeps everything until the process ends. For members that may forget, and for tests.

    Args:
        log_limit: The most batches that the log of decisions keeps.
        is_read_again: Whether a later start may read it. If not, it keeps only the log.
    """

    is_durable = False

    def __init__(self, log_limit: int = MOST_BATCHES_IN_MEMORY, *, is_read_again: bool = True) -> None:
        self._log_limit, self._is_read_again = min(log_limit, MOST_BATCHES_IN_MEMORY), is_read_again
        self._state: bytes | None = None
        self._batches: list[bytes] = []
        self._history: list[bytes] = []

    def take(self, stored: Stored) -> None:
        """Take over the content of another journal."""
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
