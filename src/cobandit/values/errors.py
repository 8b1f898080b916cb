"""Who must act when something is wrong.

Every error that this package raises on purpose is one of two kinds, and its text says what to do:

* `LocalError`: the caller of this process passed something that cannot be right. Fix the call.
* `PeerError`: another agent sent something that cannot be right. Fix, or stop talking to, that agent.

In both cases the input that raised has changed nothing.
"""


class CobanditError(Exception):
    """Base of all errors that cobandit raises on purpose."""


class LocalError(CobanditError, ValueError):
    """You must act: an argument, a configuration or a file on this side is wrong."""


class MissingExtraError(ModuleNotFoundError, LocalError):
    """You must act: install the extra that is named. It is a `ModuleNotFoundError` too, as for any missing package."""


class UnknownError(LocalError):
    """You must act: what you named is not known here, such as an arm or the id of a decision."""


class StateError(LocalError):
    """You must act: what you asked for cannot be as things are now, such as the removal of the last arm."""


class NotNowError(LocalError):
    """You must act, but not at once: the call was right and cannot be served now. Try it again later."""


class PeerError(CobanditError):
    """They must act: a message of another agent is wrong. It was refused and changed nothing."""


class StrangerError(PeerError):
    """They must introduce themselves: the message may be right, but nobody of that name is known here."""


class ForeignGroupError(PeerError):
    """They speak to another group: the message is not for this one."""


class UnknownKindError(PeerError):
    """They know more: the message is of a kind that was added later, in a version that is read here."""


class FutureError(PeerError):
    """They are ahead: the message is of a later version than this program reads. Upgrade this side."""


class OutdatedError(PeerError):
    """They are behind: the message is of an earlier version than this program still reads. Upgrade their side."""
