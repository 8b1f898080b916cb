"""How arms pay: the distribution of a reward, given the arm's mean at the moment.

An arm in the paper pays 1 or 0. Others pay any number in the range of rewards: from a Beta or a normal distribution,
from a list of values, from a function of yours, or from a log. This file defines these ways.
`cobandit.scenario.drawing` draws, because both engines use it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

from cobandit.scenario import drawing
from cobandit.values.checks import check_positive, is_number, keep_plain
from cobandit.values.errors import LocalError
from cobandit.values.reward_range import RewardRange

MAX_LOG_ROWS = 1_000_000
"""Maximum number of rewards of one arm in a log, and of values of a discrete one."""

LEAST_CONCENTRATION = 1e-3
MOST_CONCENTRATION = 1e9


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Either the highest or the lowest reward, with the probability that gives the arm's mean. The default."""

    law: ClassVar[int] = drawing.BERNOULLI

    def spread(self, _: RewardRange) -> float:
        """Return the parameter that the draw needs besides the mean: none."""
        return 0.0

    def expected(self, mean: float, _: RewardRange) -> float:
        """Return what the arm pays on average."""
        return mean


@dataclass(frozen=True, slots=True)
class Beta:
    """A Beta distribution over the range: Beta(m c, (1 - m) c), where m is the place of the mean in the range.

    Args:
        concentration: c. The larger it is, the closer rewards are to the mean; 2 with a mean in the middle is uniform.
    """

    concentration: float
    law: ClassVar[int] = drawing.BETA

    def __post_init__(self) -> None:
        keep_plain(self, "concentration")
        check_positive("concentration", self.concentration)
        if not LEAST_CONCENTRATION <= self.concentration <= MOST_CONCENTRATION:
            raise LocalError(
                f"concentration must be a number in [{LEAST_CONCENTRATION:g}, {MOST_CONCENTRATION:g}], "
                f"not {self.concentration!r}"
            )

    def spread(self, _: RewardRange) -> float:
        """Return the concentration."""
        return float(self.concentration)

    def expected(self, mean: float, _: RewardRange) -> float:
        """Return what the arm pays on average."""
        return mean


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal distribution around the arm's mean, clipped to the range: values outside become the nearest end.

    So an arm near an end pays, on average, slightly less or more than its mean. Regret uses what it actually pays.

    Args:
        sd: The standard deviation before clipping, in units of the reward.
    """

    sd: float
    law: ClassVar[int] = drawing.NORMAL

    def __post_init__(self) -> None:
        keep_plain(self, "sd")
        check_positive("sd", self.sd)

    def spread(self, rewards: RewardRange) -> float:
        """Return the standard deviation as a share of the range."""
        return self.sd / rewards.width

    def expected(self, mean: float, rewards: RewardRange) -> float:
        """Return what the arm pays on average, after clipping.

        >>> [round(Normal(0.5).expected(mean, RewardRange(0.0, 1.0)), 3) for mean in (0.0, 0.5)]
        [0.195, 0.5]
        """
        low, high = ((end - mean) / self.sd for end in (rewards.low, rewards.high))
        inside = _below(high) - _below(low)
        ends = rewards.low * _below(low) + rewards.high * _below(-high)
        return ends + mean * inside - self.sd * (_density(high) - _density(low))


@dataclass(frozen=True, slots=True)
class Discrete:
    """One of a few values, each with its probability. The arm's mean follows from them.

    Args:
        values: The rewards.
        chances: The probability of each; they add up to 1.

    >>> Discrete((0.0, 1.0, 5.0), (0.7, 0.2, 0.1)).mean
    0.7
    """

    values: tuple[float, ...]
    chances: tuple[float, ...]
    law: ClassVar[int] = drawing.DISCRETE

    def __post_init__(self) -> None:
        keep_plain(self, "values", "chances")
        if not self.values or len(self.values) != len(self.chances):
            raise LocalError(
                f"{len(self.values)} values but {len(self.chances)} chances: give at least one value, and a chance for "
                "each"
            )
        _check_rewards(self.values)
        if not all(is_number(chance) and 0.0 <= chance <= 1.0 for chance in self.chances):
            raise LocalError(f"chances must be numbers in [0, 1], not {self.chances!r}")
        if abs(math.fsum(self.chances) - 1.0) > 1e-9:
            raise LocalError(f"chances must add up to 1, not to {math.fsum(self.chances):g}")

    @property
    def mean(self) -> float:
        """The average reward."""
        return math.fsum(value * chance for value, chance in zip(self.values, self.chances, strict=True))

    @property
    def cumulative(self) -> tuple[float, ...]:
        """The cumulative probabilities of the values; the last is exactly 1, whatever the rounding."""
        return (*tuple(accumulate(self.chances))[:-1], 1.0)


@dataclass(frozen=True, slots=True)
class Replay:
    """The rewards of a log. Each agent reads them in order, from its own starting point on the tape, and wraps around.

    Args:
        log: The rewards of this arm, in the order of the log.
    """

    log: tuple[float, ...]
    law: ClassVar[int] = drawing.REPLAY

    def __post_init__(self) -> None:
        keep_plain(self, "log")
        if not 1 <= len(self.log) <= MAX_LOG_ROWS:
            raise LocalError(f"a log of an arm has 1 to {MAX_LOG_ROWS:,} rewards, not {len(self.log):,}")
        _check_rewards(self.log)

    @property
    def mean(self) -> float:
        """The average reward."""
        return math.fsum(self.log) / len(self.log)


@dataclass(frozen=True, slots=True)
class OwnReward:
    """Your own function. Both engines run it; the compiled one supports only numbers and the functions of `math`.

    Args:
        function: Takes the luck of the pull (a number from 0 to 1), the slot, and the arm's mean in that slot, and
            returns the reward. You must make sure that it pays that mean on average: regret relies on it.

    >>> exponential = OwnReward(lambda luck, slot, mean: min(200.0, -mean * math.log(1.0 - luck)))
    >>> exponential.function(0.5, 0, 10.0) < 10.0
    True
    """

    function: Callable[[float, int, float], float]
    law: ClassVar[int] = drawing.OWN

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise LocalError(f"a reward of your own must be a function of luck, slot and mean, not {self.function!r}")

    def spread(self, _: RewardRange) -> float:
        """Return the parameter that the draw needs besides the mean: none."""
        return 0.0

    def expected(self, mean: float, _: RewardRange) -> float:
        """Return what the arm pays on average."""
        return mean


ByMean = Bernoulli | Beta | Normal | OwnReward
"""Ways to pay by the arm's mean, which may change."""

ByValues = Discrete | Replay
"""Ways to pay that have their own mean."""

Pay = ByMean | ByValues
BERNOULLI_PAY = Bernoulli()
KINDS = (Bernoulli, Beta, Normal, Discrete, Replay, OwnReward)


def bad_reward(arm: str, reward: object, rewards: RewardRange) -> LocalError:
    """Return the error for a user's function that returned a reward outside the range."""
    return LocalError(
        f"the reward function of arm {arm!r} returned {reward!r}, but rewards are numbers in [{rewards.low:g}, "
        f"{rewards.high:g}]: let it return one, or declare a wider range"
    )


def log_rows(
    path: Path | str, rows: list[tuple[int, dict[str, str]]], number: Callable[..., float]
) -> dict[str, Replay]:
    """Return the log of each arm, from the rows of a file with the columns `arm` and `reward`."""
    logs: dict[str, list[float]] = {}
    for line, row in rows:
        logs.setdefault(row["arm"], []).append(number(path, line, "reward", row["reward"]))
    return {arm: Replay(tuple(rewards)) for arm, rewards in logs.items()}


def _check_rewards(values: tuple[float, ...]) -> None:
    for value in values:
        if not (is_number(value) and -math.inf < value < math.inf):
            raise LocalError(f"a reward must be a finite number, not {value!r}")


def _below(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def _density(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
