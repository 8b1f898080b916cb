"""How an arm of a bandit with a name is written where an arm's name is written: with the bandit and the segment.

Decisions, their ids and the log have one field for the arm. An arm of the plain bandit stands there as it is; of any
other, `bandit`, `segment` and `arm` stand there, one after the other. So what is written of one bandit is written as
before there were many. This file knows no decisions.
"""

from cobandit.core.places import SEPARATOR, At
from cobandit.values.tally import Arm


def prefix_of(at: At) -> str:
    """Return what stands before an arm of a place."""
    return f"{at[0]}{SEPARATOR}{at[1]}{SEPARATOR}" if at[0] else ""


def split(name: str) -> tuple[At, Arm]:
    """Return the place and the arm that a full name says.

    >>> split("A"), split(prefix_of(("home", "de")) + "A")
    ((('', ''), 'A'), (('home', 'de'), 'A'))
    """
    if SEPARATOR not in name:
        return ("", ""), name
    bandit, first, rest = name.partition(SEPARATOR)
    segment, second, arm = rest.partition(SEPARATOR)
    return ((bandit, segment), arm) if first and second else (("", ""), name)
