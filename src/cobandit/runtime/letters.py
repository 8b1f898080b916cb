"""What members say to each other besides the protocol: who they are, rewards for another's decisions, controls, status.

A packet on the network is either a protocol message (`cobandit.wire`) or a letter. Both begin with one byte that says
which, and both have a checksum and name their group; a packet of another group is refused. Letters may be lost like
everything else: who expects something from a letter repeats it (`errands.py`).
"""

from zlib import crc32

import msgspec

from cobandit import wire
from cobandit.core import Message
from cobandit.runtime.controls import Setting
from cobandit.values.errors import PeerError

LETTERS_VERSION = 1
_MESSAGE, _LETTER = b"M", b"L"
_CHECKSUM = 4

MOST_REWARDS = 256
"""So many rewards fit one letter."""


class Letter(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Something that one member says to another, or to all."""

    sender: str


class Hello(Letter, tag="hello", frozen=True):
    """I am here, with these arms. Whoever did not know me answers."""

    arms: tuple[str, ...]
    units_per_reward: int
    boot: int
    notice: int
    controls: bytes
    """The digest of the controls that the sender has heard of."""
    wants_answer: bool = False
    """Whether the sender does not know the receiver, who then answers although it knows the sender."""
    is_answer: bool = False
    """Whether it is such an answer. Answers are not answered."""


class ControlsTold(Letter, tag="controls", frozen=True):
    """All controls, as far as I have heard."""

    settings: tuple[Setting, ...]


class ControlsHeard(Letter, tag="controls heard", frozen=True):
    """With what you told me I have the controls of this digest."""

    digest: bytes


class ControlWanted(Letter, tag="control wanted", frozen=True):
    """Turn this switch, and tell the others. The operator who says so need not be a member."""

    key: str
    value: str | None


class Rewards(Letter, tag="rewards", frozen=True):
    """Rewards for decisions of yours, by token."""

    rewards: tuple[tuple[str, float], ...]


class RewardsTaken(Letter, tag="rewards taken", frozen=True):
    """You need not tell me these again: they are counted, or can never be."""

    tokens: tuple[str, ...]


class StatusAsked(Letter, tag="status asked", frozen=True):
    """Tell me how you are. The asker need not be a member."""


class StatusTold(Letter, tag="status told", frozen=True):
    """How I am: statistics, encoded."""

    statistics: bytes


AnyLetter = Hello | ControlsTold | ControlsHeard | ControlWanted | Rewards | RewardsTaken | StatusAsked | StatusTold


class _Envelope(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    version: int
    group: str
    letter: AnyLetter


class ForeignGroupError(PeerError):
    """A packet of another group."""


_encoder = msgspec.msgpack.Encoder()
_decode = msgspec.msgpack.Decoder(_Envelope).decode


def pack(content: Message | AnyLetter, group: str) -> bytes:
    """Return a message or a letter as a packet.

    >>> unpack(pack(StatusAsked("operator"), "homepage"), "homepage")
    StatusAsked(sender='operator')
    """
    if not isinstance(content, Letter):
        return _MESSAGE + wire.encode(content, group)
    letter = _encoder.encode(_Envelope(LETTERS_VERSION, group, content))
    return _LETTER + crc32(letter).to_bytes(_CHECKSUM) + letter


def unpack(packet: bytes, group: str) -> Message | AnyLetter:
    """Return what is in a packet.

    Raises:
        ForeignGroupError: It is of another group.
        PeerError: It is damaged, or is not a packet of this version.
    """
    kind, content = packet[:1], packet[1:]
    if kind == _MESSAGE:
        return wire.decode(content, group)
    if kind != _LETTER or crc32(content[_CHECKSUM:]) != int.from_bytes(content[:_CHECKSUM]):
        raise PeerError(f"a packet of {len(packet)} bytes was refused: it is damaged, or nothing of cobandit's")
    try:
        envelope = _decode(content[_CHECKSUM:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PeerError(f"a letter was refused: {error}") from error
    if envelope.version != LETTERS_VERSION:
        raise PeerError(f"a letter of version {envelope.version} was refused: this side speaks {LETTERS_VERSION}")
    if envelope.group != group:
        raise ForeignGroupError(f"a letter of group {envelope.group!r} was refused: this side is of group {group!r}")
    return envelope.letter
