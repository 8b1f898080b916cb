"""Turns a figure into a picture: one SVG for light and dark pages, or a PDF for print; and shows it on a page.

This file owns size, ink and paper, taken from `cobandit.look`. It does not know what is drawn, and imports matplotlib
only inside its functions, because the core does not need it.
"""

import base64
import io
import re
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from cobandit.look.tokens import colours
from cobandit.values.extras import needed_by

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 9.0
"""The width of a figure, in inches."""

NARROW = 5.0
"""The width of a figure that fits a phone's screen."""

SERIES = range(1, 9)
"""The colours that can be distinguished in any theme, as numbered in the style sheet."""


_THEMED = ("ink", "card", "line", *(f"series-{number}" for number in SERIES))
"""All colours in a figure."""


@dataclass(frozen=True)
class Picture:
    """One figure.

    Args:
        name: The name of its files.
        caption: What it shows, in words.
        svg: The figure, in the colours of the reader's system theme.
        drawn_for_print: Draws it as PDF, on white.
        is_narrow: Whether it fits a phone's screen.
    """

    name: str
    caption: str
    svg: bytes
    drawn_for_print: Callable[[], bytes]
    is_narrow: bool = False

    def html(self) -> str:
        """Return the figure for a page."""
        source = f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"
        caption, kind = escape(self.caption), ' class="narrow"' if self.is_narrow else ""
        return (
            f'<figure><div class="wide"><img{kind} src="{source}" alt="{caption}"></div>'
            f"<figcaption>{caption}</figcaption></figure>"
        )

    def files(self) -> dict[str, bytes]:
        """Return it as files for other documents, by name: SVG and PDF."""
        return {f"{self.name}.svg": self.svg, f"{self.name}.pdf": self.drawn_for_print()}

    def _repr_html_(self) -> str:
        """Return the representation for a notebook."""
        return self.html()


def picture(
    name: str, caption: str, height: float, draw: "Callable[[Figure], None]", *, is_narrow: bool = False
) -> Picture:
    """Draw a figure. The same figure gives the same bytes.

    Raises:
        LocalError: matplotlib is not installed.
    """
    width = NARROW if is_narrow else WIDTH
    svg = _drawn(height, draw, width, format="svg", metadata={"Date": None, "Creator": None})
    in_print = partial(_drawn, height, draw, width, format="pdf", metadata={"CreationDate": None})
    return Picture(name, caption, _in_both_themes(svg), in_print, is_narrow)


def _in_both_themes(svg: bytes) -> bytes:
    """Return a figure drawn for a light page with named colours instead, and both themes."""
    light, dark = ({name: colours(dark=is_dark)[name] for name in _THEMED} for is_dark in (False, True))
    names = {colour: name for name, colour in light.items()}
    text = re.sub("|".join(map(re.escape, names)), lambda found: f"var(--{names[found.group()]})", svg.decode("utf-8"))
    rules = [
        "svg { " + " ".join(f"--{name}: {colour};" for name, colour in theme.items()) + " }" for theme in (light, dark)
    ]
    style = f"<style>\n{rules[0]}\n@media (prefers-color-scheme: dark) {{ {rules[1]} }}\n</style>\n"
    return text.replace("<defs>", f"{style}<defs>", 1).encode()


def series(number: int) -> str:
    """Return a colour of the theme being drawn, by its number from 1."""
    from matplotlib import rcParams  # noqa: PLC0415  # the core does not need matplotlib

    cycle: list[str] = rcParams["axes.prop_cycle"].by_key()["color"]
    return cycle[(number - 1) % len(cycle)]


def _drawn(
    height: float,
    draw: "Callable[[Figure], None]",
    width: float,
    **saved: Any,  # noqa: ANN401  # as matplotlib takes it
) -> bytes:
    with needed_by("a plot"):
        from matplotlib.figure import Figure  # noqa: PLC0415  # the core does not need matplotlib

    with _page():
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        file = io.BytesIO()
        with warnings.catch_warnings():
            if saved["format"] == "svg":  # text stays text: the page's reader has the letters that are missing here
                warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(file, **saved)
    return file.getvalue()


def _page() -> AbstractContextManager[None]:
    from matplotlib import rc_context  # noqa: PLC0415  # as above
    from matplotlib.rcsetup import cycler  # noqa: PLC0415

    theme = colours(dark=False)
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
            "svg.fonttype": "none",  # keep text as text
            "svg.hashsalt": "cobandit",
            "pdf.fonttype": 42,
        }
    )
