"""The result of handing over a reward. This file does not know where rewards are counted."""

from enum import Enum


class Taken(Enum):
    """What became of a reward. True if the reward counts or may count later: `if member.update(...)`.

    >>> bool(Taken.COUNTED), bool(Taken.ON_ITS_WAY), bool(Taken.COUNTED_BEFORE), bool(Taken.GIVEN_UP)
    (True, True, False, False)
    """

    COUNTED = "counted"
    """It counts here."""
    ON_ITS_WAY = "on its way"
    """On its way to the member that decided, or to the relay that counts for it. It is counted there once."""
    COUNTED_BEFORE = "counted before"
    """The decision already had its reward, or was withdrawn. Nothing changes."""
    GIVEN_UP = "given up"
    """The decision is too old, or its arm is gone. Unless the reward counted before, it never will."""
    NOT_YET = "not taken yet: bring it again"
    """Used only between members: the reward cannot be judged at present."""

    def __bool__(self) -> bool:
        return self in (Taken.COUNTED, Taken.ON_ITS_WAY)
