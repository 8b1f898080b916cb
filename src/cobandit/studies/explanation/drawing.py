"""Two timelines as one SVG picture: pulls, what waits on each side, and messages that fly between them.

The picture is complete as it stands. Elements carry `data-` numbers, so that a script can show them one after the
other. Colours are the tokens of `cobandit.look`, and nothing is told by colour alone. This file knows no sentences:
they are handed in.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from cobandit.studies.explanation.conversation import Cause, Conversation, Flight, Form, Moment

LEFT, RIGHT, UNDER_WAY = 34, 60, 80
"""Room before the first and after the last moment, and how much more if messages are still under way there."""

LANES = (122, 280)
"""Where the two timelines are, from above."""

BARS = 94
"""The height of what waits, above the one and below the other timeline."""

GAP = 18
"""Between a timeline and what waits."""

HEIGHT = 414
SLOTS_AT = 402

WITHIN_SLOT, NEXT_SLOT, EMPTY_SLOT = 34, 21, 4
"""From a moment to the next: in the same slot, in the next one, and for each empty slot between."""

MOST_EMPTY = 8
"""So many empty slots are as wide as any more."""

USUAL_WIDTH, MOST_STRETCH = 1150, 3.0
"""So wide is the page, and so much wider than they must be are short conversations at most."""

LEAST_SCALE = 0.7
"""A picture that fits the page is made so much smaller on a narrow screen; beyond that it is scrolled."""

LONGEST_ARM = 3
"""Characters of an arm's name that fit beside a pull."""

LABEL_GAP = 30
"""Numbers of slots are at least so far apart."""

_LABELS = {
    Form.SHARE: "share",
    Form.ANSWER: "answer",
    Form.REPETITION: "again",
    Form.ACKNOWLEDGEMENT: "ack",
    Form.NOTICE: "notice",
}


class Drawing:
    """Where everything of a conversation stands, and the picture of it."""

    def __init__(self, conversation: Conversation, names: Sequence[str], sentences: Sequence[str]) -> None:
        self.conversation = conversation
        self.names = names
        self.sentences = sentences
        under_way = any(not (flight.arrivals or flight.is_lost) for flight in conversation.flights)
        right = RIGHT + (UNDER_WAY if under_way else 0)
        self.places = _places(conversation.moments, right)
        """Of each moment, from the left."""
        self.width = (self.places[-1] if self.places else LEFT) + right
        self._most = _most_waiting(conversation)
        self._middle = conversation.scenario.arms.rewards.reward_of(0.5)
        self._has_arms = len(conversation.scenario.arms.names) > 1

    def svg(self) -> str:
        """Return the picture."""
        title = f"{self.names[0]} above, {self.names[1]} below: what they pulled and what they sent each other"
        return (
            f'<svg id="timelines" viewBox="0 0 {self.width} {HEIGHT}" width="{self.width}" height="{HEIGHT}" '
            f'style="--least:{self._least_width()}px;--most:{self.width}px" '
            f'role="img" aria-label="{escape(title)}. The table below lists all of it.">'
            f'<defs><clipPath id="past"><rect id="past-end" x="0" y="0" width="{self.width}" height="{HEIGHT}"/>'
            f"</clipPath></defs>{''.join(self._slots())}"
            f'<g clip-path="url(#past)">{"".join(self._buffer(0))}{"".join(self._buffer(1))}'
            f"{''.join(self._lane(0))}{''.join(self._lane(1))}</g>"
            f"{''.join(map(self._flight, range(len(self.conversation.flights))))}"
            f"{''.join(map(self._moment, range(len(self.places))))}"
            f'<line id="now" class="now" x1="{self.width}" x2="{self.width}" y1="6" y2="{SLOTS_AT - 12}"/></svg>'
        )

    def _least_width(self) -> int:
        return round(LEAST_SCALE * self.width) if self.width <= USUAL_WIDTH else self.width

    # Time.

    def _slots(self) -> Iterator[str]:
        yield f'<text class="axis" x="4" y="{SLOTS_AT}">slot</text>'
        before = -math.inf
        slot = -1
        for place, moment in zip(self.places, self.conversation.moments, strict=True):
            if moment.slot == slot:
                continue
            slot = moment.slot
            label = ""
            if place - before >= LABEL_GAP:
                before = place
                label = f'<text class="axis" x="{place}" y="{SLOTS_AT}" text-anchor="middle">{slot:,}</text>'
            yield f'<line class="grid" x1="{place}" x2="{place}" y1="16" y2="{SLOTS_AT - 14}"/>{label}'

    # One side.

    def _lane(self, side: int) -> Iterator[str]:
        """Draw a timeline: thick while the other has asked, dotted while the agent is away."""
        y = LANES[side]
        here = True
        rules = self.conversation.scenario.exchange.rules
        thick = "asked" if rules.asks else "here" if rules.talks else ""
        stretches: list[tuple[int, str]] = [(0, thick if self.conversation.start[side].demanded else "")]
        for place, moment in zip(self.places, self.conversation.moments, strict=True):
            if moment.actor == side and moment.cause in (Cause.LEAVE, Cause.JOIN):
                here = moment.cause is Cause.JOIN
            state = "away" if not here else thick if moment.sides[side].demanded else ""
            if state != stretches[-1][1]:
                stretches.append((place, state))
        for (start, state), (end, _) in pairwise([*stretches, (self.width, "")]):
            kind = "away" if state == "away" else "thick" if state else "thin"
            yield f'<line class="lane side-{side} {kind}" x1="{start}" x2="{end}" y1="{y}" y2="{y}"/>'
            if state and end - start >= 46:
                below = y + (16 if side else -9)
                yield f'<text class="state side-{side}" x="{start + 8}" y="{below}">{state}</text>'

    def _buffer(self, side: int) -> Iterator[str]:
        """Draw how much waits for the other, and the threshold."""
        points = [(0, 0)]
        limits = [(0, self.conversation.start[side].threshold)]
        base = self._level(side, 0)
        for place, moment in zip(self.places, self.conversation.moments, strict=True):
            after = moment.sides[side]
            if moment.actor == side and moment.sent and after.buffered < moment.counted:
                y = self._level(side, moment.counted)
                yield f'<line class="shared side-{side}" x1="{place}" x2="{place}" y1="{base:g}" y2="{y:g}"/>'
            points += [(place, points[-1][1]), (place, after.buffered)]
            if after.threshold != limits[-1][1]:
                limits.append((place, after.threshold))
        points += [(self.width, points[-1][1]), (self.width, 0)]
        outline = " ".join(f"{x},{self._level(side, value):g}" for x, value in points)
        yield f'<polygon class="buffer side-{side}" points="{outline}"/>'
        for (start, limit), (end, _) in pairwise([*limits, (self.width, 0)]):
            y = self._level(side, min(limit, self._most))
            above = " ↑" if limit > self._most else ""
            yield f'<line class="threshold" x1="{start}" x2="{end}" y1="{y:g}" y2="{y:g}"/>'
            if end - start >= 20 + 7 * len(f"{limit:,}"):
                label_at = y + (13 if side else -5)
                yield f'<text class="threshold" x="{start + 5}" y="{label_at:g}">{limit:,}{above}</text>'

    def _level(self, side: int, value: int) -> float:
        """Return how far down an amount stands: away from the timeline by its root, so that one is seen beside many."""
        rise = GAP + (BARS - GAP) * math.sqrt(value / self._most)
        return round(LANES[side] + (rise if side else -rise), 1)

    # What happens.

    def _moment(self, number: int) -> str:
        moment, x = self.conversation.moments[number], self.places[number]
        y = LANES[moment.actor]
        match moment.cause:
            case Cause.PULL:
                won = "won" if moment.reward >= self._middle else "not"
                arm = moment.arm if self._has_arms and len(moment.arm) <= LONGEST_ARM else ""
                label_at = y + (-11 if moment.actor else 19)
                shape = (
                    f'<circle class="pull {won} side-{moment.actor}" cx="{x}" cy="{y}" r="6"/>'
                    f'<text class="arm" x="{x - 3}" y="{label_at}" text-anchor="end">{escape(arm)}</text>'
                )
            case Cause.LEAVE | Cause.JOIN:
                word = "leaves" if moment.cause is Cause.LEAVE else "back"
                shape = f'<rect class="gate" x="{x - 3}" y="{y - 12}" width="6" height="24"/>'
                label_at = y + (-16 if moment.actor else 26)
                shape += f'<text class="arm" x="{x}" y="{label_at}" text-anchor="middle">{word}</text>'
            case Cause.WAKE:
                shape = f'<rect class="wake side-{moment.actor}" x="{x - 5}" y="{y - 5}" width="10" height="10"/>'
            case _:
                shape = f'<circle class="landing side-{moment.actor}" cx="{x}" cy="{y}" r="3"/>'
        title = f"slot {moment.slot:,}: {self.sentences[number]}"
        hit = f'<rect class="hit" x="{x - 9}" y="{y - 16}" width="18" height="32"/>'
        return f'<g class="moment" data-moment="{number + 1}"><title>{escape(title)}</title>{hit}{shape}</g>'

    # What flies.

    def _flight(self, number: int) -> str:
        flight = self.conversation.flights[number]
        start = (float(self.places[flight.sent]), float(self._edge(flight.sender)))
        ends = [(float(self.places[arrival]), float(self._edge(1 - flight.sender))) for arrival in flight.arrivals]
        if flight.is_lost:
            whole = (start[0] + WITHIN_SLOT, self._edge(1 - flight.sender))
            return self._arrow(flight, start, _between(start, whole, 0.55), "lost")
        if not ends:
            whole = (max(start[0] + 60, self.width - 4.0), self._edge(1 - flight.sender))
            return self._arrow(flight, start, _between(start, whole, 0.75), "under way")
        return "".join(self._arrow(flight, start, end, "copy" if copy else "arrived") for copy, end in enumerate(ends))

    def _edge(self, side: int) -> int:
        return LANES[side] + (-9 if side else 9)

    def _arrow(self, flight: Flight, start: tuple[float, float], end: tuple[float, float], fate: str) -> str:
        (x0, y0), (x1, y1) = start, end
        angle = math.degrees(math.atan2(y1 - y0, x1 - x0))
        marks = ""
        if fate == "lost":
            marks = f'<path class="cross" d="M-6-6 6 6M-6 6 6-6" transform="translate({x1:g} {y1:g})"/>'
        elif fate != "under way":
            turned = f"translate({x1:g} {y1:g}) rotate({angle:.1f})"
            marks = f'<path class="head" d="{_HEADS[flight.form]}" transform="{turned}"/>'
        if flight.form is Form.ANSWER:
            marks += f'<path class="tail" d="M0-6 6 0 0 6-6 0Z" transform="translate({x0:g} {y0:g})"/>'
        form = flight.form.value
        words = _says(flight) if fate in ("arrived", "copy") else f"{_says(flight)}, {fate}"
        if fate == "copy":
            words = "copy"
        x, y = _between(start, end, _PILL_AT.get(flight.form, 0.4) + (0.22 if fate == "lost" else 0.0))
        wide = 12 + 6.1 * len(words)
        x = round(min(max(x, wide / 2 + 2), self.width - wide / 2 - 2), 1)  # whole, also at the end
        pill = (
            f'<g class="pill" transform="translate({x:g} {y:g})"><rect x="{-wide / 2:g}" y="-9" width="{wide:g}" '
            f'height="18" rx="9"/><text y="4" text-anchor="middle">{escape(words)}</text></g>'
        )
        return (
            f'<g class="flight {form} {fate.replace(" ", "-")} side-{flight.sender}" data-x0="{x0:g}" data-y0="{y0:g}" '
            f'data-x1="{x1:g}" data-y1="{y1:g}"><title>{escape(self._fate(flight, fate))}</title>'
            f'<line class="path" x1="{x0:g}" y1="{y0:g}" x2="{x1:g}" y2="{y1:g}"/>{marks}{pill}</g>'
        )

    def _fate(self, flight: Flight, fate: str) -> str:
        what = f"{flight.form.value} from {self.names[flight.sender]} to {self.names[1 - flight.sender]}"
        return f"{what}: {flight.says or _says(flight)}; {fate}"


_PILL_AT = {Form.NOTICE: 0.66, Form.ACKNOWLEDGEMENT: 0.55}
"""How far along an arrow its words stand, so that they do not hide each other."""

_HEADS = {
    Form.SHARE: "M0 0-11-6-11 6Z",
    Form.ANSWER: "M0 0-11-6-8 0-11 6Z",
    Form.REPETITION: "M0 0-11-6-11 6Z",
    Form.ACKNOWLEDGEMENT: "M0 0-8-4M0 0-8 4",
    Form.NOTICE: "M0 0-8-4M0 0-8 4",
}


def _says(flight: Flight) -> str:
    if flight.form is Form.NOTICE:
        return flight.says
    label = _LABELS[flight.form]
    return label if flight.form is Form.ACKNOWLEDGEMENT else f"{label} {flight.observations:,}"


def _most_waiting(conversation: Conversation) -> int:
    """Return the amount that is as high as there is room: as much as ever waited, or a threshold not far above it."""
    waited = max([1, *(moment.counted for moment in conversation.moments)])
    thresholds = [state.threshold for moment in conversation.moments for state in moment.sides]
    return max(waited, min(2 * waited, max(thresholds, default=1)))


def _between(start: tuple[float, float], end: tuple[float, float], part: float) -> tuple[float, float]:
    return round(start[0] + part * (end[0] - start[0]), 1), round(start[1] + part * (end[1] - start[1]), 1)


def _places(moments: Sequence[Moment], right: int) -> list[int]:
    """Return where each moment stands. Time goes on to the right; slots in which nothing happens are narrowed.

    A short conversation is stretched to fill the page, with so much room at its right.
    """
    places: list[int] = []
    for before, moment in pairwise([None, *moments]):
        assert moment is not None
        if before is None:
            places.append(LEFT + 10)
        elif before.slot == moment.slot:
            places.append(places[-1] + WITHIN_SLOT)
        else:
            empty = min(moment.slot - before.slot - 1, MOST_EMPTY)
            places.append(places[-1] + NEXT_SLOT + EMPTY_SLOT * empty)
    if len(places) < 2:
        return places
    stretch = max(1.0, min(MOST_STRETCH, (USUAL_WIDTH - right - places[0]) / (places[-1] - places[0])))
    return [places[0] + round(stretch * (place - places[0])) for place in places]
