"""The picture of a task: group regret against what talking costs, by both measures, on log axes.

Lower left is better. The line joins the entries that nobody beats by both means. Bars are 95 % intervals. Who sends
nothing has no place on a log axis: its regret is a dotted line.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cobandit.benchmark.standings import COSTS, QUANTITIES, Card, Standing, front
from cobandit.benchmark.tasks import tasks
from cobandit.simulator.canvas import Picture, picture, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 5.4

_POLICY_COLOURS = {"ucb": 1, "kl-ucb": 2, "thompson": 3, "aae": 4}
_TABLE_SHAPES = {"odc": "o", "odc-double": "s", "odc-double64": "D", "ibc": "X"}
_PLUG_IN_SHAPES = "^v<>Pph*d8H"
_PLUG_IN_COLOURS = (5, 6, 7)


def picture_of(task: str, cards: Sequence[Card]) -> Picture:
    """Return the picture of a task.

    Raises:
        LocalError: matplotlib is not installed.
    """
    caption = f"{task}: {tasks()[task].why}. Lower left is better; nobody beats the entries on the line."
    return picture(task, caption, HEIGHT, _drawing(task, cards))


def _drawing(task: str, cards: Sequence[Card]) -> "partial[None]":
    standings = {card.entry: card.standings[task] for card in cards if task in card.standings}
    titles = {card.entry: card.entry for card in cards}  # a legend has no room for more
    return partial(_draw, titles=titles, standings=standings)


def _draw(figure: "Figure", titles: Mapping[str, str], standings: Mapping[str, Standing]) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    styles = _styles(titles)
    for axes, cost in zip(panels, COSTS, strict=True):
        _draw_panel(axes, cost, standings, styles, titles)
    panels[0].set_ylabel("group regret")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=6.8, markerscale=0.9)


def _draw_panel(
    axes: "Axes",
    cost: str,
    standings: Mapping[str, Standing],
    styles: Mapping[str, tuple[int, str]],
    titles: Mapping[str, str],
) -> None:
    from cobandit.simulator.plots import mark_powers  # noqa: PLC0415  # matplotlib takes long to load

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(QUANTITIES[cost])
    axes.grid(visible=True, axis="both")
    talking = [one for one in standings.values() if min(one.mean(cost), one.mean("group_regret")) > 0.0]
    best = front(talking, cost)
    axes.plot([one.mean(cost) for one in best], [one.mean("group_regret") for one in best], color=series(8), lw=0.9)
    for one in standings.values():
        colour, shape = styles[one.entry]
        label = titles[one.entry]
        if one in talking:
            axes.errorbar(
                one.mean(cost),
                one.mean("group_regret"),
                xerr=_bars(one, cost),
                yerr=_bars(one, "group_regret"),
                fmt=shape,
                color=series(colour),
                markersize=5.0,
                elinewidth=0.7,
                label=label,
            )
        elif one.mean("group_regret") > 0.0:
            axes.axhline(
                one.mean("group_regret"), color=series(colour), lw=0.9, ls="dotted", label=f"{label} (sends none)"
            )
    mark_powers(axes.xaxis, *axes.get_xlim())
    mark_powers(axes.yaxis, *axes.get_ylim())


def _bars(one: Standing, quantity: str) -> list[list[float]]:
    """Return how far the interval goes down and up; down at most to a tenth, for an axis that has no zero."""
    found = one.measured[quantity]
    low = found.mean if found.low is None else max(found.low, found.mean / 10.0)
    high = found.mean if found.high is None else found.high
    return [[max(0.0, found.mean - low)], [max(0.0, high - found.mean)]]


def _styles(titles: Mapping[str, str]) -> dict[str, tuple[int, str]]:
    """Return colour and shape of each entry: colours are policies where entries differ by them, shapes protocols."""
    styles: dict[str, tuple[int, str]] = {}
    others = 0
    for entry in titles:
        for policy, colour in _POLICY_COLOURS.items():
            shape = _TABLE_SHAPES.get(entry.removesuffix(f"-{policy}"))
            if entry.endswith(f"-{policy}") and shape is not None:
                styles[entry] = colour, shape
        if entry not in styles:
            colours, shapes = len(_PLUG_IN_COLOURS), len(_PLUG_IN_SHAPES)
            styles[entry] = _PLUG_IN_COLOURS[others % colours], _PLUG_IN_SHAPES[others % shapes]
            others += 1
    return styles
