"""What is drawn in the paper's figures: stacks, lines, bars and dots, from reproduced experiments.

This file owns colours and axes. It knows where the numbers are, not how they came about; which figure of the paper has
which panels is in `figures.py`.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cobandit.simulator.canvas import series
from cobandit.studies.bounds import is_bounded, is_constant, regret_allowed, shares_allowed
from cobandit.studies.comparison import FAR, Cell
from cobandit.studies.reproduction import KINDS, Reproduced, Run, deviation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KINDS = {"between": 2, "among slow": 6, "among fast": 7}
PROTOCOLS = {"IBC": 3, "ODC": 1}
_NEITHER = 8
"""Which of the series' colours stand for what. A colour itself is asked for while a theme is being drawn."""

_BOUND = "Theorem 2 (ODC)"

RATIO = "a fast agent's rate / a slow agent's"
SHORT_RATIO = "fast / slow rate"
SLOW = "number of slow agents"


def draw_main(figure: "Figure", one: Reproduced, label: str) -> None:
    """Draw what Experiments 1 and 2 have in the paper: messages of UCB and AAE by kind of pair, and regrets."""
    axes = figure.subplots(1, 3)
    for panel, policy in zip(axes, ("UCB", "AAE"), strict=False):
        _draw_stacks(panel, one, policy)
        panel.set_title(policy)
        panel.set_ylabel("messages (millions)")
    for policy, marker in (("UCB", "o"), ("AAE", "s")):
        for protocol in PROTOCOLS:
            _draw_series(axes[2], one, f"{policy}-{protocol}", "group_regret", marker)
    allowed = {f"{policy}-ODC": _regrets_allowed(one, f"{policy}-ODC") for policy in ("UCB", "AAE")}
    _say_bounds(axes[2], allowed)
    axes[2].set_title("regret")
    axes[2].set_ylabel("group regret (mean, sd)")
    axes[2].legend(loc="lower center", ncols=2, fontsize=7.5)
    for panel in axes:
        panel.set_xlabel(label)
    _label_stacks(figure)


def _draw_stacks(axes: "Axes", one: Reproduced, policy: str) -> None:
    points = list(one.study.worlds)
    for side, protocol, hatch in ((-0.2, "IBC", "////"), (0.2, "ODC", None)):
        runs = [one.run(f"{policy}-{protocol}", point) for point in points]
        places = [place + side for place in range(len(points))]
        below = [0.0] * len(points)
        for kind in KINDS:
            heights = [run.mean(kind) / 1e6 for run in runs]
            axes.bar(
                places,
                heights,
                0.36,
                bottom=below,
                color=series(_KINDS[kind]),
                hatch=hatch,
                edgecolor=axes.get_facecolor(),
                linewidth=0.4,
            )
            below = [low + height for low, height in zip(below, heights, strict=True)]
        if protocol == "ODC":
            ink = axes.xaxis.label.get_color()
            for place, run in zip(places, runs, strict=True):
                most = sum(shares_allowed(run).values()) / 1e6
                axes.plot([place - 0.26, place + 0.26], [most, most], color=ink, linestyle="dashed", linewidth=1.3)
    axes.set_xticks(range(len(points)), [str(point) for point in points])


def _regrets_allowed(one: Reproduced, algorithm: str) -> list[float]:
    """Return what Theorem 1 allows in each world in which it says something."""
    found = [regret_allowed(one.run(algorithm, point)) for point in one.study.worlds]
    return [most for most in found if most is not None]


def _say_bounds(axes: "Axes", allowed: Mapping[str, Sequence[float]]) -> None:
    """Begin at zero, and say in words what Theorem 1 allows.

    It is so far up that a line would take a log axis, on which regrets that differ by a third look the same.
    """
    said = [f"Theorem 1 allows {algorithm} {_span(most)}" for algorithm, most in allowed.items() if most]
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * (1.0 + 0.12 * len(said)))
    axes.text(0.03, 0.98, "\n".join(said), transform=axes.transAxes, va="top", fontsize=7.5)


def _span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:,.0f}" if f"{low:.2g}" == f"{high:.2g}" else f"{low:,.0f} to {high:,.0f}"


def _label_stacks(figure: "Figure") -> None:
    from matplotlib import rcParams  # noqa: PLC0415  # the core does not need matplotlib
    from matplotlib.lines import Line2D  # noqa: PLC0415  # as above
    from matplotlib.patches import Patch  # noqa: PLC0415  # as above

    ink, paper = rcParams["text.color"], rcParams["axes.facecolor"]
    handles = [
        *(Patch(facecolor=series(_KINDS[kind]), label=kind) for kind in reversed(KINDS)),
        Patch(facecolor=series(_NEITHER), edgecolor=paper, hatch="////", label="IBC (left)"),
        Patch(facecolor=series(_NEITHER), label="ODC (right)"),
        Line2D([], [], color=ink, linestyle="dashed", label=_BOUND),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)


def _draw_series(axes: "Axes", one: Reproduced, algorithm: str, quantity: str, marker: str = "o") -> None:
    points = list(one.study.worlds)
    runs = [one.run(algorithm, point) for point in points]
    _, protocol, *doubling = algorithm.split("-")
    axes.errorbar(
        points,
        [run.mean(quantity) for run in runs],
        yerr=[run.sd(quantity) for run in runs] if quantity == "group_regret" else None,
        color=series(PROTOCOLS[protocol]),
        marker=marker,
        markersize=4.5,
        markerfacecolor=axes.get_facecolor() if protocol == "IBC" else None,
        linestyle="dashed" if doubling else "solid",
        linewidth=1.3,
        capsize=2,
        elinewidth=0.8,
        label=algorithm,
    )
    axes.set_xticks(points)


def draw_thresholds(figure: "Figure", one: Reproduced, label: str, quantities: Mapping[str, str]) -> None:
    """Draw constant against doubling thresholds: a panel for each policy and quantity."""
    rows = 2 if len(quantities) > 2 else 1
    grid = figure.subplots(rows, 4).reshape(2, len(quantities))
    for row, policy in zip(grid, ("UCB", "AAE"), strict=True):
        for axes, (quantity, title) in zip(row, quantities.items(), strict=True):
            for threshold in ("", "-D"):
                for protocol in PROTOCOLS:
                    _draw_series(axes, one, f"{policy}-{protocol}{threshold}", quantity)
                if quantity != "group_regret":
                    _draw_bound(axes, one, f"{policy}-ODC{threshold}", quantity)
            if quantity == "group_regret":
                axes.set_ylim(bottom=0)
            else:
                axes.set_yscale("log")
            axes.set_title(f"{policy}: {title}")
            axes.set_ylabel("group regret" if quantity == "group_regret" else "messages")
            axes.set_xlabel(label)
    _label_thresholds(figure)


def _draw_bound(axes: "Axes", one: Reproduced, algorithm: str, quantity: str) -> None:
    points = list(one.study.worlds)
    allowed = [shares_allowed(one.run(algorithm, point)) for point in points]
    most = [sum(bounds.values()) if quantity == "shares" else bounds[quantity] for bounds in allowed]
    axes.plot(points, most, linestyle="dotted", linewidth=1.3, color=axes.xaxis.label.get_color())


def _label_thresholds(figure: "Figure") -> None:
    from matplotlib import rcParams  # noqa: PLC0415  # the core does not need matplotlib
    from matplotlib.lines import Line2D  # noqa: PLC0415  # as above

    handles = [
        Line2D(
            [],
            [],
            color=series(number),
            marker="o",
            markersize=4.5,
            markerfacecolor=rcParams["axes.facecolor"] if protocol == "IBC" else None,
            linestyle="dashed" if threshold == "doubling" else "solid",
            label=f"{protocol}, {threshold}",
        )
        for threshold in ("threshold 1", "doubling")
        for protocol, number in PROTOCOLS.items()
    ]
    handles.append(Line2D([], [], color=rcParams["text.color"], linestyle="dotted", label=_BOUND))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)


def draw_bars_by_speed(figure: "Figure", one: Reproduced) -> None:
    """Draw individual regrets in Experiment 1: their mean and deviation among the fast and among the slow."""
    points = list(one.study.worlds)
    panels = [(policy, fast) for policy in ("UCB", "AAE") for fast in (True, False)]
    row = figure.subplots(1, 4)
    for axes, (policy, fast) in zip(row, panels, strict=True):
        for side, (protocol, number) in zip((-0.2, 0.2), PROTOCOLS.items(), strict=True):
            samples = [one.run(f"{policy}-{protocol}", point).individual_regrets(fast=fast) for point in points]
            axes.bar(
                [place + side for place in range(len(points))],
                [statistics.fmean(sample) for sample in samples],
                0.36,
                yerr=[deviation(sample) for sample in samples],
                error_kw={"elinewidth": 0.8, "capsize": 2, "ecolor": axes.xaxis.label.get_color()},
                color=series(number),
                label=protocol,
            )
        axes.set_xticks(range(len(points)), [str(point) for point in points])
        axes.set_ylim(bottom=0)
        axes.set_title(f"{policy}: a {'fast' if fast else 'slow'} agent")
        axes.set_ylabel("regret of an agent")
        axes.set_xlabel(SHORT_RATIO)
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def draw_dots_by_agent(figure: "Figure", one: Reproduced) -> None:
    """Draw individual regrets in Experiment 2: a dot for each agent."""
    row = figure.subplots(1, 2)
    for axes, policy in zip(row, ("UCB", "AAE"), strict=True):
        for side, marker, (protocol, number) in zip((-0.6, 0.6), ("o", "^"), PROTOCOLS.items(), strict=True):
            dots = [
                (point + side, regret)
                for point in one.study.worlds
                for regret in one.run(f"{policy}-{protocol}", point).by_agent("regret")
            ]
            axes.scatter(*zip(*dots, strict=True), s=13, marker=marker, color=series(number), alpha=0.6, label=protocol)
        axes.set_xticks(list(one.study.worlds))
        axes.set_ylim(bottom=0)
        axes.set_title(policy)
        axes.set_ylabel("regret of an agent")
        axes.set_xlabel(SLOW)
        axes.legend(loc="best")


def draw_over_time(figure: "Figure", one: Reproduced, unit: float = 1.0, unit_name: str = "") -> None:
    """Draw regret and messages against time."""
    row = figure.subplots(1, 2)
    for axes, quantity, title in zip(
        row, ("group_regret", "shares"), ("group regret", f"messages{unit_name}"), strict=True
    ):
        scale = unit if quantity == "shares" else 1.0
        for run in one.runs.values():
            slots, values = run.over_time(quantity)
            axes.plot(
                slots, [value / scale for value in values], color=_colour(run), linewidth=1.8, label=run.algorithm
            )
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(title)
        axes.set_xlabel("slot")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.xaxis.set_major_locator(_locator())
    bound = [sum(shares_allowed(run).values()) for run in one.runs.values() if is_bounded(run, 2)]
    style = {"linestyle": "dashed", "linewidth": 1.2, "color": row[1].xaxis.label.get_color()}
    row[1].axhline(max(bound) / unit, label=f"{_BOUND}, whole run", **style)
    row[1].set_ylim(top=1.12 * max(row[1].get_ylim()[1] / 1.05, max(bound) / unit))
    _draw_regret_bounds(row[0], one)
    for axes in row:
        axes.legend(loc="best")


def _draw_regret_bounds(axes: "Axes", one: Reproduced) -> None:
    """Say what Theorem 1 allows to a whole run, where it is known."""
    runs = [run for run in one.runs.values() if is_bounded(run, 1) and is_constant(run)]
    found = {run.algorithm: [most] for run in runs if (most := regret_allowed(run)) is not None}
    if found:
        _say_bounds(axes, found)


def _locator() -> "object":
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  # as above

    return MaxNLocator(4)


def _colour(run: Run) -> str:
    policy, protocol = run.algorithm.split("-")[:2]
    return series(PROTOCOLS[protocol] if policy == "UCB" else _KINDS["between"])


def draw_overview(figure: "Figure", cells: Sequence[Cell]) -> None:
    """Draw how far every cell of the paper's tables is from the published one."""
    rows = list(dict.fromkeys((cell.experiment, cell.title) for cell in cells))
    axes = figure.subplots()
    axes.axvspan(-FAR, FAR, color=series(PROTOCOLS["ODC"]), alpha=0.12, linewidth=0)
    axes.axvline(0.0, color=axes.xaxis.label.get_color(), linewidth=0.8)
    marks = (("communications", "o", _KINDS["between"], -0.17), ("group regret", "D", _KINDS["among fast"], 0.17))
    for quantity, marker, place, aside in marks:  # one a little above the other, so that neither hides it
        colour = series(place)
        shown = [one for one in cells if one.quantity == quantity]
        places = [rows.index((cell.experiment, cell.title)) + aside for cell in shown]
        for is_best in (False, True):
            axes.plot(
                [(cell.best if is_best else cell.printed).errors for cell in shown],
                places,
                linestyle="none",
                marker=marker,
                markersize=5,
                color=colour,
                markerfacecolor=colour if is_best else "none",
                label=f"{quantity}, {'best reading' if is_best else 'as printed'}",
            )
    axes.set_yticks(range(len(rows)), [f"{experiment}  {title}" for experiment, title in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    errors = [one.errors for cell in cells for one in (cell.printed, cell.best)]
    axes.set_xlim(min(-FAR, *errors) - 1.0, max(FAR, *errors) + 1.0)
    axes.set_xlabel("reproduced minus published, in standard errors")
    axes.set_ylabel("experiment and algorithm")
    figure.legend(loc="outside upper center", ncols=2, fontsize=8)
