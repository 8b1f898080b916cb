"""What agents send to each other, as immutable values.

There are three kinds of message. A `Share` carries observations and at the same time asks for the receiver's: that is
the idea of on-demand communication. A `Notice` reports one thing at once and asks for nothing: an arm was eliminated,
an agent joined, an agent left. An `Acknowledgement` is sent only where messages may be lost.

The contents of a message are *cumulative*: for each arm that changed, everything that one incarnation of an agent has
ever observed of it. The paper sends the difference since the last share (Definition 1). Here the receiver computes that
difference from two cumulative values, so on a reliable network the result is the same. But a cumulative value may
arrive twice, late, or through a third party, and still counts once.
"""

from typing import NamedTuple

from cobandit.core.pen_names import SettledBlock
from cobandit.core.places import Bandit
from cobandit.values.tally import Arm, ArmTally

AgentId = str
"""An agent's name, unique in its group."""

EVERYBODY_ELSE: AgentId = ""
"""Used instead of a name in cells that a relay sends to a leaf: all agents but the receiver, added up."""

MAX_INCARNATION = 2**53
"""Incarnations and sessions are below this: room for milliseconds and chance. Live agents take them from a clock."""

MAX_OBSERVATIONS = 2**32
"""The largest count. With the smallest quantum, reward sums and sums of squares up to this count still fit 64 bits."""

MAX_NUMBER = 2**53
"""The largest number of a share, a log entry or a notice."""


class Cells(NamedTuple):
    """Everything that one incarnation of an agent has observed of some arms, not only what is new."""

    agent: AgentId
    incarnation: int
    tallies: tuple[ArmTally, ...]
    bandit: str = ""
    segment: str = ""
    period: int = 0
    """The place (`places.py`). Without a name, a segment and a period, it is the paper's bandit."""


class Eliminations(NamedTuple):
    """The arms that one incarnation of an agent no longer considers, in the order of their elimination."""

    agent: AgentId
    incarnation: int
    arms: tuple[Arm, ...]


class Presence(NamedTuple):
    """Whether an agent is here, and with which arms. Of two, the one with the later session and number wins."""

    agent: AgentId
    session: int
    number: int
    incarnation: int
    is_present: bool
    arms: tuple[Arm, ...]
    units_per_reward: int
    is_relay: bool = False
    """Whether it passes on what others observed, to all peers."""
    is_leaf: bool = False
    """Whether it receives totals of what others observed, instead of a row for each of them."""
    bandits: tuple[Bandit, ...] = ()
    """Named bandits that it also serves; and the plain one, without its arms, if it has a window."""


class Changes(NamedTuple):
    """The part of its log that a sender sends: everything after `base`, up to `upto`, that the receiver wants.

    Both are 0 if a message makes no such claim and contains only what it contains.
    """

    base: int = 0
    upto: int = 0
    cells: tuple[Cells, ...] = ()
    eliminations: tuple[Eliminations, ...] = ()
    presences: tuple[Presence, ...] = ()
    settled: tuple[SettledBlock, ...] = ()
    """For agents that are pens: which of their decisions this settles."""


class Receipt(NamedTuple):
    """What the sender of a message has received from its receiver."""

    session: int
    """The receiver's newest session known to the sender."""
    number: int
    """The highest number of the receiver's shares that the sender has seen, in any session."""
    held: int
    """The number in the receiver's log, in that session, up to which the sender holds everything it wants."""


class Delivery(NamedTuple):
    """What a message also carries where messages may be lost."""

    session: int
    """The session of the sender's log."""
    attempt: int
    """How often the share has been repeated; 0 for a fresh one."""
    receipt: Receipt
    is_answer: bool = False
    """Whether it is repeated because the receiver repeated its own. Such a share is never answered by another."""
    is_introduced: bool = False
    """Whether this session has said which arms it serves. A peer that has not heard so does not know what it wants."""


class Share(NamedTuple):
    """Observations for the receiver, and a request for the receiver's (Definition 1)."""

    sender: AgentId
    receiver: AgentId
    number: int
    """Fresh shares from this sender to this receiver are numbered 1, 2, 3, and so on."""
    observations: int
    """How many of the sender's own observations it carries that no earlier share to this receiver did; in a
    repetition, how many the receiver has not acknowledged."""
    changes: Changes
    delivery: Delivery | None = None
    """Only where messages may be lost."""

    @property
    def is_fresh(self) -> bool:
        """Whether it is not a repetition."""
        return self.delivery is None or self.delivery.attempt == 0


class Notice(NamedTuple):
    """Something that the sender says at once and that requests nothing."""

    sender: AgentId
    receiver: AgentId
    changes: Changes
    session: int = 0
    is_introduced: bool = False
    """Both as in `Delivery`."""


class Acknowledgement(NamedTuple):
    """A repetition has arrived, and its original had arrived before: there is no need to repeat it again."""

    sender: AgentId
    receiver: AgentId
    delivery: Delivery


Message = Share | Notice | Acknowledgement
