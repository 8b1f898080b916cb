"""The book of a relay that lends pens: who holds which, since when, and whose a decision's number is.

A process without a name asks a relay for a *pen*. It is lent to one holder, in a session that the lender chooses. Then

    closed    the holder gave it back, and the lender holds all that it observed: it is handed on, with its cells
    ended     the holder was not heard for a lease, or said that it goes on without: it is never lent again

Only the lender takes what a pen observed, and only in the session that it lent. So a pen ends at what the lender holds,
whatever the clocks say: what comes later is not merged. There is always one who counts with a pen: its holder while it
is lent, and otherwise the lender, which goes on in the same cells (`whose`). Which decisions are settled is in the
replica.

A relay that has lost its disk does not know what it lent. A pen that is not in its book is ended for good; its numbers
are the lender's only once all other relays have told what they know. This file knows no replica, no message and no
clock: times are arguments, `now` for leases and `lived`, for how long the relay has run in all its starts, for ages.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

from cobandit.core.messages import AgentId
from cobandit.core.pen_names import incarnation_of, number_of, pen_name, prefix_of

LEASE = 120.0
"""Seconds after which a holder that was not heard has lost its pen."""

SAY_EVERY = 40.0
"""Seconds after which a holder says something, so that it keeps its pen."""

MAX_PENS = 1_000_000
"""Pens in one book, those that are over not counted."""

MAX_ENDED = 100_000
"""Pens in one book that are ended. Of more, the oldest leave it: whose their decisions are is known without."""

MAX_NUMBERS = 2**15
"""With so many decisions that are not over a holder takes another pen, and such a pen is not handed on: all that is
wanted of one pen must fit one message (`parts.py`)."""

MAX_PEN_CELLS = 4096
"""No more cells of one pen are taken: all of them must fit one message, as well."""

MAX_CELLS_HANDED_ON = MAX_PEN_CELLS // 4
"""A pen with more is not handed on: the next holder needs room."""

MAX_CELLS_HELD = 3 * MAX_PEN_CELLS // 4
"""With so many a holder takes another pen."""

MAX_FIRST_NUMBER = 2**31
"""A pen whose numbers come to this is not handed on: a new one is made."""

OVER = 2**53
"""In place of a number: above all that there can be."""

_MARKS = 8
"""So often in the life of a decision it is noted up to which number a pen has come."""

MAX_MARKS = 3 * _MARKS
"""The most of these notes that are kept of one pen, however often it is handed on."""


class Phase(Enum):
    """How a pen stands."""

    LENT = "lent"
    CLOSED = "closed"
    ENDED = "ended"


class Whose(Enum):
    """Who rewards a decision."""

    HOLDER = "the holder"
    LENDER = "the lender"
    NOBODY_YET = "nobody, before the others have told what they know"


class Pen(NamedTuple):
    """What the book says of one pen; and a line of the journal, which replaces what it said before."""

    name: AgentId
    phase: str
    session: int
    """In which it is lent, or was last."""
    nonce: bytes
    """Who asked for it, and with what."""
    first_number: int
    """The holder's decisions have this number and higher ones: no earlier holder gave out such a number."""
    marks: tuple[tuple[int, float], ...] = ()
    """Up to which number decisions had been made when the relay had run for so long, oldest first."""
    floor: int = 0
    """Decisions with lower numbers are over."""


class BookState(NamedTuple):
    """All of a book."""

    pens: tuple[Pen, ...] = ()
    incarnation: int = 0
    made: int = 0


class Book:
    """What one relay has lent.

    Args:
        lender: The relay.
        state: The book as it was.
        now: The time. Every holder has a whole lease from now on: it may have spoken while nobody listened.
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
        """New pens that nobody has spoken with yet, since this start."""
        self._changed: dict[AgentId, None] = {}
        self.is_complete = False
        """Whether all other relays have told what they know, since this start."""

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
        """Lend a closed pen, or else a new one; who asks again gets the same. `None` if there are too many.

        Args:
            nonce: Who asks, and what it made up.
            incarnation: The lender's.
            fresh_session: Returns a session above one, and different from all others.
            now: The time.
            prefix: What names must begin with that the asker can prove.
            has_room: Says whether a pen that was used before has not been used too much.
        """
        if nonce in self._asked:
            return self.pens[self._asked[nonce]]
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
        """Note that one speaks as a pen. Return whether it holds it, and so is to be listened to."""
        pen = self.pens.get(name)
        if pen is None or pen.phase != Phase.LENT.value or pen.session != session:
            return False
        self._heard.pop(name, None)
        self._heard[name] = now  # at the end
        self._unused.discard(name)
        return True

    def is_lent(self, name: AgentId) -> bool:
        """Return whether a pen is lent."""
        pen = self.pens.get(name)
        return pen is not None and pen.phase == Phase.LENT.value

    def was_closed(self, name: AgentId, session: int) -> bool:
        """Return whether a pen was given back by the one who held it in a session: otherwise it was not lent again."""
        pen = self.pens.get(name)
        is_last = pen is not None and pen.session == session
        return pen is not None and (session < pen.session or (is_last and pen.phase == Phase.CLOSED.value))

    def close(self, name: AgentId, next_number: int, lived: float, floor: int = 0) -> None:
        """Take a pen back whose holder has told everything, and has given out no number from this one on.

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
        """End a pen at what the lender holds; also one that the book does not know.

        One that nobody ever spoke with leaves the book: names of askers are easily made up.
        """
        pen = self.pens.get(name) or Pen(name, Phase.ENDED.value, 0, b"", 0)
        self._note(pen._replace(phase=Phase.ENDED.value, marks=(*pen.marks, (OVER, lived))))
        if name in self._unused:
            self._strike(name)
        elif len(self._ended) > MAX_ENDED:
            self._strike(next(iter(self._ended)))

    def silent(self, now: float) -> list[AgentId]:
        """Return whose lease is over."""
        found: list[AgentId] = []
        for name, heard in self._heard.items():
            if now < heard + self.lease:
                break
            found.append(name)
        return found

    def due_at(self) -> float | None:
        """Return when the next lease is over."""
        return next((heard + self.lease for heard in self._heard.values()), None)

    # Whose decisions are.

    def whose(self, name: AgentId) -> Whose:
        """Return who rewards decisions of a pen that this relay made: whoever counts with it, so that one does."""
        pen = self.pens.get(name)
        if pen is None:
            is_own = incarnation_of(name) == self._incarnation and number_of(name) <= self._made
            return Whose.LENDER if self.is_complete or is_own else Whose.NOBODY_YET
        return Whose.HOLDER if pen.phase == Phase.LENT.value else Whose.LENDER

    def age(
        self, lived: float, expire_after: float, next_number: Callable[[AgentId], int]
    ) -> list[tuple[AgentId, int]]:
        """Note up to which number each pen has come. Return of which pens all numbers below one have become too old.

        A decision with a lower number than one that was settled long ago was made before that. Pens of which nothing
        can be rewarded any more, and that nobody will hold again, leave the book.
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
        """Return which entries are new or other since the last time, and which are gone."""
        changed, self._changed = self._changed, {}
        entries = tuple(self.pens[name] for name in changed if name in self.pens)
        return entries, tuple(name for name in changed if name not in self.pens)

    def state(self) -> BookState:
        """Return all of it."""
        return BookState(tuple(self.pens.values()), self._incarnation, self._made)

    def _strike(self, name: AgentId) -> None:
        """Let a pen that is ended leave the book."""
        del self.pens[name]
        self._ended.pop(name, None)
        self._unused.discard(name)
        self._changed[name] = None

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
            self._heard.pop(pen.name, None)
            self._heard[pen.name] = now
        elif not is_lent:
            self._heard.pop(pen.name, None)
        for phase, names in ((Phase.CLOSED, self._closed), (Phase.ENDED, self._ended)):
            if pen.phase == phase.value:
                names[pen.name] = None
            else:
                names.pop(pen.name, None)


def _fewer(marks: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    """Return marks, without one if there are too many: the one after which the least time lies between two others.

    What it was about becomes too old with the next one, a little later.
    """
    if len(marks) <= MAX_MARKS:
        return marks
    place = min(range(1, len(marks) - 1), key=lambda place: marks[place + 1][1] - marks[place - 1][1])
    return marks[:place] + marks[place + 1 :]


def replayed(state: BookState, changed: Iterable[Pen], gone: Iterable[AgentId]) -> BookState:
    """Return a book with what a journal says happened to it since."""
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
