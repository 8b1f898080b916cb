"""Splits statistics that do not fit one packet into parts, and reassembles them, in bounded memory.

A part begins with a byte that no statistics begin with, so statistics that fit one packet travel unchanged. This file
does not know what statistics contain.
"""

import struct
from collections.abc import Iterator

from cobandit.values.errors import PeerError

MAX_PARTS = 1024
"""Maximum number of parts in one member's statistics."""

_MARK = b"\xc1"
"""No MessagePack value begins with this byte."""

_HEADER = struct.Struct(">QHH")
"""The answer's number, the part's number, and the number of parts."""


def in_parts(content: bytes, room: int, answer: int) -> Iterator[bytes]:
    """Yield statistics unchanged, or in parts of at most this many bytes.

    >>> [len(part) for part in in_parts(bytes(30), 23, answer=1)], [*in_parts(b"short", 23, answer=1)]
    ([23, 23, 23], [b'short'])

    Args:
        content: Encoded statistics.
        room: How many bytes fit.
        answer: A number that differs between answers.
    """
    if len(content) <= room:
        yield content
        return
    size = max(1, room - len(_MARK) - _HEADER.size, -(-len(content) // MAX_PARTS))
    count = -(-len(content) // size)
    for position in range(count):
        piece = content[position * size : (position + 1) * size]
        yield _MARK + _HEADER.pack(answer, position, count) + piece


class Parts:
    """Reassembles answers that arrive in parts: the latest one of each sender.

    Args:
        largest: Maximum bytes of one answer.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._begun: dict[str, tuple[int, int, dict[int, bytes]]] = {}
        """By sender: the answer's number, its number of parts, and the parts so far."""

    def add(self, sender: str, told: bytes) -> bytes | None:
        """Take a sender's message. Return statistics if they are complete now.

        Raises:
            PeerError: It is not a valid part.
        """
        if not told.startswith(_MARK):
            return told
        if len(told) <= len(_MARK) + _HEADER.size:
            raise PeerError(f"{sender} told a part of its statistics in which nothing is")
        answer, position, count = _HEADER.unpack_from(told, len(_MARK))
        if not position < count <= MAX_PARTS:
            raise PeerError(f"{sender} told part {position} of {count} of its statistics")
        begun = self._begun.get(sender)
        if begun is None or begun[:2] != (answer, count):
            if begun is not None and answer < begun[0]:
                return None  # a late part of an earlier answer
            begun = self._begun[sender] = (answer, count, {})
        pieces = begun[2]
        pieces[position] = told[len(_MARK) + _HEADER.size :]
        if sum(map(len, pieces.values())) > self._largest:
            del self._begun[sender]
            raise PeerError(f"{sender} told more than {self._largest} bytes of statistics")
        if len(pieces) < count:
            return None
        del self._begun[sender]
        return b"".join(pieces[place] for place in range(count))

    def clear(self) -> None:
        """Forget incomplete answers."""
        self._begun.clear()
