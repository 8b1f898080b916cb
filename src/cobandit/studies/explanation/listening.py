"""How a conversation is found out: the readable engine runs, and after every step both agents are looked at.

The trace tells of pulls, shares, repetitions, deliveries and losses. What it leaves out is taken from the agents
themselves: what each side thinks of the other, and when notices and bare acknowledgements arrive.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from cobandit.core import Acknowledgement, Message, Notice, Share
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import Tape
from cobandit.scenario.trace import Kind, Row
from cobandit.simulator.reference import ReferenceRun
from cobandit.studies.explanation.conversation import Cause, Conversation, Ending, Event, Flight, Form, Moment, Side

USUAL_SHARES = 12
"""How many fresh shares are enough to see, if nobody says how many slots to show."""

USUAL_MOMENTS = 150
"""And how many moments, however few shares there were."""

USUAL_SILENCE = 12
"""And how many of them after the two have nothing left to say to each other."""

MOST_MOMENTS = 1_000
"""No drawing has more."""

MOST_STEPS = 200_000
"""A world with many agents is not run further: steps of the engine."""


def listen(
    scenario: Scenario, pair: tuple[int, int], *, seed: int, trial: int = 0, slots: int | None = None
) -> Conversation:
    """Run a scenario until two of its agents were seen to talk.

    Args:
        scenario: The world, with all its agents.
        pair: Positions of the two.
        seed: The seed of all chance.
        trial: Which of the trials with this seed it is.
        slots: How many slots to listen, from the first in which one of the two does something. As long as a dozen
            shares take by default.
    """
    rows: list[Row] = []
    listener = _Listener(pair, rows, slots)
    engine = ReferenceRun(scenario, Tape(seed, trial), rows, watch=listener.watch)
    start = listener.sides = listener.look(engine)
    with suppress(_SeenEnoughError):
        engine.run()
    return Conversation(
        scenario,
        pair,
        seed,
        trial,
        tuple(listener.moments),
        tuple(listener.flights),
        tuple(listener.events),
        start,
        listener.ending,
    )


class _SeenEnoughError(Exception):
    """Ends a run from inside."""


class _Listener:
    """Watches a run. Between two calls at most one input is taken or one message sent (`ReferenceRun`)."""

    def __init__(self, pair: tuple[int, int], rows: Sequence[Row], slots: int | None) -> None:
        self.moments: list[Moment] = []
        self.flights: list[Flight] = []
        self.events: list[Event] = []
        self.ending = Ending.HORIZON
        self.sides: tuple[Side, Side]
        self._pair = pair
        self._names = (str(pair[0]), str(pair[1]))
        self._rows = rows
        self._slots = slots
        self._read = 0
        self._steps = 0
        self._slot = -1
        self._in_the_air: dict[int, tuple[Message, int, int]] = {}
        """By identity: the message, how many copies are under way, and which flight it is."""

    def watch(self, engine: ReferenceRun) -> None:
        """Take one step of the run."""
        if engine.slot != self._slot:
            self._slot = engine.slot
            self._end_if_enough()
        self._steps += 1
        new = [row for row in self._rows[self._read :] if self._concerns(row)]
        self._read = len(self._rows)
        sides = self.look(engine)
        if not (new or self._in_the_air or engine.scenario.exchange.retry):  # nobody of the two can have spoken
            self.sides = sides
            return
        flying = self._flying(engine)
        first = len(self.moments)
        eliminated: tuple[str, ...] = ()
        for row in new:
            if row.kind == Kind.ELIMINATION:
                eliminated += (engine.scenario.arms.names[row.other],)
                self.events.append(Event(len(self.moments), row))
            elif row.kind == Kind.DECISION:
                self._pull(engine, row, sides, eliminated)
            elif row.kind in (Kind.JOIN, Kind.LEAVE):
                cause = Cause.JOIN if row.kind == Kind.JOIN else Cause.LEAVE
                self._add(self._moment(engine, self._pair.index(row.agent), cause, sides), row)
            elif row.kind == Kind.DELIVERY:
                self._arrive(engine, row, sides, flying)
            elif row.kind == Kind.LOSS:
                self._lose(row, flying)
            else:
                self._depart(row)
        self._arrive_untold(engine, sides, flying)
        self._take_off(engine, sides, flying, first)
        self.sides = sides

    def look(self, engine: ReferenceRun) -> tuple[Side, Side]:
        """Return what each of the two thinks of the other now."""
        one, other = self._pair
        return _side(engine, one, other), _side(engine, other, one)

    def _end_if_enough(self) -> None:
        if self._steps >= MOST_STEPS:
            self.ending = Ending.LARGE
            raise _SeenEnoughError
        if not self.moments:
            return
        shares = sum(flight.form in (Form.SHARE, Form.ANSWER) for flight in self.flights)
        if len(self.moments) >= MOST_MOMENTS:
            self.ending = Ending.LIMIT
        elif self._slots is None and (
            shares >= USUAL_SHARES or len(self.moments) >= USUAL_MOMENTS or self._has_nothing_to_say()
        ):
            self.ending = Ending.ENOUGH
        elif self._slots is not None and self._slot >= self.moments[0].slot + self._slots:
            self.ending = Ending.SLOTS
        else:
            return
        raise _SeenEnoughError

    def _has_nothing_to_say(self) -> bool:
        latest = self.moments[-USUAL_SILENCE:]
        return len(latest) == USUAL_SILENCE and all(side.is_settled for one in latest for side in one.sides)

    def _concerns(self, row: Row) -> bool:
        if row.kind in (Kind.DECISION, Kind.ELIMINATION, Kind.JOIN, Kind.LEAVE):
            return row.agent in self._pair
        return row.agent in self._pair and row.other in self._pair

    def _flying(self, engine: ReferenceRun) -> dict[int, tuple[Message, int]]:
        """Return the messages between the two that were made and have not arrived, with the number of copies."""
        flying: dict[int, tuple[Message, int]] = {}
        for message in engine.in_flight():
            if message.sender in self._names and message.receiver in self._names:
                flying[id(message)] = (message, flying.get(id(message), (message, 0))[1] + 1)
        return flying

    # What is told by the trace.

    def _pull(self, engine: ReferenceRun, row: Row, sides: tuple[Side, Side], eliminated: tuple[str, ...]) -> None:
        actor = self._pair.index(row.agent)
        arm = engine.scenario.arms.names[row.other]
        usable = arm in engine.agents[self._pair[1 - actor]].arms
        moment = self._moment(engine, actor, Cause.PULL, sides)
        told = replace(
            moment,
            arm=arm,
            reward=engine.scenario.arms.told(row.a),
            is_usable=usable,
            eliminated=eliminated,
        )
        self._add(told, row)

    def _depart(self, row: Row) -> None:
        """Note that a message goes out: the first of its kind that has not."""
        forms = {
            Kind.SHARE: (Form.SHARE, Form.ANSWER),
            Kind.RETRY: (Form.REPETITION,),
            Kind.ACKNOWLEDGE: (Form.ACKNOWLEDGEMENT,),
        }[Kind(row.kind)]
        sender = self._pair.index(row.agent)
        for place, flight in enumerate(self.flights):
            if flight.row is None and flight.sender == sender and flight.form in forms:
                self.flights[place] = replace(flight, row=row)
                self.events.append(Event(flight.sent, row, place))
                return
        raise AssertionError(f"nobody has produced what {row} sends")

    def _lose(self, row: Row, flying: dict[int, tuple[Message, int]]) -> None:
        sender = self._pair.index(row.agent)
        for key, (_, _, place) in list(self._in_the_air.items()):
            if key not in flying and self.flights[place].sender == sender:
                self.flights[place] = replace(self.flights[place], is_lost=True)
                self.events.append(Event(self.flights[place].sent, row, place))
                del self._in_the_air[key]
                return
        raise AssertionError(f"nothing is missing after {row}")

    def _arrive(
        self, engine: ReferenceRun, row: Row, sides: tuple[Side, Side], flying: dict[int, tuple[Message, int]]
    ) -> None:
        """Note that a share arrives: one of which fewer copies fly now, or else a copy of a doubled one."""
        sender = self._names[self._pair.index(row.other)]
        same = [
            key
            for key, (message, _, _) in self._in_the_air.items()
            if isinstance(message, Share) and (message.sender, message.number) == (sender, row.a)
        ]
        key = next((key for key in same if flying.get(key, (None, 0))[1] < self._in_the_air[key][1]), same[0])
        self._land(engine, key, Cause.SHARE, sides, row)

    # What the trace leaves out.

    def _arrive_untold(
        self, engine: ReferenceRun, sides: tuple[Side, Side], flying: dict[int, tuple[Message, int]]
    ) -> None:
        """Note that notices and acknowledgements arrive, of which fewer copies fly now."""
        for key, (message, count, _) in list(self._in_the_air.items()):
            if isinstance(message, Share):
                continue
            cause = Cause.ACKNOWLEDGEMENT if isinstance(message, Acknowledgement) else Cause.NOTICE
            for _copy in range(count - flying.get(key, (message, 0))[1]):
                self._land(engine, key, cause, sides, None)

    def _take_off(
        self,
        engine: ReferenceRun,
        sides: tuple[Side, Side],
        flying: dict[int, tuple[Message, int]],
        first: int,
    ) -> None:
        """Note that messages were produced, by what happened in this step or else by waking up."""
        air: dict[int, tuple[Message, int, int]] = {}
        for key, (message, count) in flying.items():
            if key in self._in_the_air:
                air[key] = (message, count, self._in_the_air[key][2])
                continue
            sender = self._names.index(message.sender)
            causes = [at for at in range(first, len(self.moments)) if self.moments[at].actor == sender]
            if causes:  # two copies may arrive at once: the first is answered, and the second acknowledged
                cause = causes[0 if _is_fresh(message) else -1]
            else:
                cause = len(self.moments)
                self._add(self._moment(engine, sender, Cause.WAKE, sides), None, is_event=False)
            air[key] = (message, count, len(self.flights))
            moment = self.moments[cause]
            self.moments[cause] = replace(moment, sent=(*moment.sent, len(self.flights)))
            self.flights.append(_flight(message, sender, cause, is_answer=moment.cause is Cause.SHARE))
        self._in_the_air = air

    def _land(self, engine: ReferenceRun, key: int, cause: Cause, sides: tuple[Side, Side], row: Row | None) -> None:
        message, count, place = self._in_the_air[key]
        self._in_the_air[key] = (message, count - 1, place)
        flight = self.flights[place]
        moment = replace(self._moment(engine, 1 - flight.sender, cause, sides), flight=place)
        if flight.arrivals and cause is Cause.SHARE:  # perhaps in this very step, and then the last look was too early
            heard = max(moment.before.heard, flight.number)
            moment = replace(moment, before=moment.before._replace(heard=heard))
        self.flights[place] = replace(flight, arrivals=(*flight.arrivals, len(self.moments)))
        self._add(moment, row)

    def _moment(self, engine: ReferenceRun, actor: int, cause: Cause, sides: tuple[Side, Side]) -> Moment:
        before = self.sides[actor]
        candidates = len(engine.agents[self._pair[actor]].policy.candidates)
        exchange = engine.agents[self._pair[actor]].endpoint.links[str(self._pair[1 - actor])].exchange
        waits = exchange.answers_wait or cause is not Cause.SHARE
        enough = exchange.threshold.at(before.share_number, candidates) if waits else 1
        return Moment(engine.slot, actor, cause, before, sides, enough)

    def _add(self, moment: Moment, row: Row | None, *, is_event: bool = True) -> None:
        if is_event:
            self.events.append(Event(len(self.moments), row, moment.flight))
        self.moments.append(moment)


def _is_fresh(message: Message) -> bool:
    return isinstance(message, Share) and message.is_fresh


def _flight(message: Message, sender: int, sent: int, *, is_answer: bool) -> Flight:
    match message:
        case Share(number=number, observations=observations):
            form = Form.REPETITION
            if _is_fresh(message):
                form = Form.ANSWER if is_answer else Form.SHARE
            return Flight(form, sender, number, observations, sent)
        case Acknowledgement(delivery=delivery):
            return Flight(Form.ACKNOWLEDGEMENT, sender, delivery.receipt.number, 0, sent)
        case Notice(changes=changes):
            gone = [arm for told in changes.eliminations for arm in told.arms]
            if gone:
                return Flight(Form.NOTICE, sender, 0, 0, sent, f"gives up arm {', '.join(gone)}")
            is_here = all(told.is_present for told in changes.presences)
            return Flight(Form.NOTICE, sender, 0, 0, sent, "is here" if is_here else "leaves")


def _side(engine: ReferenceRun, one: int, other: int) -> Side:
    link = engine.agents[one].peers.link(str(other))
    return Side(
        link.demanded,
        link.buffered,
        link.threshold,
        link.c,
        link.shares_received,
        link.is_settled,
        link.phase,
    )
