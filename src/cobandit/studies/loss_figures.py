"""What loss does to regret, to messages and to what agents know: a picture and a table.

This file owns how the study `loss` is shown. Its worlds are in `cobandit.studies.beyond`.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from cobandit.simulator.canvas import series
from cobandit.simulator.interval import estimate, half_width
from cobandit.studies.reproduction import Reproduced, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Style(NamedTuple):
    label: str
    series: int
    marker: str
    line: str


_STYLES: Mapping[str, _Style] = {
    "UCB-ODC": _Style("ODC as printed", 2, "o", "solid"),
    "UCB-ODC-LT": _Style("ODC, loss-tolerant", 1, "s", "solid"),
    "UCB-ODC-D": _Style("ODC as printed, doubling", 2, "o", "dashed"),
    "UCB-ODC-LT-D": _Style("ODC, loss-tolerant, doubling", 1, "s", "dashed"),
    "UCB-IBC": _Style("immediate broadcast", 3, "^", "solid"),
    "UCB-NONE": _Style("no communication", 8, "x", "dotted"),
}

_PANELS = {"group_regret": "group regret", "messages": "messages (log axis)", "staleness": "staleness (log axis)"}

CAPTION = (
    "Forty agents, ten of them thirty times as fast as the others, on a network that loses messages. Messages are "
    "shares, repeated shares and bare acknowledgements. Staleness is how many observations of others an agent did not "
    "know of when it decided."
)


def draw_loss(figure: "Figure", one: Reproduced) -> None:
    """Draw regret, messages and staleness against loss."""
    row = figure.subplots(1, 3)
    for axes, (quantity, title) in zip(row, _PANELS.items(), strict=True):
        for algorithm, style in _STYLES.items():
            points = [(point, one.run(algorithm, point).mean(quantity)) for point in one.study.worlds]
            points = [(point, value) for point, value in points if value > 0 or quantity == "group_regret"]
            if points:
                axes.plot(
                    *zip(*points, strict=True),
                    color=series(style.series),
                    marker=style.marker,
                    markersize=4,
                    linestyle=style.line,
                    linewidth=1.5,
                    label=style.label,
                )
        axes.set_ylabel(title)
        axes.set_xlabel("messages lost, per cent")
        if quantity == "group_regret":
            axes.set_ylim(bottom=0)
        else:
            axes.set_yscale("log")
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)


def loss_table(one: Reproduced) -> str:
    """Return the numbers, algorithm by algorithm, each beside what it does when nothing is lost."""
    groups = {
        style.label: [(f"{point} % lost", _cells(one, algorithm, point)) for point in one.study.worlds]
        for algorithm, style in _STYLES.items()
    }
    return grouped_table(groups, ("messages", "repeated", "acknowledged", "group regret, sd", "staleness"))


def phase_table(one: Reproduced) -> str:
    """Return messages and regrets of thresholds in step and with phases, each beside the first at the same loss."""
    first = one.study.algorithms[0]
    groups = {
        algorithm: [
            (
                f"{point} % lost",
                "".join(
                    _beside(one.run(algorithm, point), one.run(first, point), quantity) for quantity in _PHASE_PANELS
                ),
            )
            for point in one.study.worlds
        ]
        for algorithm in one.study.algorithms
    }
    return grouped_table(groups, tuple(_PHASE_PANELS.values()))


def grouped_table(groups: Mapping[str, Sequence[tuple[str, str]]], heads: Sequence[str]) -> str:
    """Return a table with a heading above the rows of each group; a row is its name and its cells."""
    bodies = "".join(
        f'<tbody><tr class="group"><th colspan="{1 + len(heads)}" scope="rowgroup">{escape(group)}</th></tr>'
        + "".join(f"<tr><th>{escape(name)}</th>{cells}</tr>" for name, cells in rows)
        + "</tbody>"
        for group, rows in groups.items()
    )
    told = "".join(f"<th>{head}</th>" for head in heads)
    return f'<div class="wide"><table><thead><tr><th></th>{told}</tr></thead>{bodies}</table></div>'


def _beside(run: Run, first: Run, quantity: str) -> str:
    half = half_width(estimate([trial.totals[quantity] for trial in run.trials]))
    sure = "" if half is None else f" ± {half:,.0f}"
    return f"<td>{run.mean(quantity):,.0f}<small>{sure}{_ratio(run, first, quantity)}</small></td>"


_PHASE_PANELS = {"messages": "messages", "group_regret": "group regret", "staleness": "staleness"}


def _cells(one: Reproduced, algorithm: str, point: int) -> str:
    run, lossless = one.run(algorithm, point), one.runs.get((0, algorithm))
    spread = f" sd {run.sd('group_regret'):,.0f}{_ratio(run, lossless, 'group_regret')}"
    return (
        f"<td>{run.mean('messages'):,.0f}<small>{_ratio(run, lossless, 'messages')}</small></td>"
        f"<td>{run.mean('retries'):,.0f}</td><td>{run.mean('acknowledgements'):,.0f}</td>"
        f"<td>{run.mean('group_regret'):,.0f}<small>{spread}</small></td><td>{run.mean('staleness'):,.0f}</td>"
    )


def _ratio(run: Run, lossless: Run | None, quantity: str) -> str:
    """Return how much of the same algorithm's lossless number it is."""
    if lossless is None or not lossless.mean(quantity):
        return ""
    return f" ({run.mean(quantity) / lossless.mean(quantity):.3f})"
