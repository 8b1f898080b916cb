"""Statistics that do not fit one packet: cut into parts, and put together again, in bounded memory.

A part begins with a byte with which no statistics begin, so what fits one packet travels as it is. This file refuses to
know what statistics say.
"""

import struct
from collections.abc import Iterator

from cobandit.values.errors import PeerError

MAX_PARTS = 1024
"""Parts of what one member says of itself."""

_MARK = b"\xc1"
"""No value in MessagePack begins with it."""

_HEADER = struct.Struct(">QHH")
"""Which answer, which part of it, and how many there are."""


def in_parts(content: bytes, room: int, answer: int) -> Iterator[bytes]:
    """Yield statistics as they are, or in parts of at most so many bytes.

    >>> [len(part) for part in in_parts(bytes(30), 23, answer=1)], [*in_parts(b"short", 23, answer=1)]
    ([23, 23, 23], [b'short'])

    Args:
        content: Encoded statistics.
        room: Bytes that fit.
        answer: Another number for each answer.
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
    """What has come of answers that come in parts: the latest one of each sender.

    Args:
        largest: Bytes of one answer, at most.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._begun: dict[str, tuple[int, int, dict[int, bytes]]] = {}
        """By sender: which answer, how many parts it has, and those that are here."""

    def add(self, sender: str, told: bytes) -> bytes | None:
        """Take what a sender told; return statistics if they are whole now.

        Raises:
            PeerError: It is no part of anything.
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
        """Forget what is not whole."""
        self._begun.clear()
