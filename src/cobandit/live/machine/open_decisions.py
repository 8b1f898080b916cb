"""Which decisions wait for their reward, as far as the journal knows, and which were never written down.

This is the network side's copy of what the decider knows. It advances batch by batch, so it always matches the disk.
After a crash, the last decisions may be missing there, and only their tokens are evidence of them. Such a decision can
still be rewarded, once. This file can tell that from a reward that arrives a second time.

The age of a decision does not depend on the clock after a restart. It is measured by how long its member has run since,
over all its starts. So a clock that is days ahead expires nothing.

A decision's number is its start (`run`) and its place in it: `run << 32 | place`. Neither is counted from 1: a state
that was rolled back must not reuse numbers that it has forgotten, nor take decisions that it does not know for its own.
"""

from collections.abc import Iterable

import msgspec

from cobandit.live.decide.common import MOST_SUBJECTS, MOST_WAITING, Decided, Settled
from cobandit.live.decide.holdout import is_held_out
from cobandit.values.tally import Arm

PLACES = 32
MOST_OPEN = 1_000_000
"""How many decisions may be open. Beyond that the oldest are given up, as if they had expired."""

MOST_RUNS = 1024
"""For how many starts the last written place is remembered."""

MOST_LATE = 1_000_000

MOST_UNWRITTEN = MOST_WAITING
"""How many decisions after the last written one count as lost in a crash. Numbers further on belong to a start in the
same second that a rolled-back disk has forgotten, because places begin at random."""


class OpenDecisionsState(msgspec.Struct, frozen=True, array_like=True):
    """The part of a snapshot that this file owns."""

    open: tuple[tuple[int, Arm, float], ...] = ()
    subjects: tuple[tuple[str, Arm, float | None], ...] = ()
    written: tuple[tuple[int, int], ...] = ()
    late: tuple[int, ...] = ()
    trusted_since: int = 0
    lived: float = 0.0
    """How many seconds the member has run, over all its starts."""
    zeros: tuple[tuple[int, float], ...] = ()


class OpenDecisions:
    """Open decisions, subjects and gaps."""

    def __init__(self, state: OpenDecisionsState | None = None) -> None:
        state = state or OpenDecisionsState()
        self.open: dict[int, tuple[Arm, float]] = {number: (arm, at) for number, arm, at in state.open}
        self._subjects: dict[str, tuple[Arm, float | None]] = {s: (arm, p) for s, arm, p in state.subjects}
        self._written = dict(state.written)
        """The highest written place of each start; the place before its first if nothing was written."""
        self._late: dict[int, object] = dict.fromkeys(state.late)
        """Decisions that were rewarded but never written down."""
        self.trusted_since = state.trusted_since
        """The first trusted start. About earlier ones, the disk had forgotten what others had seen, perhaps a
        reward."""
        self.lived = state.lived
        """How many seconds the member had run when this was last written."""
        self._zeros = dict(state.zeros)
        """For each start, what its clock would have shown when the member's running time was zero."""
        self._zero = 0.0

    def begin(self, run: int, first_place: int, now: float) -> None:
        """Note a start, its first place, and its clock."""
        self._written[run] = first_place - 1
        self._zero = self._zeros[run] = now - self.lived

    def lived_at(self, now: float) -> float:
        """Return how many seconds the member has run, over all its starts."""
        return now - self._zero

    def expires_at(self, number: int, at: float, after_s: float) -> float:
        """Return when, by this start's clock, the member will have run for this many seconds since a decision."""
        return self._zero + at - self._zeros.get(number >> PLACES, self._zero) + after_s

    def apply(self, decided: Iterable[Decided], settled: Iterable[Settled]) -> None:
        """Note decisions and their ends."""
        for number, arm, propensity, at, subject, is_forced in decided:
            self.open[number] = (arm, at)
            start, place = number >> PLACES, number & (1 << PLACES) - 1
            self._written[start] = max(place, self._written.get(start, -1))  # threads may arrive out of order
            if subject is not None and not is_forced and not is_held_out(arm):
                self._subjects.pop(subject, None)
                self._subjects[subject] = (arm, propensity)
        for entry in settled:
            if self.open.pop(entry.number, None) is None:
                self._late[entry.number] = None
        for kept, most in (
            (self._subjects, MOST_SUBJECTS),
            (self._written, MOST_RUNS),
            (self._zeros, MOST_RUNS),
            (self._late, MOST_LATE),
        ):
            while len(kept) > most:
                kept.pop(next(iter(kept)))  # type: ignore[call-overload]  # each has its own type of keys

    def claim_unwritten(self, number: int, run: int) -> bool:
        """Return whether a decision, by its token, was made before this start but never written down.

        Of several callers, in any threads, only one gets True. That one rewards the decision.
        """
        start, place = number >> PLACES, number & (1 << PLACES) - 1
        written = self._written.get(start)
        if written is None or not self.trusted_since <= start < run or not written < place <= written + MOST_UNWRITTEN:
            return False
        mark = object()
        return self._late.setdefault(number, mark) is mark

    def is_settled(self, number: int) -> bool:
        """Return whether a genuine token's decision was written down or rewarded and is no longer open.

        About starts that are not trusted, nothing is known.
        """
        start, place = number >> PLACES, number & (1 << PLACES) - 1
        is_closed = number not in self.open and place <= self._written.get(start, -1)
        return start >= self.trusted_since and (number in self._late or is_closed)

    def subjects(self) -> tuple[tuple[str, Arm, float | None], ...]:
        """Return the arm of each subject, and how likely it was."""
        return tuple((subject, arm, propensity) for subject, (arm, propensity) in self._subjects.items())

    def state(self, now: float) -> OpenDecisionsState:
        """Return all of it."""
        return OpenDecisionsState(
            open=tuple((number, arm, at) for number, (arm, at) in self.open.items()),
            subjects=self.subjects(),
            written=tuple(self._written.items()),
            late=tuple(self._late),
            trusted_since=self.trusted_since,
            lived=self.lived_at(now),
            zeros=tuple(self._zeros.items()),
        )
