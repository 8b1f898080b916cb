"""The report of a benchmark's folder: a page that needs nothing else, pictures, Markdown, and entries as JSON."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import cobandit
from cobandit.benchmark.board import YARDSTICK, leaderboard, overall, task_table
from cobandit.benchmark.pictures import picture_of
from cobandit.benchmark.standings import Card, cards_of, write_cards
from cobandit.benchmark.tasks import VERSION, tasks
from cobandit.look import report_page
from cobandit.look.files import write_whole
from cobandit.simulator.canvas import Picture
from cobandit.values.errors import LocalError

ENTRIES = "entries"
"""The folder with a JSON file for each entry, in the folder of the report."""


def write_report(out: Path) -> Path:
    """Write the report of a folder into it, and return the path of the page.

    There is `report.html`, `report.md`, an SVG and a PDF for each task, and `entries` with a JSON file for each entry.

    Raises:
        LocalError: It is no folder of this version of the benchmark, or nothing was played yet.
    """
    cards = cards_of(out)
    played = [name for name in tasks() if any(name in card.standings for card in cards)]
    if not played:
        raise LocalError(f"{out} has no finished trial yet: `cobandit bench run --out {out}` makes some")
    (out / "benchmark").mkdir(exist_ok=True)
    drawn = {name: picture_of(name, cards) for name in played}
    for one in drawn.values():
        for file, content in one.files().items():
            write_whole(out / "benchmark" / file, content)
    write_cards(cards, out / ENTRIES)
    write_whole(out / "report.md", f"# Benchmark version {VERSION}\n\n{leaderboard(cards)}")
    page = out / "report.html"
    write_whole(page, as_html(cards, drawn))
    return page


def as_html(cards: Sequence[Card], drawn: dict[str, Picture]) -> str:
    """Return the page."""
    lead = (
        f"<p>Benchmark version {VERSION}, cobandit {escape(cobandit.__version__)}. All entries of a task get the same "
        "decision times and the same rewards for each arm. ± is half the width of a 95 % interval over trials.</p>"
    )
    links = "".join(f'<a href="#{name}">{escape(name)}</a>' for name in drawn)
    whole = (
        f"<p>Geometric means, over the tasks that an entry has run, relative to {YARDSTICK} there. No number: it sends "
        "nothing on some task. Entries have run different tasks, so check how many.</p>"
    )
    body = (
        f"<nav>{links}</nav>"
        f'<section class="card"><h2>Over all tasks</h2>{whole}{_html_table(overall(cards))}</section>'
        + _failures(cards)
        + "".join(_section(name, cards, one) for name, one in drawn.items())
    )
    return report_page("Benchmark of protocols", lead, body)


def _section(name: str, cards: Sequence[Card], drawn: Picture) -> str:
    without = [(card.title, card.not_played[name]) for card in cards if name in card.not_played]
    listed = "".join(f"<li>{escape(title)}: {escape(why)}</li>" for title, why in without)
    missing = f"<details><summary>{len(without)} not run</summary><ul>{listed}</ul></details>" if without else ""
    table = _html_table(task_table(name, cards))
    return f'<section class="card" id="{name}"><h2>{escape(name)}</h2>{drawn.html()}{table}{missing}</section>'


def _failures(cards: Sequence[Card]) -> str:
    found = [(card.title, task, why) for card in cards for task, why in card.failures.items()]
    if not found:
        return ""
    listed = "".join(f"<li>{escape(title)} on {escape(task)}, {escape(why)}</li>" for title, task, why in found)
    return f'<section class="card"><h2>What failed</h2><ul>{listed}</ul></section>'


def _html_table(markdown: str) -> str:
    """Return one of our Markdown tables as HTML."""
    heads, _, *rows = ([escape(cell) for cell in line[2:-2].split(" | ")] for line in markdown.strip().splitlines())
    top = "".join(f"<th>{cell}</th>" for cell in heads)
    body = "".join(
        f"<tr><th>{row[0]}</th>{''.join(f'<td>{_bold(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _bold(cell: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", cell)
