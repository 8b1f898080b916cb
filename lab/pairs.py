"""What must always hold between two agents over a network that loses nothing: Theorem 2, and that nothing is missing.

Each sentence that is returned is false right now: an empty list is what everybody wants to see.
"""

from collections.abc import Sequence

from cobandit.core.endpoint import Endpoint
from cobandit.core.messages import Share
from cobandit.core.protocols.registry import protocol_of
from cobandit.core.state import Snapshot
from cobandit.core.thresholds import Threshold, is_bounded
from cobandit.values.tally import ArmTally


def lasting(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without when each peer was last heard: what changes nothing else needs no record."""
    links = tuple(link._replace(last_heard=None) for link in snapshot.endpoint.links)
    return snapshot._replace(endpoint=snapshot.endpoint._replace(links=links))


def pair_violations(
    one: Endpoint, other: Endpoint, in_flight: Sequence[Share] = (), *, rejoins: int = 0, absent: bool = False
) -> list[str]:
    """Return what is wrong between two agents that talk on demand over a network that loses nothing.

    Args:
        one: An agent.
        other: Another agent.
        in_flight: The shares between the two, both ways, that were sent and have not arrived.
        rejoins: How often either of them joined again.
        absent: Whether a leave notice is in force, in which case the pair may be silent.
    """
    wrong: list[str] = []
    for sender, receiver in ((one, other), (other, one)):
        under_way = [share for share in in_flight if share.sender == sender.name]
        wrong += _inexact(sender, receiver, under_way)
        wrong += _beyond_theorem_2(sender, receiver, rejoins)
    there, back = one.links[other.name], other.links[one.name]
    tokens = there.exchange.demanded + back.exchange.demanded + len(in_flight)
    may_be_silent = absent or one.candidates.are_settled(there.peer) or other.candidates.are_settled(back.peer)
    may_be_silent = may_be_silent or 2 not in protocol_of(there.exchange.rules).theorems
    if not (may_be_silent or 1 <= tokens <= 2 + rejoins):
        wrong.append(f"{one.name} and {other.name} have {tokens} demands and shares in flight, not 1 or 2")
    return wrong


def largest_share_count(threshold: Threshold, pulls: int, candidate_count: int) -> int:
    """Return C_j of Theorem 2: how often an agent with this many pulls can fill its buffer."""
    shares = needed = 0
    while (needed := needed + threshold.at(shares + 1, candidate_count)) <= pulls:
        shares += 1
    return shares


def _inexact(sender: Endpoint, receiver: Endpoint, under_way: Sequence[Share]) -> list[str]:
    """Own pulls = delivered + in flight + buffered, arm by arm, for the arms that both can use."""
    link = sender.links[receiver.name]
    if sender.candidates.are_settled(link.peer):
        return []  # a settled pair has stopped buffering
    origin = (sender.name, sender.replica.incarnation)
    arrived = {key.arm: entry for key, entry in receiver.replica.cells() if key[:2] == origin}
    for share in under_way:
        for told in share.changes.cells:
            arrived |= {entry.arm: entry for entry in told.tallies if told.agent == sender.name}
    own = {key.arm: entry for key, entry in sender.replica.cells() if key[:2] == origin}
    missing = 0
    for arm in link.peer.common:
        nothing = ArmTally(arm, 0, 0, 0)
        has, made = arrived.get(arm, nothing), own.get(arm, nothing)
        if any(theirs > ours for theirs, ours in zip(has[1:], made[1:], strict=True)):
            return [f"{receiver.name} has more of arm {arm} from {sender.name} than {sender.name} has itself"]
        missing += made.observations - has.observations
    if missing != link.exchange.buffered:
        return [f"{receiver.name} lacks {missing} of {sender.name}, which buffers {link.exchange.buffered} for it"]
    return []


def _beyond_theorem_2(sender: Endpoint, receiver: Endpoint, rejoins: int) -> list[str]:
    """Theorem 2: no more than min(C_j, C_j') + 1 shares one way; every return of an agent may add one."""
    exchange = sender.links[receiver.name].exchange
    if 2 not in protocol_of(exchange.rules).theorems or not is_bounded(exchange.threshold):
        return []
    bound = (
        1
        + rejoins
        + min(
            largest_share_count(exchange.threshold, side.replica.observations, len(side.candidates.own))
            for side in (sender, receiver)
        )
    )
    if exchange.shares_sent > bound:
        return [f"{sender.name} sent {exchange.shares_sent} shares to {receiver.name}; Theorem 2 allows {bound}"]
    return []
