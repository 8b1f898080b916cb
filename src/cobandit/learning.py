"""What an agent has learned, place by place: one policy for each segment of each bandit, and one for the plain bandit.

A policy reads the sum of what is known of its place inside the window. If observations fade (`Bandit.half_life`), it
counts fewer from older periods. A place gets a policy when it is first asked for. For places that others made up, only
the observations are kept. Counts beside a bandit have no policy. This file knows no peers and no cells: all changes
arrive as `Change`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from cobandit.core.places import PLAIN, At, Bandit, Change, beside, faded
from cobandit.policies import Policy
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm, ArmTally, Tally

Build = Callable[[Sequence[Arm]], Policy]
"""Makes a fresh policy for some arms."""


class Learner:
    """The policy of one place."""

    __slots__ = ("_bandit", "_parts", "_present", "policy")

    def __init__(self, policy: Policy, bandit: Bandit, present: int = 0) -> None:
        if policy.eliminates and bandit.period:
            raise LocalError(
                f"{type(policy).__name__} rules arms out for good, and such an arm is never observed again: with a "
                "window or a half-life nothing could show that it has become the best. Take ucb, kl-ucb or thompson"
            )
        self.policy = policy
        self._bandit, self._present = bandit, present
        self._parts: dict[int, Tally] | None = {} if bandit.half_life else None
        """What is known of each period, if older ones count less."""

    def observe(self, tallies: Sequence[ArmTally]) -> None:
        """Count own observations of the present period."""
        if len(tallies) == 1 and tallies[0].observations == 1:
            self.policy.update_units(tallies[0].arm, tallies[0].reward_sum)
        else:
            self.policy.update_all(tallies)
        if self._parts is not None:
            self._part(self._present).add_all(tallies)

    def learn(self, period: int, tallies: Sequence[ArmTally], *, own: bool = False) -> None:
        """Count more, or fewer, observations of a period."""
        if self._parts is None:
            self.policy.learn(tallies, own=own)
            return
        self.policy.own_pulls += sum(max(0, entry.observations) for entry in tallies) if own else 0
        self._part(period).add_all(tallies)
        self._fade()

    @property
    def has_any(self) -> bool:
        """Whether anything is known, even if it is so old that it counts for nothing at present."""
        if self._parts is None:
            return self.policy.tally.observations > 0
        return any(part.observations for part in self._parts.values())

    def turn(self, present: int) -> None:
        """Begin another period."""
        self._present = present
        if self._parts is not None:
            self._parts = {period: part for period, part in self._parts.items() if part.observations}
            self._fade()

    def change_arms(self, arms: Sequence[Arm]) -> None:
        """Serve more arms."""
        self.policy.change_arms(arms)
        if self._parts is not None:
            before, self._parts = self._parts, {}
            for period, part in before.items():
                self._part(period).add_all(part.entries())

    def _part(self, period: int) -> Tally:
        assert self._parts is not None
        return self._parts.setdefault(period, Tally(self.policy.arms))

    def _fade(self) -> None:
        assert self._parts is not None
        tally = self.policy.tally = Tally(self.policy.arms)
        for period, part in self._parts.items():
            weight = self._bandit.weight(max(0, self._present - period))
            tally.add_all(faded(entry, weight) for entry in part.entries() if entry.observations > 0)


class Learners:
    """The policies of one agent."""

    def __init__(self, bandits: dict[str, Bandit], period_of: Callable[[str], int]) -> None:
        self._bandits, self._period_of = bandits, period_of
        self._build: dict[str, Build] = {}
        self._all: dict[At, Learner] = {}
        self._waiting: dict[At, dict[tuple[int, Arm, bool], ArmTally]] = {}
        """What is known of places that have no policy yet: by period and arm, own observations apart."""

    def put_plain(self, policy: Policy) -> Learner:
        """Add the policy of the plain bandit."""
        learner = self._all[PLAIN] = Learner(policy, self._bandits[""], self._period_of(""))
        return learner

    def declare(self, bandit: str, build: Build, known: Iterable[Change]) -> None:
        """Store how to make policies for a bandit, and all that is known of it so far."""
        is_new, self._build[bandit] = bandit not in self._build, build
        if is_new:
            self.learn(one for one in known if one.bandit == bandit)

    def grow(self) -> None:
        """Extend policies of named bandits that have more arms now."""
        for (bandit, _), learner in self._all.items():
            if bandit and learner.policy.arms != self._bandits[bandit].arms:
                learner.change_arms(self._bandits[bandit].arms)

    def knows(self, bandit: str) -> bool:
        """Return whether it is known how to make policies for a bandit."""
        return bandit in self._build

    def at(self, at: At) -> Learner:
        """Return the policy of a place, creating it if necessary.

        Raises:
            LocalError: It is not known how to make policies for that bandit.
        """
        learner = self._all.get(at)
        if learner is None:
            learner = self._all[at] = self.seen(at)
            self._waiting.pop(at, None)
        return learner

    def seen(self, at: At) -> Learner:
        """Return the policy of a place for reading only: a new one is not kept.

        Raises:
            LocalError: It is not known how to make policies for that bandit.
        """
        learner = self._all.get(at)
        if learner is None:
            build = self._build.get(at[0])
            if build is None:
                raise LocalError(f"bandit {at[0]!r} has no policy here: declare it first")
            bandit = self._bandits[at[0]]
            learner = Learner(build(bandit.arms), bandit, self._period_of(at[0]))
            for (period, _, is_own), tally in self._waiting.get(at, {}).items():
                learner.learn(period, (tally,), own=is_own)
        return learner

    def observations(self, at: At) -> int:
        """Return how many observations of a place are known and count."""
        learner = self._all.get(at)
        if learner is not None:
            return learner.policy.tally.observations
        bandit, present, waiting = self._bandits[at[0]], self._period_of(at[0]), self._waiting.get(at, {})
        counts = ((max(0, present - period), one.observations) for (period, _, _), one in waiting.items())
        return sum(round(count * bandit.weight(age)) for age, count in counts)

    @property
    def policies(self) -> Collection[At]:
        """The places that have a policy."""
        return self._all.keys()

    @property
    def waiting(self) -> dict[At, int]:
        """The places that have no policy yet, and how many entries are kept for each."""
        return {at: len(numbers) for at, numbers in self._waiting.items()}

    def has_any(self, at: At) -> bool:
        """Return whether anything is known of a place."""
        learner = self._all.get(at)
        return at in self._waiting if learner is None else learner.has_any

    def drop(self, at: At) -> None:
        """Drop the policy of a place of which nothing is known."""
        self._all.pop(at, None)

    def segments_of(self, bandit: str) -> tuple[str, ...]:
        """Return the known segments of a bandit."""
        return tuple(segment for name, segment in (*self._all, *self._waiting) if name == bandit)

    def learn(self, changes: Iterable[Change]) -> None:
        """Count what is more, or less, known."""
        for bandit, segment, period, tally, is_own in changes:
            at = (bandit, segment)
            if at in self._all:
                self._all[at].learn(period, (tally,), own=is_own)
            elif bandit in self._build and not beside(bandit, segment):
                waiting, key = self._waiting.setdefault(at, {}), (period, tally.arm, is_own)
                waiting[key] = waiting[key].plus(tally) if key in waiting else tally
                both = [(period, tally.arm, own) for own in (False, True) if (period, tally.arm, own) in waiting]
                if not sum(waiting[one].observations for one in both):  # own ones leave a window without `is_own`
                    for one in both:
                        del waiting[one]
                if not waiting:
                    del self._waiting[at]

    def turn(self) -> None:
        """Begin the new periods."""
        for (bandit, _), learner in self._all.items():
            learner.turn(self._period_of(bandit))
