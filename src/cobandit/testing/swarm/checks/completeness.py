"""Invariant 6: after the faults, what anyone here observed in its present boot reaches everyone here who can use it.

And everyone here knows which arms the others have. The other half, that it is quiet then, is what the world itself
waits for.
"""

from collections.abc import Sequence

from cobandit.agent import Agent
from cobandit.core import Endpoint


def incompleteness(agents: Sequence[Agent], *, arms_change: bool = False) -> list[str]:
    """Return who lacks what of whom.

    Args:
        agents: Who is here.
        arms_change: Whether agents came back with other arms. Then nobody need know all that another has dropped: to
            take it to consider too much costs a few messages, and to take it to consider too little costs knowledge.
    """
    wrong: list[str] = []
    for owner in agents:
        for other in agents:
            if other is not owner:
                wrong += _lacking(owner, other)
                wrong += _mistaken(owner.endpoint, other)
                wrong += _unaware(owner.endpoint, other.endpoint, arms_change=arms_change)
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
        for arm in owner.arms
        if arm in other.arms
        for count in (own.counts[arm],)
        for known in (0 if holding is None else holding.tally.counts[arm],)
        if known != count
    ]


def _mistaken(owner: Endpoint, other: Agent) -> list[str]:
    known = owner.links[other.name].peer.arms
    if set(known) == set(other.arms):
        return []
    return [f"{owner.name} takes {other.name} to have arms {', '.join(known)}: it has {', '.join(other.arms)}"]


def _unaware(owner: Endpoint, other: Endpoint, *, arms_change: bool) -> list[str]:
    """Return which eliminations of one agent another does not know."""
    link = other.links[owner.name]
    if not link.peer.common:
        return []
    own = set(owner.eliminated[: owner.own_eliminations])
    if arms_change and not (other.roster.same_arms and owner.roster.same_arms):
        unknown = owner.candidates - link.peer.candidates if not other.roster.same_arms else set()
    elif other.roster.same_arms:
        unknown = own - set(other.eliminated) if len(other.candidates) > 1 else set()
    else:
        unknown = link.peer.candidates ^ owner.candidates
    return [f"{other.name} is wrong about whether {owner.name} considers {arm}" for arm in sorted(unknown)]
