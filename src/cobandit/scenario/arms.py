"""The arms of a world: their names, their means, how they pay, in which range, and how their means change.

By default, an arm is as in the paper: it pays 1 or 0, with a fixed mean. Means and rewards are in the same unit,
whatever the range. Only the inside of the program uses shares of the range (`cobandit.values.reward_range`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cobandit.scenario import changes as changing
from cobandit.scenario.changes import Changes, Course, course_of
from cobandit.scenario.csv_files import as_number, read_csv
from cobandit.scenario.paying import BERNOULLI_PAY, KINDS, Bernoulli, ByValues, Discrete, Pay, Replay, log_rows
from cobandit.values.chance import stream, uniform
from cobandit.values.checks import check_whole, keep_plain, plain_arguments
from cobandit.values.errors import LocalError
from cobandit.values.quantum import BERNOULLI, MILLIONTH
from cobandit.values.reward_range import UNIT, RewardRange, as_range
from cobandit.values.tally import MOST_ARMS, Arm, checked_arms


@dataclass(frozen=True)
class Arms:
    """Named arms with their means. By default, an arm pays 1 with that probability, and 0 otherwise.

    Args:
        names: The names of the arms.
        means: The mean of each arm, in units of the reward.
        rewards: The range of rewards: a `RewardRange`, or its two ends.
        pays: How the arms pay: one value for all, or one per arm.
        changes: How the means change over time; by default they do not.

    >>> arms = Arms.of([0.2, 0.7])
    >>> arms.names, arms.best(arms.names)
    (('0', '1'), 0.7)
    """

    names: tuple[Arm, ...]
    means: tuple[float, ...]
    rewards: RewardRange = UNIT
    pays: Pay | tuple[Pay, ...] = BERNOULLI_PAY
    changes: Changes | None = None

    def __post_init__(self) -> None:
        keep_plain(self, "names", "means", "rewards")
        checked_arms(self.names)
        object.__setattr__(self, "rewards", as_range(self.rewards))
        if len(self.names) != len(self.means):
            raise LocalError(f"{len(self.names)} arm names but {len(self.means)} means: give one mean for each arm")
        for name, pay in zip(self.names, self.each_pays, strict=False):
            for value in pay.values if isinstance(pay, Discrete) else pay.log if isinstance(pay, Replay) else ():
                self.rewards.check(f"a reward of arm {name}", value)
        for name, mean in zip(self.names, self.means, strict=True):
            self.rewards.check(f"the mean of arm {name}", mean)
        self._check_pays()
        if self.changes is not None and not isinstance(self.changes, changing.KINDS):
            raise LocalError(f"changes must be Switches, Linear, Sinusoid or Walk, not {self.changes!r}")

    def _check_pays(self) -> None:
        if not isinstance(self.pays, tuple | list):
            object.__setattr__(self, "pays", self.pays)
        elif len(self.pays) != len(self.names):
            raise LocalError(
                f"{len(self.names)} arms but {len(self.pays)} ways to pay: give one for all, or one for each"
            )
        else:
            alike = all(pay == self.pays[0] for pay in self.pays)  # equal arms are written in the same way
            object.__setattr__(self, "pays", self.pays[0] if alike else tuple(self.pays))
        for name, mean, pay in zip(self.names, self.means, self.each_pays, strict=True):
            if not isinstance(pay, KINDS):
                raise LocalError(f"arm {name} pays by Bernoulli(), Normal(sd) or another, not by {pay!r}")
            if not isinstance(pay, ByValues):
                continue
            if abs(pay.mean - mean) > 1e-9 * self.rewards.width:
                raise LocalError(
                    f"arm {name} pays {pay.mean:g} on average by its values, so its mean cannot be {mean!r}"
                )
            if self.changes is not None:
                raise LocalError(f"arm {name} pays its own values, so its mean cannot change: let it pay by its mean")

    @classmethod
    def of(
        cls,
        means: Sequence[float],
        *,
        rewards: RewardRange | tuple[float, float] = UNIT,
        pays: Pay | tuple[Pay, ...] = BERNOULLI_PAY,
        changes: Changes | None = None,
    ) -> "Arms":
        """Name the arms 0, 1, 2, ..."""
        if isinstance(means, str | bytes) or not isinstance(means, Iterable):
            raise LocalError(f"means must be a list of numbers, such as [0.2, 0.8], not {means!r}")
        means = tuple(means)
        names = tuple(str(position) for position in range(len(means)))
        return cls(names, tuple(means), rewards, pays, changes)  # type: ignore[arg-type]  # two numbers become a range

    @classmethod
    def paying(
        cls, pays: Sequence[ByValues], names: Sequence[Arm] = (), *, rewards: RewardRange | tuple[float, float] = UNIT
    ) -> "Arms":
        """Return arms whose means follow from how they pay: `Discrete` or `Replay`.

        >>> Arms.paying([Discrete((0.0, 9.0), (0.5, 0.5)), Replay((1.0, 2.0))], rewards=(0, 10)).means
        (4.5, 1.5)
        """
        for pay in pays:
            if not isinstance(pay, ByValues):
                raise LocalError(f"{pay!r} does not determine a mean: use Discrete(...) or Replay(...), or give means")
        given = tuple(names) or tuple(str(position) for position in range(len(pays)))
        return cls(given, tuple(pay.mean for pay in pays), rewards, tuple(pays))  # type: ignore[arg-type]

    @classmethod
    @plain_arguments
    def uniform(cls, count: int, low: float, high: float, *, seed: int) -> "Arms":
        """Draw the means uniformly from [low, high]."""
        if not 0.0 <= low <= high <= 1.0:
            raise LocalError(f"means are drawn from a range inside [0, 1], not [{low!r}, {high!r}]")
        return cls.of(drawn_means(count, low, high, seed=seed))

    @classmethod
    def from_csv(cls, path: Path | str) -> "Arms":
        """Read a file with the columns `arm` and `mean`."""
        return cls(*read_means(path))

    @classmethod
    def replay(cls, path: Path | str, *, rewards: RewardRange | tuple[float, float] = UNIT) -> "Arms":
        """Read a log with the columns `arm` and `reward`. Each arm replays its rewards from the log (`Replay`)."""
        logs = log_rows(path, read_csv(path, ("arm", "reward")), as_number)
        return cls.paying(list(logs.values()), list(logs), rewards=rewards)

    @property
    def each_pays(self) -> tuple[Pay, ...]:
        """How each arm pays."""
        return self.pays if isinstance(self.pays, tuple) else (self.pays,) * len(self.names)

    @property
    def are_binary(self) -> bool:
        """Whether all arms pay only the highest or the lowest reward, and nothing in between."""
        return isinstance(self.pays, Bernoulli)

    @property
    def quantum(self) -> float:
        """The smallest step of a reward, as a fraction of the range: the unit in which policies of this world count."""
        return BERNOULLI if self.are_binary else MILLIONTH

    @property
    def expected(self) -> tuple[float, ...]:
        """What each arm pays on average (at the start, if means change): its mean, after any clipping."""
        return self.expected_of(self.means)

    def expected_of(self, means: Sequence[float]) -> tuple[float, ...]:
        """Return what each arm pays on average if the arms have these means."""
        return tuple(
            mean if isinstance(pay, ByValues) else pay.expected(mean, self.rewards)
            for mean, pay in zip(means, self.each_pays, strict=True)
        )

    def course(self, horizon: int) -> Course | None:
        """Return the means over time, if they change."""
        if self.changes is None:
            return None
        return course_of(self.changes, self.names, self.means, self.rewards, horizon)

    def told(self, units: int) -> float:
        """Convert a reward counted in quanta to its usual units, to six digits.

        >>> Arms.of([3.0], rewards=(-5.0, 5.0)).told(1), Arms.of([0.5]).told(1)
        (5.0, 1)
        """
        if self.are_binary and self.rewards == UNIT:
            return units
        return float(f"{self.rewards.reward_of(units * self.quantum):.6g}")

    def mean(self, arm: Arm) -> float:
        """Return the mean of one arm."""
        return self.means[self.names.index(arm)]

    def best(self, names: Sequence[Arm]) -> float:
        """Return the highest average reward among these arms."""
        expected = self.expected
        return max(expected[self.names.index(name)] for name in names)


def drawn_means(count: int, low: float, high: float, *, seed: int) -> list[float]:
    """Draw means uniformly from [low, high]."""
    check_whole("the number of arms", count, 1, MOST_ARMS)
    key = stream(seed, 0xA12)
    return [low + (high - low) * uniform(key, position) for position in range(count)]


def read_means(path: Path | str) -> tuple[tuple[Arm, ...], tuple[float, ...]]:
    """Return names and means from a file with the columns `arm` and `mean`."""
    rows = read_csv(path, ("arm", "mean"))
    return (
        tuple(row["arm"] for _, row in rows),
        tuple(as_number(path, line, "mean", row["mean"]) for line, row in rows),
    )
