"""How text comes to a terminal: lines that fit, columns that are even in any script, colour if it is wanted.

Commands print whole lines. If a terminal reads them, `fitted` folds those that are too long between words and colours
what needs an eye: headings, warnings, errors. Anywhere else they come as they are printed. Nothing is told by colour
alone. `NO_COLOR`, set to anything, and `TERM=dumb` turn it off. Tables are made to fit 80 columns by who prints them.
"""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

USUAL = 80
"""Columns that a table may have."""

_WIDE = frozenset("WF")
_NO_WIDTH = frozenset(("Mn", "Me", "Cf"))
_HEADING = re.compile(r"[A-Z][A-Z0-9 .,%()-]{3,}$")
_BOLD, _RED, _YELLOW, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns_of("web-1"), columns_of("東京"), columns_of("e" + chr(0x301))
    (5, 4, 1)
    """
    return sum(
        0 if unicodedata.category(one) in _NO_WIDTH else 2 if unicodedata.east_asian_width(one) in _WIDE else 1
        for one in text
    )


def cut(text: str, columns: int) -> str:
    """Return a text that takes at most so many columns, without what would move the cursor.

    >>> cut("a-long-name", 6), cut("東京タワー", 6), cut(f"a{chr(10)}b", 6)
    ('a-lon…', '東京…', 'a?b')
    """
    plain = "".join(one if one.isprintable() or unicodedata.category(one) in _NO_WIDTH else "?" for one in text)
    if columns_of(plain) <= columns:
        return plain
    while plain and columns_of(plain) > columns - 1:
        plain = plain[:-1]
    return f"{plain}…"


def left(text: str, columns: int) -> str:
    """Return a text and as many blanks as make it so many columns, which a format's width does not do in every script.

    >>> left("東京", 6) + "|"
    '東京  |'
    """
    return text + " " * (columns - columns_of(text))


def right(text: str, columns: int) -> str:
    """Return blanks and a text, which take so many columns together."""
    return " " * (columns - columns_of(text)) + text


def beside(first: str, text: str) -> str:
    """Return a text beside what stands to its left, folded so that no line has more than the usual columns."""
    lines = folded(text, USUAL - columns_of(first))
    return f"\n{' ' * columns_of(first)}".join([first + lines[0], *(line.strip() for line in lines[1:])])


def folded(line: str, columns: int) -> list[str]:
    """Return a line as lines of at most so many columns, broken between words; a longer word stays whole.

    >>> folded("  a line that is too long", 14)
    ['  a line that', '  is too long']
    """
    if columns_of(line) <= columns:
        return [line]
    indent = re.match(r" *(?:! )?", line)[0].replace("!", " ")  # type: ignore[index]  # it matches anything
    lines, width = [""], 0
    for part in re.findall(r" *[^ ]+", line):
        if width + columns_of(part) > columns and lines[-1].strip():
            lines.append(indent + part.lstrip(" "))
            width = columns_of(lines[-1])
        else:
            lines[-1] += part
            width += columns_of(part)
    return lines


class _Fitted:
    """A stream to a terminal. What is not a whole line, such as a bar that is drawn anew, goes through as it is."""

    def __init__(self, stream: TextIO, *, folds: bool) -> None:
        self._stream = stream
        self._folds = folds
        self._colours = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._held = ""
        """The beginning of a line that is not ended."""
        self._begun = False
        """Whether the beginning of a line was written already."""
        self._goes_on = ""
        """The colour of a warning that the next line goes on with, if that is indented."""

    def write(self, text: str) -> int:
        *whole, rest = (self._held + text).split("\n")
        for line in whole:
            is_plain = not self._begun and "\x1b" not in line and "\r" not in line
            self._stream.write(("\n".join(self._shown(line)) if is_plain else line) + "\n")
            self._begun = False
        self._held = rest
        if "\r" in rest or "\x1b" in rest:
            self._let_go()
        return len(text)

    def flush(self) -> None:
        self._let_go()
        self._stream.flush()

    def _let_go(self) -> None:
        self._stream.write(self._held)
        self._begun = self._begun or bool(self._held)
        self._held = ""

    def _shown(self, line: str) -> list[str]:
        lines = folded(line, shutil.get_terminal_size().columns) if self._folds else [line]
        colour = self._goes_on if self._goes_on and line.startswith("  ") else _colour(line)
        self._goes_on = colour if colour == _YELLOW else ""
        colour = colour if self._colours else ""
        return [f"{colour}{one}{_PLAIN}" if colour else one for one in lines]

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _colour(line: str) -> str:
    if line.lstrip(" ").startswith("! "):
        return _YELLOW
    if line.startswith("cobandit: "):
        return _RED
    return _BOLD if _HEADING.fullmatch(line) else ""


@contextmanager
def fitted(*, folds: bool = True) -> Iterator[None]:
    """Let what is printed fit the terminals that read it.

    Args:
        folds: Whether long lines are folded. What programs read is not.
    """
    with ExitStack() as stack:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream.isatty():
                shown = _Fitted(stream, folds=folds)
                setattr(sys, name, shown)
                stack.callback(setattr, sys, name, stream)
                stack.callback(shown.flush)
        yield
