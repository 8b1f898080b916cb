"""The one look of everything that is looked at: the style sheet, and a page that holds all it needs in one file.

This room knows nothing of bandits. Rooms with something to show import it, and bring words and drawings.
"""

from functools import cache
from html import escape
from pathlib import Path

_FOLDER = Path(__file__).parent


@cache
def style_sheet() -> str:
    """Return the style sheet that all pages share."""
    return (_FOLDER / "look.css").read_text(encoding="utf-8")


def report_page(title: str, lead: str, body: str) -> str:
    """Return a whole page for a report: a title, a sentence or two, and sections that are cards.

    Args:
        title: The title, as text.
        lead: What the reader should know first, as HTML.
        body: The sections, as HTML.
    """
    head = f'<header class="top"><h1>{escape(title)}</h1>{lead}</header>'
    style = (_FOLDER / "report.css").read_text(encoding="utf-8")
    return single_file_page(title, f'<main class="page report">{head}\n{body}</main>', style=style)


def card(figure: str, what: str, detail: str) -> str:
    """Return a card with one number, or a few words, in large; `figure` is HTML, what stands below it is text."""
    return (
        f'<div class="card"><div class="figure-number">{figure}</div><div>{escape(what)}</div>'
        f'<div class="soft">{escape(detail)}</div></div>'
    )


def single_file_page(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """Return a whole HTML page that needs no other file and no network.

    Args:
        title: The page's title, as text.
        body: What stands in the body, as HTML.
        style: Style rules of this page, after those that all pages share.
        script: What the page does, as a JavaScript module.
    """
    if "</script" in script.lower():
        raise ValueError("a script that holds </script would end too early: escape it")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style_sheet()}{style}</style>\n</head>\n"
        f"<body>\n{body}\n" + (f'<script type="module">\n{script}</script>\n' if script else "") + "</body>\n</html>\n"
    )
