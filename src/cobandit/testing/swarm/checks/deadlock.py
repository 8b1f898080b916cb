"""Invariant 3: never do both sides wait, and each has seen the other's last share.

That is: of any two agents that are here and not done with each other, one may share or must say something again.
"""

from cobandit.core import TolerantEndpoint
from cobandit.core.endpoint import TolerantLink


def deadlock(one: TolerantEndpoint, other: TolerantEndpoint) -> list[str]:
    """Return whether nobody of a pair has anything to do but wait."""
    there, back = one.links.get(other.name), other.links.get(one.name)
    if there is None or back is None or not there.peer.common:
        return []  # they have not met, or have nothing to tell each other
    if one.settled(there) or other.settled(back):
        return []
    if there.exchange.demanded or back.exchange.demanded or one.owes(there) or other.owes(back):
        return []
    return [f"{_standing(one, there)} and {_standing(other, back)} both wait, and neither has anything to say again"]


def _standing(endpoint: TolerantEndpoint, link: TolerantLink) -> str:
    boot, phase, number = endpoint.ledger.origin.boot, link.delivery.phase.value, link.exchange.shares_sent
    return f"{endpoint.name} (boot {boot}, {phase}, share {number})"
