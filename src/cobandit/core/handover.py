"""What a lender hands out with a pen, and how the new holder begins.

Before it observes anything itself, the new holder gets everything that was ever observed with the pen. So it continues
in the same incarnation, in a session of its own, and needs no new row. It also gets the totals of all other agents, so
it can decide well at once. This file does not know which pens there are, or how the handover is sent.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cobandit.core.endpoint import Endpoint
from cobandit.core.facts import TotalKey, told
from cobandit.core.messages import EVERYBODY_ELSE, AgentId, Cells, Changes
from cobandit.core.pen_names import SettledBlock
from cobandit.core.state import EndpointState, FactState, TotalState
from cobandit.values.errors import PeerError
from cobandit.values.tally import ArmTally

MAX_TOTALS_HANDED_OVER = 4096
"""The most totals of named bandits that are sent along with a pen."""


class Handover(NamedTuple):
    """What is known when a pen is lent."""

    tallies: tuple[ArmTally, ...]
    """All that was observed with it."""
    totals: tuple[ArmTally, ...]
    """All that other agents have observed."""
    lender_session: int
    upto: int
    """The number of the lender's log at that time."""
    elsewhere: tuple[Cells, ...] = ()
    """What was observed with it of named bandits, segments and periods: all of it, or those cells would be started
    again."""
    totals_elsewhere: tuple[Cells, ...] = ()
    """The same for all other agents, unless it is too much: then it is sent the usual way."""
    settled: tuple[SettledBlock, ...] = ()
    """Which of the decisions made with it are settled: while it holds the pen, the holder judges all of them."""


def handed_over(endpoint: Endpoint, pen: AgentId, *, tells_elsewhere: bool = True) -> Handover:
    """Return what a relay knows for the next holder of a pen, optionally without totals beside the plain bandit."""
    replica = endpoint.replica
    told_of_pen = told(replica.facts_of(pen))
    own = tuple(entry for cells in told_of_pen.cells if _is_plain(cells) for entry in cells.tallies)
    elsewhere = tuple(cells for cells in told_of_pen.cells if not _is_plain(cells))
    everybody_else = () if replica.totals is None else tuple(replica.totals.but(pen, arm) for arm in endpoint.arms)
    totals = tuple(total for total in everybody_else if total.observations)
    others = _totals_elsewhere(endpoint, pen) if tells_elsewhere else ()
    return Handover(own, totals, endpoint.session, replica.number, elsewhere, others, told_of_pen.settled)


def _is_plain(cells: Cells) -> bool:
    return not (cells.bandit or cells.segment or cells.period)


def _totals_elsewhere(endpoint: Endpoint, pen: AgentId) -> tuple[Cells, ...]:
    replica = endpoint.replica
    if replica.totals is None:
        return ()
    keys = [fact.key for fact in replica.facts_of(EVERYBODY_ELSE) if isinstance(fact.key, TotalKey)]
    places = [key for key in keys if key.bandit or key.segment or key.period]
    if len(places) > MAX_TOTALS_HANDED_OVER:
        return ()
    found: dict[tuple[str, str, int], list[ArmTally]] = {}
    for key in places:
        total = replica.totals.but(pen, key.arm, key.bandit, key.segment, key.period)
        if total.observations:
            found.setdefault((key.bandit, key.segment, key.period), []).append(total)
    return tuple(Cells(EVERYBODY_ELSE, 0, tuple(entries), *place) for place, entries in found.items())


def holder_state(blank: EndpointState, session: int, lender: AgentId, given: Handover) -> EndpointState:
    """Return the initial state of a pen's holder.

    Args:
        blank: A fresh endpoint of that name, in the pen's incarnation.
        session: The session in which the pen is lent.
        lender: Who lent it. It need not be sent what it reported.
        given: What it reported.

    Raises:
        PeerError: It reported a period that is far ahead: the two clocks differ.
    """
    for cells in given.elsewhere:
        bandit = {one.name: one for one in blank.bandits}.get(cells.bandit)
        if bandit is not None and cells.period > bandit.number_at(blank.time) + 1:
            raise PeerError(
                f"{lender} has observations of bandit {cells.bandit!r} from a period that is far ahead of the clock "
                "here: set the clocks of both computers"
            )
    served = [entry for entry in given.tallies if entry.arm in blank.arms]
    rows = [Changes(settled=(block,)) for block in given.settled]
    rows += [Changes(cells=(Cells(blank.agent, blank.incarnation, (entry,)),)) for entry in served]
    rows += [
        Changes(cells=(Cells(blank.agent, blank.incarnation, (entry,), *place),))
        for place, entry in _of_use(blank, given.elsewhere)
    ]
    facts = [FactState(number, (lender, given.lender_session), row) for number, row in enumerate(rows, 1)]
    totals = tuple(
        TotalState(lender, given.lender_session, given.upto, entry) for entry in given.totals if entry.arm in blank.arms
    )
    totals += tuple(
        TotalState(lender, given.lender_session, given.upto, entry, *place)
        for place, entry in _of_use(blank, given.totals_elsewhere)
    )
    return blank._replace(session=session, facts=tuple(facts), number=len(facts), totals=totals)


def _of_use(blank: EndpointState, told_cells: Iterable[Cells]) -> Iterator[tuple[tuple[str, str, int], ArmTally]]:
    """Yield the entries of served arms and of periods that count, with their places."""
    bandits = {one.name: one for one in blank.bandits}
    for cells in told_cells:
        bandit = bandits.get(cells.bandit)
        arms = blank.arms if not cells.bandit else () if bandit is None else bandit.arms
        if bandit is not None and cells.period <= bandit.number_at(blank.time) - bandit.periods:
            continue  # no agent adds to it any more
        for entry in cells.tallies:
            if entry.arm in arms:
                yield (cells.bandit, cells.segment, cells.period), entry
