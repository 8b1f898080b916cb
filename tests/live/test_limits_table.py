"""The table of limits in docs/operating.md has every limit of the live part, and none that is not there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs/operating.md").read_text().partition("## Limits")[2].partition("\n## ")[0]
SOURCES = "\n".join(path.read_text() for path in sorted((ROOT / "src/cobandit").rglob("*.py")))
LIVE = "\n".join(path.read_text() for path in sorted((ROOT / "src/cobandit/live").rglob("*.py")))


def assigned(source: str) -> set[str]:
    lines = re.findall(r"^([A-Z][A-Z_0-9]+(?:, [A-Z][A-Z_0-9]+)*) = ", source, re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


def test_every_limit_of_the_live_part_is_in_the_table() -> None:
    named = set(re.findall(r"`([A-Z_]+)`", TABLE))
    assert {name for name in assigned(LIVE) if name.startswith("MAX_")} - named == set()


def test_every_name_in_the_table_is_in_the_source() -> None:
    named = {name for row in TABLE.splitlines() for name in re.findall(r"`([A-Z_]+)`", row)}
    assert named - assigned(SOURCES) == set()
