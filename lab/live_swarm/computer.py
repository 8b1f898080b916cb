"""What a process runs on: a clock that may be wrong, and a disk that may forget.

Everything on a disk is bytes, as on a real one. Beside them it is noted what its member knew when they were written:
that is how a check can tell what must still be known after a start.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cobandit.live.machine.batch import Batch, Mail, NodeState, decode_batch, decode_state, encode_batch, encode_state
from cobandit.live.machine.controls import Setting
from cobandit.live.store.journal import Journal, JournalError, Stored
from lab.live_swarm.insides import View, as_unclean
from lab.live_swarm.timeline import Timeline

START = 1_800_000_000.0
"""When worlds begin, in seconds since 1970."""

COPY_EVERY = 5
"""After so many writes there is a copy of the disk to which it can be rolled back."""

MOST_COPIES = 12

NOTHING_KNOWN: View = {}

BEFORE_WRITE, AFTER_WRITE, BEFORE_PACKET = "before a write", "after a write", "before a packet"
"""Points of a program at which a process can end."""


class Clock:
    """The clock of a computer, or of a process on it. It goes wrong by being set and by being too fast."""

    def __init__(self, timeline: Timeline, offset: float = 0.0, drift: float = 0.0, stops_at: float = math.inf) -> None:
        self._timeline = timeline
        self.offset = offset
        self.drift = drift
        self._stops_at = stops_at
        """From then on it stays the same time of day; waits go on."""

    def copied(self) -> "Clock":
        """Return a clock that is as wrong as this one is now."""
        return Clock(self._timeline, self.offset, self.drift)

    def now(self) -> float:
        """Return the time, as far as this clock knows."""
        return START + self._timeline.time * (1.0 + self.drift) + self.offset

    def time_of_day(self) -> float:
        """Return the same, until that stops."""
        return START + min(self._timeline.time, self._stops_at) * (1.0 + self.drift) + self.offset


class ProcessClock:
    """What a process goes by: as `SystemClock`, it does not notice that the clock is set, but knows the time of day."""

    def __init__(self, clock: Clock) -> None:
        self.time_of_day = clock.time_of_day
        self.now = clock.copied().now


class Content(NamedTuple):
    """What is on a disk at one moment."""

    state: bytes | None
    log: list[bytes]
    """Batches since the state. Only grows; the first so many are this content's."""
    length: int
    mail: tuple[Mail, ...]
    mark: int
    """The mark of the start that wrote it (`cobandit.live.store.state_lock`)."""
    known: View
    """What its member knew."""
    settings: tuple[Setting, ...]
    """The controls in it."""


class Disk:
    """The disk of one member."""

    def __init__(self, *, forgets: bool) -> None:
        self.content = self.synced = Content(None, [], 0, (), 0, NOTHING_KNOWN, ())
        self.forgets = forgets
        """Whether it says that it has synced what a power failure will take."""
        self.refuses = False
        """Whether it takes nothing now."""
        self.mark = 0
        """What lies beside the content, and does not go back with it: of which start the content must be."""
        self.forgot_at: float | None = None
        """When something was last lost from it, if ever."""
        self.was_read_ahead = False
        """Whether a member started from it while its clock was far ahead for a moment: it believed the clock and forgot
        what was older than a window."""
        self._copies: list[Content] = []
        self._writes = self._mails = 0

    def keep(self, content: Content) -> None:
        """Write something. Any disk really syncs now and then."""
        self._writes += 1
        self.content = content
        if not self.forgets or self._writes % COPY_EVERY == 0:
            self.synced = content
        if self._writes % COPY_EVERY == 0:
            self._copies.append(content)
            del self._copies[:-MOST_COPIES]

    def leave_mail(self, token: str, reward: float) -> None:
        """Put a reward into the mailbox, as `cobandit.reward` does from another process."""
        self._mails += 1
        mail = (*self.content.mail, Mail(self._mails, token, reward))
        is_synced = self.synced is self.content
        self.content = self.content._replace(mail=mail)
        self.synced = self.content if is_synced else self.synced._replace(mail=mail)

    def lose_power(self) -> bool:
        """Lose what was not really synced. Return whether that was anything."""
        has_lost = self.content is not self.synced
        self._go_back_to(self.synced)
        return has_lost

    def roll_back(self, amount: float) -> None:
        """Go back to an older copy: 0 for the oldest, nearly 1 for the newest."""
        if self._copies:
            position = int(amount * len(self._copies))
            self._go_back_to(self._copies[position])
            del self._copies[position:]

    def copied(self) -> "Disk":
        """Return another disk with the same content."""
        twin = Disk(forgets=self.forgets)
        twin._go_back_to(self.content)
        twin.mark = -1  # whatever lies beside a copy, it is not what lay beside the original
        twin._mails = self._mails
        return twin

    def stored(self) -> Stored:
        """Return what a start finds."""
        content = self.content
        state = None if content.state is None else decode_state(content.state)
        if state is not None and content.mark != self.mark:
            state = as_unclean(state)
        return Stored(state, [decode_batch(batch) for batch in content.log[: content.length]])

    @property
    def left_clean_by(self) -> int | None:
        """Which start left this behind in good order, if one did and nothing has happened to it since."""
        state = None if self.content.state is None else decode_state(self.content.state)
        is_clean = state is not None and state.is_clean and not self.content.length
        return self.content.mark if is_clean and self.content.mark == self.mark else None

    def _go_back_to(self, content: Content) -> None:
        self.content = self.synced = content._replace(log=content.log[: content.length])


class DiskJournal(Journal):
    """A journal on such a disk, as one process has it open."""

    def __init__(self, disk: Disk, mark: int, known: Callable[[], View], point: Callable[[str], None]) -> None:
        self._disk = disk
        self._mark = mark
        self._known = known
        self._point = point
        """Called before and after every write: the process may end there."""

    def read(self) -> Stored:
        return self._disk.stored()

    def write(self, batches: Sequence[Batch], mail_done: Sequence[int] = ()) -> None:
        self._begin()
        content = self._disk.content
        log = content.log
        log += map(encode_batch, batches)
        mail = tuple(mail for mail in content.mail if mail.number not in mail_done)
        settings = next((batch.settings for batch in reversed(batches) if batch.settings is not None), content.settings)
        self._end(content._replace(length=len(log), mail=mail, known=self._known(), settings=settings))

    def replace(self, state: NodeState) -> None:
        self._begin()
        self._disk.mark = self._mark
        mail = self._disk.content.mail
        self._end(Content(encode_state(state), [], 0, mail, self._mark, self._known(), state.settings))

    def mail(self) -> list[Mail]:
        return list(self._disk.content.mail)

    def history(self) -> Iterator[Batch]:
        return iter(())

    def close(self) -> None:
        pass

    def _begin(self) -> None:
        self._point(BEFORE_WRITE)
        if self._disk.refuses:
            raise JournalError("the disk takes nothing")

    def _end(self, content: Content) -> None:
        self._disk.keep(content)
        self._point(AFTER_WRITE)


def promised(stored: Stored) -> Mapping[tuple[str, str], float]:
    """Return the rewards for others that are on a disk: for whom, the token, and how much."""
    if stored.state is None:
        return {}
    rewards = {(peer, token): reward for peer, token, reward in stored.state.rewards}
    for batch in stored.batches:
        rewards.update({(peer, token): reward for peer, token, reward in batch.rewards_kept})
        for gone in batch.rewards_gone:
            rewards.pop(gone, None)
    return rewards
