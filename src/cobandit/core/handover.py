"""What a lender hands out with a pen, and how the one who gets it begins.

The new holder gets all that was ever observed with the pen, before it observes anything itself. So it goes on in the
same incarnation, in a session of its own, and no row is added for it. It also gets the totals of everybody else, by
which it can decide at once. This file does not know which pens there are, or how this is told.
"""

from typing import NamedTuple

from cobandit.core.endpoint import Endpoint
from cobandit.core.facts import told
from cobandit.core.messages import AgentId, Cells, Changes
from cobandit.core.pen_names import SettledBlock
from cobandit.core.state import EndpointState, FactState, TotalState
from cobandit.values.tally import ArmTally


class Handover(NamedTuple):
    """What is known when a pen is lent."""

    tallies: tuple[ArmTally, ...]
    """All that was observed with it."""
    totals: tuple[ArmTally, ...]
    """All that everybody else has observed."""
    lender_session: int
    upto: int
    """The number of the lender's log at which that was so."""
    settled: tuple[SettledBlock, ...] = ()
    """Which decisions that were made with it are settled: the holder judges them all, as long as it holds it."""


def handed_over(endpoint: Endpoint, pen: AgentId) -> Handover:
    """Return what a relay knows, for the next holder of a pen."""
    replica = endpoint.replica
    told_of_pen = told(replica.facts_of(pen))
    own = tuple(entry for cells in told_of_pen.cells for entry in cells.tallies)
    everybody_else = () if replica.totals is None else tuple(replica.totals.but(pen, arm) for arm in endpoint.arms)
    totals = tuple(total for total in everybody_else if total.observations)
    return Handover(own, totals, endpoint.session, replica.number, told_of_pen.settled)


def holder_state(blank: EndpointState, session: int, lender: AgentId, given: Handover) -> EndpointState:
    """Return how the holder of a pen begins.

    Args:
        blank: A fresh endpoint of that name, in the pen's incarnation.
        session: In which the pen is lent.
        lender: Who lent it. It needs no telling what it told.
        given: What it told.
    """
    served = [entry for entry in given.tallies if entry.arm in blank.arms]
    rows = [Changes(settled=(block,)) for block in given.settled]
    rows += [Changes(cells=(Cells(blank.agent, blank.incarnation, (entry,)),)) for entry in served]
    facts = [FactState(number, (lender, given.lender_session), row) for number, row in enumerate(rows, 1)]
    totals = tuple(
        TotalState(lender, given.lender_session, given.upto, entry) for entry in given.totals if entry.arm in blank.arms
    )
    return blank._replace(session=session, facts=tuple(facts), number=len(facts), totals=totals)
