"""What others have observed, as a leaf knows it: the newest total of each of its relays, and of those the larger one.

A leaf needs no row for each agent of a fleet. For every arm of every place, a relay sends it the total of all agents
but the leaf. Each such total is true: others made all those observations. But the totals of two relays cover the same
observations and must never be added. Of two, the one with the higher count knows more, and a leaf uses that. So two
homes are as safe as one, and changing homes is nothing special.

Of one relay the newest statement counts, by its session and the number of its log, even if it is lower than before: a
relay that has lost its disk starts over, and its new totals must not be hidden behind what it once knew.

Totals of a period that is over are dropped, like all its cells (`replica.py`).

This file does not know what an agent has observed itself, who may speak, or when.
"""

from collections.abc import Iterable, Iterator

from cobandit.core.messages import EVERYBODY_ELSE, AgentId, Cells, Changes
from cobandit.core.places import Change
from cobandit.core.replica import Replica
from cobandit.core.state import TotalState
from cobandit.values.tally import Arm, ArmTally

Place = tuple[str, str, int, Arm]
"""A bandit, a segment of it, a period, an arm."""


class Totals:
    """What others have observed, as one leaf knows it.

    >>> totals = Totals()
    >>> totals.heard("r", 1, 0, 7, [(("", "", 0, "A"), ArmTally("A", 5, 2, 2))])[0].tally
    ArmTally(arm='A', observations=5, reward_sum=2, square_sum=2)
    >>> totals.heard("s", 1, 0, 3, [(("", "", 0, "A"), ArmTally("A", 6, 3, 3))])[0].tally
    ArmTally(arm='A', observations=1, reward_sum=1, square_sum=1)
    """

    def __init__(self) -> None:
        self._heard: dict[AgentId, dict[Place, TotalState]] = {}
        self.number = 0
        """How many times something here has changed."""

    def at(self, place: Place) -> ArmTally:
        """Return what others have observed of an arm in a place: the total of the relay that knows most."""
        known = [heard[place].tally for heard in self._heard.values() if place in heard]
        return max(known, key=lambda tally: tally[1:], default=ArmTally(place[3], 0, 0, 0))

    def all(self) -> tuple[Change, ...]:
        """Return what others have observed of each arm that has any such observations."""
        places = dict.fromkeys(place for heard in self._heard.values() for place in heard)
        return tuple(Change(*place[:3], self.at(place)) for place in places)

    def heard(
        self, relay: AgentId, session: int, base: int, upto: int, tallies: Iterable[tuple[Place, ArmTally]]
    ) -> tuple[Change, ...]:
        """Take totals from a relay. Return how they change the totals in use, which may go down.

        Args:
            relay: The sender.
            session: Its session.
            base: The number of its log where the report begins; with 0 it covers everything that it has.
            upto: The number where it ends.
            tallies: The totals of the arms that have changed in between.
        """
        heard = self._heard.setdefault(relay, {})
        told = dict(tallies)
        over = {place for place, one in heard.items() if one.session < session} if base == 0 else set[Place]()
        touched = over.union(told)
        before = {place: self.at(place) for place in touched}
        self.number += bool(over)
        for place in over:
            del heard[place]
        for place, tally in told.items():
            if place not in heard or (session, upto) > heard[place][1:3]:
                heard[place] = TotalState(relay, session, upto, tally, *place[:3])
                self.number += 1
        after = {place: self.at(place) for place in touched}
        return tuple(
            Change(*place[:3], after[place].minus(before[place]))
            for place in sorted(touched)
            if after[place] != before[place]
        )

    def take(
        self, peer: AgentId, changes: Changes, session: int | None, replica: Replica
    ) -> tuple[Changes, tuple[Change, ...]]:
        """Take the useful totals out of what a relay sends.

        Return the rest, and how they change the totals in use. What a relay told in earlier sessions no longer holds
        once it reports from the beginning: it may have lost it, or says it again in this message or the next ones.
        """
        totals = [told for told in changes.cells if told.agent == EVERYBODY_ELSE]
        starts_over = changes.base == 0 < changes.upto and peer in self._heard
        if not (totals or starts_over):
            return changes, ()
        changed = self.heard(peer, session or 0, changes.base, changes.upto, _served(totals, replica))
        rest = tuple(told for told in changes.cells if told.agent != EVERYBODY_ELSE)
        return changes._replace(cells=rest), changed

    def drop_outdated(self, replica: Replica) -> tuple[Change, ...]:
        """Forget the totals of periods that are over. Return by how much less is known."""
        gone = [one for one in self.all() if not replica.is_served(Cells(EVERYBODY_ELSE, 0, (), *one[:3]))]
        for bandit, segment, period, tally, _ in gone:
            for heard in self._heard.values():
                heard.pop((bandit, segment, period, tally.arm), None)
        self.number += bool(gone)
        return tuple(map(_less, gone))

    def clear(self) -> tuple[Change, ...]:
        """Forget all totals. Return by how much less is known of each arm."""
        used = self.all()
        self._heard.clear()
        self.number += 1
        return tuple(map(_less, used))

    def state(self) -> tuple[TotalState, ...]:
        """Return all totals that were received and still count."""
        return tuple(one for heard in self._heard.values() for one in heard.values())

    def restore(self, state: Iterable[TotalState]) -> None:
        """Restore what `state` returned."""
        for one in state:
            place = (one.bandit, one.segment, one.period, one.tally.arm)
            self._heard.setdefault(one.relay, {})[place] = one


def _served(totals: Iterable[Cells], replica: Replica) -> Iterator[tuple[Place, ArmTally]]:
    for told in totals:
        if replica.is_served(told):
            for entry in told.tallies:
                if replica.has(told.bandit, entry.arm):
                    yield (told.bandit, told.segment, told.period, entry.arm), entry


def _less(one: Change) -> Change:
    return one._replace(tally=ArmTally(one.tally.arm, 0, 0, 0).minus(one.tally))
