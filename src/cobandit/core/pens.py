"""The book of a relay that lends pens: who holds which since when, and who may reward a decision.

A process without a name asks a relay for a *pen*. The relay lends it to one holder, in a session that the relay
chooses. After that it is

    closed    the holder gave it back, and the lender has all its observations: it is handed on, with its cells
    ended     the holder was silent for a lease, or said that it continues without it: it is never lent again

Only the lender accepts what a pen observed, and only in the session in which it was lent. So a pen ends at what the
lender holds, whatever the clocks say: later observations are not merged. At any time exactly one process counts with a
pen: its holder while it is lent, and otherwise the lender, which continues in the same cells (`whose`). The replica
knows which decisions are settled.

A relay that has lost its disk does not know what it lent. A pen that is not in its book has ended for good; the lender
may reward its numbers only once all other relays have reported what they know. This file does not know replicas,
messages or clocks. Times are arguments: `now` for leases, and `lived`, the total time that the relay has run across
restarts, for ages.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

from cobandit.core.messages import AgentId
from cobandit.core.pen_names import incarnation_of, number_of, pen_name, prefix_of

LEASE = 120.0
"""Seconds of silence after which a holder loses its pen."""

SAY_EVERY = 40.0
"""The most seconds between two messages of a holder, which keep its pen."""

MAX_PENS = 1_000_000
"""The most pens in one book, not counting those that have ended."""

MAX_ENDED = 100_000
"""The most ended pens in one book. Beyond that the oldest are removed: who rewards their decisions is known anyway."""

MAX_NUMBERS = 2**15
"""With this many decisions above the floor, a holder takes another pen, and the pen is not handed on: everything that
is wanted of one pen must fit one message (`parts.py`)."""

MAX_PEN_CELLS = 4096
"""The most cells accepted for one pen: all of them must fit one message, too."""

MAX_CELLS_HANDED_ON = MAX_PEN_CELLS // 4
"""A pen with more cells is not handed on: the next holder needs room."""

MAX_CELLS_HELD = 3 * MAX_PEN_CELLS // 4
"""With this many cells a holder takes another pen."""

MAX_FIRST_NUMBER = 2**31
"""A pen whose numbers reach this is not handed on: a new one is made."""

OVER = 2**53
"""Used as a number above all possible numbers."""

_MARKS = 8
"""How many times within the lifetime of a decision the highest number of a pen is noted."""

MAX_MARKS = 3 * _MARKS
"""The most such notes kept for one pen, however many times it is handed on."""


class Phase(Enum):
    """The state of a pen."""

    LENT = "lent"
    CLOSED = "closed"
    ENDED = "ended"


class Whose(Enum):
    """Who rewards a decision."""

    HOLDER = "the holder"
    LENDER = "the lender"
    NOBODY_YET = "nobody, before the others have told what they know"


class Pen(NamedTuple):
    """The book's entry for one pen. In the journal, it replaces the pen's earlier entry."""

    name: AgentId
    phase: str
    session: int
    """The session in which it is lent, or was last."""
    nonce: bytes
    """Identifies the request: who asked, and a value that it made up."""
    first_number: int
    """The holder's decisions are numbered from here. No earlier holder gave out such a number."""
    marks: tuple[tuple[int, float], ...] = ()
    """Pairs, oldest first: a number that decisions had reached, and how long the relay had run by then."""
    floor: int = 0
    """Decisions with lower numbers are over."""


class BookState(NamedTuple):
    """The whole book."""

    pens: tuple[Pen, ...] = ()
    incarnation: int = 0
    made: int = 0


class Book:
    """What one relay has lent.

    Args:
        lender: The relay.
        state: The book as it was.
        now: The time. Every holder gets a whole lease from now on: it may have sent something while the relay was down.
        lease: Seconds.
    """

    def __init__(self, lender: AgentId, state: BookState | None = None, *, now: float, lease: float = LEASE) -> None:
        state = state or BookState()
        self.lender, self.lease = lender, lease
        self.pens = {pen.name: pen for pen in state.pens}
        self._incarnation, self._made = state.incarnation, state.made
        self._heard = {pen.name: now for pen in state.pens if pen.phase == Phase.LENT.value}
        """When each holder was last heard, the longest ago first."""
        self._asked = {pen.nonce: pen.name for pen in state.pens if pen.phase == Phase.LENT.value}
        self._closed = {pen.name: None for pen in state.pens if pen.phase == Phase.CLOSED.value}
        self._ended = {pen.name: None for pen in state.pens if pen.phase == Phase.ENDED.value}
        self._unused: set[AgentId] = set()
        """New pens that no holder has used yet, since this start."""
        self._changed: dict[AgentId, None] = {}
        self.is_complete = False
        """Whether all other relays have reported what they know, since this start."""

    # Lending.

    def lend(
        self,
        nonce: bytes,
        incarnation: int,
        fresh_session: Callable[[int], int],
        now: float,
        prefix: str = "",
        *,
        has_room: Callable[[AgentId], bool] = lambda _: True,
    ) -> Pen | None:
        """Lend a closed pen, or else a new one. `None` if there are too many.

        A repeated request gets the same pen for another lease, for its holder is there and may get the answer late.

        Args:
            nonce: Identifies the request: who asks, and a value that it made up.
            incarnation: The lender's.
            fresh_session: Returns a session above the given one, different from all others.
            now: The time.
            prefix: What names must begin with so that the asker can prove them.
            has_room: Tells whether a used pen still has room for another holder.
        """
        if nonce in self._asked:
            pen = self.pens[self._asked[nonce]]
            self._hear(pen.name, now)
            return pen
        closed = (self.pens[name] for name in self._closed)
        fitting = (pen for pen in closed if prefix_of(pen.name) == prefix)
        few = (pen for pen in fitting if pen.first_number - pen.floor < MAX_NUMBERS)
        free = next((pen for pen in few if has_room(pen.name)), None)
        if free is not None:
            pen = free
        elif len(self._heard) + len(self._closed) >= MAX_PENS:
            return None
        else:
            self._made = self._made + 1 if incarnation == self._incarnation else 1
            self._incarnation = incarnation
            name = pen_name(self.lender, incarnation, self._made, prefix)
            pen = Pen(name, Phase.CLOSED.value, incarnation, b"", 0)
            self._unused.add(name)
        lent = pen._replace(phase=Phase.LENT.value, session=fresh_session(pen.session), nonce=nonce)
        self._note(lent, now)
        return lent

    def hears(self, name: AgentId, session: int, now: float) -> bool:
        """Note a message from a pen in a session. Return whether the sender holds the pen, and so may be heard."""
        pen = self.pens.get(name)
        if pen is None or pen.phase != Phase.LENT.value or pen.session != session:
            return False
        self._hear(name, now)
        self._unused.discard(name)
        return True

    def is_lent(self, name: AgentId) -> bool:
        """Return whether a pen is lent."""
        pen = self.pens.get(name)
        return pen is not None and pen.phase == Phase.LENT.value

    def was_closed(self, name: AgentId, session: int) -> bool:
        """Return whether the holder in a session gave the pen back. If it did not, the pen was never lent again."""
        pen = self.pens.get(name)
        is_last = pen is not None and pen.session == session
        return pen is not None and (session < pen.session or (is_last and pen.phase == Phase.CLOSED.value))

    def close(self, name: AgentId, next_number: int, lived: float, floor: int = 0) -> None:
        """Take back a pen whose holder has reported everything, and has given out no number from `next_number` on.

        Numbers below the floor are over.
        """
        pen = self.pens[name]
        number = max(next_number, pen.first_number)
        if number >= MAX_FIRST_NUMBER:
            self.end(name, lived)
            return
        marks = _fewer((*pen.marks, (number, lived)))
        floor = max(floor, pen.floor)
        self._note(pen._replace(phase=Phase.CLOSED.value, first_number=number, marks=marks, floor=floor))

    def end(self, name: AgentId, lived: float) -> None:
        """End a pen at what the lender holds, even one that the book does not know.

        A pen that was never used leaves the book: names of askers are easily made up.
        """
        pen = self.pens.get(name) or Pen(name, Phase.ENDED.value, 0, b"", 0)
        self._note(pen._replace(phase=Phase.ENDED.value, marks=(*pen.marks, (OVER, lived))))
        if name in self._unused:
            self._strike(name)
        elif len(self._ended) > MAX_ENDED:
            self._strike(next(iter(self._ended)))

    def silent(self, now: float) -> list[AgentId]:
        """Return the pens whose lease is over."""
        found: list[AgentId] = []
        for name, heard in self._heard.items():
            if now < heard + self.lease:
                break
            found.append(name)
        return found

    def due_at(self) -> float | None:
        """Return when the next lease is over."""
        return next((heard + self.lease for heard in self._heard.values()), None)

    # Who rewards decisions.

    def whose(self, name: AgentId) -> Whose:
        """Return who rewards decisions of a pen that this relay made: the one process that counts with it."""
        pen = self.pens.get(name)
        if pen is None:
            is_own = incarnation_of(name) == self._incarnation and number_of(name) <= self._made
            return Whose.LENDER if self.is_complete or is_own else Whose.NOBODY_YET
        return Whose.HOLDER if pen.phase == Phase.LENT.value else Whose.LENDER

    def age(
        self, lived: float, expire_after: float, next_number: Callable[[AgentId], int]
    ) -> list[tuple[AgentId, int]]:
        """Note how far each pen has come. Return the pens, each with a number below which all decisions are too old.

        If a number was settled long ago, all decisions with lower numbers were made even earlier. Pens of which nothing
        can be rewarded any more, and that will not be lent again, leave the book.
        """
        floors: list[tuple[AgentId, int]] = []
        for pen in list(self.pens.values()):
            marks = list(pen.marks)
            old = [number for number, at in marks if lived - at >= expire_after]
            del marks[: len(old)]
            last = max((number for number, _ in pen.marks), default=0)
            is_time = not marks or lived - marks[-1][1] >= expire_after / _MARKS
            if is_time and last < OVER and (number := next_number(pen.name)) > last:
                marks.append((number, lived))
            if old:
                floors.append((pen.name, max(old)))
            if old and max(old) == OVER:
                self._strike(pen.name)
            elif tuple(marks) != pen.marks:
                self._note(pen._replace(marks=tuple(marks), floor=max((pen.floor, *old))))
        return floors

    # What is kept.

    def take_changes(self) -> tuple[tuple[Pen, ...], tuple[AgentId, ...]]:
        """Return the entries that are new or changed since the last call, and the names of those that are gone."""
        changed, self._changed = self._changed, {}
        entries = tuple(self.pens[name] for name in changed if name in self.pens)
        return entries, tuple(name for name in changed if name not in self.pens)

    def state(self) -> BookState:
        """Return the whole book."""
        return BookState(tuple(self.pens.values()), self._incarnation, self._made)

    def _strike(self, name: AgentId) -> None:
        """Remove an ended pen from the book."""
        del self.pens[name]
        self._ended.pop(name, None)
        self._unused.discard(name)
        self._changed[name] = None

    def _hear(self, name: AgentId, now: float) -> None:
        self._heard.pop(name, None)
        self._heard[name] = now  # at the end

    def _note(self, pen: Pen, now: float | None = None) -> None:
        before = self.pens.get(pen.name)
        if before is not None:
            self._asked.pop(before.nonce, None)
        self.pens[pen.name] = pen
        self._changed[pen.name] = None
        is_lent = pen.phase == Phase.LENT.value
        if is_lent:
            self._asked[pen.nonce] = pen.name
        if now is not None:
            self._hear(pen.name, now)
        elif not is_lent:
            self._heard.pop(pen.name, None)
        for phase, names in ((Phase.CLOSED, self._closed), (Phase.ENDED, self._ended)):
            if pen.phase == phase.value:
                names[pen.name] = None
            else:
                names.pop(pen.name, None)


def _fewer(marks: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    """Return marks, without one if there are too many: the one whose two neighbours are closest in time.

    The decisions that it covered become too old a little later, with the next mark.
    """
    if len(marks) <= MAX_MARKS:
        return marks
    place = min(range(1, len(marks) - 1), key=lambda place: marks[place + 1][1] - marks[place - 1][1])
    return marks[:place] + marks[place + 1 :]


def replayed(state: BookState, changed: Iterable[Pen], gone: Iterable[AgentId]) -> BookState:
    """Return a book after the changes that a journal recorded."""
    pens = {pen.name: pen for pen in state.pens} | {pen.name: pen for pen in changed}
    for name in gone:
        pens.pop(name, None)
    made, incarnation = state.made, state.incarnation
    for pen in changed:
        number = number_of(pen.name)
        made_in = incarnation_of(pen.name)
        if made_in > incarnation or (made_in == incarnation and number > made):
            incarnation, made = made_in, number
    return BookState(tuple(pens.values()), incarnation, made)
