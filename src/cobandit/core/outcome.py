"""What an input produced.

Every input of an agent returns one `Outcome`; there is no queue for the caller to drain. The order is part of the
contract: persist the records, then send the outgoing messages, then set the timer. A record says which input happened.
An agent is deterministic, so replaying the records since a snapshot in order rebuilds it exactly, except for the times
when peers were last heard: a message that changes nothing else, such as a repetition, has no record.
"""

from typing import NamedTuple

from cobandit.core.messages import AgentId, Cells, Message
from cobandit.core.pen_names import SettledBlock
from cobandit.core.places import Bandit, Change, Placed
from cobandit.values.tally import Arm, ArmTally


class Observed(NamedTuple):
    """The agent pulled arms: each as often as its tally says, and with that sum of quanta."""

    tallies: tuple[ArmTally, ...]
    now: float
    settled: tuple[SettledBlock, ...] = ()
    """The decisions of a pen that this settled."""
    elsewhere: tuple[Placed, ...] = ()
    """The same for named bandits, in the same step."""


class Turned(NamedTuple):
    """The calendar moved on: a period of some bandit has begun. If the time is earlier, the calendar was wrong."""

    time: float
    now: float


class Adopted(NamedTuple):
    """A relay counted the reward of a decision of a pen that no agent holds, in the cell of that pen."""

    told: Cells
    """Everything observed of that arm with the pen, including this one."""
    settled: tuple[SettledBlock, ...]
    now: float


class Received(NamedTuple):
    """A message arrived, was accepted, and changed something."""

    message: Message
    now: float


class PeerJoined(NamedTuple):
    """The driver said that a peer is here."""

    peer: AgentId
    arms: tuple[Arm, ...]
    now: float


class PeerLeft(NamedTuple):
    """The driver said that a peer is gone."""

    peer: AgentId
    now: float


class Forgot(NamedTuple):
    """The driver said that a peer is gone and that nothing should be kept ready for its return."""

    peer: AgentId
    now: float


class Introduced(NamedTuple):
    """The agent told all peers that it is here. This changes its state only where messages may be lost."""

    now: float
    is_relay: bool = False
    is_leaf: bool = False


class Began(NamedTuple):
    """The agent began a new session: with more arms, in a new incarnation, or both."""

    session: int
    incarnation: int
    arms: tuple[Arm, ...]
    now: float
    bandits: tuple[Bandit, ...] | None = None
    """The bandits that it serves from now on, if they differ from before."""


class Woke(NamedTuple):
    """The time that the agent asked for has come."""

    now: float


class Flushed(NamedTuple):
    """The agent sent all peers what they lacked, without waiting for anything."""

    now: float


class Limited(NamedTuple):
    """The driver limited the facts in one message: what one message carries, and what comes next, follow from this."""

    most: int


InputRecord = (
    Observed
    | Adopted
    | Received
    | PeerJoined
    | PeerLeft
    | Introduced
    | Woke
    | Flushed
    | Began
    | Forgot
    | Turned
    | Limited
)


class Outcome(NamedTuple):
    """The result of one input. Persist `records`, then send `outgoing`, then set the timer to `wake_at`."""

    records: tuple[InputRecord, ...] = ()
    outgoing: tuple[Message, ...] = ()
    news: tuple[ArmTally, ...] = ()
    """New observations of others that this input brought, for the policy. They belong to the plain bandit, if it has no
    window."""
    ruled_out: tuple[Arm, ...] = ()
    """Arms that this input removed from this agent's own candidates, for the policy."""
    wake_at: float | None = None
    """When to call `wake`, if nothing happens before. Replaces the time of any earlier outcome. `None` for never."""
    superseded_by: int | None = None
    """A later session or incarnation of this agent that a peer knows. Another process runs under this name, or this one
    has forgotten that it did. Stop, or begin a session and an incarnation above it."""
    returned: tuple[ArmTally, ...] = ()
    """Own observations of earlier incarnations that this agent had forgotten and a peer returned, for the policy."""
    elsewhere: tuple[Change, ...] = ()
    """What is known in addition, or no longer, of bandits with a name or a window."""
    has_forgotten: bool = False
    """Whether a peer returned something from the first incarnation that this agent knows, or a later one. Then its
    state is older than those observations. Anything earlier was observed before this state existed."""
