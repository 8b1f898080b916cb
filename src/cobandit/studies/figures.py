"""The paper's figures, drawn from reproduced experiments.

This file owns colours, axes and captions. It knows where the numbers are, not how they came about.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cobandit.simulator.canvas import Picture, picture, series
from cobandit.studies.bounds import is_bounded, is_constant, regret_allowed, shares_allowed
from cobandit.studies.comparison import FAR, Cell
from cobandit.studies.loss_figures import CAPTION as LOSS_CAPTION
from cobandit.studies.loss_figures import draw_loss
from cobandit.studies.reproduction import KINDS, Reproduced, Run, deviation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KINDS = {"between": 2, "among slow": 6, "among fast": 7}
_PROTOCOLS = {"IBC": 3, "ODC": 1}
_NEITHER = 8
"""Which of the series' colours stand for what. A colour itself is asked for while a theme is being drawn."""

_BOUND = "Theorem 2 (ODC)"


def pictures(reproduced: Reproduced) -> Iterator[Picture]:
    """Draw the figures that the paper has of one experiment.

    Raises:
        LocalError: matplotlib is not installed.
    """
    for figure in _FIGURES.get(reproduced.study.name, ()):
        caption = figure.caption + (_same_messages(reproduced) if figure.shows_messages else "")
        yield picture(figure.name, caption, figure.height, partial(figure.draw, one=reproduced))


def overview(cells: Sequence[Cell]) -> Picture:
    """Draw how far every cell is from the published one, in standard errors."""
    caption = (
        "Every cell of the paper's tables: how many standard errors the reproduced mean is above the published one. "
        f"Filled: the best reading. Hollow: the algorithm as printed. The band is {FAR:.0f} standard errors each way."
    )
    rows = len({(cell.experiment, cell.algorithm) for cell in cells})
    return picture("overview", caption, 1.1 + 0.25 * rows, lambda figure: _draw_overview(figure, cells), is_narrow=True)


def _same_messages(one: Reproduced) -> str:
    """Say it if AAE's messages are UCB's: then two panels look alike, and that is no mistake."""
    pairs = [
        (one.run(f"UCB-{protocol}", point), one.run(f"AAE-{protocol}", point))
        for point in one.study.worlds
        for protocol in _PROTOCOLS
    ]
    if any(ucb.mean("shares") != aae.mean("shares") for ucb, aae in pairs):
        return ""
    return " AAE's messages are UCB's here: as long as nobody has one arm left, they follow from decision times alone."


def _draw_main(figure: "Figure", one: Reproduced, label: str) -> None:
    """Draw what Experiments 1 and 2 have in the paper: messages of UCB and AAE by kind of pair, and regrets."""
    axes = figure.subplots(1, 3)
    for panel, policy in zip(axes, ("UCB", "AAE"), strict=False):
        _draw_stacks(panel, one, policy)
        panel.set_title(f"{policy}: messages (millions)")
    for policy, marker in (("UCB", "o"), ("AAE", "s")):
        for protocol in _PROTOCOLS:
            _draw_series(axes[2], one, f"{policy}-{protocol}", "group_regret", marker)
    allowed = {f"{policy}-ODC": _regrets_allowed(one, f"{policy}-ODC") for policy in ("UCB", "AAE")}
    _say_bounds(axes[2], allowed)
    axes[2].set_title("group regret (mean, sd)")
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
        color=series(_PROTOCOLS[protocol]),
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


def _draw_thresholds(figure: "Figure", one: Reproduced, label: str, quantities: Mapping[str, str]) -> None:
    """Draw constant against doubling thresholds: a panel for each policy and quantity."""
    rows = 2 if len(quantities) > 2 else 1
    grid = figure.subplots(rows, 4).reshape(2, len(quantities))
    for row, policy in zip(grid, ("UCB", "AAE"), strict=True):
        for axes, (quantity, title) in zip(row, quantities.items(), strict=True):
            for threshold in ("", "-D"):
                for protocol in _PROTOCOLS:
                    _draw_series(axes, one, f"{policy}-{protocol}{threshold}", quantity)
                if quantity != "group_regret":
                    _draw_bound(axes, one, f"{policy}-ODC{threshold}", quantity)
            if quantity == "group_regret":
                axes.set_ylim(bottom=0)
            else:
                axes.set_yscale("log")
            axes.set_title(f"{policy}: {title}")
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
        for protocol, number in _PROTOCOLS.items()
    ]
    handles.append(Line2D([], [], color=rcParams["text.color"], linestyle="dotted", label=_BOUND))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)


def _draw_bars_by_speed(figure: "Figure", one: Reproduced) -> None:
    """Draw individual regrets in Experiment 1: their mean and deviation among the fast and among the slow."""
    points = list(one.study.worlds)
    panels = [(policy, fast) for policy in ("UCB", "AAE") for fast in (True, False)]
    row = figure.subplots(1, 4)
    for axes, (policy, fast) in zip(row, panels, strict=True):
        for side, (protocol, number) in zip((-0.2, 0.2), _PROTOCOLS.items(), strict=True):
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
        axes.set_title(f"{policy}: a {'fast' if fast else 'slow'} agent's")
        axes.set_xlabel(_SHORT_RATIO)
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def _draw_dots_by_agent(figure: "Figure", one: Reproduced) -> None:
    """Draw individual regrets in Experiment 2: a dot for each agent."""
    row = figure.subplots(1, 2)
    for axes, policy in zip(row, ("UCB", "AAE"), strict=True):
        for side, marker, (protocol, number) in zip((-0.6, 0.6), ("o", "^"), _PROTOCOLS.items(), strict=True):
            dots = [
                (point + side, regret)
                for point in one.study.worlds
                for regret in one.run(f"{policy}-{protocol}", point).by_agent("regret")
            ]
            axes.scatter(*zip(*dots, strict=True), s=13, marker=marker, color=series(number), alpha=0.6, label=protocol)
        axes.set_xticks(list(one.study.worlds))
        axes.set_ylim(bottom=0)
        axes.set_title(f"{policy}: regret of each agent")
        axes.set_xlabel(_SLOW)
        axes.legend(loc="best")


def _draw_over_time(figure: "Figure", one: Reproduced, unit: float = 1.0, unit_name: str = "") -> None:
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
        axes.set_title(title)
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
    return series(_PROTOCOLS[protocol] if policy == "UCB" else _KINDS["between"])


def _draw_overview(figure: "Figure", cells: Sequence[Cell]) -> None:
    rows = list(dict.fromkeys((cell.experiment, cell.title) for cell in cells))
    axes = figure.subplots()
    axes.axvspan(-FAR, FAR, color=series(_PROTOCOLS["ODC"]), alpha=0.12, linewidth=0)
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
    figure.legend(loc="outside upper center", ncols=2, fontsize=8)


_RATIO = "a fast agent's rate / a slow agent's"
_SHORT_RATIO = "fast / slow rate"
_SLOW = "number of slow agents"


class _Draw(Protocol):
    def __call__(self, figure: "Figure", /, one: Reproduced) -> None: ...


class _Figure(NamedTuple):
    name: str
    height: float
    caption: str
    draw: _Draw
    shows_messages: bool = False


_BY_KIND = {
    "group_regret": "group regret",
    "between": "between",
    "among slow": "among slow",
    "among fast": "among fast",
}
_IN_ALL = {"group_regret": "group regret", "shares": "messages"}

_FIGURES: dict[str, tuple[_Figure, ...]] = {
    "1": (
        _Figure(
            "experiment-1",
            3.3,
            "Forty agents with a mean rate of 0.085; the fast ones get fewer and faster. Messages by kind of pair. "
            "IBC tells slow agents ever more that they have no use for; ODC does not. Dashed: what Theorem 2 allows. "
            "Whiskers: one standard deviation over trials.",
            partial(_draw_main, label=_RATIO),
            shows_messages=True,
        ),
        _Figure(
            "experiment-1-thresholds",
            5.2,
            "Experiment 1 with a threshold of one and with doubling thresholds. Message counts on a log axis, for "
            "each kind of pair; regrets from zero, with one standard deviation over trials.",
            partial(_draw_thresholds, label=_SHORT_RATIO, quantities=_BY_KIND),
            shows_messages=True,
        ),
        _Figure(
            "experiment-1-individual",
            2.7,
            "Individual regrets in Experiment 1: mean and standard deviation over all agents of a speed in all trials.",
            _draw_bars_by_speed,
        ),
    ),
    "2": (
        _Figure(
            "experiment-2",
            3.3,
            "Five fast agents and ever more, ever slower ones; 300,000 decisions in all. IBC pays for each agent that "
            "is added; ODC hardly does. Dashed: what Theorem 2 allows. Whiskers: one standard deviation over "
            "trials.",
            partial(_draw_main, label=_SLOW),
            shows_messages=True,
        ),
        _Figure(
            "experiment-2-thresholds",
            3.0,
            "Experiment 2 with a threshold of one and with doubling thresholds. Message counts on a log axis; regrets "
            "from zero, with one standard deviation over trials.",
            partial(_draw_thresholds, label="slow agents", quantities=_IN_ALL),
            shows_messages=True,
        ),
        _Figure(
            "experiment-2-individual",
            3.3,
            "Individual regrets in Experiment 2: a dot for each agent, its mean over the trials. The upper cluster "
            "are the five fast agents.",
            _draw_dots_by_agent,
        ),
    ),
    "4": (
        _Figure(
            "experiment-4",
            3.2,
            "One agent that always decides and nine that halve their rate with each message, with doubling "
            "thresholds: rates that differ exponentially. Mean over the trials.",
            _draw_over_time,
        ),
    ),
    "easy": (
        _Figure(
            "easy",
            3.2,
            "The easy instance: with large gaps AAE is soon done, and then silent. UCB talks for ever. Mean over the "
            "trials. Dashed: what Theorem 2 allows.",
            partial(_draw_over_time, unit=1e6, unit_name=" (millions)"),
        ),
    ),
    "loss": (_Figure("loss", 3.4, LOSS_CAPTION, draw_loss),),
}
