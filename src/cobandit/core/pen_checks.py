"""What cannot be said of a pen: cells at a relay that did not lend it, and settled decisions that cannot be.

What a pen observed comes to a fleet through its lender alone, which judges which of its decisions are settled. So the
one who holds a pen tells no other relay, and no relay listens. As in `credibility.py`, functions raise and change
nothing.
"""

from cobandit.core.messages import MAX_INCARNATION, AgentId, Changes
from cobandit.core.pen_names import lender_of
from cobandit.core.replica import MAX_CELLS_PER_AGENT, MAX_FACTS_PER_MESSAGE, Replica
from cobandit.core.settled import BLOCK, MAX_BLOCK
from cobandit.values.errors import PeerError
from cobandit.values.tally import LONGEST_NAME


def check_pen(sender: AgentId, changes: Changes, replica: Replica, *, is_relay: bool) -> None:
    """Refuse what the one who holds a pen may not say here, and what only relays say of pens."""
    lender = lender_of(sender)
    told_of = {told.agent for told in changes.cells} | {told.agent for told in changes.settled}
    if lender is not None and lender != replica.agent and sender in told_of:
        raise PeerError(
            f"{sender} tells what it observed to {replica.agent}: only {lender}, which lent it that name, may hear it"
        )
    for told in changes.settled:
        if not is_relay and told.agent != sender:
            raise PeerError(f"{sender} says which decisions of {told.agent} are settled, and is not a relay")


def check_settled(changes: Changes, sender: AgentId, replica: Replica) -> None:
    """Refuse settled decisions that cannot be, from any teller."""
    if len(changes.settled) > MAX_FACTS_PER_MESSAGE:
        raise PeerError(f"{sender} tells of more than {MAX_FACTS_PER_MESSAGE} blocks of settled decisions")
    if len({(*told[:3], bool(told.bits)) for told in changes.settled}) < len(changes.settled):
        raise PeerError(f"{sender} tells of the same settled decisions twice")
    for told in changes.settled:
        is_one = 0 <= told.incarnation < MAX_INCARNATION and 0 <= told.block <= MAX_BLOCK
        if not is_one or 8 * len(told.bits) > BLOCK or len(told.agent) > LONGEST_NAME:
            raise PeerError(f"{sender} tells of settled decisions that cannot be: block {told.block} of {told.agent}")
        if lender_of(told.agent) is None:
            raise PeerError(f"{sender} tells which decisions of {told.agent} are settled, which is not a pen")
        if len(replica.facts_of(told.agent)) > 2 * MAX_CELLS_PER_AGENT:
            raise PeerError(f"{sender} tells of more settled decisions of {told.agent} than are kept of one pen")
