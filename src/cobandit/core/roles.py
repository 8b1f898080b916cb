"""What an agent does because it is a relay, or becomes a leaf; and when a period begins.

A relay passes on what it hears. Who becomes a leaf knows nothing more of others row by row, because totals are of the
same observations. This file does not know how a message is made, or when a pair talks.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cobandit.core.facts import CellKey
from cobandit.core.link import Link
from cobandit.core.messages import Cells, Changes, Message
from cobandit.core.outcome import Adopted, Outcome, Turned
from cobandit.core.pen_names import SettledBlock
from cobandit.core.places import Bandit, Change
from cobandit.core.replica import Replica
from cobandit.values.checks import check_time
from cobandit.values.errors import LocalError
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


def turn(endpoint: "Endpoint", time: float, now: float, *, is_back: bool = False) -> Outcome:
    """Take the time of the calendar: what is outside of its window is dropped, and shares may be counted anew.

    It goes back only while this incarnation has observed nothing. What is too far ahead then is dropped too.

    Raises:
        LocalError: It has.
    """
    check_time(time)
    replica = endpoint.replica
    if is_back and replica.observations:
        raise LocalError(f"{replica.agent} has observed something in this incarnation: begin another one first")
    turn = replica.turn(time) if is_back or time >= replica.calendar.turns_at else None
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
    is_windowed = replica.bandits[""].period > 0.0
    plain: list[ArmTally] = []
    elsewhere: list[Change] = []
    for one in changes:
        if one.bandit or one.segment or is_windowed:
            elsewhere.append(one)
        else:
            plain.append(one.tally)
    return tuple(plain), tuple(elsewhere)


def bound(replica: Replica) -> Mapping[str, Bandit]:
    """Return the bandits that stay as they are. A relay serves what others say: what it holds anything of is bound."""
    if replica.totals is None:
        return replica.bandits
    held = {"", *(key.bandit for key, _ in replica.cells())}
    return {name: bandit for name, bandit in replica.bandits.items() if name in held}


def drop_rows(replica: Replica) -> tuple[Change, ...]:
    """Know nothing more of what others observed, row by row. Return by how much less is known of each arm."""
    rows = [(key, entry) for key, entry in replica.cells() if key.agent != replica.agent]
    replica.drop([key for key, _ in rows])
    replica.forget_totals()
    return less_by(rows)


def less_by(rows: Iterable[tuple[CellKey, ArmTally]]) -> tuple[Change, ...]:
    """Return by how much less is known of each arm in each place, now that some cells are gone."""
    less: dict[tuple[str, str, int, Arm], ArmTally] = {}
    for key, entry in rows:
        place = (*key[3:], key.arm)
        less[place] = less.get(place, ArmTally(key.arm, 0, 0, 0)).minus(entry)
    return tuple(Change(*place[:3], tally) for place, tally in less.items())
