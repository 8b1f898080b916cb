"""Names of pens, which contain the name of their lender; and how settled decisions are sent.

A *pen* is the name of a process that has none of its own: `relay-a~19bfcc0-17` is number 17 of those that `relay-a`
made in its incarnation 0x19bfcc0. So no name is ever made twice, even by a relay that has lost its disk. That
incarnation number is also the only incarnation of the pen. The name may begin with a prefix that the certificates of
such processes cover: `pods~relay-a~19bfcc0-17`. This file does not know which pens there are, or who holds them
(`pens.py`).
"""

import re
from functools import lru_cache
from typing import NamedTuple

from cobandit.values.checks import check_whole
from cobandit.values.errors import LocalError

SEPARATOR = "~"

_PEN = re.compile(r"(?:[^~]+~)?([^~]+)~([0-9a-f]{1,14})-[0-9]+")


class SettledBlock(NamedTuple):
    """Which decisions of a block of a pen are settled: a bitmap (`settled.py`). No bits: all before it are over."""

    agent: str
    incarnation: int
    block: int
    bits: bytes


def pen_name(lender: str, incarnation: int, number: int, prefix: str = "") -> str:
    """Return the name of a pen.

    Args:
        lender: The relay that makes it.
        incarnation: The incarnation of that relay.
        number: Which pen of that incarnation this is.
        prefix: What certificates of processes with pens cover, without the separator.

    Raises:
        LocalError: A name contains the separator, or a number is negative.

    >>> pen_name("relay-a", 27_000_000, 17, "pods")
    'pods~relay-a~19bfcc0-17'
    """
    check_whole("the incarnation of a relay", incarnation, 0)
    check_whole("the number of a pen", number, 0)
    for what, name in (("a relay that lends pens", lender), ("the prefix of pens", prefix)):
        if SEPARATOR in name:
            raise LocalError(f"the name of {what} must not contain {SEPARATOR}, as {name!r} does")
    return f"{prefix}{SEPARATOR if prefix else ''}{lender}{SEPARATOR}{incarnation:x}-{number}"


@lru_cache(4096)
def lender_of(name: str) -> str | None:
    """Return which relay lent a pen; `None` if this is not the name of a pen.

    >>> lender_of("pods~relay-a~19bfcc0-17"), lender_of("relay-a~19bfcc0-17"), lender_of("relay-a")
    ('relay-a', 'relay-a', None)
    """
    found = _PEN.fullmatch(name)
    return None if found is None else found[1]


def prefix_of(pen: str) -> str:
    """Return the prefix of a pen's name, which a certificate covers.

    >>> prefix_of("pods~relay-a~19bfcc0-17"), prefix_of("relay-a~19bfcc0-17")
    ('pods', '')
    """
    return pen.split(SEPARATOR, maxsplit=1)[0] if pen.count(SEPARATOR) == 2 else ""


def incarnation_of(pen: str) -> int:
    """Return the only incarnation in which a pen counts.

    >>> incarnation_of("pods~relay-a~19bfcc0-17")
    27000000
    """
    found = _PEN.fullmatch(pen)
    assert found is not None
    return int(found[2], 16)


def number_of(pen: str) -> int:
    """Return the number of a pen within that incarnation.

    >>> number_of("pods~relay-a~19bfcc0-17")
    17
    """
    return int(pen.rsplit("-", 1)[1])
