"""The report of a simulation: one HTML page without other files.

This file owns words and layout. All numbers come from the frames of `Results` and from `allowed.py`.
"""

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from cobandit.core import Constant
from cobandit.look import card, report_page
from cobandit.scenario.file import scenario_from_mapping
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.words import count_of, scenario_in_words
from cobandit.scenario.writing import scenario_to_toml
from cobandit.simulator.allowed import immediate_shares, regret_allowed, shares_allowed
from cobandit.simulator.canvas import picture
from cobandit.simulator.interval import Estimate
from cobandit.simulator.numbers import decimals, digits, low_to_high, mean, number, plus_minus
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cobandit.simulator.results import Results

MOST_AGENTS = 50
"""How many agents have their own row."""

_NOUNS = {
    "group_regret": "group regret",
    "realised_regret": "realised regret",
    "dynamic_regret": "dynamic regret",
    "decisions": "decisions",
    "shares": "shares",
    "retries": "repeated shares",
    "acknowledgements": "acknowledgements",
    "messages": "messages",
    "agent_rounds": "agent-rounds",
    "notices": "notices",
    "bytes": "bytes",
    "definition_bits": "bits of Definition 1",
    "staleness": "staleness",
}
"""The names of the quantities in a summary, in the order of the table."""

_RARE = ("retries", "acknowledgements", "notices")
"""Left out if there were none."""

_MEANINGS = {
    "group_regret": "pseudo-regret: the sum of the gaps of the arms pulled",
    "realised_regret": "what the best arm pays on average, minus the rewards received: it includes their luck",
    "dynamic_regret": "the sum of the gaps to the best arm of the moment: means change",
    "shares": "the paper's communications",
    "retries": "what was not acknowledged in time",
    "messages": "shares, repeated shares, acknowledgements",
    "agent_rounds": "slots in which an agent or relay sent anything, summed",
    "notices": "eliminations, joins, leaves",
    "bytes": "on the wire",
    "definition_bits": "for the numbers in shares: the paper's footnote",
    "staleness": "observations of others that an agent lacks when it decides",
}


def report_html(results: "Results", subject: str | None = None) -> str:
    """Return the page.

    Args:
        results: The measurements.
        subject: The scenario that the report is about, if the others are only for comparison.
    """
    about = results.about
    names = list(about.scenarios)
    title = subject or (names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}, compared")
    how_many = f"{count_of(about.trials, 'trial')}{' each' if len(names) > 1 else ''}"
    paired = " In each trial, all of them get the same decision times and the same luck." if len(names) > 1 else ""
    engine = f"{about.engine} engine"
    if " and " in about.engine:
        engine += "s, which give the same numbers"
    lead = f"<p>{how_many} from seed {about.seed}, on the {escape(engine)}.{paired}</p>"
    parts = [_Part(results, name) for name in names]
    told = [part for part in parts if subject in (None, part.name)]
    body = (
        _links(told)
        + ("".join(told[0].numbers()) if len(told) == 1 else "")
        + (_comparison(parts) if len(parts) > 1 else "")
        + _figures(results)
        + "".join(part.section() for part in told)
        + _again(results, [part.name for part in told])
    )
    return report_page(f"Simulation: {title}", lead, body)


def summary_html(results: "Results") -> str:
    """Return the most important numbers as a table with its own style, for a notebook."""
    about = results.about
    quantities = ("group_regret", "shares", "messages", "bytes", "decisions")
    table = _compared(
        {name: {one: results.estimate(name, one) for one in quantities} for name in about.scenarios}, quantities
    )
    sure = ", ± half of the 95 % interval" if about.trials > 1 else ""
    return f"{table}<p>Means over {count_of(about.trials, 'trial')} from seed {about.seed}{sure}.</p>"


class _Part:
    """One scenario of a report."""

    def __init__(self, results: "Results", name: str) -> None:
        self.results = results
        self.name = name
        self.anchor = f"scenario-{list(results.about.scenarios).index(name) + 1}"
        self.written = results.about.scenarios[name]
        self.scenario = _scenario(self.written)
        told = [quantity for quantity in _NOUNS if quantity in results.quantities]
        self.estimates = {quantity: results.estimate(name, quantity) for quantity in told}
        agents = results.agents[results.agents["scenario"] == name]
        self.agents = agents.groupby("agent", sort=True).mean(numeric_only=True).drop(columns="trial")
        by_trial = [group["decisions"].tolist() for _, group in agents.groupby("trial", sort=True)]
        self.shares_allowed, self.regret_allowed, self.immediate = (
            None if self.scenario is None else count(self.scenario, by_trial)
            for count in (shares_allowed, regret_allowed, immediate_shares)
        )

    def numbers(self) -> Iterator[str]:
        """Return the most important numbers as cards."""
        regret, shares = self.estimates["group_regret"], self.estimates["shares"]
        decisions = self.estimates["decisions"].mean
        yield '<section class="numbers" aria-label="Key figures">'
        for one, what in ((regret, "group regret"), (shares, "shares sent")):
            yield card(mean(one), what, _interval(one) or "a single trial has no interval")
        per_decision = shares.mean / decisions if decisions else 0.0
        yield card(f"{per_decision:,.3f}", "shares per decision", f"{number(decisions)} decisions")
        if self.immediate and shares.mean:
            saved = f"{100 * shares.mean / self.immediate:,.1f} % of them were sent"
            yield card(number(self.immediate), "shares by immediate broadcast", saved)
        yield "</section>"

    def section(self) -> str:
        """Return the whole section."""
        return (
            f'<section class="card" id="{self.anchor}"><h2>{escape(self.name)}</h2>{self._words()}{self._table()}'
            f"{self._bounds()}{self._by_agent()}{self._file()}</section>"
        )

    def _words(self) -> str:
        if self.scenario is None:
            own = "<p>The scenario uses code of your own, which a file cannot hold. It appears below by its name.</p>"
            return own + _told(self.written)
        return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in scenario_in_words(self.scenario))}</ul>"

    def _table(self) -> str:
        rows = "".join(_row(quantity, one) for quantity, one in self.estimates.items() if self._is_told(quantity))
        return (
            '<div class="wide"><table><thead><tr><th></th><th>mean</th><th>95 % interval</th><th>sd of a trial</th>'
            f"</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def _is_told(self, quantity: str) -> bool:
        """Return whether a quantity is informative. Repetitions, for example, need a network that may lose messages."""
        if math.isnan(self.estimates[quantity].mean):
            return False
        if quantity == "messages":
            return self.estimates["messages"].mean != self.estimates["shares"].mean
        if quantity == "dynamic_regret":
            return self.estimates[quantity].mean != self.estimates["group_regret"].mean
        return quantity not in _RARE or self.estimates[quantity].mean > 0

    def _bounds(self) -> str:
        told = []
        if self.shares_allowed is not None:
            told.append(f"Theorem 2 allows {number(self.shares_allowed)} shares for these numbers of decisions.")
        if self.regret_allowed is not None:
            grows = self.scenario is not None and not isinstance(self.scenario.exchange.threshold, Constant)
            reached = " with the largest thresholds that these runs can have reached" if grows else ""
            told.append(
                f"Theorem 1 allows a group regret of {number(self.regret_allowed)}{reached}. It assumes delta = 1/N "
                "(UCB) or 1/N² (AAE) with N known: for any other confidence, take it as a yardstick."
            )
        return f"<p>{' '.join(told)}</p>" if told else ""

    def _by_agent(self) -> str:
        heads = {
            "decisions": "decisions",
            "regret": "regret",
            "realised_regret": "realised regret",
            **({"dynamic_regret": "dynamic regret"} if self._is_told("dynamic_regret") else {}),
            "shares_sent": "sent",
            "shares_received": "received",
        }
        shown = self.agents.head(MOST_AGENTS)
        places = {column: decimals(*shown[column]) for column in heads}
        rows = "".join(
            f"<tr><th>{agent}</th>{''.join(f'<td>{row[column]:,.{places[column]}f}</td>' for column in heads)}</tr>"
            for agent, row in shown.iterrows()
        )
        cut = f"<p class='soft'>The first {MOST_AGENTS} of {len(self.agents):,} agents.</p>"
        return (
            "<details><summary>Each agent, means over the trials</summary><div class='wide'><table><thead><tr>"
            f"<th>agent</th>{''.join(f'<th>{head}</th>' for head in heads.values())}</tr></thead><tbody>{rows}</tbody>"
            f"</table></div>{cut if len(self.agents) > MOST_AGENTS else ''}</details>"
        )

    def _file(self) -> str:
        about = self.results.about
        if self.scenario is None:
            text = json.dumps(self.written, indent=1)
        else:
            text = scenario_to_toml(self.scenario, trials=about.trials, seed=about.seed)
        return f"<details><summary>The scenario as a file</summary><pre>{escape(text)}</pre></details>"


def _links(parts: Sequence[_Part]) -> str:
    if len(parts) == 1:
        return ""
    links = "".join(f'<a href="#{part.anchor}">{escape(part.name)}</a>' for part in parts)
    return f"<nav aria-label='Scenarios'>{links}</nav>"


def _comparison(parts: Sequence[_Part]) -> str:
    told = ("group_regret", "shares", "agent_rounds", "bytes", "staleness")
    quantities = [quantity for quantity in told if quantity in parts[0].estimates]
    table = _compared({part.name: part.estimates for part in parts}, quantities)
    return (
        f'<section class="card"><h2>Compared</h2><div class="wide">{table}</div>'
        "<p class='soft'>Means over the trials, ± half of the 95 % interval of the mean.</p></section>"
    )


def _compared(estimates: Mapping[str, Mapping[str, Estimate]], quantities: Sequence[str]) -> str:
    """Return a table with a row for each scenario."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(
            f"<td>{mean(row[quantity])}<small> {plus_minus(row[quantity])}</small></td>" for quantity in quantities
        )
        + "</tr>"
        for name, row in estimates.items()
    )
    heads = "".join(f"<th>{_NOUNS[quantity]}</th>" for quantity in quantities)
    return f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _figures(results: "Results") -> str:
    """Return the figure, or why there is none. A missing figure must not cost the numbers."""
    is_over_time = bool(len(results.over_time))
    more = "" if is_over_time else f"<p class='soft'>{_CURVES}</p>"
    if not is_over_time and len(results.about.scenarios) == 1:
        return f'<section class="card"><h2>Over time</h2>{more}</section>'
    heading = "Over time" if is_over_time else "At the end"
    sure = ", with its 95 % interval" if results.about.trials > 1 else ""
    caption = f"Group regret and shares: the mean over {count_of(results.about.trials, 'trial')}{sure}."
    try:
        drawn = picture("regret-and-shares", caption, 3.2, partial(_draw, results=results)).html()
    except LocalError as error:
        return f'<section class="card"><p>There is no figure: {escape(str(error))}.</p></section>'
    return f'<section class="card"><h2>{heading}</h2>{drawn}{more}</section>'


_CURVES = (
    "Only the end of each trial was recorded. For curves of regret and shares over time, run again with "
    '<code style="white-space:nowrap">--checkpoints 50</code>, into another folder.'
)


def _draw(figure: "Figure", results: "Results") -> None:
    from cobandit.simulator.plots import draw_on  # noqa: PLC0415  # matplotlib takes long to load

    names = list(results.about.scenarios)
    columns = (("group_regret", "group regret"), ("shares", "shares sent"))
    for axes, (column, label) in zip(figure.subplots(1, 2), columns, strict=True):
        draw_on(axes, names, results.trials, results.over_time, column, label)


def _again(results: "Results", names: Sequence[str]) -> str:
    about = results.about
    versions = ", ".join(f"{name} {version}" for name, version in about.versions.items())
    checkpoints = f" --checkpoints {len(about.checkpoints)}" if about.checkpoints else ""
    options = f"--trials {about.trials} --seed {about.seed}{checkpoints}"
    commands = "\n".join(f"cobandit simulate {shlex.quote(f'{name}.toml')} {options}" for name in names)
    return (
        '<section class="card"><h2>Again</h2><p>Keep a scenario as a file, as it stands above. The same seed gives the '
        f"same bits, on one worker and on many.</p><pre>{escape(commands)}</pre>"
        f"<p class='soft'>Made with {escape(versions)}.</p></section>"
    )


def _scenario(written: object) -> Scenario | None:
    """Return the scenario in a result, unless it has a part that a file cannot hold."""
    try:
        return scenario_from_mapping(written).scenario  # type: ignore[arg-type]  # we wrote it ourselves
    except LocalError:
        return None


def _told(written: Mapping[str, Any]) -> str:
    """Return how agents talk by a user's own protocol, in its own words."""
    protocol = written.get("sharing", {}).get("protocol")
    return f"<p>{escape(protocol['told'])}.</p>" if isinstance(protocol, dict) and "told" in protocol else ""


def _row(quantity: str, one: Estimate) -> str:
    meaning = f"<span>{_MEANINGS[quantity]}</span>" if quantity in _MEANINGS else ""
    sd = "" if one.sd is None else f"{one.sd:,.{digits(one)}f}"
    return (
        f"<tr><th>{_NOUNS[quantity]}{meaning}</th><td>{mean(one)}</td>"
        f"<td class='range'>{low_to_high(one)}</td><td>{sd}</td></tr>"
    )


def _interval(one: Estimate) -> str:
    return f"95 %: {low_to_high(one)}" if low_to_high(one) else ""
