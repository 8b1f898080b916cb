"""Messages, records and snapshots to bytes and back: the only serializer.

The format is MessagePack: an array of the format's version, the group, the kind of value, and its fields in order. All
of them begin with a checksum of the rest. Decoding is strict: a damaged message, a wrong version, a foreign group, a
wrong type, a field too many or a missing field that has no default is refused with a reason, and nothing is executed
or imported.
"""

from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from cobandit.core import (
    Acknowledgement,
    Eliminated,
    Flushed,
    InputRecord,
    Introduced,
    Join,
    Leave,
    Message,
    Observed,
    ObservedMany,
    PeerJoined,
    PeerLeft,
    Received,
    Share,
    Woke,
)
from cobandit.core.state import SNAPSHOT_VERSION, Snapshot
from cobandit.values.errors import LocalError, PeerError

WIRE_VERSION = 2
LARGEST_MESSAGE = 4 * 2**20
"""Bytes. More than every arm of the largest arm set needs, for one boot; with many former boots it may not do."""

_KINDS: tuple[type[Any], ...] = (Share, Eliminated, Join, Leave, Acknowledgement)
"""The position in this tuple is the number on the wire: append, never reorder."""

_RECORDS: tuple[type[Any], ...] = (Observed, Received, PeerJoined, PeerLeft, Introduced, Woke, ObservedMany, Flushed)
"""Likewise, in what is persisted."""


_CHECKSUM = 4


class _Envelope(NamedTuple):
    version: int
    kind: int
    body: msgspec.Raw


class _Frame(NamedTuple):
    version: int
    group: str
    kind: int
    body: msgspec.Raw


_encode = msgspec.msgpack.Encoder().encode
_decode_frame = msgspec.msgpack.Decoder(_Frame).decode
_decode_envelope = msgspec.msgpack.Decoder(_Envelope).decode
_decoders: tuple[msgspec.msgpack.Decoder[Any], ...] = tuple(msgspec.msgpack.Decoder(kind) for kind in _KINDS)
_record_decoders: tuple[msgspec.msgpack.Decoder[Any], ...] = tuple(
    msgspec.msgpack.Decoder(tuple[bytes, float] if kind is Received else kind) for kind in _RECORDS
)
_decode_snapshot = msgspec.msgpack.Decoder(Snapshot).decode
_decode_parts = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_decode_version = msgspec.msgpack.Decoder(int).decode


def _sealed(content: bytes) -> bytes:
    return crc32(content).to_bytes(_CHECKSUM) + content


def _opened(sealed: bytes) -> bytes | None:
    """Return the content behind a checksum, or `None` if the two do not fit."""
    content = sealed[_CHECKSUM:]
    return content if crc32(content) == int.from_bytes(sealed[:_CHECKSUM]) else None


def _check_bytes(stored: object) -> None:
    if not isinstance(stored, bytes | bytearray | memoryview):
        raise LocalError(f"only bytes can be decoded, not {stored!r}")


def encode(message: Message, group: str = "") -> bytes:
    """Return a message as bytes.

    Args:
        message: The message.
        group: The group or experiment that it belongs to; others refuse it.

    >>> from cobandit.core import Leave
    >>> decode(encode(Leave("j", "p")))
    Leave(sender='j', receiver='p', boot=0, notice=0)
    """
    if type(message) not in _KINDS:
        raise LocalError(f"only messages can be encoded, not {message!r}")
    frame = _sealed(_encode((WIRE_VERSION, group, _KINDS.index(type(message)), message)))
    if len(frame) > LARGEST_MESSAGE:
        raise LocalError(f"a message of {len(frame)} bytes is more than anybody takes: the limit is {LARGEST_MESSAGE}")
    return frame


def decode(frame: bytes, group: str = "") -> Message:
    """Return the message in these bytes.

    Raises:
        PeerError: The bytes are damaged, or are not a message of this version and group.
    """
    _check_bytes(frame)
    if len(frame) > LARGEST_MESSAGE:
        raise PeerError(f"a message of {len(frame)} bytes was refused: the limit is {LARGEST_MESSAGE}")
    content = _opened(frame)
    if content is None:
        raise PeerError(f"a message of {len(frame)} bytes was refused: it is damaged (its checksum is wrong)")
    try:
        parts = _decode_parts(content)
        version = _decode_version(parts[0]) if parts else None
        if version != WIRE_VERSION:
            raise PeerError(f"a message of wire version {version} was refused: this side speaks version {WIRE_VERSION}")
        _, foreign, kind, body = _decode_frame(content)
        if foreign != group:
            raise PeerError(f"a message of group {foreign!r} was refused: this side is of group {group!r}")
        if not 0 <= kind < len(_KINDS):
            raise PeerError(f"a message of unknown kind {kind} was refused")
        message: Message = _decoders[kind].decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PeerError(f"bytes that are not a message were refused: {error}") from error
    return message


def encode_record(record: InputRecord) -> bytes:
    """Return a record of an outcome as bytes, to be persisted.

    >>> from cobandit.core import PeerLeft
    >>> decode_record(encode_record(PeerLeft("p", 2.5)))
    PeerLeft(peer='p', now=2.5)
    """
    if isinstance(record, Received):
        return _sealed(_encode((WIRE_VERSION, _RECORDS.index(Received), (encode(record.message), record.now))))
    if type(record) not in _RECORDS:
        raise LocalError(f"only the records of an outcome can be encoded, not {record!r}")
    return _sealed(_encode((WIRE_VERSION, _RECORDS.index(type(record)), record)))


def decode_record(stored: bytes) -> InputRecord:
    """Return the record in these bytes.

    Raises:
        LocalError: The bytes are not a record of this version.
    """
    _check_bytes(stored)
    content = _opened(stored)
    if content is None:
        raise LocalError("the bytes are not a record, or a damaged one: their checksum is wrong")
    try:
        version, kind, body = _decode_envelope(content)
        if version != WIRE_VERSION or not 0 <= kind < len(_RECORDS):
            raise LocalError(f"a record of version {version} and kind {kind} cannot be read by this program")
        record = _record_decoders[kind].decode(body)
        return Received(decode(record[0]), record[1]) if _RECORDS[kind] is Received else record
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, PeerError) as error:
        raise LocalError(f"the bytes are not a record: {error}") from error


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return a snapshot as bytes."""
    return _sealed(_encode(snapshot))


def decode_snapshot(stored: bytes) -> Snapshot:
    """Return the snapshot in these bytes.

    Raises:
        LocalError: The bytes are not a snapshot, or one of another version.
    """
    _check_bytes(stored)
    content = _opened(stored)
    if content is None:
        raise LocalError("the bytes are not a snapshot of an agent, or a damaged one: their checksum is wrong")
    try:
        parts = _decode_parts(content)
        if not parts:
            raise LocalError("the bytes are not a snapshot of an agent: they hold nothing")
        version = _decode_version(parts[0])
        if version != SNAPSHOT_VERSION:
            raise LocalError(
                f"the snapshot has version {version}, this program reads version {SNAPSHOT_VERSION}: "
                "use the version of cobandit that wrote it"
            )
        return _decode_snapshot(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LocalError(f"the bytes are not a snapshot of an agent: {error}") from error
