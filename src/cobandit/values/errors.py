"""Who must act when something is wrong.

Every error that this package raises on purpose is one of two kinds, and its text says what to do:

* `LocalError`: the caller in this process passed something that cannot be right. Fix the call.
* `PeerError`: another agent sent something that cannot be right. Fix that agent, or stop talking to it.

In both cases the input that raised the error has changed nothing.
"""


class CobanditError(Exception):
    """Base class of all errors that cobandit raises on purpose."""


class LocalError(CobanditError, ValueError):
    """You have to act: an argument, a configuration or a file on this side is wrong."""


class MissingExtraError(ModuleNotFoundError, LocalError):
    """You have to act: install the extra that the message names. Also a `ModuleNotFoundError`, as for any package."""


class UnknownError(LocalError):
    """You have to act: something you named is not known here, such as an arm or the id of a decision."""


class StateError(LocalError):
    """You have to act: what you asked for is not possible in the current state, such as removing the last arm."""


class NotNowError(LocalError):
    """You have to act, but not at once: the call was valid and cannot be served now. Try again later."""


class PeerError(CobanditError):
    """The other side has to act: a message from another agent is wrong. It was refused and changed nothing."""


class StrangerError(PeerError):
    """The sender must introduce itself: the message may be valid, but no agent of that name is known here."""


class ForeignGroupError(PeerError):
    """The sender belongs to another group: the message is not for this one."""


class UnknownKindError(PeerError):
    """The sender is newer: the message is of a kind added later, in a version that this program can read."""


class FutureError(PeerError):
    """The sender is ahead: the message has a later version than this program can read. Upgrade this side."""


class OutdatedError(PeerError):
    """The sender is behind: the message has an earlier version than this program still reads. Upgrade that side."""
