"""One quantity of several scenarios as a picture: lines over time, or one point each. Nothing is computed here."""

from collections.abc import Iterable
from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cobandit.simulator.interval import estimate

LINES = ("solid", "dashed", "dashdot", "dotted")
"""Scenarios are told apart by more than colour."""


def draw(scenarios: Iterable[str], trials: pd.DataFrame, over_time: pd.DataFrame, column: str, label: str) -> Figure:
    """Return a figure of one column: over time if there are checkpoints, else at the end of the runs."""
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.subplots()
    draw_on(axes, scenarios, trials, over_time, column, label)
    axes.grid(alpha=0.3)
    return figure


def draw_on(
    axes: Axes, scenarios: Iterable[str], trials: pd.DataFrame, over_time: pd.DataFrame, column: str, label: str
) -> None:
    """Draw the same on axes that exist already, with their size and their colours."""
    if len(over_time):
        for style, name in zip(cycle(LINES), scenarios, strict=False):
            _line(axes, name, over_time[over_time["scenario"] == name], column, style)
        axes.set_xlabel("slot")
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(_with_commas)
        axes.legend()
    else:
        _points(axes, list(scenarios), trials, column)
    axes.yaxis.set_major_formatter(_with_commas)
    axes.set_ylabel(f"{label} (mean, 95 %)")
    axes.set_ylim(bottom=0)


def _with_commas(value: float, _place: object) -> str:
    return f"{value:,g}"


def _line(axes: Axes, name: str, rows: pd.DataFrame, column: str, style: str) -> None:
    slots: list[int] = []
    estimates = []
    for slot, group in rows.groupby("slot", sort=True):
        slots.append(int(slot))
        estimates.append(estimate(group[column].tolist(), least=0.0))
    (line,) = axes.plot(slots, [one.mean for one in estimates], label=name, linestyle=style)
    if all(one.low is not None for one in estimates):
        lows, highs = [one.low or 0.0 for one in estimates], [one.high or 0.0 for one in estimates]
        axes.fill_between(slots, lows, highs, alpha=0.2, color=line.get_color(), linewidth=0)


def _points(axes: Axes, names: list[str], trials: pd.DataFrame, column: str) -> None:
    for place, name in enumerate(names):
        one = estimate(trials.loc[trials["scenario"] == name, column].tolist(), least=0.0)
        half = None if one.high is None else one.high - one.mean
        axes.errorbar([place], [one.mean], yerr=half, fmt="o", capsize=4)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
