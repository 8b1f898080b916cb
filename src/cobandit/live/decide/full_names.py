"""Full names of arms: the name of an arm together with its bandit and segment.

Decisions, their ids and the log have one field for the arm. An arm of the plain bandit is written there as it is. For a
named bandit, the field holds `bandit`, `segment` and `arm`, one after the other. So records of the plain bandit look
the same as before there were named bandits. This file knows no decisions.
"""

from cobandit.core.places import SEPARATOR, At
from cobandit.values.tally import Arm


def prefix_of(at: At) -> str:
    """Return the prefix of a place's arms."""
    return f"{at[0]}{SEPARATOR}{at[1]}{SEPARATOR}" if at[0] else ""


def split(name: str) -> tuple[At, Arm]:
    """Return the place and the arm in a full name.

    >>> split("A"), split(prefix_of(("home", "de")) + "A")
    ((('', ''), 'A'), (('home', 'de'), 'A'))
    """
    if SEPARATOR not in name:
        return ("", ""), name
    bandit, first, rest = name.partition(SEPARATOR)
    segment, second, arm = rest.partition(SEPARATOR)
    return ((bandit, segment), arm) if first and second else (("", ""), name)
