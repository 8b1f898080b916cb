"""What all pictures share: a card in both themes, a title for who does not see it, and a few shapes."""

import re
from html import escape

from cobandit.look.tokens import colours

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


def picture(width: int, height: int, said: str, body: list[str], *, style: str = "") -> str:
    """Return a whole SVG file.

    Args:
        width: Its width, as it is drawn.
        height: Its height.
        said: What it shows, in words.
        body: Its elements.
        style: Rules for them. Colours are `var(--ink)` and the like, by the names of the tokens.
    """
    rules = [
        f"text {{ font: 14px {FONT}; fill: var(--ink); }}",
        ".card { fill: var(--card); } text.soft { fill: var(--ink-soft); } text.head { font-weight: 600; }",
        *style.strip().splitlines(),
    ]
    used = sorted(set(re.findall(r"var\(--([a-z0-9-]+)\)", " ".join([*rules, *body]))) & set(colours(dark=False)))
    light, dark = (
        "svg { " + " ".join(f"--{name}: {colours(dark=is_dark)[name]};" for name in used) + " }"
        for is_dark in (False, True)
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img"',
        f'     aria-label="{escape(said)}">',
        f"<title>{escape(said)}</title>",
        "<style>",
        light,
        f"@media (prefers-color-scheme: dark) {{ {dark} }}",
        *rules,
        "</style>",
        f'<rect class="card" width="{width}" height="{height}" rx="10"/>',
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def text(x: float, y: float, words: str, *, kind: str = "", anchor: str = "start") -> str:
    """Return words at a place."""
    named = f' class="{kind}"' if kind else ""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{named} x="{x:g}" y="{y:g}"{where}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, *, round_by: float = 8) -> str:
    """Return a box with round corners."""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_by:g}"/>'


def line(one: tuple[float, float], other: tuple[float, float], kind: str) -> str:
    """Return a straight line."""
    return f'<line class="{kind}" x1="{one[0]:g}" y1="{one[1]:g}" x2="{other[0]:g}" y2="{other[1]:g}"/>'
