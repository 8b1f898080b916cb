"""What members say to each other besides the protocol: who they are, rewards for another's decisions, controls, status.

A packet on the network is a protocol message or a control message, in the one envelope of `cobandit.codec`: all are
kinds in one table. Control messages may be lost like everything else: who expects something from one repeats it
(`outbox.py`). Every field has a limit: what is longer is no control message, and is refused when it is read.
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
"""So many rewards fit one control message."""

MAX_DIGEST = 64
"""Bytes of a digest of settings. A later release may have longer ones than today's."""

MAX_VERSIONS = 64
"""Versions of the wire that a member may say it reads."""

MAX_STATUS = 2 * 2**20
"""Bytes of what a member says of itself: more than a thousand arms and a thousand peers need."""

MAX_BLOCKS = 2 * MAX_NUMBERS // BLOCK
"""Blocks of settled decisions that come with a pen: twice as many as one has that is handed on."""

MAX_NONCE, MAX_WHY, MAX_RELAYS = 64, 1000, 1000
"""Bytes that somebody has made up; characters of a reason; relays that one relay says that it knows."""

Nonce = Annotated[bytes, Meta(max_length=MAX_NONCE)]
Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Digest = Annotated[bytes, Meta(max_length=MAX_DIGEST)]
Token = Annotated[str, Meta(max_length=LONGEST_TOKEN)]


class ControlMessage(msgspec.Struct, frozen=True, array_like=True):
    """Something that one member says to another, or to all."""

    sender: Name


class Hello(ControlMessage, frozen=True):
    """I am here, with these arms. Members that did not know me answer."""

    arms: Annotated[tuple[Name, ...], Meta(max_length=MOST_ARMS)]
    units_per_reward: int
    session: int
    notice: int
    controls: Digest
    """The digest of the settings that the sender has heard of."""
    wants_answer: bool = False
    """Whether the sender does not know the receiver, who then answers although it knows the sender."""
    answers: tuple[int, int] | None = None
    """The session and notice of the hello that it answers, if it is such an answer. It is answered only if it asks."""
    incarnation: int = 0
    is_new: bool = False
    """Whether the sender has just started, and waits itself for the settings of the others."""
    reads: Annotated[tuple[int, ...], Meta(max_length=MAX_VERSIONS)] = (WIRE_VERSION,)
    """The versions of the wire that the sender reads. A hello itself is always in the oldest that its sender writes."""
    is_relay: bool = False
    """Whether the sender passes on what others observed."""
    is_leaf: bool = False
    """Whether the sender talks to relays only."""
    bandits: Annotated[tuple[Bandit, ...], Meta(max_length=MAX_BANDITS + 1)] = ()
    """The bandits with names that the sender serves."""


class ControlsTold(ControlMessage, frozen=True):
    """All settings that I have heard of. An operator, who need not be a member, tells of what it sets."""

    settings: Annotated[tuple[Setting, ...], Meta(max_length=MOST_TOLD)]


class ControlsHeard(ControlMessage, frozen=True):
    """With what you told me I have the controls of this digest."""

    digest: Digest


class Rewards(ControlMessage, frozen=True):
    """Rewards for decisions of yours, by token."""

    rewards: Annotated[tuple[tuple[Token, float], ...], Meta(max_length=MOST_REWARDS)]


class RewardsTaken(ControlMessage, frozen=True):
    """You need not tell me these again: they are counted, or can never be, or I bring them on."""

    tokens: Annotated[tuple[Token, ...], Meta(max_length=MOST_REWARDS)]
    number: int = 0
    """Of the message that asked me to bring them on; 0 for any other one."""


class StatusAsked(ControlMessage, frozen=True):
    """Tell me how you are. The asker need not be a member."""


class StatusTold(ControlMessage, frozen=True):
    """How I am: statistics, encoded."""

    statistics: Annotated[bytes, Meta(max_length=MAX_STATUS)]


class PenAsked(ControlMessage, frozen=True):
    """Lend me a pen: I have no name of my own. The sender's name is one to answer to, for a while."""

    nonce: Nonce
    """What the sender made up: with the same one it gets the same pen."""
    arms: Annotated[tuple[Name, ...], Meta(max_length=MOST_ARMS)]
    units_per_reward: int
    prefix: Name = ""
    """What names must begin with that the sender can prove, as its own does."""
    bandits: Annotated[tuple[Bandit, ...], Meta(max_length=MAX_BANDITS)] = ()
    """The bandits with names that the sender has declared, if it has any yet."""
    reads_veiled: bool = False
    """Whether the sender can read a key that is veiled."""


class PenLent(ControlMessage, frozen=True):
    """Here is a pen, and all that you must know before you decide."""

    nonce: Nonce
    pen: Name
    session: int
    """In which to speak with it."""
    first_number: int
    """The number of your first decision: earlier holders have given out no such number, nor a higher one."""
    key: Annotated[bytes, Meta(max_length=MAX_DIGEST)]
    """What to sign decisions with; veiled, where others can read packets."""
    tallies: Annotated[tuple[ArmTally, ...], Meta(max_length=MOST_ARMS)]
    """All that was ever observed with this pen."""
    totals: Annotated[tuple[ArmTally, ...], Meta(max_length=MOST_ARMS)]
    """All that everybody else has observed, as the sender knows it: in this session, at this number of its log."""
    lender_session: int
    upto: int
    settings: Annotated[tuple[Setting, ...], Meta(max_length=MOST_TOLD)]
    lease: float
    """Seconds in which you must be heard."""
    settled: Annotated[tuple[SettledBlock, ...], Meta(max_length=MAX_BLOCKS)] = ()
    """Which decisions that were made with this pen are settled."""
    bandits: Annotated[tuple[Bandit, ...], Meta(max_length=MAX_BANDITS)] = ()
    """The bandits with names that the sender knows: with these, nothing needs to be said when one is declared."""
    elsewhere: Annotated[tuple[Cells, ...], Meta(max_length=MAX_PEN_CELLS)] = ()
    """All that was ever observed with this pen of bandits with names, and beside the plain one."""
    totals_elsewhere: Annotated[tuple[Cells, ...], Meta(max_length=MAX_TOTALS_HANDED_OVER)] = ()
    """The same of everybody else."""
    is_key_veiled: bool = False


class PenRefused(ControlMessage, frozen=True):
    """I lend you no pen."""

    nonce: Nonce
    why: Annotated[str, Meta(max_length=MAX_WHY)]


class PenReturned(ControlMessage, frozen=True):
    """I need a pen no more."""

    pen: Name
    session: int
    upto: int | None
    """You hold all that I observed if you hold my log up to this number: hand it on. `None`: you lack some, end it."""
    next_number: int = 0
    """I have given out no such number, nor a higher one."""


class PenOver(ControlMessage, frozen=True):
    """You do not hold that pen, or no longer: what you say with it is not listened to."""

    pen: Name
    session: int
    is_closed: bool
    """Whether it was given back, and everything counts."""


class LogAsked(ControlMessage, frozen=True):
    """I am a relay that does not know what it once lent. Up to which number has your log come?"""

    session: int
    """The sender's: what earlier ones of it said is not merged any more by one who knows of this."""


class LogTold(ControlMessage, frozen=True):
    """What you want of my log ends at this number: who holds it up to there knows what I knew. These relays I know."""

    asked: int
    """The session of the question."""
    session: int
    number: int
    relays: Annotated[tuple[Name, ...], Meta(max_length=MAX_RELAYS)]


class RelaySought(ControlMessage, frozen=True):
    """I am a leaf: relays, say that you are here. Who hears it need not keep me in mind."""


class RewardsToBring(ControlMessage, frozen=True):
    """Rewards for decisions of others, by token. Take those that you can bring on, and say which they are."""

    rewards: Annotated[tuple[tuple[Token, float], ...], Meta(max_length=MOST_REWARDS)]
    is_doubtful: bool = False
    """Whether they are for leaves of the sender that do not take them: only who has just heard these can help."""
    number: int = 0
    """Which message of the sender this is: the answer says it too, so that an old answer is known for one."""


class FleetAsked(ControlMessage, frozen=True):
    """Tell me how everybody is: a leaf asks its relay."""


class StatusPassedOn(ControlMessage, frozen=True):
    """How another member is, as it has told me: statistics, encoded."""

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
    """Return what the key of a pen is, and of whom to whom: what it is veiled with."""
    return msgspec.msgpack.encode((lent.sender, asker, lent.nonce, lent.pen, lent.session))


def _grown(shape: type[ControlMessage], *counts: int) -> Translated:
    """Return a kind whose last fields were added: they are not written where they say nothing (`codec/brevity.py`).

    Args:
        shape: What it is now.
        counts: How many were added at once, the latest first.
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
