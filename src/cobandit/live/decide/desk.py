"""One place where decisions are made, with its own policy and tally, and the latest news from the network side.

A decision is based on:

    all that the network side has counted                      Known.counts, Known.sums
    - what it received from this desk                          Known.absorbed_counts, Known.absorbed_sums
    + all that was decided at this desk, rewarded or not       the desk's own counts and sums

If the policy has posteriors (Thompson sampling), a decision is one draw from `Known.draw`, which was computed in the
background when knowledge last changed; only rewarded decisions count there. With any other policy, an unrewarded
decision counts as a pull with the mean reward of its arm. Otherwise a hundred visitors in the same second would all be
sent to the same arm. The mean is a guess that stands until the reward arrives.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from cobandit.core.places import At
from cobandit.live.decide.allocation import Allocation, Draw, Lottery, drawn_by
from cobandit.live.decide.common import MOST_SUBJECTS, Common, Decided, Open
from cobandit.live.decide.decision import Decision
from cobandit.live.decide.full_names import prefix_of
from cobandit.live.decide.holdout import Holdout, is_marked, marked
from cobandit.live.decide.known import NOTHING, Known
from cobandit.live.decide.subjects import place_of
from cobandit.policies import Policy
from cobandit.values.chance import stream, uniform
from cobandit.values.checks import check_name, is_number
from cobandit.values.errors import LocalError, StateError
from cobandit.values.tally import Arm

LONGEST_SUBJECT = 1000
"""Characters."""


class DeskTerms(NamedTuple):
    """The terms for all segments of one named bandit, or for the plain bandit."""

    build: Callable[[Sequence[Arm]], Policy]
    """Makes a policy for one segment."""
    units: Callable[[float], int]
    """Turns a reward into quanta, or raises an error that says what is wrong with it."""
    blank: Known = NOTHING
    """What is published for an unknown segment; for the plain bandit, what is known at the start."""
    default_units: int | None = None
    """The reward that a decision counts with if it was never rewarded."""
    allocation: Allocation | None = None
    seed: int = 0
    holdout: float = 0.0
    """The share of decisions that are held out."""


def units_of(units: Callable[[float], int], rewards: tuple[float, float]) -> Callable[[float], int]:
    """Return a function that turns rewards in a range into quanta."""
    if rewards == (0.0, 1.0):
        return units
    low, high = rewards

    def of_range(reward: float) -> int:
        if not (is_number(reward) and low <= reward <= high):
            raise LocalError(f"reward {reward!r} is not a number from {low:g} to {high:g}, as the bandit was declared")
        return units((float(reward) - low) / (high - low))

    return of_range


def of_no_bandit(reward: float) -> int:
    """Refuse a reward for the plain bandit where there is none."""
    raise LocalError(f"reward {reward!r} is for no bandit: say for which one")


class Desk:
    """Decides for one place: a segment of a bandit, or the plain bandit. Methods may be called from any thread."""

    def __init__(self, at: At, terms: DeskTerms, common: Common) -> None:
        self._at, self.prefix = at, prefix_of(at)
        self._build, self.units_here = terms.build, terms.units
        self._common, self._now, self._signer = common, common.now, common.signer
        self._lock, self._open, self._subjects = common.lock, common.open, common.subjects
        self._decided = common.decided
        self._seed, self._chance_key = terms.seed, stream(terms.seed)
        self._salt = f"{common.salt}\0{at[0]}" if at[0] else common.salt
        self.elsewhere: deque[tuple[Arm, int, int]] = deque()
        """Changes from the network side that apply here: an arm, how many more pulls, how many more quanta."""
        self.published = terms.blank
        """Written by the network side, read here."""
        self._taken_over: Known | None = None
        self._draw: Draw | None = None
        self._counts: dict[Arm, int] = {}
        self._sums: dict[Arm, int] = {}
        self._obey(terms)
        if terms.blank.arms:
            self._take_over(terms.blank)

    def take_terms(self, terms: DeskTerms) -> None:
        """Take the new terms of a bandit that is declared again."""
        with self._lock:
            self._obey(terms)

    def _obey(self, terms: DeskTerms) -> None:
        self._allocation, self.default_units = terms.allocation, terms.default_units
        self._holdout = Holdout(terms.holdout, self._seed, self._salt) if terms.holdout else None
        self._lottery: Lottery | None = None
        if self._allocation is not None and self._taken_over is not None:
            self._lottery = Lottery(self._allocation, self._taken_over.candidates)

    # For callers.

    def select_arm(self, subject: str | None = None, among: Collection[Arm] | None = None) -> Decision:
        """Decide. Takes microseconds and never waits for the network."""
        if subject is not None:
            check_name("a subject", subject, LONGEST_SUBJECT)  # it is written to disk, and must be readable again
            subject = str.__str__(subject)
        now = self._now()
        with self._lock:
            if self.elsewhere:
                self._take_settled()
            if self.published is not self._taken_over:
                self._take_over(self.published)
            common = self._common
            number = common.next_number
            held_out = None if self._holdout is None else self._hold_out(self._holdout, among, subject, number)
            propensity: float | None
            if held_out is not None:
                arm, propensity = held_out
            elif among is not None:
                arm, propensity = self._choose_among(among, subject, number)
            else:
                arm, propensity = self._chosen(subject, number)
            common.next_number = number + 1
            written = arm if held_out is None else marked(arm)
            self._open[number] = Open(written, self.count_guess(written), now, self)
            is_forced = self._control_arm is not None
        if common.refusal is None:  # otherwise only its id records it, which is enough
            whom = subject if subject is None else self.prefix + subject
            self._decided.append(Decided(number, self.prefix + written, propensity, now, whom, is_forced))
        if not common.is_awake:
            common.call()
        return Decision(arm, propensity, number, now, self._signer, *self._at, held_out is not None)

    def check_choice(self, among: Collection[Arm]) -> None:
        """Raise `StateError` if none of these arms may be chosen now."""
        with self._lock:
            if self.elsewhere:
                self._take_settled()
            if self.published is not self._taken_over:
                self._take_over(self.published)
            self._left_of(among)

    # For the decider.

    def correct(self, arm: Arm, units: int) -> None:
        """Add the difference between a reward and the guess that stood for it."""
        if is_marked(arm):
            return
        with self._lock:
            self._sums[arm] += units
            self._policy.tally.sums[arm] += units

    def share_units(self, value: float) -> int:
        """Return a number from 0 to 1 in quanta of this bandit, whatever its reward range."""
        return self._policy.quantum.units(value)

    @property
    def bandit(self) -> str:
        """The bandit that this place belongs to."""
        return self._at[0]

    def attach(self, number: int, arm: Arm) -> None:
        """Open a decision here that was open when the member last stopped, now that its bandit is declared."""
        entry = self._open.get(number)
        if entry is None or entry.desk is not None:
            return
        guess = 0
        if not is_marked(arm):
            guess = self._guess(arm)
            self.elsewhere.append((arm, 1, guess))
        self._open[number] = Open(arm, guess, entry.at, self)

    def count_guess(self, arm: str) -> int:
        """Count a decision as a pull until its reward arrives, unless it is held out. Return the guess."""
        if is_marked(arm):
            return 0
        guess = self._guess(arm)
        self._count(arm, 1, guess)
        return guess

    # How.

    def _chosen(self, subject: str | None, number: int) -> tuple[Arm, float | None]:
        return self._choose(uniform(self._chance_key, number)) if subject is None else self._choose_for(subject)

    def _choose(self, chance: float) -> tuple[Arm, float | None]:
        """Choose by a number in [0, 1)."""
        if self._control_arm is not None:
            return self._control_arm, 1.0
        if self._draw is not None:
            return self._draw.by(chance)
        best = self._policy.select_arm()
        if self._lottery is None:
            return best, self._certainty
        arm, share = self._lottery.draw(best, chance)
        return arm, None if self._certainty is None else share

    def _choose_for(self, subject: str) -> tuple[Arm, float | None]:
        """Choose the arm that the subject had, if it is still available; otherwise by its place, like all members."""
        if self._control_arm is not None:  # the subject keeps the arm that it had before
            return self._control_arm, 1.0
        whom = self.prefix + subject
        kept = self._subjects.get(whom)
        if kept is None or kept[0] not in self._policy.candidates:
            kept = self._subjects[whom] = self._choose(place_of(subject, self._salt))
            if len(self._subjects) > MOST_SUBJECTS:
                self._subjects.popitem(last=False)
        self._subjects.move_to_end(whom)
        return kept

    def _choose_among(self, among: Collection[Arm], subject: str | None, number: int) -> tuple[Arm, float | None]:
        """Choose as if these were the only arms."""
        left = self._left_of(among)
        if self._control_arm is not None:
            return self._control_arm, 1.0
        assert self._taken_over is not None
        policy, lottery, draw, odds = self._policy, self._lottery, self._draw, self._taken_over.odds
        candidates = policy.candidates
        policy.candidates = left
        self._draw = None if odds is None else drawn_by(odds, left, self._allocation)
        self._lottery = None if self._allocation is None else Lottery(self._allocation, left)
        try:
            return self._chosen(subject, number)
        finally:
            policy.candidates, self._lottery, self._draw = candidates, lottery, draw

    def _left_of(self, among: Collection[Arm]) -> tuple[Arm, ...]:
        """Return which of these arms may be chosen now."""
        if isinstance(among, str | bytes) or not isinstance(among, Collection):
            raise LocalError(f"among must be a list of arms, not {among!r}")
        if self._control_arm is not None:
            if self._control_arm in among:
                return (self._control_arm,)
            raise StateError(f"the kill switch is on, to {self._control_arm}, which is not one to choose from")
        candidates = self._policy.candidates
        left = tuple(arm for arm in candidates if arm in among)
        if not left:
            wanted, offered = ", ".join(map(str, among)), ", ".join(candidates)
            raise StateError(f"none of the arms to choose from ({wanted}) is on offer now, only {offered}")
        return left

    def _hold_out(
        self, holdout: Holdout, among: Collection[Arm] | None, subject: str | None, number: int
    ) -> tuple[Arm, float] | None:
        """Choose evenly, if this decision is held out. The kill switch overrides the hold-out."""
        arms = self._policy.candidates if among is None else self._left_of(among)
        return None if self._control_arm is not None else holdout.draw(arms, subject, number)

    def _guess(self, arm: Arm) -> int:
        tally = self._policy.tally
        count = tally.counts[arm]
        return tally.sums[arm] // count if count else self._half

    def _count(self, arm: Arm, count: int, units: int) -> None:
        if is_marked(arm):
            return
        self._counts[arm] += count
        self._sums[arm] += units
        tally = self._policy.tally
        tally.counts[arm] += count
        tally.sums[arm] += units
        tally.observations += count
        self._policy.own_pulls += count

    def _take_settled(self) -> None:
        while self.elsewhere:
            self._count(*self.elsewhere.popleft())

    def _take_over(self, known: Known) -> None:
        """Base decisions on what the network side knows now."""
        if self._taken_over is None or known.arms != self._taken_over.arms:
            self._policy = self._build(known.arms)
            self._half = self._policy.quantum.per_reward // 2
            self._certainty = None if self._policy.draws else 1.0
            self._counts = {arm: self._counts.get(arm, 0) for arm in known.arms}
            self._sums = {arm: self._sums.get(arm, 0) for arm in known.arms}
        self._draw = known.draw
        if known.draw is None:  # otherwise tallies are not used here
            self._take_tallies(known)
        self._policy.candidates = known.candidates  # a new policy starts with all its arms as candidates
        if self._taken_over is None or known.candidates != self._taken_over.candidates:
            self._lottery = None if self._allocation is None else Lottery(self._allocation, known.candidates)
        self._control_arm = known.control_arm
        self._taken_over = known

    def _take_tallies(self, known: Known) -> None:
        policy, tally = self._policy, self._policy.tally
        tally.counts.update(known.counts)
        tally.sums.update(known.sums)
        tally.observations, policy.own_pulls = known.observations, known.own_pulls
        if self._counts != known.absorbed_counts or self._sums != known.absorbed_sums:
            for arm in known.arms:
                own = self._counts[arm] - known.absorbed_counts[arm]
                tally.counts[arm] += own
                tally.sums[arm] += self._sums[arm] - known.absorbed_sums[arm]
                tally.observations += own
                policy.own_pulls += own
