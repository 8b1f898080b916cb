"""The messages between members besides the protocol's: introductions, rewards, controls, status and pens.

A packet on the network is a protocol message or a control message. Both use the envelope of `cobandit.codec`, and share
one table of kinds. Control messages may be lost like any other, so a sender that needs a result repeats them
(`outbox.py`). Every field has a limit: a message with a longer field is refused when it is read.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from cobandit.codec import Format, FrameCodec
from cobandit.codec.format import Kinds, Translated
from cobandit.codec.tables import MESSAGES, WIRE_VERSION
from cobandit.core import Message
from cobandit.core.handover import MAX_TOTALS_HANDED_OVER
from cobandit.core.messages import Cells
from cobandit.core.pen_names import SettledBlock
from cobandit.core.pens import MAX_NUMBERS, MAX_PEN_CELLS
from cobandit.core.places import MAX_BANDITS, Bandit
from cobandit.core.settled import BLOCK
from cobandit.live.decide.decision import LONGEST_TOKEN
from cobandit.live.machine.controls import MOST_TOLD, Setting
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS, ArmTally

MOST_REWARDS = 256
"""How many rewards fit one control message."""

MAX_DIGEST = 64
"""Bytes of a digest of settings. A later release may use longer digests."""

MAX_VERSIONS = 64
"""How many versions of the wire format a member may list as readable."""

MAX_STATUS = 2 * 2**20
"""Bytes of a member's status: more than a thousand arms and a thousand peers need."""

MAX_BLOCKS = 2 * MAX_NUMBERS // BLOCK
"""Blocks of settled decisions that accompany a pen: twice as many as a pen has when it is handed on."""

MAX_NONCE, MAX_WHY, MAX_RELAYS = 64, 1000, 1000
"""Bytes of a nonce; characters of a reason; relays that one relay says it knows."""

Nonce = Annotated[bytes, Meta(max_length=MAX_NONCE)]
Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Digest = Annotated[bytes, Meta(max_length=MAX_DIGEST)]
Token = Annotated[str, Meta(max_length=LONGEST_TOKEN)]


class ControlMessage(msgspec.Struct, frozen=True, array_like=True):
    """A message from one member to another, or to all."""

    sender: Name


class Hello(ControlMessage, frozen=True):
    """Announces the sender and its arms. Members that did not know it answer."""

    arms: Annotated[tuple[Name, ...], Meta(max_length=MOST_ARMS)]
    units_per_reward: int
    session: int
    notice: int
    controls: Digest
    """The digest of the settings that the sender knows."""
    wants_answer: bool = False
    """Whether the sender does not know the receiver, which then answers even if it knows the sender."""
    answers: tuple[int, int] | None = None
    """The session and notice of the hello that this one answers, if any. An answer is answered only on request."""
    incarnation: int = 0
    is_new: bool = False
    """Whether the sender has just started, and is itself waiting for the settings of the others."""
    reads: Annotated[tuple[int, ...], Meta(max_length=MAX_VERSIONS)] = (WIRE_VERSION,)
    """The wire versions that the sender reads. A hello itself is always in the oldest version that its sender
    writes."""
    is_relay: bool = False
    """Whether the sender passes on observations of others."""
    is_leaf: bool = False
    """Whether the sender talks to relays only."""
    bandits: Annotated[tuple[Bandit, ...], Meta(max_length=MAX_BANDITS + 1)] = ()
    """The named bandits that the sender serves."""


class ControlsTold(ControlMessage, frozen=True):
    """Tells all settings that the sender knows. An operator, who need not be a member, sends the ones it sets."""

    settings: Annotated[tuple[Setting, ...], Meta(max_length=MOST_TOLD)]


class ControlsHeard(ControlMessage, frozen=True):
    """Acknowledges settings: with them, the sender's controls have this digest."""

    digest: Digest


class Rewards(ControlMessage, frozen=True):
    """Carries rewards for the receiver's decisions, by token."""

    rewards: Annotated[tuple[tuple[Token, float], ...], Meta(max_length=MOST_REWARDS)]


class RewardsTaken(ControlMessage, frozen=True):
    """Acknowledges rewards, which need not be sent again: they count, can never count, or the sender passes them on."""

    tokens: Annotated[tuple[Token, ...], Meta(max_length=MOST_REWARDS)]
    number: int = 0
    """The number of the message that asked to pass them on; 0 in any other case."""


class StatusAsked(ControlMessage, frozen=True):
    """Asks for the receiver's status. The asker need not be a member."""


class StatusTold(ControlMessage, frozen=True):
    """The sender's status: statistics, encoded."""

    statistics: Annotated[bytes, Meta(max_length=MAX_STATUS)]


class PenAsked(ControlMessage, frozen=True):
    """Asks for a pen, because the sender has no name of its own. The sender's name is temporary, for the answer."""

    nonce: Nonce
    """A random value of the sender. Repeating it yields the same pen."""
    arms: Annotated[tuple[Name, ...], Meta(max_length=MOST_ARMS)]
    units_per_reward: int
    prefix: Name = ""
    """The prefix that names must have so that the sender can prove them, as its own has."""
    bandits: Annotated[tuple[Bandit, ...], Meta(max_length=MAX_BANDITS)] = ()
    """The named bandits that the sender has declared so far."""
    reads_veiled: bool = False
    """Whether the sender can read a veiled key."""


class PenLent(ControlMessage, frozen=True):
    """Lends a pen, with everything that the holder must know before it decides."""

    nonce: Nonce
    pen: Name
    session: int
    """The session in which the holder must speak."""
    first_number: int
    """The number of the holder's first decision: earlier holders gave out only lower ones."""
    key: Annotated[bytes, Meta(max_length=MAX_DIGEST)]
    """The key that signs decisions; veiled where others can read packets."""
    tallies: Annotated[tuple[ArmTally, ...], Meta(max_length=MOST_ARMS)]
    """All observations ever made with this pen."""
    totals: Annotated[tuple[ArmTally, ...], Meta(max_length=MOST_ARMS)]
    """The observations of all others that the sender knows, at this number of its log in this session."""
    lender_session: int
    upto: int
    settings: Annotated[tuple[Setting, ...], Meta(max_length=MOST_TOLD)]
    lease: float
    """Seconds within which the holder must be heard."""
    settled: Annotated[tuple[SettledBlock, ...], Meta(max_length=MAX_BLOCKS)] = ()
    """The settled decisions that were made with this pen."""
    bandits: Annotated[tuple[Bandit, ...], Meta(max_length=MAX_BANDITS)] = ()
    """The named bandits that the sender knows. Declaring one of these needs no further messages."""
    elsewhere: Annotated[tuple[Cells, ...], Meta(max_length=MAX_PEN_CELLS)] = ()
    """All observations ever made with this pen for named bandits, and beside the plain one."""
    totals_elsewhere: Annotated[tuple[Cells, ...], Meta(max_length=MAX_TOTALS_HANDED_OVER)] = ()
    """The same for all others."""
    is_key_veiled: bool = False


class PenRefused(ControlMessage, frozen=True):
    """Refuses to lend a pen."""

    nonce: Nonce
    why: Annotated[str, Meta(max_length=MAX_WHY)]


class PenReturned(ControlMessage, frozen=True):
    """Gives a pen back."""

    pen: Name
    session: int
    upto: int | None
    """The receiver has all observations if it holds the sender's log up to this number, and can hand the pen on.
    `None`: some are missing, so the pen must end."""
    next_number: int = 0
    """The sender has given out only numbers below this."""


class PenOver(ControlMessage, frozen=True):
    """Says that the receiver does not hold a pen, or holds it no longer. Messages sent with it are ignored."""

    pen: Name
    session: int
    is_closed: bool
    """Whether it was given back, and all observations count."""


class LogAsked(ControlMessage, frozen=True):
    """Asks how far the receiver's log has come. The sender is a relay that has forgotten which pens it lent."""

    session: int
    """The sender's session. Receivers that know it no longer merge what the sender said in earlier ones."""


class LogTold(ControlMessage, frozen=True):
    """Says how far the part of the sender's log that the receiver wants has come, and which relays the sender knows.

    A receiver that holds the log up to this number knows what the sender knew.
    """

    asked: int
    """The session in the question."""
    session: int
    number: int
    relays: Annotated[tuple[Name, ...], Meta(max_length=MAX_RELAYS)]


class RelaySought(ControlMessage, frozen=True):
    """A leaf looks for relays, which answer that they are present. Receivers need not remember the sender."""


class RewardsToBring(ControlMessage, frozen=True):
    """Carries rewards for decisions of others, by token. The receiver names those that it can pass on."""

    rewards: Annotated[tuple[tuple[Token, float], ...], Meta(max_length=MOST_REWARDS)]
    is_doubtful: bool = False
    """Whether they are for leaves of the sender that do not take them. Only a relay that just heard those can help."""
    number: int = 0
    """The number of this message at its sender. The answer repeats it, so that an old answer is recognized."""


class FleetAsked(ControlMessage, frozen=True):
    """Asks for the status of all members: a leaf asks its relay."""


class StatusPassedOn(ControlMessage, frozen=True):
    """Another member's status, as it told the sender: statistics, encoded."""

    statistics: Annotated[bytes, Meta(max_length=MAX_STATUS)]


PenMessage = PenAsked | PenLent | PenRefused | PenReturned | PenOver | LogAsked | LogTold
AnyControlMessage = (
    PenMessage
    | Hello
    | ControlsTold
    | ControlsHeard
    | Rewards
    | RewardsTaken
    | StatusAsked
    | StatusTold
    | RelaySought
    | RewardsToBring
    | FleetAsked
    | StatusPassedOn
)


def about_key(lent: PenLent, asker: str) -> bytes:
    """Return the context that a pen's key is veiled with: what it is, who sends it and who receives it."""
    return msgspec.msgpack.encode((lent.sender, asker, lent.nonce, lent.pen, lent.session))


def _grown(shape: type[ControlMessage], *counts: int) -> Translated:
    """Return a kind whose last fields were added later. They are omitted where empty (`codec/brevity.py`).

    Args:
        shape: Its present shape.
        counts: How many fields each addition had, the latest first.
    """

    def brief(message: msgspec.Struct) -> object:
        fields = msgspec.structs.astuple(message)
        for count in counts:
            if any(fields[-count:]):
                break
            fields = fields[:-count]
        return fields

    return Translated(shape, shape, None, brief)


CONTROL_MESSAGES: Kinds = {
    16: _grown(Hello, 1),
    17: ControlsTold,
    18: ControlsHeard,
    19: Rewards,
    20: _grown(RewardsTaken, 1),
    21: StatusAsked,
    22: StatusTold,
    23: _grown(PenAsked, 1, 1),
    24: _grown(PenLent, 1, 3),
    25: PenRefused,
    26: PenReturned,
    27: PenOver,
    28: LogAsked,
    29: LogTold,
    30: RelaySought,
    31: _grown(RewardsToBring, 1),
    32: FleetAsked,
    33: StatusPassedOn,
}
"""Append, never reorder (`cobandit.codec.tables`)."""

PACKETS = FrameCodec(Format(WIRE_VERSION, {**MESSAGES, **CONTROL_MESSAGES}))
"""Encodes and decodes all messages between members."""

OLDEST = PACKETS.reads[0]
"""The oldest version. Every member that can be talked to at all reads it."""


def pack(content: Message | AnyControlMessage, group: str, version: int | None = None) -> bytes:
    """Return a message of either sort as a packet, in the given version or the newest.

    >>> unpack(pack(StatusAsked("operator"), "homepage"), "homepage")
    StatusAsked(sender='operator')
    """
    return PACKETS.encode(content, group, version)


def unpack(packet: bytes, group: str) -> Message | AnyControlMessage:
    """Return the content of a packet.

    Raises:
        PeerError: It belongs to another group or version, is damaged, or is no packet. See `FrameCodec.decode`.
    """
    content: Message | AnyControlMessage = PACKETS.decode(packet, group)
    return content
