"""Messages as bytes: frames. An error in a frame is the peer's, and its text says who must act."""

from collections.abc import Iterable, Sequence
from typing import Any

from cobandit.codec.format import CHECKSUM, Format, Formats, UnreadableError, Why, check_bytes
from cobandit.codec.serializer import write
from cobandit.codec.tables import MESSAGES, WIRE_VERSION
from cobandit.core import Bandit, Message
from cobandit.values.errors import (
    ForeignGroupError,
    FutureError,
    LocalError,
    OutdatedError,
    PeerError,
    UnknownKindError,
)
from cobandit.values.tally import LONGEST_NAME, Arm

LARGEST_MESSAGE = 4 * 2**20
"""Bytes: more than the facts of one message need (`cobandit.core.replica.MAX_FACTS_PER_MESSAGE`)."""


ENVELOPE, _FACT = 1024, 64
"""Bytes, more than enough: everything around a message's facts except the arms' names; the numbers of one fact."""


def facts_that_fit(largest: int, arms: Iterable[Arm], bandits: Iterable[Bandit] = ()) -> int:
    """Return how many facts fit into a message of at most this many bytes.

    This holds for any names of agents and segments. Besides the facts there is room for the arms twice, as a presence
    and as eliminations, and for the bandits.

    Raises:
        LocalError: Not even one.

    >>> facts_that_fit(65_536, ["A", "B"])
    239
    """
    sizes, places = [len(arm.encode()) + 3 for arm in arms], list(bandits)
    taken = ENVELOPE + 2 * LONGEST_NAME + 2 * sum(sizes)
    each = LONGEST_NAME + _FACT
    for bandit in places:
        own = [len(arm.encode()) + 3 for arm in bandit.arms]
        taken += len(bandit.name.encode()) + sum(own) + _FACT
        sizes += own
    if places:
        each += max(len(bandit.name.encode()) for bandit in places) + LONGEST_NAME
    facts = (largest - taken) // (each + max(sizes, default=0))
    if facts < 1:
        raise LocalError(
            f"the names of {len(sizes)} arms leave no room in a packet of {largest} bytes: use fewer arms, shorter "
            "names, or a transport with larger packets"
        )
    return facts


class FrameCodec:
    """Values to frames and back, in every version that a program reads.

    Args:
        newest: The format of the newest version.
        previous: The format of the version before, if it is still read.
    """

    def __init__(self, newest: Format, previous: Format | None = None) -> None:
        self._formats = Formats(newest, previous)
        self.reads = self._formats.reads
        """The versions that are read, in ascending order. The first is the oldest that can also be written."""

    def encode(self, value: object, group: str = "", version: int | None = None) -> bytes:
        """Return a value as a frame, in this version or the newest.

        Raises:
            NotSpokenError: That version has no such kind of value.
            LocalError: No version has one, or it is too large.
        """
        try:
            frame = self._formats.seal(value, group, version)
        except KeyError:
            raise LocalError(f"only messages can be encoded, not {value!r}") from None
        if len(frame) > LARGEST_MESSAGE:
            raise LocalError(
                f"a message of {len(frame)} bytes is more than anybody takes: the limit is {LARGEST_MESSAGE}"
            )
        return frame

    def decode(self, frame: bytes, group: str = "") -> Any:  # noqa: ANN401  # any of the kinds
        """Return the contents of a frame.

        Raises:
            FutureError: It is from a later version.
            OutdatedError: It is from an earlier version than those that are read.
            ForeignGroupError: It is from another group.
            UnknownKindError: Its kind was added later in its version.
            PeerError: It is damaged, too large, or not from cobandit.
        """
        check_bytes(frame)
        if len(frame) > LARGEST_MESSAGE:
            raise PeerError(f"a message of {len(frame)} bytes was refused: the limit is {LARGEST_MESSAGE}")
        try:
            return self._formats.open(frame, group)
        except UnreadableError as error:
            raise self._refusal(error, frame, group) from error

    def _refusal(self, error: UnreadableError, frame: bytes, group: str) -> PeerError:
        ours, what = _listed(self.reads), error.what
        match error.why:
            case Why.DAMAGED:
                return PeerError(f"a message of {len(frame)} bytes was refused: it is damaged (its checksum is wrong)")
            case Why.LATER:
                return FutureError(
                    f"messages of wire version {what} are refused: this side reads {ours}, so upgrade this side"
                )
            case Why.EARLIER:
                return OutdatedError(
                    f"messages of wire version {what} are refused: this side reads {ours}, so upgrade their sender to "
                    f"a cobandit of wire version {self.reads[0]} at least"
                )
            case Why.FOREIGN:
                return ForeignGroupError(f"a message of group {what!r} was refused: this side is of group {group!r}")
            case Why.UNKNOWN_KIND:
                return UnknownKindError(
                    f"messages of unknown kind {what} are refused: their sender is of a later release than this side"
                )
        return PeerError(f"bytes that are not a message were refused: {what}")


def _listed(versions: tuple[int, ...]) -> str:
    return " and ".join(f"version {version}" for version in versions)


_FORMAT = Format(WIRE_VERSION, MESSAGES)
_MESSAGES = FrameCodec(_FORMAT)


def size_of_all(messages: Sequence[Message]) -> int:
    """Return the total size of messages in bytes, each encoded for the group without a name.

    >>> from cobandit.core import Changes, Notice
    >>> messages = [Notice("j", "p", Changes(upto=number)) for number in range(300)]
    >>> size_of_all(messages) == sum(len(encode(message)) for message in messages)
    True
    """
    count = len(messages)
    written = write([(_FORMAT.version, "", *_FORMAT.numbered(message)) for message in messages])
    return len(written) - len(write([None] * count)) + count * (1 + CHECKSUM)  # None is one byte


def encode(message: Message, group: str = "") -> bytes:
    """Return a message as bytes.

    Args:
        message: The message.
        group: The group or experiment that it belongs to; other groups refuse it.

    >>> from cobandit.core import Changes, Notice
    >>> decode(encode(Notice("j", "p", Changes()))) == Notice("j", "p", Changes())
    True
    """
    return _MESSAGES.encode(message, group)


def decode(frame: bytes, group: str = "") -> Message:
    """Return the message in these bytes.

    Raises:
        FutureError: The message has a later version than this program reads.
        PeerError: The bytes are damaged, or are not a message of a version and group that this program reads.
    """
    message: Message = _MESSAGES.decode(frame, group)
    return message
