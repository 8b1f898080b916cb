"""How results are drawn on axes: lines over time, points at the end, agents, and regret against messages.

The data come from the frames. Only means, intervals and dominance are computed here. The caller that brings the axes
owns size, colours and paper: `canvas.py` for pages, `charts.py` for print.
"""

from collections.abc import Iterable, Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from cobandit.simulator.interval import Estimate, estimate

LINES = ("solid", "dashed", "dashdot", "dotted")
MARKERS = ("o", "s", "^", "D", "v", "*", "P")
"""Scenarios are distinguished by more than colour."""

MARKS = 8
"""The approximate number of markers on a line."""


def draw_on(
    axes: Axes,
    scenarios: Iterable[str],
    trials: pd.DataFrame,
    over_time: pd.DataFrame,
    column: str,
    label: str,
    log: str = "",
) -> None:
    """Draw one column: over time if there are checkpoints, otherwise at the end of the runs."""
    means: list[float] = []
    if len(over_time):
        for place, (style, marker, name) in enumerate(zip(cycle(LINES), cycle(MARKERS), scenarios, strict=False)):
            line = _line(axes, name, over_time[over_time["scenario"] == name], column)
            line.set(linestyle=style, marker=marker, markevery=_marked(place, over_time["slot"].nunique()))
            means += np.asarray(line.get_ydata()).tolist()
        axes.set_xlabel("time (slots)")
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(_with_commas)
        if "x" in log:
            _log_from_zero(axes, "x", over_time["slot"])
        axes.legend()
    else:
        means = _points(axes, list(scenarios), trials, column)
    axes.yaxis.set_major_formatter(_with_commas)
    axes.set_ylabel(f"{label}\nmean and 95 % interval")
    if "y" in log:
        _log_from_zero(axes, "y", means)
    else:
        _from_zero(axes)


def draw_agents(axes: Axes, scenarios: Sequence[str], agents: pd.DataFrame, most: int) -> None:
    """Draw the regret of the first agents, with a marker for each scenario side by side."""
    step = 0.8 / len(scenarios)
    for place, (marker, name) in enumerate(zip(cycle(MARKERS), scenarios, strict=False)):
        rows = agents[(agents["scenario"] == name) & (agents["agent"] < most)]
        found = [(int(agent), estimate(group.tolist(), least=0.0)) for agent, group in rows.groupby("agent")["regret"]]
        axes.errorbar(
            [agent + step * (place - (len(scenarios) - 1) / 2) for agent, _ in found],
            [one.mean for _, one in found],
            yerr=_bars([one for _, one in found]),
            linestyle="none",
            marker=marker,
            capsize=2,
            label=name,
        )
    count = 1 + int(agents["agent"].max())
    axes.set_xlabel("agent" if count <= most else f"agent (the first {most:,} of {count:,})")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(_with_commas)
    axes.set_ylabel("regret (reward lost)\nmean and 95 % interval")
    _from_zero(axes)
    axes.legend()


def draw_pareto(axes: Axes, scenarios: Sequence[str], trials: pd.DataFrame) -> None:
    """Draw group regret against messages, with a point for each scenario."""
    points = {}
    for name in scenarios:
        rows = trials[trials["scenario"] == name]
        points[name] = (
            estimate(rows["messages"].tolist(), least=0.0),
            estimate(rows["group_regret"].tolist(), least=0.0),
        )
    means = {name: (messages.mean, regret.mean) for name, (messages, regret) in points.items()}
    worse = dominated(means)
    front = sorted({means[name] for name in means if name not in worse})
    axes.step(*zip(*front, strict=True), where="post", color="0.6", linewidth=1.0, zorder=1)
    for marker, (name, (messages, regret)) in zip(cycle(MARKERS), points.items(), strict=False):
        is_worse = name in worse
        axes.errorbar(
            [messages.mean],
            [regret.mean],
            xerr=_bars([messages]),
            yerr=_bars([regret]),
            linestyle="none",
            marker=marker,
            capsize=3,
            markerfacecolor="white" if is_worse else None,
            label=f"{name} (dominated)" if is_worse else name,
        )
    for axis, what, place in (("x", "messages (count)", 0), ("y", "group regret (reward lost)", 1)):
        _log_from_zero(axes, axis, [point[place] for point in means.values()])
        getattr(axes, f"set_{axis}label")(f"{what}\nmean and 95 % interval")
    axes.legend()


def dominated(means: "dict[str, tuple[float, float]]") -> set[str]:
    """Return the names that have no less of both than some other, and more of one.

    >>> sorted(dominated({"a": (1.0, 9.0), "b": (2.0, 5.0), "c": (3.0, 5.0), "d": (2.0, 5.0)}))
    ['c']
    """
    return {
        name
        for name, (x, y) in means.items()
        if any(other_x <= x and other_y <= y and (other_x, other_y) != (x, y) for other_x, other_y in means.values())
    }


def _from_zero(axes: Axes) -> None:
    """Begin an axis at zero, unless something is below: regret may be, where means change."""
    if axes.dataLim.y0 >= 0.0:
        axes.set_ylim(bottom=0)


def _log_from_zero(axes: Axes, name: str, means: Iterable[float]) -> None:
    """Make an axis logarithmic; if a mean is zero, linear up to one. An interval may extend beyond the axis at zero."""
    axis, (low, high) = (axes.xaxis, axes.dataLim.intervalx) if name == "x" else (axes.yaxis, axes.dataLim.intervaly)
    if (least := min(means)) > 0.0:
        low = low if low > 0.0 else least / 2.0
        getattr(axes, f"set_{name}scale")("log")
        getattr(axes, f"set_{name}lim")(low / 1.3, high * 1.3)
        mark_powers(axis, low, high)
    else:
        getattr(axes, f"set_{name}scale")("symlog", linthresh=1.0, linscale=0.4)
        getattr(axes, f"set_{name}lim")(min(-0.2, low * 1.6), max(1.0, high) * 1.6)
        axis.set_major_formatter(_with_commas)


def mark_powers(axis: Axis, low: float, high: float) -> None:
    """Name the marks of a logarithmic axis by plain numbers; also those between powers of ten, if these are few."""
    axis.set_major_formatter(_with_commas)
    if high < 50.0 * low:  # there may be no power of ten on the axis
        axis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        axis.set_minor_formatter(_with_commas)
    else:
        axis.set_minor_formatter(NullFormatter())


def _with_commas(value: float, _place: object) -> str:
    return f"{value:,.10g}"  # must not label a tick at 2.5 as 2


def _marked(place: int, points: int) -> tuple[int, int]:
    """Return the first point with a marker and the step between them. Lines differ, because they may overlap."""
    every = max(1, points // MARKS)
    return (place * max(1, every // 4) % every, every)


def _line(axes: Axes, name: str, rows: pd.DataFrame, column: str) -> Line2D:
    slots: list[int] = []
    estimates = []
    for slot, group in rows.groupby("slot", sort=True):
        slots.append(int(slot))
        estimates.append(estimate(group[column].tolist(), least=0.0))
    (line,) = axes.plot(slots, [one.mean for one in estimates], label=name)
    if all(one.low is not None for one in estimates):
        lows, highs = [one.low or 0.0 for one in estimates], [one.high or 0.0 for one in estimates]
        axes.fill_between(slots, lows, highs, alpha=0.2, color=line.get_color(), linewidth=0)
    return line


def _points(axes: Axes, names: list[str], trials: pd.DataFrame, column: str) -> list[float]:
    means = []
    for place, (marker, name) in enumerate(zip(cycle(MARKERS), names, strict=False)):
        one = estimate(trials.loc[trials["scenario"] == name, column].tolist(), least=0.0)
        axes.errorbar([place], [one.mean], yerr=_bars([one]), fmt=marker, capsize=4)
        means.append(one.mean)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    return means


def _bars(estimates: Sequence[Estimate]) -> list[list[float]] | None:
    """Return how far the intervals extend below and above the means; `None` for single trials."""
    if any(one.low is None or one.high is None for one in estimates):
        return None
    return [[one.mean - (one.low or 0.0) for one in estimates], [(one.high or 0.0) - one.mean for one in estimates]]
