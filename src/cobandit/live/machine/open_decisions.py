"""Which decisions wait for their reward, as far as the journal knows; and which were never written down.

The network side's copy of what the decider knows, moved on batch by batch, so that it is always in step with what is on
the disk. After a crash the last decisions may not be there. Nobody remembers them but their tokens: such a decision can
be rewarded too, once. This file knows how to tell that from a reward that comes a second time.

How old a decision is does not depend on what the clock says after a restart: what counts is for how long its member has
run since, in all its starts. So a clock that is days ahead ends nothing.

A decision's number is its start (`run`) and its place in it: `run << 32 | place`. Neither is counted from 1: a state
that was rolled back must not give out numbers again that it has forgotten, nor take what it does not know for its own.
"""

from collections.abc import Iterable

import msgspec

from cobandit.live.decide.common import MOST_SUBJECTS, MOST_WAITING, Decided, Settled
from cobandit.live.decide.holdout import is_held_out
from cobandit.values.tally import Arm

PLACES = 32
MOST_OPEN = 1_000_000
"""So many decisions may be open; then the oldest are given up, as if they had expired."""

MOST_RUNS = 1024
"""Of so many starts it is remembered how far they were written down."""

MOST_LATE = 1_000_000

MOST_UNWRITTEN = MOST_WAITING
"""Of so many decisions after the last that was written down it is believed that a crash took them. Others are of a
start in the same second, which a disk that was rolled back has forgotten: places begin at random."""


class OpenDecisionsState(msgspec.Struct, frozen=True, array_like=True):
    """What is kept in a snapshot."""

    open: tuple[tuple[int, Arm, float], ...] = ()
    subjects: tuple[tuple[str, Arm, float | None], ...] = ()
    written: tuple[tuple[int, int], ...] = ()
    late: tuple[int, ...] = ()
    trusted_since: int = 0
    lived: float = 0.0
    """For how many seconds the member has run, in all its starts."""
    zeros: tuple[tuple[int, float], ...] = ()


class OpenDecisions:
    """Open decisions, subjects and gaps."""

    def __init__(self, state: OpenDecisionsState | None = None) -> None:
        state = state or OpenDecisionsState()
        self.open: dict[int, tuple[Arm, float]] = {number: (arm, at) for number, arm, at in state.open}
        self._subjects: dict[str, tuple[Arm, float | None]] = {s: (arm, p) for s, arm, p in state.subjects}
        self._written = dict(state.written)
        """The highest place of each start that was written down; of one without any, the place before its first."""
        self._late: dict[int, object] = dict.fromkeys(state.late)
        """Decisions that were never written down and have been rewarded."""
        self.trusted_since = state.trusted_since
        """Of starts before this one the disk had forgotten something that others had seen: perhaps a reward."""
        self.lived = state.lived
        """For how many seconds the member had run when this was last written."""
        self._zeros = dict(state.zeros)
        """What the clock of each start would have said when the member had not run at all."""
        self._zero = 0.0

    def begin(self, run: int, first_place: int, now: float) -> None:
        """Know of a start, where its places begin, and what its clock says then."""
        self._written[run] = first_place - 1
        self._zero = self._zeros[run] = now - self.lived

    def lived_at(self, now: float) -> float:
        """Return for how many seconds the member has run, in all its starts."""
        return now - self._zero

    def expires_at(self, number: int, at: float, after_s: float) -> float:
        """Return when the member will have run for so many seconds since a decision, by the clock of this start."""
        return self._zero + at - self._zeros.get(number >> PLACES, self._zero) + after_s

    def apply(self, decided: Iterable[Decided], settled: Iterable[Settled]) -> None:
        """Take what happened."""
        for number, arm, propensity, at, subject, is_forced in decided:
            self.open[number] = (arm, at)
            start, place = number >> PLACES, number & (1 << PLACES) - 1
            self._written[start] = max(place, self._written.get(start, -1))  # threads may hand theirs in out of order
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
                kept.pop(next(iter(kept)))  # type: ignore[call-overload]  # the keys of each are its own

    def claim_unwritten(self, number: int, run: int) -> bool:
        """Return whether a decision was made before this start, to judge by its token, but never written down.

        Of several who ask, in whatever threads, only one is told so: that one rewards it.
        """
        start, place = number >> PLACES, number & (1 << PLACES) - 1
        written = self._written.get(start)
        if written is None or not self.trusted_since <= start < run or not written < place <= written + MOST_UNWRITTEN:
            return False
        mark = object()
        return self._late.setdefault(number, mark) is mark

    def is_settled(self, number: int) -> bool:
        """Return whether a decision, which its token proves, was written down or rewarded and is no longer open.

        Of starts that are not trusted nobody knows.
        """
        start, place = number >> PLACES, number & (1 << PLACES) - 1
        is_closed = number not in self.open and place <= self._written.get(start, -1)
        return start >= self.trusted_since and (number in self._late or is_closed)

    def subjects(self) -> tuple[tuple[str, Arm, float | None], ...]:
        """Return which subjects have which arm, and how likely it was."""
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
