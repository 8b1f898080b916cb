"""Invariant 11: while all have the same arms, what one is known to have dropped is dropped."""

from cobandit.core import Endpoint


def unfollowed(one: Endpoint, other: Endpoint) -> list[str]:
    """Return which arms an agent still considers though it knows that another one has dropped them.

    Of a session that it has not heard of, it need not follow anything: it may not know because of which arms.
    """
    link, own = one.links.get(other.name), one.candidates.own
    if link is None or link.peer.session != other.session or not one.members.same_arms or len(own) == 1:
        return []
    gone = own.intersection(one.replica.eliminated(other.name, link.peer.incarnation))
    return [f"{one.name} knows that {other.name} has dropped {arm}, and considers it" for arm in sorted(gone)]
