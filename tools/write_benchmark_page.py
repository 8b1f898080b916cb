"""Write the leaderboard into docs/benchmark.md, from the entries in docs/benchmark/entries.

    cobandit bench run --quick --out bench && cobandit bench report bench && python tools/write_benchmark_page.py bench

It keeps the entries and the pictures of a folder in docs/benchmark, and makes the tables of the page from all entries
that are there. Without a folder it makes the tables again. It measures nothing.
"""

import shutil
import sys
from pathlib import Path

from cobandit.benchmark.board import page_with
from cobandit.benchmark.standings import read_cards

DOCS = Path(__file__).resolve().parent.parent / "docs"
KEPT = DOCS / "benchmark"
PAGE = DOCS / "benchmark.md"


def main(arguments: list[str]) -> None:
    """Keep the entries and pictures of a folder, if one is named, and write the page."""
    if arguments:
        keep(Path(arguments[0]))
    cards = read_cards(KEPT / "entries")
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), cards), encoding="utf-8")
    print(f"{PAGE.name}: {len(cards)} entries")


def keep(folder: Path) -> None:
    """Copy entries and pictures."""
    (KEPT / "entries").mkdir(parents=True, exist_ok=True)
    for file in (*folder.glob("entries/*.json"), *folder.glob("benchmark/*.svg")):
        shutil.copyfile(file, KEPT / file.relative_to(folder).as_posix().removeprefix("benchmark/"))


if __name__ == "__main__":
    main(sys.argv[1:])
