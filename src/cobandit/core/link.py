"""Everything an agent keeps for one peer: who it is, when to talk to it, what it has, and when to repeat a share.

A link is assembled from parts, each with one job:

    peer          who it is and which arms it serves                                    members.py
    exchange      when to talk: Algorithm 1                                             exchange.py
    acknowledged  up to which number of this agent's log the peer holds what it wants   replica.py
    held          up to which number of the peer's log this agent does
    retransmit    when to repeat a share; `None` where no message is lost               retransmit.py

A new session of either side resets both numbers to 0. What is then sent again is redundant, and does no harm.
"""

from cobandit.core.exchange import Exchange
from cobandit.core.facts import CellKey, Fact, PresenceKey, SettledKey, TotalKey
from cobandit.core.members import Members, Peer
from cobandit.core.messages import EVERYBODY_ELSE, AgentId
from cobandit.core.pen_names import lender_of
from cobandit.core.retransmit import Retransmit


class Link:
    """One agent's side of a pair."""

    __slots__ = (
        "acknowledged",
        "exchange",
        "forgotten_at",
        "held",
        "is_between_relays",
        "is_gone",
        "is_heard",
        "is_leaf",
        "is_lent",
        "is_unconfirmed",
        "owner",
        "peer",
        "retransmit",
        "shares_received",
        "urgent",
    )

    def __init__(self, owner: Members, peer: Peer, exchange: Exchange, retransmit: Retransmit | None) -> None:
        self.owner = owner
        self.peer = peer
        self.exchange = exchange
        self.retransmit = retransmit
        self.acknowledged = 0
        """Where no message is lost: the number of the log up to which the peer was sent what it wants."""
        self.held = 0
        self.shares_received = 0
        """The highest number of a share received from the peer."""
        self.urgent = 0
        """The number of the log up to which something is too urgent to wait for a full buffer: everything but the
        observations of this incarnation."""
        self.is_gone = False
        """Whether the driver said that the peer is gone. A farewell is weaker: the peer may be back already."""
        self.is_leaf = False
        """Whether the peer has said that it is a leaf, and this agent is a relay."""
        self.is_between_relays = False
        """Whether both have said that they are relays."""
        self.is_lent = lender_of(owner.agent) in (None, peer.name)
        """Whether the peer may hear what this agent observed: the peer lent it its name, or the name is its own."""
        self.forgotten_at: int | None = None
        """If the link is put aside (`Endpoint.forget`): how many observations the peer could use at that time."""
        self.is_heard = False
        """Whether the peer's present session has said what it has of this agent's."""
        self.is_unconfirmed = False
        """Whether the peer has begun a new session and has not yet said what it holds."""

    def wants(self, fact: Fact) -> bool:
        """Return whether the peer wants a fact. Who tells whom what is decided here, and only here.

        An agent sends its own facts, of every incarnation, for arms of any bandit that the peer serves; and what other
        incarnations of the peer observed, which the peer may have forgotten. A relay sends what any agent observed, so
        that it outlives that agent: to a leaf as totals, to others row by row. A pen holder reports its observations
        only to its lender; only relays hear which of its decisions are settled. A peer is not sent its own reports.
        """
        key, peer, is_own = fact.key, self.peer, fact.key.agent == self.owner.agent
        if fact.teller is not None and fact.teller == (peer.name, peer.session):
            return False
        if isinstance(key, CellKey):
            if key.agent == peer.name:
                return key.incarnation != peer.incarnation and peer.serves(key.bandit, key.arm)
            is_told = not self.is_leaf and (self.is_lent if is_own else self.owner.is_relay)
            return is_told and peer.serves(key.bandit, key.arm)
        if isinstance(key, TotalKey):
            return self.is_leaf and peer.serves(key.bandit, key.arm)
        if isinstance(key, SettledKey):
            return self.is_lent if is_own else self.is_between_relays
        # Where no message is lost, the notice was enough.
        return is_own and self.retransmit is not None and (isinstance(key, PresenceKey) or bool(peer.common))

    @property
    def told_of(self) -> tuple[AgentId, ...] | None:
        """The agents whose facts the peer may want at all; `None` for all agents. The logs of others can be skipped."""
        if self.is_leaf:
            return (self.owner.agent, self.peer.name, EVERYBODY_ELSE)
        return None if self.owner.is_relay else (self.owner.agent, self.peer.name)

    def standing(self) -> tuple[object, ...]:
        """Return the link's state as one value to compare: all but when the peer was last heard."""
        peer, retransmit = self.peer, self.retransmit
        return (
            *(peer.arms, peer.bandits, peer.is_present, peer.session, peer.incarnation),
            *(self.acknowledged, self.held, self.shares_received, self.urgent),
            *(self.is_gone, self.is_heard, self.is_unconfirmed),
            self.exchange.state(),
            None if retransmit is None else retransmit.state(),
        )

    def begin(self) -> None:
        """Start over because either side has begun a new session: nothing is acknowledged, nothing is held."""
        self.acknowledged = self.held = 0
        if self.retransmit is not None:
            self.retransmit.forget(tells_at_once=self.owner.is_relay)
