"""The one envelope, and the tables of what it may contain.

Everything that leaves a program as bytes, over a network or to a disk, is a checksum of the rest followed by a
MessagePack array: the version, the group, the number of the kind, the value. The checksum and the position of the
version stay the same in all future versions; everything else may change with the version.

A `Format` is one version: the kinds of values, and their numbers. `Formats` are those that a program reads: the newest,
and the one before. This file knows no kinds.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from cobandit.codec.serializer import NotSoError, reader, write
from cobandit.values.errors import LocalError

CHECKSUM = 4


class Why(Enum):
    """Why bytes cannot be read."""

    DAMAGED = auto()
    MALFORMED = auto()
    LATER = auto()
    EARLIER = auto()
    FOREIGN = auto()
    UNKNOWN_KIND = auto()


class UnreadableError(Exception):
    """Bytes that cannot be read. The caller words the error for the person who must act."""

    def __init__(self, why: Why, what: object = None) -> None:
        super().__init__(why, what)
        self.why, self.what = why, what


class NotSpokenError(LocalError):
    """That version has no such kind of value: it was added later."""


class Envelope(NamedTuple):
    """What follows the checksum."""

    version: int
    group: str
    kind: int
    body: msgspec.Raw


class Translated(NamedTuple):
    """A kind whose bytes have another shape than the value that the program uses."""

    shape: type[Any]
    meaning: type[Any]
    read: Callable[[Any], Any] | None
    """Converts the shape to the meaning; `None` if they are the same. It may raise `UnreadableError`."""
    write: Callable[[Any], Any] | None
    """Converts the meaning to the shape, or to anything with the same bytes; `None` if they are the same."""


Kinds = Mapping[int, type[Any] | Translated]
"""The kinds by number. Append, never reorder: within a version a number keeps its meaning."""


class Format:
    """One version.

    Args:
        version: Its number.
        kinds: Its kinds. A plain type means that its values are written as they are.
    """

    def __init__(self, version: int, kinds: Kinds) -> None:
        self.version = version
        self.kinds = {number: _translated(kind) for number, kind in kinds.items()}
        self._writers = {kind.meaning: (number, kind.write) for number, kind in self.kinds.items()}
        if len(self._writers) < len(self.kinds):
            raise LocalError("a kind of value has one number in a format, not two")
        self._readers = {number: (reader(kind.shape), kind.read) for number, kind in self.kinds.items()}

    def has(self, kind: type[Any]) -> bool:
        """Return whether there is a number for values of this type."""
        return kind in self._writers

    def numbered(self, value: object) -> tuple[int, object]:
        """Return the number of a value's kind, and the form in which it is written."""
        number, translate = self._writers[type(value)]
        return number, value if translate is None else translate(value)

    def read(self, kind: int, body: bytes | msgspec.Raw) -> Any:  # noqa: ANN401  # any of its kinds
        """Return the value of this kind in these bytes.

        Raises:
            UnreadableError: There is none.
        """
        known = self._readers.get(kind)
        if known is None:
            raise UnreadableError(Why.UNKNOWN_KIND, kind)
        read, translate = known
        try:
            value = read(body)
        except NotSoError as error:
            raise UnreadableError(Why.MALFORMED, error) from error
        return value if translate is None else translate(value)


class Formats:
    """The versions that a program reads and writes: the newest, and the one before if there is one."""

    def __init__(self, newest: Format, previous: Format | None = None) -> None:
        self.newest = newest
        self.oldest = newest if previous is None else previous
        self._of = {one.version: one for one in (self.oldest, newest)}
        self.reads = tuple(self._of)
        """Their numbers, in ascending order."""
        if previous is not None and previous.version != newest.version - 1:
            raise LocalError(f"version {previous.version} is not the one before {newest.version}")

    def seal(self, value: object, group: str, version: int | None) -> bytes:
        """Return a value in its envelope, in the given version.

        Raises:
            NotSpokenError: That version has no such kind.
            KeyError: No version has one.
        """
        one = self.newest if version is None else self._of[version]
        try:
            kind, body = one.numbered(value)
        except KeyError:
            if self.newest.has(type(value)):
                raise NotSpokenError(f"version {one.version} has no {type(value).__name__}: it came later") from None
            raise
        return sealed((one.version, group, kind, body))

    def open(self, stored: bytes, group: str) -> Any:  # noqa: ANN401  # any of the kinds
        """Return the contents of an envelope.

        Raises:
            UnreadableError: It cannot be read.
        """
        content = unsealed(stored)
        try:
            version, foreign, kind, body = _read_envelope(content)
        except NotSoError as error:
            self._of_version(_version_in(content))
            raise UnreadableError(Why.MALFORMED, error) from error
        one = self._of_version(version)
        if foreign != group:
            raise UnreadableError(Why.FOREIGN, foreign)
        return one.read(kind, body)

    def _of_version(self, version: int) -> Format:
        one = self._of.get(version)
        if one is not None:
            return one
        if version < 1:
            raise UnreadableError(Why.MALFORMED, f"there is no version {version}")
        raise UnreadableError(Why.LATER if version > self.newest.version else Why.EARLIER, version)


def check_bytes(stored: object) -> None:
    """Refuse anything but bytes."""
    if not isinstance(stored, bytes | bytearray | memoryview):
        raise LocalError(f"only bytes can be decoded, not {stored!r}")


def sealed(envelope: object) -> bytes:
    """Return an envelope as bytes, with its checksum in front."""
    content = write(envelope)
    return crc32(content).to_bytes(CHECKSUM) + content


def unsealed(stored: bytes) -> bytes:
    """Return what follows a checksum, or refuse it if the checksum is wrong."""
    content = stored[CHECKSUM:]
    if crc32(content) != int.from_bytes(stored[:CHECKSUM]):
        raise UnreadableError(Why.DAMAGED)
    return content


def version_of(stored: bytes) -> int:
    """Return the version that bytes were written in, known here or not.

    Raises:
        UnreadableError: They are damaged, or not from cobandit.
    """
    return _version_in(unsealed(stored))


def _version_in(content: bytes) -> int:
    try:
        parts = _read_parts(content)
        if parts:
            return _read_version(parts[0])
    except NotSoError as error:
        raise UnreadableError(Why.MALFORMED, error) from error
    raise UnreadableError(Why.MALFORMED, "there is nothing in it")


def _translated(kind: type[Any] | Translated) -> Translated:
    return kind if isinstance(kind, Translated) else Translated(kind, kind, None, None)


_read_envelope = reader(Envelope)
_read_parts = reader(list[msgspec.Raw])
_read_version = reader(int)
