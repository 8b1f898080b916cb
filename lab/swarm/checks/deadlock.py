"""Invariant 3: never do both sides wait, and each has seen the other's last share.

That is: of any two agents that are here and not done with each other, one may share or must say something again. The
right to share is not lost between two that are done, either: with more arms, or with other agents, they go on.
"""

from cobandit.core import Endpoint
from cobandit.core.link import Link
from cobandit.core.retransmit import Phase


def deadlock(one: Endpoint, other: Endpoint) -> list[str]:
    """Return whether nobody of a pair has anything to do but wait."""
    there, back = one.links.get(other.name), other.links.get(one.name)
    if there is None or back is None or not there.peer.has_common:
        return []  # they have not met, or have nothing to tell each other
    if there.exchange.demanded or back.exchange.demanded or one.agenda.owes(there) or other.agenda.owes(back):
        return []
    is_done = one.candidates.are_settled(there.peer) or other.candidates.are_settled(back.peer)
    if is_done and any(_waits(link) for link in (there, back)):
        return []  # it is said again as soon as they are not done any more
    return [f"{_standing(one, there)} and {_standing(other, back)} both wait, and neither has anything to say again"]


def _waits(link: Link) -> bool:
    return link.retransmit is not None and link.retransmit.phase is Phase.WAITING


def _standing(endpoint: Endpoint, link: Link) -> str:
    assert link.retransmit is not None
    phase, number = link.retransmit.phase.value, link.exchange.shares_sent
    return f"{endpoint.name} (session {endpoint.session}, {phase}, share {number})"
