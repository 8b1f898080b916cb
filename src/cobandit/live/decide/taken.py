"""What becomes of a reward. This file knows nothing of who counts it."""

from enum import Enum


class Taken(Enum):
    """What became of a reward that was handed over. True if it counts, or may do so later: `if member.update(...)`.

    >>> bool(Taken.COUNTED), bool(Taken.ON_ITS_WAY), bool(Taken.COUNTED_BEFORE), bool(Taken.GIVEN_UP)
    (True, True, False, False)
    """

    COUNTED = "counted"
    """It counts here."""
    ON_ITS_WAY = "on its way"
    """It is brought to the member that decided, or to the relay that counts for it. That one counts it once."""
    COUNTED_BEFORE = "counted before"
    """The decision has had its reward, or was withdrawn. Nothing changed."""
    GIVEN_UP = "given up"
    """The decision is too old, or its arm is gone: unless it counted before, it never will."""
    NOT_YET = "not taken yet: bring it again"
    """Said between members only: nobody can judge it at present."""

    def __bool__(self) -> bool:
        return self in (Taken.COUNTED, Taken.ON_ITS_WAY)
