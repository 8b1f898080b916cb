"""How agents talk by a plug-in, as a page: its rule, and what happened to two of them, line by line.

A plug-in has no table of demands and thresholds, so there is nothing to animate between two pulls: the page says what
the protocol says of itself, and then what the trace tells.
"""

import re
from dataclasses import dataclass
from html import escape

from cobandit.look import report_page
from cobandit.protocols.plug_in import PlugIn
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import Tape
from cobandit.scenario.trace import Kind, Row, transcript
from cobandit.scenario.words import scenario_in_words
from cobandit.simulator.reference import ReferenceRun

MOST_LINES = 300
"""Of a longer conversation only the beginning is shown."""

_OF_ONE = (Kind.DECISION, Kind.ELIMINATION, Kind.JOIN, Kind.LEAVE)


@dataclass(frozen=True)
class PluggedExplanation:
    """What two agents did and said, ready to be shown."""

    scenario: Scenario
    pair: tuple[int, int]
    title: str
    rows: tuple[Row, ...]

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called."""
        return f"agent {self.pair[0]}", f"agent {self.pair[1]}"

    @property
    def shares(self) -> tuple[int, int]:
        """How many shares each of the two sent, to the other or to a hub."""
        one, other = (sum(row.kind == Kind.SHARE and row.agent == agent for row in self.rows) for agent in self.pair)
        return one, other

    def html(self) -> str:
        """Return the page."""
        scenario, plugged = self.scenario, self.scenario.plugged
        assert plugged is not None
        names = [scenario.node_name(position) for position in range(scenario.node_count)]
        told = transcript(self.rows[:MOST_LINES], names, scenario.arms.names, reward=scenario.arms.told)
        cut = f"<p class='soft'>The first {MOST_LINES} of {len(self.rows):,} lines.</p>"
        words = "".join(f"<li>{escape(sentence)}</li>" for sentence in scenario_in_words(scenario))
        body = (
            f'<section class="card"><h2>The rule</h2>{_rule(plugged)}</section>'
            f'<section class="card"><h2>The world</h2><ul>{words}</ul></section>'
            f'<section class="card"><h2>Agents {self.pair[0]} and {self.pair[1]}</h2><pre>{escape(told)}</pre>'
            f"{cut if len(self.rows) > MOST_LINES else ''}</section>"
        )
        return report_page(f"{self.title}: {plugged.about.title}", f"<p>{escape(plugged.about.told)}.</p>", body)


def explain_plugged(
    scenario: Scenario, pair: tuple[int, int], *, seed: int, trial: int, slots: int | None, title: str
) -> PluggedExplanation:
    """Run a scenario with a plug-in, and return what two of its agents did and said: to each other, and to hubs."""
    rows: list[Row] = []
    ReferenceRun(scenario, Tape(seed, trial), rows).run()
    until = scenario.horizon if slots is None else slots
    seen = tuple(row for row in rows if row.slot < until and _concerns(row, pair, len(scenario.agents)))
    return PluggedExplanation(scenario, pair, title, seen)


def _concerns(row: Row, pair: tuple[int, int], hub: int) -> bool:
    """Return whether a row is about the two: positions from `hub` on are hubs."""
    if row.kind in _OF_ONE:
        return row.agent in pair
    ends = (row.agent, row.other)
    return any(end in pair for end in ends) and all(end in pair or end >= hub for end in ends)


def _rule(plugged: PlugIn) -> str:
    sentences = [escape(sentence) for sentence in plugged.about.rule or (f"{plugged.about.told}.",)]
    told = [re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", sentence) for sentence in sentences]
    told = [re.sub(r"`(.+?)`", r"<code>\1</code>", sentence) for sentence in told]
    given = ", ".join(f"{name} = {value!r}" for name, value in plugged.parameters.items())
    parameters = f"<p>With {escape(given)}.</p>" if given else ""
    source = f"<p class='soft'>{escape(plugged.about.paper)}</p>" if plugged.about.paper else ""
    return f"<ol>{''.join(f'<li>{sentence}</li>' for sentence in told)}</ol>{parameters}{source}"
