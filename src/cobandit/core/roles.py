"""What an agent does because it is a relay, or becomes a leaf, and what follows when a period begins.

A relay passes on what it hears. An agent that becomes a leaf drops its rows of other agents, because totals cover the
same observations. This file does not know how messages are made, or when a pair talks.
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
    """Pass on news as a relay. Leaves get it when they ask, other relays once it is enough for a share.

    Members of a mesh send their own observations to every relay, and a relay sends those of its leaves to every other
    relay. They are passed on further only in a graph (`Sharing.forwards`). Adopted observations have no teller.
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
    """Count observations made with a pen that no process holds: its lender continues where the last holder ended."""
    endpoint.agenda.look(now)
    news = endpoint.replica.merge(Changes(cells=(told,), settled=tuple(settled)), None)
    plain, elsewhere = sorted_out(endpoint.replica, (Change(*key[3:], entry) for key, entry in news.cells))
    outgoing = pass_on(endpoint, None, news.cells, now)
    record = Adopted(told, tuple(settled), now)
    return Outcome((record,), outgoing, news=plain, wake_at=endpoint.wake_at, elsewhere=elsewhere)


def turn(endpoint: "Endpoint", time: float, now: float, *, is_back: bool = False) -> Outcome:
    """Set the calendar's time: what is outside its window is dropped, and c may go back to 1.

    The time may go back only while this incarnation has observed nothing. What is then too far ahead is dropped too.

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
    """Separate the changes of the plain bandit, unless it has a window, from the rest. Its segments are in the rest."""
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
    """Return the bandits whose definition must stay. For a relay: the plain one, and those it holds cells of."""
    if replica.totals is None:
        return replica.bandits
    held = {"", *(key.bandit for key, _ in replica.cells())}
    return {name: bandit for name, bandit in replica.bandits.items() if name in held}


def drop_rows(replica: Replica) -> tuple[Change, ...]:
    """Drop what others observed, row by row. Return by how much less is known of each arm."""
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
