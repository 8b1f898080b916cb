"""How a figure becomes a picture: PNG, once for a light and once for a dark page.

This file owns size, ink and paper. It knows nothing of what is drawn, and matplotlib only from inside its functions,
because the core does not need it.
"""

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.errors import LocalError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 9.0
"""The width of every figure, in inches."""

DOTS_PER_INCH = 130

_INKS = {False: ("#1d2430", "#ffffff", "#c9ced6"), True: ("#e4e7ec", "#161b22", "#3d4653")}
"""Ink, paper and grid lines, by whether the page is dark."""


@dataclass(frozen=True)
class Picture:
    """One figure, as a PNG on a light and on a dark page."""

    name: str
    caption: str
    light: bytes
    dark: bytes


def picture(name: str, caption: str, height: float, draw: "Callable[[Figure], None]") -> Picture:
    """Draw a figure twice.

    Raises:
        LocalError: matplotlib is not installed.
    """
    return Picture(name, caption, *(_png(height, draw, dark=dark) for dark in (False, True)))


def _png(height: float, draw: "Callable[[Figure], None]", *, dark: bool) -> bytes:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  # the core does not need matplotlib
    except ModuleNotFoundError as error:
        raise LocalError("plots need matplotlib: pip install tacit[sim]") from error

    with _page(dark=dark):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure)
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return file.getvalue()


def _page(*, dark: bool) -> AbstractContextManager[None]:
    from matplotlib import rc_context  # noqa: PLC0415  # as above

    ink, paper, lines = _INKS[dark]
    return rc_context(
        {
            "font.size": 8.5,
            "axes.titlesize": 9.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "grid.color": lines,
            "grid.linewidth": 0.6,
            "legend.frameon": False,
            "figure.facecolor": paper,
            "savefig.facecolor": paper,
            "axes.facecolor": paper,
            "axes.edgecolor": ink,
            "axes.labelcolor": ink,
            "text.color": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "hatch.linewidth": 0.6,
        }
    )
