"""Per-arm counts and reward sums: the one data type that all parts share.

For each arm of a fixed set, a tally holds the number of observations, the sum of their rewards, and the sum of the
squares of their rewards. It does not know whose observations they are, when they were made, or what they are for. All
of these are whole numbers (see `cobandit.values.quantum`), so adding, subtracting and comparing are exact.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cobandit.values.checks import check_name, plain
from cobandit.values.errors import LocalError
from cobandit.values.quantum import square_unit

Arm = str
"""An arm's name. Names, not positions, because agents may have different arm sets."""

MOST_ARMS = 4096
"""The largest arm set that an agent may have."""

LONGEST_NAME = 200
"""The longest name of an arm or an agent, in bytes of UTF-8."""


class ArmTally(NamedTuple):
    """Some observations of one arm: how many, the sum of their rewards in quanta, and the sum of their squares."""

    arm: Arm
    observations: int
    reward_sum: int
    square_sum: int
    """In the unit of `square_unit`. If rewards are 0 or 1 quantum, it equals `reward_sum`."""

    def plus(self, other: "ArmTally") -> "ArmTally":
        """Return the sum of both."""
        arm, count, total, squares = self
        return ArmTally(arm, count + other[1], total + other[2], squares + other[3])

    def minus(self, other: "ArmTally") -> "ArmTally":
        """Return these observations without the others."""
        arm, count, total, squares = self
        return ArmTally(arm, count - other[1], total - other[2], squares - other[3])

    def can_be(self, per_reward: int) -> bool:
        """Return whether any rewards in [0, 1], counted in quanta of 1/per_reward, can add up to this.

        >>> ArmTally("A", 2, 1, 1).can_be(per_reward=1), ArmTally("A", 2, 1, 2).can_be(per_reward=1)
        (True, False)
        """
        _, count, total, squares = self
        unit = square_unit(per_reward)
        rounding = count if unit > 1 else 0  # a square is rounded down, by less than one unit
        return (
            0 <= total <= count * per_reward
            and 0 <= squares * unit <= total * per_reward
            and (squares + rounding) * unit * count >= total * total
            and (unit > 1 or squares >= total)  # a whole number's square is never below it
        )


class Tally:
    """Counts and reward sums of a fixed set of arms.

    >>> tally = Tally(["A", "B"])
    >>> tally.add("A", 2, 1, 1)
    >>> tally.counts, tally.sums, tally.observations
    ({'A': 2, 'B': 0}, {'A': 1, 'B': 0}, 2)
    """

    __slots__ = ("counts", "observations", "squares", "sums")

    def __init__(self, arms: Iterable[Arm]) -> None:
        self.counts: dict[Arm, int] = dict.fromkeys(arms, 0)
        self.sums: dict[Arm, int] = dict.fromkeys(self.counts, 0)
        self.squares: dict[Arm, int] = dict.fromkeys(self.counts, 0)
        self.observations: int = 0

    def add(self, arm: Arm, count: int, reward_sum: int, square_sum: int) -> None:
        """Add `count` observations of one arm whose rewards sum to `reward_sum` quanta."""
        self.counts[arm] += count
        self.sums[arm] += reward_sum
        self.squares[arm] += square_sum
        self.observations += count

    def add_all(self, entries: Iterable[ArmTally]) -> None:
        """Add every entry."""
        for arm, count, reward_sum, square_sum in entries:
            self.add(arm, count, reward_sum, square_sum)

    def entries(self) -> tuple[ArmTally, ...]:
        """Return the arms that have observations, in the order of the arm set."""
        return tuple(
            ArmTally(arm, count, self.sums[arm], self.squares[arm]) for arm, count in self.counts.items() if count
        )

    def copy(self) -> "Tally":
        """Return an independent tally with the same content."""
        twin = Tally(())
        twin.counts = dict(self.counts)
        twin.sums = dict(self.sums)
        twin.squares = dict(self.squares)
        twin.observations = self.observations
        return twin

    def __add__(self, other: "Tally") -> "Tally":
        merged = self.copy()
        merged.add_all(other.entries())
        return merged

    def __sub__(self, other: "Tally") -> "Tally":
        rest = self.copy()
        for arm, count, reward_sum, square_sum in other.entries():
            rest.add(arm, -count, -reward_sum, -square_sum)
        return rest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return self.counts == other.counts and self.sums == other.sums and self.squares == other.squares

    __hash__ = None  # type: ignore[assignment]  # a tally changes, so it cannot be a key

    def __repr__(self) -> str:
        body = ", ".join(f"{arm}: {self.sums[arm]}/{count}" for arm, count in self.counts.items())
        return f"Tally({body})"


def checked_arms(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Return the arm set as a tuple, or raise an error that says what is wrong with it.

    Raises:
        LocalError: The set is empty or too large, a name is doubled, or a name is not a usable string.
    """
    if isinstance(arms, set | frozenset):
        raise LocalError(f"arms must be a list of names: the set {arms!r} has no order, and ties go to the first arm")
    if isinstance(arms, str):
        raise LocalError(f"arms must be a list of names, not the string {arms!r}: write [{arms!r}] for one arm")
    try:
        names: tuple[Arm, ...] = plain(tuple(arms))
    except TypeError as error:
        raise LocalError(f"arms must be a list of names, not {arms!r}") from error
    if not names:
        raise LocalError("the arm set is empty: name at least one arm")
    if len(names) > MOST_ARMS:
        raise LocalError(f"{len(names)} arms are more than the limit of {MOST_ARMS}: offer fewer arms")
    for name in names:
        check_name("an arm's name", name, LONGEST_NAME)
    doubled = sorted(name for name, times in Counter(names).items() if times > 1)
    if doubled:
        raise LocalError(
            f"arm names must differ, but {', '.join(doubled)} is given more than once: rename or remove it"
        )
    return names
