"""What agents say to each other, as frozen values.

There are five messages. A `Share` carries observations and is at the same time a request for the receiver's: that is
the idea of on-demand communication. Three are notices: an arm was eliminated, an agent joined, an agent left. The last
one, a bare acknowledgement, is sent only where messages may be lost.

What a share carries is *cumulative*: for each arm that changed, all that its owner ever observed of it in its current
boot. The paper sends the difference since the last share (Definition 1); the difference is what the receiver computes
from two cumulative tallies, so on a reliable network nothing changes; but a cumulative record may come twice, or later
than a newer one, or through a third party, and still counts once.
"""

from typing import NamedTuple

from cobandit.values.tally import Arm, ArmTally

AgentId = str
"""An agent's name, unique in its group."""

MOST_BOOTS = 2**53
"""Room for milliseconds and some chance: live agents take their boots from a clock."""

MOST_OBSERVATIONS = 2**32
"""No version and no count may exceed this. With the smallest quantum a reward sum then still fits 64 bits."""


class Record(NamedTuple):
    """What one agent observed in one boot, up to one version.

    A version is the number of observations that the owner had made in that boot. The record lists the cumulative
    tallies of the arms that changed after version `base`; a holder of `base` or newer who applies it holds `version`.
    """

    agent: AgentId
    boot: int
    base: int
    version: int
    tallies: tuple[ArmTally, ...]


class Receipt(NamedTuple):
    """What the sender of a message has of its receiver's."""

    boot: int
    """The receiver's newest boot that the sender has heard of; all but the number belong to it."""
    number: int
    """The highest number of the receiver's shares that the sender has seen, in whatever boot."""
    version: int
    eliminated: int
    """How many of the receiver's eliminations the sender knows."""
    formers: int
    """How much the sender knows of what the receiver knows of its own former boots."""
    notice: int = 0
    """The newest notice of the receiver's coming or going that the sender has taken."""


class Handling(NamedTuple):
    """What a share carries in addition where messages may be lost."""

    boot: int
    """The sender's boot."""
    attempt: int
    """How often the share was repeated; 0 for a fresh one."""
    eliminated: tuple[Arm, ...]
    """All arms that the sender no longer considers, in order, if the receiver does not know all of them."""
    formers: int
    """How often the sender's knowledge of its own former boots has changed."""
    receipt: Receipt
    is_answer: bool = False
    """Whether it is repeated because the receiver repeated itself. Such a share is never answered by another one."""


class Share(NamedTuple):
    """Observations for the receiver, and a request for the receiver's (Definition 1)."""

    sender: AgentId
    receiver: AgentId
    number: int
    """The how-manieth share from this sender to this receiver it is, from 1."""
    observations: int
    """How many of the sender's own observations are in it that no earlier share to this receiver carried; in a
    repetition, how many the receiver has not acknowledged."""
    records: tuple[Record, ...]
    handling: Handling | None = None
    """Only where messages may be lost."""


class Acknowledgement(NamedTuple):
    """A repetition has arrived, and so had what it repeated: no need to repeat it again."""

    sender: AgentId
    receiver: AgentId
    boot: int
    """The sender's boot."""
    receipt: Receipt


class Eliminated(NamedTuple):
    """The sender no longer considers this arm (AAE-ODC, "broadcast index of arm i")."""

    sender: AgentId
    receiver: AgentId
    arm: Arm
    boot: int = 0
    """The sender's boot, only where messages may be lost: what a former boot ruled out, it may have forgotten."""


class Join(NamedTuple):
    """The sender is here, for the first time or again, can use these arms, and counts rewards in these quanta."""

    sender: AgentId
    receiver: AgentId
    arms: tuple[Arm, ...]
    units_per_reward: int
    boot: int = 0
    """The sender's boot. This and the next only where messages may be lost, or overtake each other."""
    notice: int = 0
    """Grows with every coming and going of that boot, so that an old notice is known to be old."""


class Leave(NamedTuple):
    """The sender goes away: buffer for it until it joins again."""

    sender: AgentId
    receiver: AgentId
    boot: int = 0
    notice: int = 0
    """Both as in `Join`."""


Message = Share | Eliminated | Join | Leave | Acknowledgement
