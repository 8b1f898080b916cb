"""What members say to each other besides the protocol: who they are, rewards for another's decisions, controls, status.

A packet on the network is a protocol message or a letter, in the one envelope of `cobandit.codec`: all are kinds in
one table. Letters may be lost like everything else: who expects something from a letter repeats it (`errands.py`).
"""

import msgspec

from cobandit.codec import Format, FrameCodec
from cobandit.codec.format import Kinds
from cobandit.codec.tables import MESSAGES, WIRE_VERSION
from cobandit.core import Message
from cobandit.runtime.controls import Setting

MOST_REWARDS = 256
"""So many rewards fit one letter."""


class Letter(msgspec.Struct, frozen=True, array_like=True):
    """Something that one member says to another, or to all."""

    sender: str


class Hello(Letter, frozen=True):
    """I am here, with these arms. Members that did not know me answer."""

    arms: tuple[str, ...]
    units_per_reward: int
    session: int
    notice: int
    controls: bytes
    """The digest of the controls that the sender has heard of."""
    wants_answer: bool = False
    """Whether the sender does not know the receiver, who then answers although it knows the sender."""
    is_answer: bool = False
    """Whether it is such an answer. Answers are not answered."""
    incarnation: int = 0
    reads: tuple[int, ...] = (WIRE_VERSION,)
    """The versions of the wire that the sender reads. A hello itself is always in the oldest that its sender writes."""


class ControlsTold(Letter, frozen=True):
    """All controls, as far as I have heard."""

    settings: tuple[Setting, ...]


class ControlsHeard(Letter, frozen=True):
    """With what you told me I have the controls of this digest."""

    digest: bytes


class ControlWanted(Letter, frozen=True):
    """Turn this switch, and tell the others. The operator who says so need not be a member."""

    key: str
    value: str | None


class Rewards(Letter, frozen=True):
    """Rewards for decisions of yours, by token."""

    rewards: tuple[tuple[str, float], ...]


class RewardsTaken(Letter, frozen=True):
    """You need not tell me these again: they are counted, or can never be."""

    tokens: tuple[str, ...]


class StatusAsked(Letter, frozen=True):
    """Tell me how you are. The asker need not be a member."""


class StatusTold(Letter, frozen=True):
    """How I am: statistics, encoded."""

    statistics: bytes


AnyLetter = Hello | ControlsTold | ControlsHeard | ControlWanted | Rewards | RewardsTaken | StatusAsked | StatusTold

LETTERS: Kinds = {
    16: Hello,
    17: ControlsTold,
    18: ControlsHeard,
    19: ControlWanted,
    20: Rewards,
    21: RewardsTaken,
    22: StatusAsked,
    23: StatusTold,
}
"""Append, never reorder (`cobandit.codec.tables`)."""

PACKETS = FrameCodec(Format(WIRE_VERSION, {**MESSAGES, **LETTERS}))
"""All that members say to each other, as bytes and back."""

OLDEST = PACKETS.reads[0]
"""The version that everybody reads who can be talked to at all."""


def pack(content: Message | AnyLetter, group: str, version: int | None = None) -> bytes:
    """Return a message or a letter as a packet, in this version or the newest.

    >>> unpack(pack(StatusAsked("operator"), "homepage"), "homepage")
    StatusAsked(sender='operator')
    """
    return PACKETS.encode(content, group, version)


def unpack(packet: bytes, group: str) -> Message | AnyLetter:
    """Return what is in a packet.

    Raises:
        PeerError: It is of another group or version, damaged, or no packet: `FrameCodec.decode` says how each.
    """
    content: Message | AnyLetter = PACKETS.decode(packet, group)
    return content
