"""Invariant 9: `acknowledged` never runs ahead of what the neighbour holds: what counts as told, the neighbour has."""

from cobandit.core import Endpoint
from cobandit.core.facts import CellKey, cell_key
from lab.swarm.checks.windows import is_inside


def untrue_acknowledgement(one: Endpoint, other: Endpoint) -> list[str]:
    """Return what one agent takes another to hold and it does not."""
    link, back = one.links.get(other.name), other.links.get(one.name)
    if link is None or back is None or link.peer.session != other.session or link.is_unconfirmed:
        return []
    if back.peer.session == one.session and link.acknowledged > back.held:
        return [f"{one.name} takes {other.name} to hold {link.acknowledged} of its log: it holds {back.held}"]
    held = dict(other.replica.cells())
    for claim in other.witnesses.claims:  # kept apart until a second one says so, and not to be told again
        if claim.peer == one.name:
            held |= {cell_key(claim.told, entry.arm): entry for entry in claim.told.tallies}
    if other.members.is_leaf:
        return []
    return [
        f"{one.name} takes {other.name} to hold {fact.key}, which it does not"
        for fact in one.replica.wanted(0, link.wants)
        if fact.number <= link.acknowledged
        and isinstance(fact.key, CellKey)
        and other.replica.has(fact.key.bandit, fact.key.arm)
        and is_inside(other.replica, fact.key.bandit, fact.key.period, ahead=1)
        and not (fact.key.agent == other.name and fact.key.incarnation > other.replica.incarnation)
        and (fact.key not in held or held[fact.key].observations < fact.cell.observations)
    ]
