"""Stored data as bytes: records and snapshots. Anything wrong with them is an error of this side."""

from typing import Any

from cobandit.codec.format import Format, Formats, UnreadableError, Why, check_bytes
from cobandit.codec.tables import RECORDS, SNAPSHOTS, STATE_VERSION
from cobandit.core import InputRecord
from cobandit.core.state import Snapshot
from cobandit.values.errors import LocalError


class StateCodec:
    """Values to stored bytes and back, in every version that a program reads. It writes the newest.

    Args:
        noun: What the values are, in words.
        newest: The format of the newest version.
        previous: The format of the version before, if it is still read.
        cure: What to do about damaged ones, in words.
    """

    def __init__(self, noun: str, newest: Format, previous: Format | None = None, *, cure: str = "") -> None:
        self.noun, self._cure = noun, cure
        self._formats = Formats(newest, previous)
        self.reads = self._formats.reads
        """The versions that are read, in ascending order; the last one is written."""

    def encode(self, value: object) -> bytes:
        """Return a value as bytes.

        Raises:
            LocalError: It is not one of these values.
        """
        try:
            return self._formats.seal(value, "", None)
        except KeyError:
            raise LocalError(f"only {self.noun} can be encoded, not {value!r}") from None

    def decode(self, stored: bytes) -> Any:  # noqa: ANN401  # any of the kinds
        """Return the value in these bytes.

        Raises:
            LocalError: They are damaged, or something else, or of a version that is not read here.
        """
        check_bytes(stored)
        try:
            return self._formats.open(stored, "")
        except UnreadableError as error:
            raise LocalError(self._words(error)) from error

    def _words(self, error: UnreadableError) -> str:
        match error.why:
            case Why.DAMAGED:
                return f"the bytes are not {self.noun}, or a damaged one: their checksum is wrong{self._cure}"
            case Why.LATER | Why.EARLIER:
                assert isinstance(error.what, int)
                return f"the bytes are {self.noun} of {not_read(error.what, self.reads)}"
            case Why.UNKNOWN_KIND:
                return f"the bytes are not {self.noun} that this program knows, but something of kind {error.what}"
        return f"the bytes are not {self.noun}: {error.what}"


def not_read(version: int, reads: tuple[int, ...]) -> str:
    """Return in words that a state of some version cannot be read, and what to do."""
    ours = " and ".join(map(str, reads))
    if version > reads[-1]:
        return f"state version {version}, and this program reads {ours}: use a cobandit that reads {version}"
    return (
        f"state version {version}, and this program reads {ours}: use a cobandit of state version {version + 1} once, "
        "which brings it up to date, and so on"
    )


RECORD_CODEC = StateCodec("a record", Format(STATE_VERSION, RECORDS))
SNAPSHOT_CODEC = StateCodec("a snapshot of an agent", Format(STATE_VERSION, SNAPSHOTS))


def encode_record(record: InputRecord) -> bytes:
    """Return a record of an outcome as bytes, to persist it.

    >>> from cobandit.core import PeerLeft
    >>> decode_record(encode_record(PeerLeft("p", 2.5)))
    PeerLeft(peer='p', now=2.5)
    """
    return RECORD_CODEC.encode(record)


def decode_record(stored: bytes) -> InputRecord:
    """Return the record in these bytes.

    Raises:
        LocalError: The bytes are not a record of a version that this program reads.
    """
    record: InputRecord = RECORD_CODEC.decode(stored)
    return record


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return a snapshot as bytes."""
    return SNAPSHOT_CODEC.encode(snapshot)


def decode_snapshot(stored: bytes) -> Snapshot:
    """Return the snapshot in these bytes.

    Raises:
        LocalError: The bytes are not a snapshot of a version that this program reads.
    """
    snapshot: Snapshot = SNAPSHOT_CODEC.decode(stored)
    return snapshot
