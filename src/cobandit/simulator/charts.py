"""Figures for print and notebooks: on white, in colours that all readers can distinguish, with text as text.

This file owns size and fonts; the colours are those of `cobandit.look`. `plots.py` draws the content. Pages with a
light and a dark theme get their pictures from `canvas.py`.
"""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from cobandit.look.tokens import colours
from cobandit.simulator.plots import draw_agents, draw_on, draw_pareto
from cobandit.values.errors import LocalError

if TYPE_CHECKING:
    from cobandit.simulator.results import Results

PALETTE = tuple(colours(dark=False)[f"series-{number}"] for number in range(1, 8))
"""The series of the look, on white. `tests/look` requires a contrast of 3, and a distance with any colour vision. There
are as many markers, and four lines: 28 scenarios differ in colour or line; in grey, seven differ in markers."""

SIZE = (6.4, 4.0)
"""In inches: the width of a page's text."""

MOST_AGENTS = 100
"""How many agents fit on the axis."""

_LABELS = {"group_regret": "group regret (reward lost)", "shares": "shares sent (messages)"}

_STYLE: Any = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=PALETTE),
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.0,
}

_FILES: Any = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "cobandit"}
"""PDF and PostScript embed fonts; SVG has text. The same figure gives the same file."""

_NO_DATE: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


class Chart(Figure):
    """A matplotlib figure that shows itself in a notebook, and whose files can be printed and searched."""

    def savefig(self, fname: Any, **options: Any) -> None:  # noqa: ANN401  # as matplotlib has it
        """Write the figure: PDF, SVG, PNG or whatever the suffix or `format` says. Other options are matplotlib's."""
        kind = str(options.get("format") or str(fname).rpartition(".")[2]).lower()
        with rc_context(_FILES):
            super().savefig(fname, **{"dpi": 300, "metadata": _NO_DATE.get(kind), **options})

    def _repr_png_(self) -> bytes:
        """Return the representation for a notebook."""
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=110)
        return file.getvalue()


def over_time(results: "Results", column: str, log: str) -> Chart:
    """Draw a column over time if there are checkpoints, otherwise at the end."""
    if log not in {"", "x", "y", "xy"}:
        raise LocalError(f'log must be "x", "y", "xy" or "" for none, not {log!r}')
    if "x" in log and not len(results.over_time):
        raise LocalError("there is no time on the axis without checkpoints: run with checkpoints=50, say")
    return _chart(
        lambda axes: draw_on(
            axes, list(results.about.scenarios), results.trials, results.over_time, column, _LABELS[column], log
        )
    )


def by_agent(results: "Results") -> Chart:
    """Draw the regret of each agent."""
    return _chart(lambda axes: draw_agents(axes, list(results.about.scenarios), results.agents, MOST_AGENTS))


def pareto(results: "Results") -> Chart:
    """Draw regret against messages."""
    return _chart(lambda axes: draw_pareto(axes, list(results.about.scenarios), results.trials))


def _chart(draw: Callable[[Axes], None]) -> Chart:
    with rc_context(_STYLE):
        chart = Chart(figsize=SIZE, layout="constrained")
        draw(chart.subplots())
    return chart
