"""The figures of the paper: which there are, by their numbers there, with their captions.

This file owns words. What is drawn is in `panels.py`.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cobandit.simulator.canvas import Picture, picture
from cobandit.studies.comparison import FAR, Cell
from cobandit.studies.loss_figures import CAPTION as LOSS_CAPTION
from cobandit.studies.loss_figures import draw_loss
from cobandit.studies.panels import (
    PROTOCOLS,
    RATIO,
    SHORT_RATIO,
    SLOW,
    draw_bars_by_speed,
    draw_dots_by_agent,
    draw_main,
    draw_over_time,
    draw_overview,
    draw_thresholds,
)
from cobandit.studies.reproduction import Reproduced

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pictures(reproduced: Reproduced) -> Iterator[Picture]:
    """Draw the figures that the paper has of one experiment.

    Raises:
        LocalError: matplotlib is not installed.
    """
    for figure in _FIGURES.get(reproduced.study.name, ()):
        numbered = "" if figure.in_paper is None else f"Figure {figure.in_paper} of the paper. "
        caption = numbered + figure.caption + (_same_messages(reproduced) if figure.shows_messages else "")
        yield picture(figure.name, caption, figure.height, partial(figure.draw, one=reproduced))


def overview(cells: Sequence[Cell]) -> Picture:
    """Draw how far every cell is from the published one, in standard errors."""
    caption = (
        "Every cell of the paper's tables: how many standard errors the reproduced mean is above the published one. "
        f"Filled: the best reading. Hollow: the algorithm as printed. The band is {FAR:.0f} standard errors each way."
    )
    rows = len({(cell.experiment, cell.algorithm) for cell in cells})
    return picture("overview", caption, 1.1 + 0.25 * rows, lambda figure: draw_overview(figure, cells), is_narrow=True)


def _same_messages(one: Reproduced) -> str:
    """Say it if AAE's messages are UCB's: then two panels look alike, and that is no mistake."""
    pairs = [
        (one.run(f"UCB-{protocol}", point), one.run(f"AAE-{protocol}", point))
        for point in one.study.worlds
        for protocol in PROTOCOLS
    ]
    if any(ucb.mean("shares") != aae.mean("shares") for ucb, aae in pairs):
        return ""
    return " AAE's messages are UCB's here: as long as nobody has one arm left, they follow from decision times alone."


class _Draw(Protocol):
    def __call__(self, figure: "Figure", /, one: Reproduced) -> None: ...


class _Figure(NamedTuple):
    name: str
    in_paper: int | None
    """Its number there."""
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
            2,
            3.3,
            "Forty agents with a mean rate of 0.085; the fast ones get fewer and faster. Messages by kind of pair. "
            "IBC tells slow agents ever more that they have no use for; ODC does not. Dashed: what Theorem 2 allows. "
            "Whiskers: one standard deviation over trials.",
            partial(draw_main, label=RATIO),
            shows_messages=True,
        ),
        _Figure(
            "experiment-1-thresholds",
            4,
            5.2,
            "Experiment 1 with a threshold of one and with doubling thresholds. Message counts on a log axis, for "
            "each kind of pair; regrets from zero, with one standard deviation over trials.",
            partial(draw_thresholds, label=SHORT_RATIO, quantities=_BY_KIND),
            shows_messages=True,
        ),
        _Figure(
            "experiment-1-individual",
            7,
            2.7,
            "Individual regrets in Experiment 1: mean and standard deviation over all agents of a speed in all trials.",
            draw_bars_by_speed,
        ),
    ),
    "2": (
        _Figure(
            "experiment-2",
            3,
            3.3,
            "Five fast agents and ever more, ever slower ones; 300,000 decisions in all. IBC pays for each agent that "
            "is added; ODC hardly does. Dashed: what Theorem 2 allows. Whiskers: one standard deviation over "
            "trials.",
            partial(draw_main, label=SLOW),
            shows_messages=True,
        ),
        _Figure(
            "experiment-2-thresholds",
            6,
            3.0,
            "Experiment 2 with a threshold of one and with doubling thresholds. Message counts on a log axis; regrets "
            "from zero, with one standard deviation over trials.",
            partial(draw_thresholds, label="slow agents", quantities=_IN_ALL),
            shows_messages=True,
        ),
        _Figure(
            "experiment-2-individual",
            8,
            3.3,
            "Individual regrets in Experiment 2: a dot for each agent, its mean over the trials. The upper cluster "
            "are the five fast agents.",
            draw_dots_by_agent,
        ),
    ),
    "4": (
        _Figure(
            "experiment-4",
            5,
            3.2,
            "One agent that always decides and nine that halve their rate with each message, with doubling "
            "thresholds: rates that differ exponentially. Mean over the trials.",
            draw_over_time,
        ),
    ),
    "easy": (
        _Figure(
            "easy",
            9,
            3.2,
            "The easy instance: with large gaps AAE is soon done, and then silent. UCB talks for ever. Mean over the "
            "trials. Dashed: what Theorem 2 allows.",
            partial(draw_over_time, unit=1e6, unit_name=" (millions)"),
        ),
    ),
    "loss": (_Figure("loss", None, 3.4, LOSS_CAPTION, draw_loss),),
}
