"""Splits frames into pieces that fit a datagram, and reassembles them, in bounded memory and time.

Pieces come from proved senders. All the same, each sender may only have a few incomplete frames, and one that loses
pieces leaves nothing behind for long.
"""

import struct
from collections.abc import Callable, Iterator

REASSEMBLY_SECONDS = 5.0
"""How long pieces are kept while others are missing. A frame that is incomplete by then is lost."""
MOST_UNFINISHED = 16
"""Incomplete frames of each sender. The oldest makes room."""
LARGEST_UNFINISHED = 16 * 2**20
"""Bytes of all waiting pieces of all senders. The oldest frame of the sender with the most makes room."""

PIECE_HEADER = struct.Struct(">IHH")
"""The frame's number, the piece's position, and the number of pieces."""


def cut(frame: bytes, number: int, size: int) -> Iterator[bytes]:
    """Yield the pieces of a frame, each of at most this many bytes including its header.

    >>> [len(piece) for piece in cut(bytes(25), 1, 18)]
    [18, 18, 13]
    """
    room = size - PIECE_HEADER.size
    count = max(1, -(-len(frame) // room))
    for position in range(count):
        piece = frame[position * room : (position + 1) * room]
        yield PIECE_HEADER.pack(number & 0xFFFFFFFF, position, count) + piece


class _Unfinished:
    __slots__ = ("began", "count", "pieces", "size")

    def __init__(self, count: int, began: float) -> None:
        self.count, self.began = count, began
        self.pieces: dict[int, bytes] = {}
        self.size = 0


class Reassembly:
    """Reassembles frames from pieces.

    Args:
        largest: Maximum bytes of a frame.
        now: Returns the time in seconds.
    """

    def __init__(self, largest: int, now: Callable[[], float]) -> None:
        self._largest, self._now = largest, now
        self._unfinished: dict[tuple[str, int], _Unfinished] = {}
        """By sender and number, the oldest first."""
        self._count: dict[str, int] = {}
        self._bytes: dict[str, int] = {}
        """Bytes that wait, for each sender of incomplete frames."""
        self.waiting = 0
        """The same, of all of them."""

    def add(self, sender: str, piece: bytes) -> bytes | None:
        """Take a piece. Return the frame if it is complete now.

        Raises:
            ValueError: It is not a valid piece.
        """
        if len(piece) < PIECE_HEADER.size:
            raise ValueError("too short")
        number, position, count = PIECE_HEADER.unpack_from(piece)
        content = piece[PIECE_HEADER.size :]
        if position >= count or count > self._largest:
            raise ValueError("no such position")
        if count == 1:
            return content
        self._forget_old()
        key = sender, number
        frame = self._unfinished.get(key)
        if frame is None:
            if self._count.get(sender, 0) >= MOST_UNFINISHED:
                self._drop_oldest_of(sender)
            frame = self._unfinished[key] = _Unfinished(count, self._now())
            self._count[sender] = self._count.get(sender, 0) + 1
        if frame.count != count or frame.size + len(content) > self._largest:
            self._drop(key)
            raise ValueError("pieces do not fit")
        if position not in frame.pieces:
            frame.pieces[position] = content
            frame.size += len(content)
            self._bytes[sender] = self._bytes.get(sender, 0) + len(content)
            self.waiting += len(content)
        if len(frame.pieces) == count:
            self._drop(key)
            return b"".join(frame.pieces[position] for position in range(count))
        while self.waiting > LARGEST_UNFINISHED:
            self._drop_oldest_of(max(self._bytes, key=self._bytes.__getitem__))
        return None

    def _forget_old(self) -> None:
        too_old = self._now() - REASSEMBLY_SECONDS
        while self._unfinished:
            key, frame = next(iter(self._unfinished.items()))
            if frame.began > too_old:
                return
            self._drop(key)

    def _drop_oldest_of(self, sender: str) -> None:
        self._drop(next(key for key in self._unfinished if key[0] == sender))

    def _drop(self, key: tuple[str, int]) -> None:
        frame, sender = self._unfinished.pop(key), key[0]
        self.waiting -= frame.size
        self._count[sender] -= 1
        self._bytes[sender] = self._bytes.get(sender, 0) - frame.size
        if not self._count[sender]:
            del self._count[sender], self._bytes[sender]
