"""Draw the picture of the README from the table below it, so that the two cannot disagree.

    python tools/readme_picture.py            # write docs/images/messages.svg
    python tools/readme_picture.py --check    # only say whether it is as it would be written

One file for both themes: the picture follows the reader's system. The bars of messages and those of regret have
scales of their own that begin at zero.
"""

import re
import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

from cobandit.look.tokens import colours

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "messages.svg"
WIDTH, ROW, TOP, NAMES, LEFT, BAR, GAP = 920, 40, 58, 16, 250, 250, 350
ROW_OF_TABLE = re.compile(r"^(?P<way>[a-z].*?) {2,}(?P<messages>[\d,]+) +[\d.]+ +(?P<regret>[\d,]+) ±", re.MULTILINE)


class Way(NamedTuple):
    """A row of the table."""

    name: str
    messages: int
    regret: int


def ways(readme: str) -> list[Way]:
    """Return the rows of the table."""
    return [
        Way(found["way"], int(found["messages"].replace(",", "")), int(found["regret"].replace(",", "")))
        for found in ROW_OF_TABLE.finditer(readme)
    ]


def drawn(rows: list[Way]) -> str:
    """Return the picture."""
    light, dark = (colours(dark=dark) for dark in (False, True))
    height = TOP + ROW * len(rows) + 12
    most, worst = max(row.messages for row in rows), max(row.regret for row in rows)
    said = "; ".join(f"{row.name}: {row.messages:,} messages, regret {row.regret:,}" for row in rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"',
        f'     aria-label="{escape(said)}">',
        "<style>",
        "text { font: 14px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }",
        _style(light),
        f"@media (prefers-color-scheme: dark) {{ {_style(dark)} }}",
        ".head { font-weight: 600; } .ours { font-weight: 600; }",
        "</style>",
        f'<rect class="card" width="{WIDTH}" height="{height}" rx="10"/>',
        f'<text class="head ink" x="{LEFT}" y="32">messages</text>',
        f'<text class="head ink" x="{LEFT + GAP}" y="32">group regret</text>',
    ]
    for number, row in enumerate(rows):
        parts += _row(row, TOP + number * ROW, row.messages / most, row.regret / worst)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(row: Way, y: int, messages: float, regret: float) -> list[str]:
    ours = row.name.startswith("on demand")
    kind = "ours" if ours else "theirs"
    lines = [f'<text class="{kind} ink" x="{NAMES}" y="{y + 19}">{escape(row.name)}</text>']
    for left, part, value in ((LEFT, messages, row.messages), (LEFT + GAP, regret, row.regret)):
        width = max(1.5, part * BAR) if value else 0.0
        lines += [
            f'<rect class="bar-{kind}" x="{left}" y="{y + 4}" width="{width:.1f}" height="22" rx="2"/>',
            f'<text class="soft" x="{left + width + 7:.1f}" y="{y + 20}">{value:,}</text>',
        ]
    return lines


def _style(theme: dict[str, str]) -> str:
    return (
        f".card {{ fill: {theme['card']}; }} .ink {{ fill: {theme['ink']}; }} .soft {{ fill: {theme['ink-soft']}; }} "
        f".bar-ours {{ fill: {theme['series-1']}; }} .bar-theirs {{ fill: {theme['series-8']}; }}"
    )


def main() -> int:
    """Write it, or check it."""
    made = drawn(ways((ROOT / "README.md").read_text(encoding="utf-8")))
    is_stale = not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != made
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(made, encoding="utf-8")
    elif is_stale:
        print(f"{PICTURE.relative_to(ROOT)} is stale: run tools/readme_picture.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
