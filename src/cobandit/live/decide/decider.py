"""Where decisions are made: in microseconds, on the caller's thread, without I/O and without waiting for the network.

A decider has its own policy and its own tally. What the network side has learned lies ready as one immutable value,
`Known`, which the decider takes over when it sees a new one; what is decided and rewarded here lies in two queues that
the network side empties. Nobody waits for anybody: the only lock is one between threads that decide at the same time.

What a decision is based on:

    all that the network side has counted                      Known.counts, Known.sums
    - what it had from this decider                            Known.absorbed_counts, Known.absorbed_sums
    + all that was decided at this decider, rewarded or not    the decider's own counts and sums

If the policy has posteriors (Thompson sampling), a decision is one draw from `Known.draw`, which was computed beside
this path when knowledge last changed; only rewarded decisions count there. With any other policy
a decision that is not rewarded yet counts as a pull, with the mean reward of its arm: otherwise a hundred visitors in
the same second would all be sent to the same arm. Its place is a guess until the reward comes.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from cobandit.core.places import PLAIN, At
from cobandit.live.decide.allocation import Allocation, Draw, Lottery, drawn_by
from cobandit.live.decide.clock import Clock
from cobandit.live.decide.decision import Decision, Signer
from cobandit.live.decide.full_names import prefix_of, split
from cobandit.live.decide.holdout import Holdout, is_held_out, is_marked, marked, unmarked
from cobandit.live.decide.subjects import place_of
from cobandit.policies import Policy
from cobandit.values.chance import stream, uniform
from cobandit.values.checks import check_name, is_number
from cobandit.values.errors import LocalError, NotNowError, StateError
from cobandit.values.tally import Arm

Event = TypeVar("Event")

LONGEST_SUBJECT = 1000
"""Characters."""

MOST_SUBJECTS = 100_000
"""So many subjects keep their arm; then the one that was seen least recently is forgotten."""

MOST_WAITING = 1_000_000
"""So many decisions and rewards may wait for the journal. Only a disk that has failed for long lets it come to that."""


class Known(NamedTuple):
    """What the network side has counted, at one moment. Tallies are in the order of `arms`."""

    arms: tuple[Arm, ...]
    counts: tuple[int, ...]
    sums: tuple[int, ...]
    own_pulls: int
    absorbed_counts: tuple[int, ...]
    absorbed_sums: tuple[int, ...]
    candidates: tuple[Arm, ...]
    """The arms to choose from: not ruled out, not removed, not frozen."""
    control_arm: Arm | None
    """If the kill switch is on: the only arm to choose."""
    odds: Mapping[Arm, float] | None = None
    """How likely each candidate is the best, if the policy has posteriors."""
    draw: Draw | None = None
    """What to draw from then: these odds, within floors and ceilings."""
    offered: tuple[Arm, ...] = ()
    """The arms that the member serves: all but the removed ones."""

    def propensities(self) -> dict[Arm, float] | None:
        """Return how likely the next decision is each arm; `None` if the policy names one, and draws none."""
        if self.control_arm is not None:
            return {self.control_arm: 1.0}
        return None if self.draw is None else self.draw.shares()


NOTHING = Known((), (), (), 0, (), (), (), None)
"""What a member knows of the plain bandit that has none."""


class Open(NamedTuple):
    """A decision that waits for its reward."""

    arm: Arm
    """As it is written: with a mark if it is held out."""
    guess: int
    """The reward, in quanta, that it counts with until it is known."""
    at: float
    desk: "Decider | None" = None
    """Where it was made. `None` if its bandit is not declared since the start: then `arm` is a full name."""


class Decided(NamedTuple):
    """For the journal: a decision was made."""

    number: int
    arm: Arm
    propensity: float | None
    at: float
    subject: str | None
    is_forced: bool = False
    """Whether the kill switch chose, so that it is not the subject's own arm."""


class Settled(NamedTuple):
    """For the journal: a decision got its reward, in quanta, or (`None`) will not get one."""

    number: int
    arm: Arm
    units: int | None
    at: float
    is_expired: bool = False


class Report(NamedTuple):
    """A value of a guardrail's metric, in quanta of its bandit."""

    bandit: str
    arm: Arm
    units: int


class Common:
    """What all places of a member have in common: numbers, queues, open decisions, and one lock."""

    def __init__(self, first_number: int, wake: Callable[[], None]) -> None:
        self.lock = threading.Lock()
        self.next_number = first_number
        self.open: dict[int, Open] = {}
        self.subjects: OrderedDict[str, tuple[Arm, float | None]] = OrderedDict()
        self.decided: deque[Decided] = deque()
        self.settled: deque[Settled] = deque()
        self.reports: deque[Report] = deque()
        self.reported: set[int] = set()
        """The open decisions that have a report."""
        self.is_awake = True
        self.refusal: str | None = None
        self._wake = wake

    def call(self) -> None:
        """Wake the network side."""
        self.is_awake = True
        self._wake()


class Decider:
    """The decision side of one member, for one place. Every method may be called from any thread."""

    def __init__(
        self,
        build: Callable[[Sequence[Arm]], Policy],
        known: Known,
        clock: Clock,
        signer: Signer,
        *,
        first_number: int,
        allocation: Allocation | None = None,
        seed: int = 0,
        salt: str = "",
        holdout: float = 0.0,
        wake: Callable[[], None] = lambda: None,
        common: "Common | None" = None,
        at: At = PLAIN,
        rewards: tuple[float, float] = (0.0, 1.0),
        default_units: int | None = None,
    ) -> None:
        self._build = build
        self._now, self._clock = clock.now, clock
        self.signer = signer
        self._common = common or Common(first_number, wake)
        self._at, self.prefix = at, prefix_of(at)
        self._rewards, self.default_units = rewards, default_units
        self.desks: dict[At, Decider] = {}
        """Where bandits with names are decided, if this is a member's first decider."""
        self.declared: dict[str, DeskTerms] = {}
        """What holds for each of those."""
        self._first_number = first_number
        self._allocation = allocation
        self._chance_key = stream(seed)
        self._salt = salt
        """By which subjects are placed: the same at every member of the group."""
        self._seed = seed
        self._holdout = Holdout(holdout, seed, salt) if holdout else None
        self._lock, self._open, self._subjects = self._common.lock, self._common.open, self._common.subjects
        self._decided, self._settled = self._common.decided, self._common.settled
        self.elsewhere: deque[tuple[Arm, int, int]] = deque()
        """What changed here by what happened on the network side: an arm, how many pulls more, how many quanta more."""
        self.published = known
        """Set by the network side, read here."""
        self._taken_over: Known | None = None
        self._draw: Draw | None = None
        self._lottery: Lottery | None = None
        self._counts: dict[Arm, int] = {}
        self._sums: dict[Arm, int] = {}
        self.units_here: Callable[[float], int] = _unknown
        if known.arms:
            self._take_over(known)

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

    def desk(self, at: At) -> "Decider":
        """Return where one place of a declared bandit is decided, which may be new. May be called from any thread."""
        with self._lock:
            desk = self.desks.get(at)
            if desk is None:
                terms = self.declared[at[0]]
                desk = self.desks[at] = Decider(
                    terms.build,
                    terms.blank,
                    self._clock,
                    self.signer,
                    first_number=0,
                    allocation=terms.allocation,
                    seed=terms.seed,
                    salt=f"{self._salt}\0{at[0]}",
                    holdout=terms.holdout,
                    common=self._common,
                    at=at,
                    rewards=terms.rewards,
                    default_units=terms.default_units,
                )
            return desk

    def take_terms(self, terms: "DeskTerms") -> None:
        """Take what is said of a bandit that is declared again."""
        with self._lock:
            self._allocation, self.default_units = terms.allocation, terms.default_units
            self._holdout = Holdout(terms.holdout, self._seed, self._salt) if terms.holdout else None
            self._lottery = None
            if self._allocation is not None and self._taken_over is not None:
                self._lottery = Lottery(self._allocation, self._taken_over.candidates)

    # For callers.

    def select_arm(self, subject: str | None = None, among: Collection[Arm] | None = None) -> Decision:
        """Decide. Costs microseconds and waits for nobody."""
        if subject is not None:
            check_name("a subject", subject, LONGEST_SUBJECT)  # it is written down, and must be readable again
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
            self._open[number] = Open(written, self._count_guess(written), now, self)
            is_forced = self._control_arm is not None
        if common.refusal is None:  # otherwise nobody knows of it but its id, which will do
            whom = subject if subject is None else self.prefix + subject
            self._decided.append(Decided(number, self.prefix + written, propensity, now, whom, is_forced))
        if not common.is_awake:
            common.call()
        return Decision(arm, propensity, number, now, self.signer, *self._at, held_out is not None)

    def check_choice(self, among: Collection[Arm]) -> None:
        """Raise `StateError` if none of these may be chosen now."""
        with self._lock:
            if self.elsewhere:
                self._take_settled()
            if self.published is not self._taken_over:
                self._take_over(self.published)
            self._left_of(among)

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

    def correct(self, arm: Arm, units: int) -> None:
        """Take by how much a reward differs from what it was taken to be."""
        if is_marked(arm):
            return
        with self._lock:
            self._sums[arm] += units
            self._policy.tally.sums[arm] += units

    def _desk_of(self, number: int) -> "Decider | None":
        """Return where a decision was made, if that is open and declared; or where a reward is to be looked at."""
        entry = self._open.get(number)
        return entry.desk if entry is not None else self if self._taken_over is not None else None

    def report(self, number: int, value: float) -> bool:
        """Take a value of a guardrail's metric for an open decision of this start. Return whether it counts."""
        common = self._common
        if common.refusal is not None:
            raise NotNowError(common.refusal)
        with self._lock:
            entry = self._open.get(number)
            if entry is None or entry.desk is None or number < self._first_number or number in common.reported:
                return False
            units = entry.desk.share_units(value)
            common.reported.add(number)
        common.reports.append(Report(entry.desk.bandit, unmarked(entry.arm)[1], units))
        if not common.is_awake:
            common.call()
        return True

    def share_units(self, value: float) -> int:
        """Return a number from 0 to 1 in quanta of this bandit, whatever its range of rewards is."""
        return self._policy.quantum.units(value)

    @property
    def bandit(self) -> str:
        """Of which bandit this is a place."""
        return self._at[0]

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

    def units(self, reward: float, arm: str = "") -> int:
        """Return a reward in quanta, or say what is wrong with it.

        Args:
            reward: The reward.
            arm: The full name of its arm, if that may be one of a bandit with a name.

        Raises:
            NotNowError: The bandit is not declared here.
        """
        at, _ = split(arm)
        if at == self._at or is_marked(arm):
            return self.units_here(reward)
        if at[0] not in self.declared:
            raise NotNowError(f"bandit {at[0]!r} is not declared at {self.signer.name}: declare it, then reward")
        return self.declared[at[0]].units(reward)

    def knows(self, arm: str) -> bool:
        """Return whether the bandit of a full name is decided here: the plain one, or one that is declared."""
        at, _ = split(arm)
        return at == self._at or is_marked(arm) or at[0] in self.declared

    @property
    def decisions(self) -> int:
        """How many decisions were made since the start."""
        return self._common.next_number - self._first_number

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
        if not is_held_out(arm) and (place == self._at or place[0] in self.declared):
            desk = self if place == self._at else self.desk(place)
            desk.elsewhere.append((bare, 1, units))
        self._settled.append(Settled(number, arm, units, self._now()))

    def reopen(self, decisions: Iterable[tuple[int, Arm, float]]) -> None:
        """Open the decisions that were open when the member last stopped: here, or elsewhere once that is declared."""
        for number, full_name, at in decisions:
            if split(full_name)[0] == self._at or is_marked(full_name):
                self._open[number] = Open(full_name, self._count_guess(full_name), at, self)
            else:
                self._open[number] = Open(full_name, 0, at)

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

    def remember_subjects(self, subjects: Iterable[tuple[str, Arm, float | None]]) -> None:
        """Keep the arms of these subjects, as before the member last stopped."""
        self._subjects.update(
            (subject, (split(arm)[1], propensity)) for subject, arm, propensity in subjects if not is_held_out(arm)
        )

    # How.

    def _chosen(self, subject: str | None, number: int) -> tuple[Arm, float | None]:
        return self._choose(uniform(self._chance_key, number)) if subject is None else self._choose_for(subject)

    def _choose(self, chance: float) -> tuple[Arm, float | None]:
        """Choose by a number from 0 to 1."""
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
        """Choose the arm that the subject had, if it may still be chosen; otherwise by its place, as all members do."""
        if self._control_arm is not None:  # it does not forget what it had before
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
        """Choose as if there were no other arms than these."""
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
        """Return which of these may be chosen now."""
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
        """Choose evenly, if this decision is held out. The kill switch is for everybody."""
        arms = self._policy.candidates if among is None else self._left_of(among)
        return None if self._control_arm is not None else holdout.draw(arms, subject, number)

    def _count_guess(self, arm: str) -> int:
        """Count a decision as a pull until its reward comes; nothing of one that is held out. Return the guess."""
        if is_marked(arm):
            return 0
        guess = self._guess(arm)
        self._count(arm, 1, guess)
        return guess

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
        """Let decisions rest on what the network side knows now."""
        if self._taken_over is None or known.arms != self._taken_over.arms:
            self._policy = self._build(known.arms)
            self._half = self._policy.quantum.per_reward // 2
            self.units_here = units_of(self._policy.quantum.units, self._rewards)
            self._certainty = None if self._policy.draws else 1.0
            self._counts = {arm: self._counts.get(arm, 0) for arm in known.arms}
            self._sums = {arm: self._sums.get(arm, 0) for arm in known.arms}
        self._draw = known.draw
        if known.draw is None:  # otherwise nobody looks at tallies here
            self._take_tallies(known)
        self._policy.candidates = known.candidates  # a new policy has all its arms as candidates
        if self._taken_over is None or known.candidates != self._taken_over.candidates:
            self._lottery = None if self._allocation is None else Lottery(self._allocation, known.candidates)
        self._control_arm = known.control_arm
        self._taken_over = known

    def _take_tallies(self, known: Known) -> None:
        policy, tally = self._policy, self._policy.tally
        pulls = 0
        for arm, count, total, absorbed, absorbed_sum in zip(
            known.arms, known.counts, known.sums, known.absorbed_counts, known.absorbed_sums, strict=True
        ):
            own = self._counts[arm] - absorbed
            pulls += own
            tally.counts[arm] = count + own
            tally.sums[arm] = total + self._sums[arm] - absorbed_sum
        tally.observations = sum(tally.counts.values())
        policy.own_pulls = known.own_pulls + pulls

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


class DeskTerms(NamedTuple):
    """What holds for all segments of one bandit."""

    build: Callable[[Sequence[Arm]], Policy]
    """Makes a policy for one segment."""
    units: Callable[[float], int]
    """Turns a reward into quanta, or says what is wrong with it."""
    blank: Known = NOTHING
    """What is known of a segment of which nothing is."""
    rewards: tuple[float, float] = (0.0, 1.0)
    """The smallest and the largest reward."""
    default_units: int | None = None
    """What a decision counts with that was never rewarded."""
    allocation: Allocation | None = None
    seed: int = 0
    holdout: float = 0.0
    """The share of decisions that are held out."""


def units_of(units: Callable[[float], int], rewards: tuple[float, float]) -> Callable[[float], int]:
    """Return what turns rewards of a range into quanta."""
    if rewards == (0.0, 1.0):
        return units
    low, high = rewards

    def of_range(reward: float) -> int:
        if not (is_number(reward) and low <= reward <= high):
            raise LocalError(f"reward {reward!r} is not a number from {low:g} to {high:g}, as the bandit was declared")
        return units((float(reward) - low) / (high - low))

    return of_range


def _unknown(reward: float) -> int:
    raise LocalError(f"reward {reward!r} is for no bandit: say for which one")


def _emptied(queue: "deque[Event]") -> "list[Event]":
    """Take out what is in a queue now; others may go on adding to it."""
    return [queue.popleft() for _ in range(len(queue))]
