"""Where decisions are made: in microseconds, on the caller's thread, without I/O and without waiting for the network.

A decider has a desk for each place. What the network side has learned of it lies ready as one immutable value, `Known`,
which the desk takes over when it sees a new one; what is decided and rewarded lies in queues that the network side
empties. Nobody waits for anybody: the only lock is one between threads that decide at the same time. This file owns
which desks there are, and how decisions end. How one is made is in `desk`.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TypeVar

from cobandit.core.places import PLAIN, At
from cobandit.live.decide.common import Common, Decided, Open, Report, Settled
from cobandit.live.decide.desk import Desk, DeskTerms
from cobandit.live.decide.full_names import split
from cobandit.live.decide.holdout import is_held_out, is_marked, unmarked
from cobandit.live.decide.known import Known
from cobandit.values.errors import NotNowError
from cobandit.values.tally import Arm

Event = TypeVar("Event")


class Decider:
    """The decision side of one member. Every method may be called from any thread."""

    def __init__(self, plain: DeskTerms, common: Common) -> None:
        self.signer, self._common = common.signer, common
        self._lock, self._open, self._now = common.lock, common.open, common.now
        self._decided, self._settled = common.decided, common.settled
        self.plain = Desk(PLAIN, plain, common)
        """Where the plain bandit is decided, if there is one."""
        self._has_plain = bool(plain.blank.arms)
        self.select_arm, self.check_choice = self.plain.select_arm, self.plain.check_choice
        self.desks: dict[At, Desk] = {}
        """Where bandits with names are decided."""
        self.declared: dict[str, DeskTerms] = {}
        """What holds for each of those."""

    # Desks.

    def desk(self, at: At) -> Desk:
        """Return where one place of a declared bandit is decided, which may be new."""
        with self._lock:
            desk = self.desks.get(at)
            if desk is None:
                desk = self.desks[at] = Desk(at, self.declared[at[0]], self._common)
            return desk

    def drop_desks(self, unused: Iterable[At]) -> list[At]:
        """Keep no desks for places of which nothing is known, unless decisions wait there. Return which went."""
        with self._lock:
            desks = {at: self.desks[at] for at in unused if at in self.desks}
            in_use = {id(entry.desk) for entry in self._open.values()} if desks else set[int]()
            rewarded = {split(entry.arm)[0] for entry in self._settled} if desks else set[At]()
            gone = [at for at, desk in desks.items() if id(desk) not in in_use and at not in rewarded]
            for at in gone:
                del self.desks[at]
        return gone

    def knows(self, arm: str) -> bool:
        """Return whether the bandit of a full name is decided here: the plain one, or one that is declared."""
        return _is_plain(arm) or split(arm)[0][0] in self.declared

    def units(self, reward: float, arm: str = "") -> int:
        """Return a reward in quanta, or say what is wrong with it.

        Args:
            reward: The reward.
            arm: The full name of its arm, if that may be one of a bandit with a name.

        Raises:
            NotNowError: The bandit is not declared here.
        """
        if _is_plain(arm):
            return self.plain.units_here(reward)
        (bandit, _), _ = split(arm)
        if bandit not in self.declared:
            raise NotNowError(f"bandit {bandit!r} is not declared at {self.signer.name}: declare it, then reward")
        return self.declared[bandit].units(reward)

    @property
    def published(self) -> Known:
        """What the network side last told of the plain bandit."""
        return self.plain.published

    # For callers.

    def settle(self, number: int, reward: float) -> bool:
        """Reward a decision. Return whether it was open.

        Raises:
            LocalError: The reward cannot be. Nothing changed, and the decision is still open.
        """
        desk = self._desk_of(number)
        if desk is None:
            return False
        units, common = desk.units_here(reward), self._common
        if common.refusal is not None:
            raise NotNowError(common.refusal)
        entry = self._open.pop(number, None)  # one step, so that of two threads only one gets it
        if entry is None:
            return False
        arm, guess = entry[:2]
        desk.correct(arm, units - guess)
        self._settled.append(Settled(number, desk.prefix + arm, units, self._now()))
        if not common.is_awake:
            common.call()
        return True

    def _desk_of(self, number: int) -> Desk | None:
        """Return where a decision was made, if that is open and declared; or where a reward is to be looked at."""
        entry = self._open.get(number)
        return entry.desk if entry is not None else self.plain if self._has_plain else None

    def report(self, number: int, value: float) -> bool:
        """Take a value of a guardrail's metric for an open decision of this start. Return whether it counts."""
        common = self._common
        if common.refusal is not None:
            raise NotNowError(common.refusal)
        with self._lock:
            entry = self._open.get(number)
            if entry is None or entry.desk is None or number < common.first_number or number in common.reported:
                return False
            units = entry.desk.share_units(value)
            common.reported.add(number)
        common.reports.append(Report(entry.desk.bandit, unmarked(entry.arm)[1], units))
        if not common.is_awake:
            common.call()
        return True

    def withdraw(self, number: int) -> bool:
        """Take a decision back, as if it had not been made. Return whether it was open."""
        if not self.settle_elsewhere(number, None):
            return False
        if not self._common.is_awake:
            self._common.call()
        return True

    def open_since(self, number: int) -> float | None:
        """Return when an open decision was made, or `None` if it is not open."""
        entry = self._open.get(number)
        return None if entry is None else entry.at

    @property
    def decisions(self) -> int:
        """How many decisions were made since the start."""
        return self._common.next_number - self._common.first_number

    @property
    def open_count(self) -> int:
        """How many decisions wait for their reward."""
        return len(self._open)

    # For the network side.

    def put_back(self, decided: Sequence[Decided], settled: Sequence[Settled], reports: Sequence[Report] = ()) -> None:
        """Take back what `take` and `take_reports` gave away, because nothing came of it."""
        self._common.reports.extendleft(reversed(reports))
        self._decided.extendleft(reversed(decided))
        self._settled.extendleft(reversed(settled))

    def take(self) -> tuple[list[Decided], list[Settled]]:
        """Empty the queues. Rewards first: so every reward has its decision in this list or in an earlier one."""
        settled = _emptied(self._settled)
        return _emptied(self._decided), settled

    def take_reports(self) -> list[Report]:
        """Empty the queue of guardrails. Who is settled needs not be remembered as reported."""
        common = self._common
        if common.reported:
            with self._lock:
                common.reported.intersection_update(self._open)
        return _emptied(common.reports)

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to take."""
        return bool(self._decided or self._settled or self._common.reports)

    def settle_elsewhere(self, number: int, units: int | None, *, is_expired: bool = False) -> bool:
        """Settle a decision from the network side, with a reward or (`None`) without. Return whether it was open."""
        entry = self._open.pop(number, None)
        if entry is None:
            return False
        arm, desk = entry.arm, entry.desk
        if desk is not None:
            change = (arm, -1, -entry.guess) if units is None else (arm, 0, units - entry.guess)
            desk.elsewhere.append(change)
            arm = desk.prefix + arm
        self._settled.append(Settled(number, arm, units, self._now(), is_expired))
        return True

    def expire(self, number: int) -> None:
        """Give up a decision that got no reward: it counts with what its bandit says, or not at all."""
        entry = self._open.get(number)
        default = None if entry is None or entry.desk is None else entry.desk.default_units
        self.settle_elsewhere(number, default, is_expired=True)

    def add_unrecorded(self, number: int, arm: Arm, units: int) -> None:
        """Count the reward of a decision that a crash had kept from the journal: nobody knows of it but its token."""
        place, bare = split(arm)
        if not is_held_out(arm) and (place == PLAIN or place[0] in self.declared):
            desk = self.plain if place == PLAIN else self.desk(place)
            desk.elsewhere.append((bare, 1, units))
        self._settled.append(Settled(number, arm, units, self._now()))

    def reopen(self, decisions: Iterable[tuple[int, Arm, float]]) -> None:
        """Open the decisions that were open when the member last stopped: here, or elsewhere once that is declared."""
        for number, full_name, at in decisions:
            if _is_plain(full_name):
                self._open[number] = Open(full_name, self.plain.count_guess(full_name), at, self.plain)
            else:
                self._open[number] = Open(full_name, 0, at)

    def remember_subjects(self, subjects: Iterable[tuple[str, Arm, float | None]]) -> None:
        """Keep the arms of these subjects, as before the member last stopped."""
        self._common.subjects.update(
            (subject, (split(arm)[1], propensity)) for subject, arm, propensity in subjects if not is_held_out(arm)
        )

    @property
    def is_awake(self) -> bool:
        """Whether the network side will look at the queues anyway, so that nobody needs to wake it."""
        return self._common.is_awake

    @is_awake.setter
    def is_awake(self, is_awake: bool) -> None:
        self._common.is_awake = is_awake

    @property
    def refusal(self) -> str | None:
        """Why no more rewards are taken, if the journal has failed for long."""
        return self._common.refusal

    @refusal.setter
    def refusal(self, why: str | None) -> None:
        self._common.refusal = why


def _is_plain(full_name: str) -> bool:
    """Return whether an arm is one of the plain bandit, held out or not."""
    return is_marked(full_name) or split(full_name)[0] == PLAIN


def _emptied(queue: "deque[Event]") -> "list[Event]":
    """Take out what is in a queue now; others may go on adding to it."""
    return [queue.popleft() for _ in range(len(queue))]
