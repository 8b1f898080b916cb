"""What members say to each other besides the protocol: who they are, rewards for another's decisions, controls, status.

A packet on the network is a protocol message or a control message, in the one envelope of `cobandit.codec`: all are
kinds in one table. Control messages may be lost like everything else: who expects something from one repeats it
(`outbox.py`).
"""

import msgspec

from cobandit.codec import Format, FrameCodec
from cobandit.codec.format import Kinds
from cobandit.codec.tables import MESSAGES, WIRE_VERSION
from cobandit.core import Message
from cobandit.live.machine.controls import Setting

MOST_REWARDS = 256
"""So many rewards fit one control message."""


class ControlMessage(msgspec.Struct, frozen=True, array_like=True):
    """Something that one member says to another, or to all."""

    sender: str


class Hello(ControlMessage, frozen=True):
    """I am here, with these arms. Members that did not know me answer."""

    arms: tuple[str, ...]
    units_per_reward: int
    session: int
    notice: int
    controls: bytes
    """The digest of the settings that the sender has heard of."""
    wants_answer: bool = False
    """Whether the sender does not know the receiver, who then answers although it knows the sender."""
    answers: tuple[int, int] | None = None
    """The session and notice of the hello that it answers, if it is such an answer. Answers are not answered."""
    incarnation: int = 0
    is_new: bool = False
    """Whether the sender has just started, and waits itself for the settings of the others."""
    reads: tuple[int, ...] = (WIRE_VERSION,)
    """The versions of the wire that the sender reads. A hello itself is always in the oldest that its sender writes."""
    is_relay: bool = False
    """Whether the sender passes on what others observed."""


class ControlsTold(ControlMessage, frozen=True):
    """All settings that I have heard of. An operator, who need not be a member, tells of what it sets."""

    settings: tuple[Setting, ...]


class ControlsHeard(ControlMessage, frozen=True):
    """With what you told me I have the controls of this digest."""

    digest: bytes


class Rewards(ControlMessage, frozen=True):
    """Rewards for decisions of yours, by token."""

    rewards: tuple[tuple[str, float], ...]


class RewardsTaken(ControlMessage, frozen=True):
    """You need not tell me these again: they are counted, or can never be."""

    tokens: tuple[str, ...]


class StatusAsked(ControlMessage, frozen=True):
    """Tell me how you are. The asker need not be a member."""


class StatusTold(ControlMessage, frozen=True):
    """How I am: statistics, encoded."""

    statistics: bytes


AnyControlMessage = Hello | ControlsTold | ControlsHeard | Rewards | RewardsTaken | StatusAsked | StatusTold

CONTROL_MESSAGES: Kinds = {
    16: Hello,
    17: ControlsTold,
    18: ControlsHeard,
    19: Rewards,
    20: RewardsTaken,
    21: StatusAsked,
    22: StatusTold,
}
"""Append, never reorder (`cobandit.codec.tables`)."""

PACKETS = FrameCodec(Format(WIRE_VERSION, {**MESSAGES, **CONTROL_MESSAGES}))
"""All that members say to each other, as bytes and back."""

OLDEST = PACKETS.reads[0]
"""The version that everybody reads who can be talked to at all."""


def pack(content: Message | AnyControlMessage, group: str, version: int | None = None) -> bytes:
    """Return a message of either sort as a packet, in this version or the newest.

    >>> unpack(pack(StatusAsked("operator"), "homepage"), "homepage")
    StatusAsked(sender='operator')
    """
    return PACKETS.encode(content, group, version)


def unpack(packet: bytes, group: str) -> Message | AnyControlMessage:
    """Return what is in a packet.

    Raises:
        PeerError: It is of another group or version, damaged, or no packet: `FrameCodec.decode` says how each.
    """
    content: Message | AnyControlMessage = PACKETS.decode(packet, group)
    return content
