"""How a figure becomes a picture: PNG, once for a light and once for a dark page, or SVG; and how a page shows it.

This file owns size, ink and paper, which are those of `cobandit.look`. It knows nothing of what is drawn, and
matplotlib only from inside its functions, because the core does not need it.
"""

import base64
import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from cobandit.look.tokens import colours
from cobandit.values.extras import needed_by

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 9.0
"""The width of a figure, in inches."""

NARROW = 5.0
"""The width of a figure that is read as a whole on a phone."""

DOTS_PER_INCH = 130

SERIES = range(1, 9)
"""The colours that are told apart in any theme, as numbered in the style sheet."""


@dataclass(frozen=True)
class Picture:
    """One figure, as a PNG on a light and on a dark page."""

    name: str
    caption: str
    light: bytes
    dark: bytes
    is_narrow: bool = False

    def html(self) -> str:
        """Return the figure for a page, in the theme that the reader's system has."""
        light, dark = (f"data:image/png;base64,{base64.b64encode(png).decode()}" for png in (self.light, self.dark))
        caption, kind = escape(self.caption), ' class="narrow"' if self.is_narrow else ""
        return (
            f'<figure><div class="wide"><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img{kind} src="{light}" alt="{caption}"></picture></div><figcaption>{caption}</figcaption></figure>'
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return self.html()


def picture(
    name: str, caption: str, height: float, draw: "Callable[[Figure], None]", *, is_narrow: bool = False
) -> Picture:
    """Draw a figure twice.

    Raises:
        LocalError: matplotlib is not installed.
    """
    width = NARROW if is_narrow else WIDTH
    light, dark = (_png(height, draw, width, dark=dark) for dark in (False, True))
    return Picture(name, caption, light, dark, is_narrow)


def vector(height: float, draw: "Callable[[Figure], None]") -> bytes:
    """Draw a figure as SVG, on a light page. The same figure gives the same bytes.

    Raises:
        LocalError: matplotlib is not installed.
    """
    return _drawn(height, draw, dark=False, format="svg", metadata={"Date": None})


def series(number: int) -> str:
    """Return a colour of the theme that is being drawn, by its number from 1."""
    from matplotlib import rcParams  # noqa: PLC0415  # the core does not need matplotlib

    cycle: list[str] = rcParams["axes.prop_cycle"].by_key()["color"]
    return cycle[(number - 1) % len(cycle)]


def _png(height: float, draw: "Callable[[Figure], None]", width: float, *, dark: bool) -> bytes:
    saved = {"format": "png", "dpi": DOTS_PER_INCH, "metadata": {"Software": None}}
    return _drawn(height, draw, dark=dark, width=width, **saved)


def _drawn(
    height: float,
    draw: "Callable[[Figure], None]",
    *,
    dark: bool,
    width: float = WIDTH,
    **saved: Any,  # noqa: ANN401  # as matplotlib takes it
) -> bytes:
    with needed_by("a plot"):
        from matplotlib.figure import Figure  # noqa: PLC0415  # the core does not need matplotlib

    with _page(dark=dark):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        file = io.BytesIO()
        figure.savefig(file, **saved)
    return file.getvalue()


def _page(*, dark: bool) -> AbstractContextManager[None]:
    from matplotlib import rc_context  # noqa: PLC0415  # as above
    from matplotlib.rcsetup import cycler  # noqa: PLC0415

    theme = colours(dark=dark)
    ink, paper, lines = theme["ink"], theme["card"], theme["line"]
    return rc_context(
        {
            "font.size": 8.5,
            "axes.titlesize": 9.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.prop_cycle": cycler(color=[theme[f"series-{number}"] for number in SERIES]),
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
            "svg.hashsalt": "cobandit",
        }
    )
