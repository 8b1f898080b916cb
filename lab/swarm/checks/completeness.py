"""Invariant 6: after the faults, what anyone here observed in its present incarnation reaches everyone who can use it.

And everyone here knows which arms the others have. The other half, that it is quiet then, is what the world itself
waits for.
"""

from collections.abc import Sequence

from cobandit.agent import Agent
from cobandit.core import Endpoint
from cobandit.core.snapshots import view


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
            if other.name in owner.endpoint.links:
                wrong += _lacking(owner, other)
                wrong += _mistaken(owner.endpoint, other)
                wrong += _unaware(owner.endpoint, other.endpoint, arms_change=arms_change)
    return wrong


def _lacking(owner: Agent, other: Agent) -> list[str]:
    link = owner.endpoint.links[other.name]
    is_done = owner.endpoint.members.same_arms or len(other.endpoint.candidates.own) == 1
    if is_done and owner.endpoint.candidates.are_settled(link.peer):
        return []
    if other.endpoint.members.is_leaf:
        return []  # it has totals: see `passing_on`
    held = dict(other.endpoint.replica.cells())
    return [
        f"{other.name} lacks observations of {owner.name}: of {key} it holds {held.get(key)}, not {entry}"
        for key, entry in owner.endpoint.replica.cells()
        if key[:2] == (owner.name, owner.incarnation)
        and link.peer.serves(key.bandit, key.arm)
        and held.get(key) != entry
    ]


def _mistaken(owner: Endpoint, other: Agent) -> list[str]:
    peer = owner.links[other.name].peer
    known = peer.arms
    if set(known) == set(other.arms):
        served = other.presence.bandits
        if peer.bandits != served:
            return [f"{owner.name} takes {other.name} to serve {peer.bandits}: it serves {served}"]
        return []
    return [f"{owner.name} takes {other.name} to have arms {', '.join(known)}: it has {', '.join(other.arms)}"]


def _unaware(owner: Endpoint, other: Endpoint, *, arms_change: bool) -> list[str]:
    """Return which eliminations of one agent another does not know."""
    link = other.links[owner.name]
    if not link.peer.common:
        return []
    candidates = view(other, owner.name).candidates
    unknown: set[str] | frozenset[str] = set()
    if arms_change and not (other.members.same_arms and owner.members.same_arms):
        unknown = owner.candidates.own - candidates if not other.members.same_arms else set()
    elif other.members.same_arms:
        unknown = (
            set(owner.candidates.eliminated) - set(other.candidates.eliminated)
            if len(other.candidates.own) > 1
            else set()
        )
    else:
        unknown = candidates ^ owner.candidates.own
    return [f"{other.name} is wrong about whether {owner.name} considers {arm}" for arm in sorted(unknown)]
