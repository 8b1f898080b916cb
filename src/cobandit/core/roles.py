"""What an agent does because it is a relay, or becomes a leaf; and when a period begins.

A relay passes on what it hears. Who becomes a leaf knows nothing more of others row by row, because totals are of the
same observations. This file does not know how a message is made, or when a pair talks.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cobandit.core.facts import CellKey, CellValue, plus
from cobandit.core.link import Link
from cobandit.core.messages import Cells, Changes, Message
from cobandit.core.outcome import Adopted, Outcome, Turned
from cobandit.core.pen_names import SettledBlock
from cobandit.core.places import Change
from cobandit.core.replica import Replica
from cobandit.values.checks import check_time
from cobandit.values.tally import Arm, ArmTally

if TYPE_CHECKING:
    from cobandit.core.endpoint import Endpoint


def pass_on(
    endpoint: "Endpoint",
    teller: Link | None,
    news: Sequence[tuple[CellKey, ArmTally]],
    now: float,
    *,
    forwards: bool = False,
) -> tuple[Message, ...]:
    """A relay has heard something new. Leaves hear of it when they ask; other relays once it is enough for a share.

    What members of a mesh observe they tell every relay themselves, and what a relay's leaves observe it tells every
    other relay itself. Only in a graph is that passed on as well (`Sharing.forwards`). What it adopted, nobody told it.
    """
    outgoing: list[Message] = []
    endpoint.agenda.flush_by(now)
    for other in endpoint.links.values():
        if other.is_leaf:
            continue
        is_passed_on = teller is None or teller.is_leaf or forwards
        if news and is_passed_on and endpoint.peers.is_relay(other.peer.name):
            count = sum(added.observations for key, added in news if other.wants(endpoint.replica.fact(key)))
            observations = other.exchange.observe(endpoint.candidates.count, count) if count else 0
            if observations:
                outgoing.append(endpoint.speech.share(other, observations, now))
        else:
            endpoint.agenda.schedule(other)
    return tuple(outgoing)


def adopt(endpoint: "Endpoint", told: Cells, settled: Sequence[SettledBlock], now: float) -> Outcome:
    """Count what was observed with a pen that nobody holds: its lender goes on where the last holder ended."""
    endpoint.agenda.look(now)
    news = endpoint.replica.merge(Changes(cells=(told,), settled=tuple(settled)), None)
    plain, elsewhere = sorted_out(endpoint.replica, (Change(*key[3:], entry) for key, entry in news.cells))
    outgoing = pass_on(endpoint, None, news.cells, now)
    record = Adopted(told, tuple(settled), now)
    return Outcome((record,), outgoing, news=plain, wake_at=endpoint.wake_at, elsewhere=elsewhere)


def turn(endpoint: "Endpoint", time: float, now: float) -> Outcome:
    """Take the time of the calendar: what is outside of its window is dropped, and shares may be counted anew."""
    check_time(time)
    turn = endpoint.replica.turn(time)
    if turn is None:
        return Outcome(wake_at=endpoint.wake_at)
    endpoint.agenda.look(now)
    endpoint.witnesses.drop_outdated()
    less = (*less_by(turn.gone), *endpoint.totals.drop_outdated(endpoint.replica))
    if turn.is_own:
        for link in endpoint.met.values():
            link.exchange.start_again()
    return Outcome((Turned(time, now),), wake_at=endpoint.wake_at, elsewhere=less)


def sorted_out(replica: Replica, changes: Iterable[Change]) -> tuple[tuple[ArmTally, ...], tuple[Change, ...]]:
    """Return what is of the plain bandit, if that has no window, and the rest: a segment of it is none of it."""
    listed, is_windowed = tuple(changes), replica.bandits[""].period > 0.0
    plain = tuple(one.tally for one in listed if not (one.bandit or one.segment or is_windowed))
    if len(plain) == len(listed):
        return plain, ()
    return plain, tuple(one for one in listed if one.bandit or one.segment or is_windowed)


def drop_rows(replica: Replica) -> tuple[Change, ...]:
    """Know nothing more of what others observed, row by row. Return by how much less is known of each arm."""
    rows = [(key, entry) for key, entry in replica.cells() if key.agent != replica.agent]
    replica.drop([key for key, _ in rows])
    replica.forget_totals()
    return less_by(rows)


def less_by(rows: Iterable[tuple[CellKey, ArmTally]]) -> tuple[Change, ...]:
    """Return by how much less is known of each arm in each place, now that some cells are gone."""
    less: dict[tuple[str, str, int, Arm], CellValue] = {}
    for key, entry in rows:
        place = (*key[3:], key.arm)
        less[place] = plus(less.get(place, (0, 0, 0)), entry[1:])
    return tuple(
        Change(*place[:3], ArmTally(place[3], -count, -total, -squares))
        for place, (count, total, squares) in less.items()
    )
