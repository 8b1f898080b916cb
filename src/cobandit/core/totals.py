"""What others have observed, as a leaf knows it: of each of its relays the newest total, and of those the larger one.

A leaf needs no row for each agent of a fleet. A relay tells it, for every arm, the total of everybody but the leaf.
Each such total is true: all those observations were made, by others. So the totals of two relays must never be added,
for they are about the same observations; of two the one with the higher count knows more, and a leaf uses that. So two
homes are as safe as one, and changing homes is nothing special.

Of one relay the newest word counts, by its session and the number of its log, also if it is less than before: a relay
that has lost its disk begins anew, and what it says then must not be hidden behind what it once knew.

This file does not know what an agent has observed itself, who may speak, or when.
"""

from collections.abc import Collection, Iterable

from cobandit.core.messages import EVERYBODY_ELSE, AgentId, Changes
from cobandit.core.state import TotalState
from cobandit.values.tally import Arm, ArmTally


class Totals:
    """What others have observed, as one leaf knows it.

    >>> totals = Totals()
    >>> totals.heard("r", 1, 0, 7, [ArmTally("A", 5, 2, 2)])
    (ArmTally(arm='A', observations=5, reward_sum=2, square_sum=2),)
    >>> totals.heard("s", 1, 0, 3, [ArmTally("A", 6, 3, 3)])
    (ArmTally(arm='A', observations=1, reward_sum=1, square_sum=1),)
    """

    def __init__(self) -> None:
        self._heard: dict[AgentId, dict[Arm, TotalState]] = {}
        self.number = 0
        """How often something here has changed."""

    def of(self, arm: Arm) -> ArmTally:
        """Return what others have observed of an arm: the word of the relay that knows most."""
        known = [heard[arm].tally for heard in self._heard.values() if arm in heard]
        return max(known, key=lambda tally: tally[1:], default=ArmTally(arm, 0, 0, 0))

    def all(self) -> tuple[ArmTally, ...]:
        """Return what others have observed of each arm, as far as there is anything."""
        return tuple(self.of(arm) for arm in dict.fromkeys(arm for heard in self._heard.values() for arm in heard))

    def heard(
        self, relay: AgentId, session: int, base: int, upto: int, tallies: Iterable[ArmTally]
    ) -> tuple[ArmTally, ...]:
        """Take a relay's word. Return by how much it changes what is used, which may be downwards.

        Args:
            relay: Who speaks.
            session: In which session.
            base: From which number of its log on: with 0 it tells everything that it has.
            upto: Up to which number.
            tallies: The totals of the arms that have changed in between.
        """
        heard = self._heard.setdefault(relay, {})
        told = {tally.arm: tally for tally in tallies}
        over = {arm for arm, one in heard.items() if one.session < session} if base == 0 else set[Arm]()
        touched = over.union(told)
        before = {arm: self.of(arm) for arm in touched}
        self.number += bool(over)
        for arm in over:
            del heard[arm]
        for arm, tally in told.items():
            if arm not in heard or (session, upto) > heard[arm][1:3]:
                heard[arm] = TotalState(relay, session, upto, tally)
                self.number += 1
        after = {arm: self.of(arm) for arm in touched}
        return tuple(
            ArmTally(arm, *(new - old for new, old in zip(after[arm][1:], before[arm][1:], strict=True)))
            for arm in sorted(touched)
            if after[arm] != before[arm]
        )

    def take(
        self, peer: AgentId, changes: Changes, session: int | None, arms: Collection[Arm]
    ) -> tuple[Changes, tuple[ArmTally, ...]]:
        """Take the totals of some arms out of what a relay tells.

        Return the rest, and by how much they change what is used.
        """
        totals = [told for told in changes.cells if told.agent == EVERYBODY_ELSE]
        if not totals:
            return changes, ()
        served = [entry for told in totals for entry in told.tallies if entry.arm in arms]
        changed = self.heard(peer, session or 0, changes.base, changes.upto, served)
        rest = tuple(told for told in changes.cells if told.agent != EVERYBODY_ELSE)
        return changes._replace(cells=rest), changed

    def clear(self) -> tuple[ArmTally, ...]:
        """Forget everything that was heard. Return by how much less is known of each arm."""
        used = self.all()
        self._heard.clear()
        self.number += 1
        return tuple(ArmTally(arm, -count, -total, -squares) for arm, count, total, squares in used)

    def state(self) -> tuple[TotalState, ...]:
        """Return everything that was heard and counts."""
        return tuple(one for heard in self._heard.values() for one in heard.values())

    def restore(self, state: Iterable[TotalState]) -> None:
        """Take over what `state` returned."""
        for one in state:
            self._heard.setdefault(one.relay, {})[one.tally.arm] = one
