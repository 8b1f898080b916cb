"""The study of fleets, shown: pictures, a page that needs nothing else, the numbers as JSON and as a table of text.

This file owns words, axes and layout. All numbers come from `cobandit.studies.fleets`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import cobandit
from cobandit.look import report_page
from cobandit.look.files import write_whole
from cobandit.simulator.canvas import Picture, picture, series
from cobandit.studies.fleets import ALPHA, CAP, FAST, PERIOD, POLICIES, PROTOCOLS, SLOW, SLOW_CAP, Plan, Point, find
from cobandit.studies.fleets import largest_compared as largest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = {
    "mesh": (8, "x", "dotted"),
    "relays": (1, "o", "solid"),
    "relays, doubling": (1, "s", "dashed"),
    "periodic hub": (3, "^", "solid"),
    "event-triggered hub": (2, "v", "solid"),
}
_PANELS = {
    "messages": "messages for each decision",
    "regret": "group regret",
    "staleness": "staleness",
}

_SIZES = (
    f"Fleets of different sizes: one agent of ten decides at a rate of {FAST:g}, the others at {SLOW:g}, 16 arms. "
    f"Relays have thresholds 1, 2, 3, ..., {SLOW_CAP} or 1, 2, 4, ..., {CAP}; the periodic hub has a synchronisation "
    f"every {PERIOD} pulls, the event-triggered one (alpha {ALPHA:g}) when the news are worth it. Dots without marks: "
    "what theory allows relays."
)
_DEATHS = (
    "What it costs if one of two relays, or the hub, dies at half time and stays away: group regret beside that of the "
    "same fleet without a death, UCB left, Thompson sampling right. Bars are two standard errors."
)


def pictures(points: Sequence[Point]) -> list[Picture]:
    """Draw the figures of the study.

    Raises:
        LocalError: matplotlib is not installed.
    """
    return [
        picture("fleets", _SIZES, 5.6, lambda figure: _draw_sizes(figure, points)),
        picture("fleets-deaths", _DEATHS, 3.0, lambda figure: _draw_deaths(figure, points)),
    ]


def write(points: Sequence[Point], plan: Plan, seed: int, folder: Path) -> Path:
    """Write `fleets.html`, `fleets.json` and every picture as SVG and PDF, and return the path of the page."""
    drawn = pictures(points)
    for one in drawn:
        for name, content_of in one.files().items():
            write_whole(folder / name, content_of)
    content = {
        "cobandit": cobandit.__version__,
        "seed": seed,
        "plan": asdict(plan),
        "points": list(map(asdict, points)),
    }
    write_whole(folder / "fleets.json", json.dumps(content, indent=1))
    page = folder / "fleets.html"
    write_whole(page, as_html(points, plan, seed, drawn))
    return page


def as_text(points: Sequence[Point]) -> str:
    """Return the numbers as tables for a terminal, one for each policy."""
    lines: list[str] = []
    for policy, title in POLICIES.items():
        heads = f"{'agents':>9}{'messages':>9}{'allowed':>9}{'regret':>8}{'se':>6}{'staleness':>10}"
        lines += ["", f"{title:29}{heads}"]
        for one in (one for one in points if one.policy == policy):
            name = f"{one.protocol}{', one dies' if one.dead else ''}"
            allowed = "" if one.allowed is None else f"{one.allowed:.4f}"
            lines.append(
                f"{name:29}{one.agents:>9,}{one.messages:>9.3f}{allowed:>9}{one.regret:>8,.0f}"
                f"{one.regret_error:>6,.0f}{one.staleness:>10,.0f}"
            )
    return "\n".join(lines[1:])


def verdict(points: Sequence[Point]) -> str:
    """Return the comparison in a sentence or two."""
    agents = largest(points)
    said = []
    for policy, name in POLICIES.items():
        ours, theirs = (find(points, protocol, policy, agents) for protocol in ("relays", "periodic hub"))
        dead = find(points, "relays", policy, agents, dead=True)
        said.append(
            f"{name}, {agents:,} agents: relays send {ours.messages:.3f} messages for each decision, the periodic hub "
            f"{theirs.messages:.3f} ({ours.messages / theirs.messages:.2f} of it), at {_percent(ours, theirs)} regret. "
            f"A relay that dies at half time changes regret by {_percent(dead, ours)}."
        )
    return " ".join(said)


def as_html(points: Sequence[Point], plan: Plan, seed: int, drawn: Sequence[Picture]) -> str:
    """Return the page."""
    lead = "<p>A mesh, relays, a periodic hub and an event-triggered hub, on the same tapes.</p>"
    made = (
        f"<p>cobandit {escape(cobandit.__version__)}, seed {seed}, {plan.slots:,} slots, {plan.trials} trials. UCB "
        "with delta = 1/n<sub>j</sub>, alpha 3. A message is a share, or one direction of a synchronisation. Staleness "
        "is how many observations of others an agent did not know of when it decided, on average.</p>"
    )
    body = (
        f'<section class="card"><h2>In short</h2><p>{escape(verdict(points))}</p>{made}</section>'
        + "".join(f'<section class="card">{one.html()}</section>' for one in drawn)
        + f'<section class="card"><h2>All numbers</h2>{_table(points)}</section>'
    )
    return report_page("Large fleets: who talks to whom, and what it costs", lead, body)


def _table(points: Sequence[Point]) -> str:
    rows = "".join(
        f"<tr><th>{escape(one.protocol)}<span>{POLICIES[one.policy]}{', one dies' if one.dead else ''}</span></th>"
        f"<td>{one.agents:,}</td><td>{one.messages:.4f}</td>"
        f"<td>{'' if one.allowed is None else f'{one.allowed:.4f}'}</td>"
        f"<td>{one.regret:,.0f}<small> se {one.regret_error:,.0f}</small></td><td>{one.staleness:,.0f}</td></tr>"
        for one in points
    )
    heads = ("agents", "messages for each decision", "allowed", "group regret, standard error", "staleness")
    head = "".join(f"<th>{one}</th>" for one in heads)
    return f'<div class="wide"><table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _percent(one: Point, other: Point) -> str:
    return f"{100 * (one.regret / other.regret - 1):+.1f} %".replace("-", "−")  # noqa: RUF001  # a minus


def _draw_sizes(figure: "Figure", points: Sequence[Point]) -> None:
    rows = figure.subplots(2, 3, sharex=True)
    for row, (policy, name) in zip(rows, POLICIES.items(), strict=True):
        for axes, (quantity, title) in zip(row, _PANELS.items(), strict=True):
            for protocol in PROTOCOLS:
                _draw_line(axes, points, protocol, policy, quantity)
            axes.set_title(f"{name}: {title}")
            axes.set_xscale("log")
            axes.set_yscale("log")
            if policy == "thompson":
                axes.set_xlabel("agents (log axis)")
    handles, labels = rows[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)


def _draw_line(axes: "Axes", points: Sequence[Point], protocol: str, policy: str, quantity: str) -> None:
    colour, marker, line = _STYLES[protocol]
    most = largest(points)
    found = [
        one
        for one in points
        if (one.protocol, one.policy, one.dead) == (protocol, policy, False) and one.agents <= most
    ]
    sizes = [one.agents for one in found]
    values = [getattr(one, quantity) for one in found]
    axes.plot(sizes, values, color=series(colour), marker=marker, markersize=4, linestyle=line, label=protocol)
    allowed = [one.allowed for one in found if one.allowed is not None]
    if quantity == "messages" and allowed:
        axes.plot(sizes, allowed, color=series(colour), linestyle=(0, (1, 2)), linewidth=1.0)


def _draw_deaths(figure: "Figure", points: Sequence[Point]) -> None:
    agents, panels = largest(points), figure.subplots(1, 2)
    for axes, (policy, name) in zip(panels, POLICIES.items(), strict=True):
        for place, protocol in enumerate(PROTOCOLS[1:]):
            for shift, dead in ((-0.2, False), (0.2, True)):
                one = find(points, protocol, policy, agents, dead=dead)
                axes.bar(
                    place + shift,
                    one.regret,
                    0.38,
                    yerr=2 * one.regret_error,
                    color=series(_STYLES[protocol][0]),
                    alpha=1.0 if dead else 0.45,
                    ecolor=series(8),
                )
        axes.set_title(f"{name}, {agents:,} agents")
        axes.set_xticks(range(len(PROTOCOLS) - 1), [one.replace(" ", "\n", 1) for one in PROTOCOLS[1:]])
        axes.set_ylabel("group regret (pale: nobody dies)")
