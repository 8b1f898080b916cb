"""Where decisions are made: in microseconds, on the caller's thread, without I/O and without waiting for the network.

A decider has a desk for each place. What the network side has learned about a place is published as one immutable
value, `Known`, which the desk adopts when it sees a new one. Decisions and rewards go into queues, which the network
side empties. Neither side waits for the other: the only lock is between threads that decide at the same time. This file
owns the set of desks and how decisions end. `desk` owns how a decision is made.
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
        """The desk of the plain bandit, which has no arms if there is none."""
        self._has_plain = bool(plain.blank.arms)
        self.select_arm, self.check_choice = self.plain.select_arm, self.plain.check_choice
        self.desks: dict[At, Desk] = {}
        """The desks of named bandits, by place."""
        self.declared: dict[str, DeskTerms] = {}
        """The terms of each named bandit."""

    # Desks.

    def desk(self, at: At) -> Desk:
        """Return the desk for one place of a declared bandit. Create it if it is new."""
        with self._lock:
            desk = self.desks.get(at)
            if desk is None:
                desk = self.desks[at] = Desk(at, self.declared[at[0]], self._common)
            return desk

    def drop_desks(self, unused: Iterable[At]) -> list[At]:
        """Drop desks of places about which nothing is known, unless decisions wait there. Return the dropped ones."""
        with self._lock:
            desks = {at: self.desks[at] for at in unused if at in self.desks}
            in_use = {id(entry.desk) for entry in self._open.values()} if desks else set[int]()
            rewarded = {split(entry.arm)[0] for entry in self._settled} if desks else set[At]()
            gone = [at for at, desk in desks.items() if id(desk) not in in_use and at not in rewarded]
            for at in gone:
                del self.desks[at]
        return gone

    def knows(self, arm: str) -> bool:
        """Return whether this member decides for the bandit of a full name: the plain one, or a declared one."""
        return _is_plain(arm) or split(arm)[0][0] in self.declared

    def units(self, reward: float, arm: str = "") -> int:
        """Return a reward in quanta, or raise an error that says what is wrong with it.

        Args:
            reward: The reward.
            arm: The full name of its arm, if that may belong to a named bandit.

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
        """What the network side last published about the plain bandit."""
        return self.plain.published

    # For callers.

    def settle(self, number: int, reward: float) -> bool:
        """Reward a decision. Return whether it was open.

        Raises:
            LocalError: The reward is invalid. Nothing changed, and the decision is still open.
        """
        desk = self._desk_of(number)
        if desk is None:
            return False
        units, common = desk.units_here(reward), self._common
        if common.refusal is not None:
            raise NotNowError(common.refusal)
        entry = self._open.pop(number, None)  # atomic, so that only one of two threads gets it
        if entry is None:
            return False
        arm, guess = entry[:2]
        desk.correct(arm, units - guess)
        self._settled.append(Settled(number, desk.prefix + arm, units, self._now()))
        if not common.is_awake:
            common.call()
        return True

    def _desk_of(self, number: int) -> Desk | None:
        """Return the desk of an open decision; if it is not open, the plain desk, which checks the reward."""
        entry = self._open.get(number)
        return entry.desk if entry is not None else self.plain if self._has_plain else None

    def report(self, number: int, value: float) -> bool:
        """Take a value of a guardrail's metric for an open decision from this start. Return whether it counts."""
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
        """Put back what `take` and `take_reports` returned, because it could not be used."""
        self._common.reports.extendleft(reversed(reports))
        self._decided.extendleft(reversed(decided))
        self._settled.extendleft(reversed(settled))

    def take(self) -> tuple[list[Decided], list[Settled]]:
        """Empty the queues, rewards first, so that every reward has its decision in this list or in an earlier one."""
        settled = _emptied(self._settled)
        return _emptied(self._decided), settled

    def take_reports(self) -> list[Report]:
        """Empty the queue of guardrail reports. Forget which settled decisions had reports."""
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
        """Settle a decision from the network side, with a reward or without (`None`). Return whether it was open."""
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
        """Give up a decision that got no reward: it counts with its bandit's default, or not at all."""
        entry = self._open.get(number)
        default = None if entry is None or entry.desk is None else entry.desk.default_units
        self.settle_elsewhere(number, default, is_expired=True)

    def add_unrecorded(self, number: int, arm: Arm, units: int) -> None:
        """Count the reward of a decision that a crash kept out of the journal. Only its token is evidence of it."""
        place, bare = split(arm)
        if not is_held_out(arm) and (place == PLAIN or place[0] in self.declared):
            desk = self.plain if place == PLAIN else self.desk(place)
            desk.elsewhere.append((bare, 1, units))
        self._settled.append(Settled(number, arm, units, self._now()))

    def reopen(self, decisions: Iterable[tuple[int, Arm, float]]) -> None:
        """Reopen decisions that were open when the member last stopped: now, or once their bandit is declared."""
        for number, full_name, at in decisions:
            if _is_plain(full_name):
                self._open[number] = Open(full_name, self.plain.count_guess(full_name), at, self.plain)
            else:
                self._open[number] = Open(full_name, 0, at)

    def remember_subjects(self, subjects: Iterable[tuple[str, Arm, float | None]]) -> None:
        """Restore the arms of these subjects from before the member last stopped."""
        self._common.subjects.update(
            (subject, (split(arm)[1], propensity)) for subject, arm, propensity in subjects if not is_held_out(arm)
        )

    @property
    def is_awake(self) -> bool:
        """Whether the network side will look at the queues anyway, and need not be woken."""
        return self._common.is_awake

    @is_awake.setter
    def is_awake(self, is_awake: bool) -> None:
        self._common.is_awake = is_awake

    @property
    def refusal(self) -> str | None:
        """Why no more rewards are accepted, if the journal has been failing for long."""
        return self._common.refusal

    @refusal.setter
    def refusal(self, why: str | None) -> None:
        self._common.refusal = why


def _is_plain(full_name: str) -> bool:
    """Return whether an arm belongs to the plain bandit, held out or not."""
    return is_marked(full_name) or split(full_name)[0] == PLAIN


def _emptied(queue: "deque[Event]") -> "list[Event]":
    """Take out what is in a queue now. Other threads may keep adding to it."""
    return [queue.popleft() for _ in range(len(queue))]
