"""Invariant 6: after the faults, what anyone here observed in its present boot reaches everyone here who can use it.

The other half, that it is quiet then, is what the world itself waits for.
"""

from collections.abc import Sequence

from tacit.agent import Agent
from tacit.protocol import Endpoint


def incompleteness(agents: Sequence[Agent]) -> list[str]:
    """Return who lacks what of whom."""
    wrong: list[str] = []
    for owner in agents:
        for other in agents:
            if other is not owner:
                wrong += _lacking(owner, other)
                wrong += _unaware(owner.endpoint, other.endpoint)
    return wrong


def _lacking(owner: Agent, other: Agent) -> list[str]:
    link = owner.endpoint.links[other.name]
    is_done = owner.endpoint.roster.same_arms or len(other.endpoint.candidates) == 1
    if is_done and owner.endpoint.settled(link):
        return []
    origin, own = owner.endpoint.ledger.origin, owner.endpoint.ledger.own
    holding = other.endpoint.ledger.held.get(origin)
    return [
        f"{other.name} lacks observations of {owner.name}, boot {origin.boot}: it knows {known} of {arm}, not {count}"
        for arm in link.peer.common
        for count in (own.counts[arm],)
        for known in (0 if holding is None else holding.tally.counts[arm],)
        if known != count
    ]


def _unaware(owner: Endpoint, other: Endpoint) -> list[str]:
    """Return which eliminations of one agent another does not know."""
    link = other.links[owner.name]
    if not link.peer.common:
        return []
    own = set(owner.eliminated[: owner.own_eliminations])
    if other.roster.same_arms:
        unknown = own - set(other.eliminated) if len(other.candidates) > 1 else set()
    else:
        unknown = link.peer.candidates ^ owner.candidates
    return [f"{other.name} is wrong about whether {owner.name} considers {arm}" for arm in sorted(unknown)]
