"""The page of an explanation: the picture, what it means, what it comes to, and everything as a table.

The page is one file and complete without its script, which adds motion. This file owns layout and the words around the
picture; the sentences of the moments are in `words.py`.
"""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

import cobandit
from cobandit.core.protocols.immediate import IMMEDIATE
from cobandit.look import card, single_file_page
from cobandit.scenario.trace import Kind, transcript
from cobandit.scenario.words import count_of, scenario_in_words
from cobandit.studies.explanation.conversation import Cause, Conversation, Ending, Event, Side
from cobandit.studies.explanation.counting import Counts, counts_of
from cobandit.studies.explanation.drawing import LEFT, Drawing
from cobandit.studies.explanation.legend import legend
from cobandit.studies.explanation.listening import MOST_MOMENTS
from cobandit.studies.explanation.rule import at_the_start, rule_html
from cobandit.studies.explanation.words import Told, capital, tell

_FOLDER = Path(__file__).parent

LONG_MS, SHORT_MS = 1700, 420
"""How long the animation stays with a moment in which something is said, and with any other."""


@dataclass(frozen=True)
class Explanation:
    """A conversation, ready to be shown."""

    conversation: Conversation
    names: tuple[str, str]
    """What to call the two."""
    title: str
    """What the scenario is called."""
    command: tuple[str, ...]
    """What makes this page again."""

    @cached_property
    def told(self) -> list[Told]:
        """A sentence and a rule for each moment."""
        return tell(self.conversation, self.names)

    @cached_property
    def counts(self) -> Counts:
        """What it comes to."""
        return counts_of(self.conversation)

    @property
    def shares(self) -> tuple[int, int]:
        """How many shares each of the two sent."""
        return self.counts.shares

    def html(self) -> str:
        """Return the page."""
        drawing = Drawing(self.conversation, self.names, [told.sentence for told in self.told])
        one, other = self.names
        body = (
            '<main class="page"><header class="top">'
            f"<p class='soft'>{escape(self.title)}</p><h1>How {escape(one)} and {escape(other)} talk</h1>"
            f"<p class='lead'>{escape(self._result())}</p></header>"
            f'<section class="card rule"><h2>The rule</h2>{rule_html(self.conversation.scenario)}</section>'
            f'<section class="card player" aria-label="The timelines">{self._player(drawing)}</section>'
            f'<section class="counts" aria-label="What it comes to">{"".join(self._cards())}</section>'
            f'<section class="card"><h2>Everything that happened</h2>{self._table()}</section>'
            f'<section class="card"><h2>The scenario</h2>{self._scenario()}</section></main>'
            f'<script type="application/json" id="moments">{self._moments(drawing)}</script>'
        )
        return single_file_page(
            f"How {one} and {other} talk: {self.title}",
            body,
            style="".join(
                (_FOLDER / name).read_text(encoding="utf-8") for name in ("explanation.css", "timelines.css")
            ),
            script=(_FOLDER / "explanation.js").read_text(encoding="utf-8"),
        )

    def _result(self) -> str:
        shares, immediate = sum(self.counts.shares), sum(self.counts.immediate)
        rules = self.conversation.scenario.exchange.rules
        if not rules.talks:
            return "They do not. Each learns from its own pulls only."
        sent = f"{count_of(sum(self.counts.decisions), 'pull')} and {count_of(shares, 'share')} between the two"
        if rules == IMMEDIATE.table:
            return f"{sent}: this is {IMMEDIATE.title}."
        return f"{sent}. {capital(IMMEDIATE.title)} would have sent {immediate:,}."

    # The player.

    def _player(self, drawing: Drawing) -> str:
        moments = self.conversation.moments
        last = self.told[-1] if self.told else Told("Neither agent does anything.", "")
        sides = moments[-1].sides if moments else self.conversation.start
        return (
            '<div class="telling"><p id="caption" aria-live="polite">'
            f'{escape(last.sentence)}</p><p id="rule" class="soft">{escape(last.rule)}</p></div>'
            '<div class="controls" id="controls" role="group" aria-label="Playback" hidden>'
            '<button type="button" id="back" aria-label="Back one moment">← Back</button>'
            '<button type="button" id="play" class="main">▶ Play</button>'
            '<button type="button" id="step" aria-label="Forward one moment">Step →</button>'
            '<label class="scrub"><span class="unseen">Moment</span><input type="range" id="scrub" min="0" '
            f'max="{len(moments)}" value="{len(moments)}" step="1"></label>'
            '<output id="where" class="number"></output>'
            '<label class="speed">Speed <select id="speed"><option value="0.5">½</option>'
            '<option value="1" selected>1</option><option value="2">2</option><option value="4">4</option></select>'
            "</label></div>"
            f"{self._gauge(0, sides[0])}"
            f'<div class="wide timelines" tabindex="0" role="region" aria-label="Timelines (scrollable)">'
            f"{drawing.svg()}</div>{self._gauge(1, sides[1])}"
            '<p class="soft keys" id="keys" hidden><kbd>Space</kbd> plays and pauses, <kbd>←</kbd> <kbd>→</kbd> step, '
            "<kbd>Home</kbd> and <kbd>End</kbd> jump. Click a moment to go to it.</p>"
            f"{legend(self.conversation)}"
        )

    def _gauge(self, side: int, state: Side) -> str:
        name, other = self.names[side], self.names[1 - side]
        return (
            f'<div class="gauge side-{side}" data-side="{side}"><div><strong>{escape(capital(name))}</strong> '
            f"<span class='soft'>{count_of(self.counts.decisions[side], 'pull')}</span></div>"
            f"<div class='keeps'>{self._keeps(side, state)}</div>"
            f'<div class="meter" aria-hidden="true"><div class="fill" style="width:{_fill(state)}%"></div></div>'
            f'<span class="mark {"good" if state.demanded else ""}">{escape(self._asked(state, other))}</span></div>'
        )

    def _keeps(self, side: int, state: Side) -> str:
        """Return what waits, as HTML. The script finds the same words in the moments."""
        return f"<b>{state.buffered:,}</b> waiting for {escape(self.names[1 - side])}, threshold {state.threshold:,}"

    def _asked(self, state: Side, other: str) -> str:
        rules = self.conversation.scenario.exchange.rules
        if not rules.talks:
            return "nobody talks"
        if rules.asks:
            return f"✓ {other} has asked" if state.demanded else f"{other} has not asked"
        return f"✓ {other} is here" if state.demanded else f"{other} is away"

    def _moments(self, drawing: Drawing) -> str:
        """Return what the script needs, as JSON that is safe inside a page."""
        start = f"Nothing has happened yet. {at_the_start(self.conversation.scenario)}"
        content = [self._frame(LEFT - 10, None, Told(start, ""), self.conversation.start, LONG_MS)]
        for x, moment, told in zip(drawing.places, self.conversation.moments, self.told, strict=True):
            is_eventful = bool(moment.sent) or moment.cause is not Cause.PULL
            content.append(self._frame(x, moment.slot, told, moment.sides, LONG_MS if is_eventful else SHORT_MS))
        return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")

    def _frame(self, x: int, slot: int | None, told: Told, sides: tuple[Side, Side], ms: int) -> dict[str, object]:
        """Return what the script shows at one moment."""
        gauges = [
            {
                "keeps": self._keeps(side, state),
                "fill": _fill(state),
                "asked": self._asked(state, self.names[1 - side]),
                "demanded": state.demanded,
            }
            for side, state in enumerate(sides)
        ]
        return {"x": x, "slot": slot, "caption": told.sentence, "rule": told.rule, "sides": gauges, "ms": ms}

    # What it comes to.

    def _cards(self) -> Iterator[str]:
        counts = self.counts
        for side, (name, other) in enumerate((self.names, self.names[::-1])):
            pulls = count_of(counts.decisions[side], "pull")
            yield card(f"{counts.shares[side]:,}", f"shares from {name} to {other}", f"{pulls} of {name}")
        if self.conversation.scenario.exchange.rules != IMMEDIATE.table:
            saved = f"{counts.immediate[0]:,} and {counts.immediate[1]:,}: one for each pull that the other can use"
            yield card(f"{sum(counts.immediate):,}", f"{IMMEDIATE.title} would have sent", saved)
        if counts.allowed is None:
            yield card("–", "Theorem 2 says nothing here", f"{counts.why_none}.")  # noqa: RUF001  # a dash for no number
        else:
            most = f"at most {counts.allowed:,} each way, for these numbers of pulls"
            yield card(f"{2 * counts.allowed:,}", "shares that Theorem 2 allows", most)
        others = [
            count_of(number, noun)
            for number, noun in (
                (counts.repetitions, "repetition"),
                (counts.acknowledgements, "acknowledgement"),
                (counts.notices, "notice"),
            )
            if number
        ]
        if others:
            total = counts.repetitions + counts.acknowledgements + counts.notices
            yield card(f"{total:,}", "messages other than fresh shares", f"{', '.join(others)}")
        if counts.lost:
            nouns = "message" if counts.lost == 1 else "messages"
            yield card(f"{counts.lost:,}", f"{nouns} lost on the way", f"of {counts.messages:,} that the two sent")

    def _table(self) -> str:
        rows = "".join(self._line(event) for event in self.conversation.events)
        heads = "".join(
            f"<th>{escape(head)}</th>"
            for head in ("What", "In words", "Rule", *(f"{capital(name)} keeps" for name in self.names))
        )
        return (
            '<div class="wide events" tabindex="0" role="region" aria-label="Table of events (scrollable)">'
            f'<table id="events"><thead><tr><th class="number">Slot</th>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>"
        )

    def _line(self, event: Event) -> str:
        moment, told = self.conversation.moments[event.moment], self.told[event.moment]
        is_first = event.flight is None or event.flight == moment.flight
        is_first = is_first and (event.row is None or event.row.kind != Kind.ELIMINATION)
        slot, what = f'<td class="number">{moment.slot:,}</td>', escape(self._what(event))
        if not is_first:  # it belongs to the line above, which has the words for both
            return f'<tr data-moment="{event.moment + 1}">{slot}<td class="also" colspan="5">{what}</td></tr>'
        states = "".join(f'<td class="state">{self._keeping(state)}</td>' for state in moment.sides)
        return (
            f'<tr data-moment="{event.moment + 1}">{slot}<td>{what}</td><td>{escape(told.sentence)}</td>'
            f"<td>{escape(told.rule)}</td>{states}</tr>"
        )

    def _keeping(self, state: Side) -> str:
        rules = self.conversation.scenario.exchange.rules
        notes = {True: ", asked", False: ""} if rules.asks else {True: "", False: ", other away"}
        note = notes[state.demanded] if rules.talks else ""
        return f"{state.buffered:,} (threshold {state.threshold:,}){note}"

    def _what(self, event: Event) -> str:
        if event.row is not None:
            agents = dict(zip(self.conversation.pair, self.names, strict=True))
            named = [agents.get(position, "") for position in range(max(self.conversation.pair) + 1)]
            arms = self.conversation.scenario.arms
            return transcript([event.row], named, arms.names, reward=arms.told).split(": ", 1)[1]
        assert event.flight is not None
        flight = self.conversation.flights[event.flight]
        receiver = self.names[1 - flight.sender]
        return f"{receiver} receives the {flight.form.value} of {self.names[flight.sender]}"

    def _scenario(self) -> str:
        conversation = self.conversation
        told = "".join(f"<li>{escape(sentence)}</li>" for sentence in scenario_in_words(conversation.scenario))
        command = shlex.join(self.command)
        return (
            f"<ul>{told}</ul><p>{escape(self._window())}</p><p class='soft'>Made by cobandit "
            f"{escape(cobandit.__version__)} with its readable engine, seed {conversation.seed}, trial "
            f"{conversation.trial}. To make it again: <code>{escape(command)}</code></p>"
        )

    def _window(self) -> str:
        conversation = self.conversation
        large = f"cut there: with {len(conversation.scenario.agents):,} agents, more would take too long"
        if not conversation.moments:
            too_late = conversation.ending is Ending.LARGE
            return f"Neither agent does anything{f', {large}' if too_late else ' in this run'}."
        first, last = conversation.moments[0].slot, conversation.moments[-1].slot
        why = {
            Ending.HORIZON: "the run ends there",
            Ending.SLOTS: "the number of slots you asked for",
            Ending.ENOUGH: "enough to see how it works; --slots shows more",
            Ending.LARGE: large,
            Ending.LIMIT: f"cut there: a page shows {MOST_MOMENTS:,} moments at most",
        }[conversation.ending]
        one, other = conversation.pair
        slots = f"slots {first:,} to {last:,} of {conversation.scenario.horizon:,}"
        return f"This page shows the agents at positions {one} and {other} in {slots}: {why}."


def _fill(state: Side) -> int:
    """Return how full a buffer is, in per cent of its threshold."""
    return min(100, round(100 * state.buffered / state.threshold))
