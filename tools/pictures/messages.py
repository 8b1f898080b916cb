"""The picture of the README, drawn from the table below it: bars of messages and of regret.

The two have scales of their own that begin at zero.
"""

import re
from pathlib import Path
from typing import NamedTuple

from tools.pictures.shell import box, picture, text

README = Path(__file__).resolve().parent.parent.parent / "README.md"
WIDTH, ROW, TOP, NAMES, LEFT, BAR, GAP = 920, 40, 58, 16, 250, 250, 350
ROW_OF_TABLE = re.compile(r"^(?P<way>[a-z].*?) {2,}(?P<messages>[\d,]+) +[\d.]+ +(?P<regret>[\d,]+) ±", re.MULTILINE)
STYLE = """
text.ours { font-weight: 600; }
.bar-ours { fill: var(--series-1); } .bar-theirs { fill: var(--series-8); }
"""


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


def drawn() -> str:
    """Return the picture."""
    rows = ways(README.read_text(encoding="utf-8"))
    most, worst = max(row.messages for row in rows), max(row.regret for row in rows)
    said = "; ".join(f"{row.name}: {row.messages:,} messages, regret {row.regret:,}" for row in rows)
    parts = [
        text(LEFT, 32, "messages", kind="head"),
        text(LEFT + GAP, 32, "group regret (less is better)", kind="head"),
    ]
    for number, row in enumerate(rows):
        parts += _row(row, TOP + number * ROW, row.messages / most, row.regret / worst)
    return picture(WIDTH, TOP + ROW * len(rows) + 12, said, parts, style=STYLE)


def _row(row: Way, y: int, messages: float, regret: float) -> list[str]:
    kind = "ours" if row.name.startswith("on demand") else "theirs"
    lines = [text(NAMES, y + 19, row.name, kind=kind)]
    for left, part, value in ((LEFT, messages, row.messages), (LEFT + GAP, regret, row.regret)):
        width = max(1.5, part * BAR) if value else 0.0
        lines += [
            box(left, y + 4, round(width, 1), 22, f"bar-{kind}", round_by=2),
            text(round(left + width + 7, 1), y + 20, f"{value:,}", kind="soft"),
        ]
    return lines
