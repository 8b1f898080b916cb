"""Why something that arrived was refused: by a transport, a seal or a member."""

from enum import Enum


class Refusal(Enum):
    """Why something that came in was refused. Each reason is counted separately."""

    STRANGER = "from an unknown sender"
    FOREIGN_GROUP = "of another group"
    OVERSIZED = "too large"
    MALFORMED = "not a message"
    REVOKED = "from a member whose certificate is revoked"
    FORGED = "not from whom it says it is"
    REPLAYED = "seen before"
    ABSURD = "with impossible content"
    FLOOD = "too many from one sender"
    QUARANTINED = "from a sender who was wrong too often"
    FUTURE = "of a later version than this side reads"
    OUTDATED = "of an earlier version than this side still reads"
    UNKNOWN_KIND = "of a kind that this side does not know yet"
    SETTING = "a setting from the future, or of no control"
    TOO_OFTEN = "said again too often, or in too many sessions"
