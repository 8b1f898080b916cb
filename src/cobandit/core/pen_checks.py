"""What cannot be said of a pen: cells at a relay that did not lend it, and impossible settled decisions.

The observations of a pen reach a fleet only through its lender, which judges which of its decisions are settled. So a
holder reports to no other relay, and no other relay listens. Whatever a lender accepts from a holder it must be able to
send to other relays in one message: otherwise one liar could cut off all relays from each other. As in
`credibility.py`, functions raise and change nothing.
"""

from cobandit.core.messages import MAX_INCARNATION, AgentId, Changes
from cobandit.core.pen_names import incarnation_of, lender_of
from cobandit.core.replica import MAX_FACTS_PER_MESSAGE, Replica
from cobandit.core.settled import BLOCK, MAX_BLOCK, MAX_BLOCKS, known_blocks
from cobandit.values.checks import is_name
from cobandit.values.errors import PeerError
from cobandit.values.tally import LONGEST_NAME


def check_pen(sender: AgentId, changes: Changes, replica: Replica, *, is_relay: bool) -> None:
    """Refuse what a pen holder may not say here, and what only relays may say of pens."""
    lender = lender_of(sender)
    is_elsewhere = lender is not None and lender != replica.agent
    if is_elsewhere and sender in {told.agent for words in (changes.cells, changes.settled) for told in words}:
        raise PeerError(
            f"{sender} tells what it observed to {replica.agent}: only {lender}, which lent it that name, may hear it"
        )
    for told in changes.settled:
        if not is_relay and told.agent != sender:
            raise PeerError(f"{sender} says which decisions of {told.agent} are settled, and is not a relay")


def check_settled(changes: Changes, sender: AgentId, replica: Replica) -> None:
    """Refuse impossible settled decisions, and any but a pen's one incarnation, from any sender."""
    for cells in changes.cells:
        if lender_of(cells.agent) is not None and cells.incarnation != incarnation_of(cells.agent):
            raise PeerError(
                f"{sender} tells of incarnation {cells.incarnation} of the pen {cells.agent}: it has one only"
            )
    if len(changes.settled) > MAX_FACTS_PER_MESSAGE:
        raise PeerError(f"{sender} tells of more than {MAX_FACTS_PER_MESSAGE} blocks of settled decisions")
    if len({(*told[:3], bool(told.bits)) for told in changes.settled}) < len(changes.settled):
        raise PeerError(f"{sender} tells of the same settled decisions twice")
    for told in changes.settled:
        is_one = 0 <= told.incarnation < MAX_INCARNATION and 0 <= told.block <= MAX_BLOCK
        if not is_one or 8 * len(told.bits) > BLOCK or not is_name(told.agent, LONGEST_NAME):
            raise PeerError(f"{sender} tells of settled decisions that cannot be: block {told.block} of {told.agent}")
        if lender_of(told.agent) is None or told.incarnation != incarnation_of(told.agent):
            raise PeerError(f"{sender} tells which decisions of {told.agent} are settled, which is not a pen")
    for pen in {told.agent for told in changes.settled}:
        blocks = {told.block for told in changes.settled if told.agent == pen and told.bits}
        # Relays may know things about a pen that its lender has forgotten.
        most = MAX_BLOCKS if pen == sender else MAX_BLOCKS + MAX_BLOCKS // 2
        if len(blocks.union(known_blocks(replica, pen, incarnation_of(pen)))) > most:
            raise PeerError(f"{sender} tells of more settled decisions of {pen} than are kept of one pen")


def without_pens(changes: Changes) -> Changes:
    """Return what a message says of all agents but pens, if it does not continue what is held of its sender's log.

    It may contain observations without the numbers of their decisions: it was sent to an earlier session, which held
    those and has lost its disk. Or its sender has lost its own, and may have counted the same decisions again since.
    """
    cells = tuple(told for told in changes.cells if lender_of(told.agent) is None)
    return changes._replace(cells=cells, settled=())
