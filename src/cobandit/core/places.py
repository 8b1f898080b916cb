"""Where an observation belongs: to a bandit, to a segment of it, and to a period of time.

An agent has any number of bandits, each with arms of its own, and one without a name, the only one in the paper: the
*plain* one. A *segment* is a bandit inside a bandit; it needs no announcement. A bandit may have a window: then time is
cut into periods, `floor(time / period)`, and only the last few of them count. Every agent drops what is outside by the
same rule, without a message.

This file knows no agents. `replica.py` knows which cells exist, `link.py` who wants them.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cobandit.values.checks import check_name, check_whole, is_name
from cobandit.values.errors import LocalError
from cobandit.values.tally import LONGEST_NAME, Arm, ArmTally, checked_arms

MAX_BANDITS = 1024
"""The most bandits that an agent may serve, besides the plain one."""

MAX_PERIODS = 64
"""The most periods of a window."""

MIN_PERIOD = 0.001
"""The shortest period or half-life, so that period numbers stay below `MAX_PERIOD` at any time of day."""

MAX_PERIOD = 2**53
"""Periods are below this."""

At = tuple[str, str]
"""A bandit and a segment of it. Each such pair has a policy of its own."""

PLAIN: At = ("", "")

SEPARATOR = "\x1f"
"""Occurs in no name of a bandit or an arm, nor in a segment that a user has named."""

HELD_OUT, GUARDRAIL = APART = ("held out", "guardrail")
"""What is counted beside a bandit, for all its segments together. No policy learns from it. These are all kinds."""


def apart(bandit: str, what: str) -> At:
    r"""Return where something is counted beside a bandit. No user can name such a segment.

    >>> apart("", HELD_OUT), apart("home", GUARDRAIL)
    (('', 'held out'), ('home', '\x1fguardrail'))
    """
    return (bandit, SEPARATOR + what if bandit else what)


def beside(bandit: str, segment: str) -> str:
    """Return which kind of count a place is, if it is beside its bandit; nothing if it is a segment that learns."""
    if bandit and not segment.startswith(SEPARATOR):
        return ""
    return segment.removeprefix(SEPARATOR) if bandit else segment


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def check_part(what: str, name: str) -> None:
    """Refuse a name of a bandit or a segment with control characters: one of them separates such names.

    Raises:
        LocalError: It has one.
    """
    if isinstance(name, str) and _CONTROL.search(name):
        raise LocalError(f"{what} must not contain control characters such as a line end or U+001F: {name!r}")


def check_arm(arm: Arm) -> None:
    """Refuse an arm whose name contains the separator: joined to those of bandit and segment, it would be misread.

    Raises:
        LocalError: It does.
    """
    if isinstance(arm, str) and SEPARATOR in arm:
        raise LocalError(f"an arm must not contain the separator U+001F: {arm!r}")


def can_be(at: At) -> bool:
    r"""Return whether a peer may report this place. Kinds beside a bandit that this release does not know are allowed.

    >>> can_be(("home", "de")), can_be(apart("home", "news")), can_be(("home", "a\x1fb")), can_be(("home", "\x1f"))
    (True, True, False, False)
    """
    names = (at[0], beside(*at) or at[1])
    return all(is_name(name, LONGEST_NAME) and not _CONTROL.search(name) for name in names if name)


class Bandit(NamedTuple):
    """One bandit: the values that all its members must agree on, and the arms that one of them serves."""

    name: str
    arms: tuple[Arm, ...]
    units_per_reward: int
    """How many quanta its range of rewards has."""
    period: float = 0.0
    """How long a period lasts, in the unit of the driver's calendar; 0 if one period lasts for ever."""
    periods: int = 1
    """How many of them count, including the present one."""
    half_life: float = 0.0
    """The age at which an observation counts half; 0 if all observations inside the window count in full."""
    rewards: tuple[float, float] = (0.0, 1.0)
    """The smallest and the largest reward. The core does not use it; members with different ranges share nothing."""

    def number_at(self, time: float) -> int:
        """Return the period at a time.

        >>> Bandit("b", ("A",), 1, period=60.0).number_at(125.0)
        2
        """
        return int(time // self.period) if self.period else 0

    def reward(self, units: int) -> float:
        """Return the reward that this many quanta stand for, in the range of this bandit.

        >>> Bandit("home", ("A",), 100, rewards=(-50.0, 150.0)).reward(25)
        0.0
        """
        low, high = self.rewards
        return min(high, max(low, low + (high - low) * units / self.units_per_reward))

    def weight(self, age: int) -> float:
        """Return how much an observation counts that is `age` periods old."""
        return 1.0 if not self.half_life else 2.0 ** (-age * self.period / self.half_life)


class Placed(NamedTuple):
    """Own observations of one segment of one bandit."""

    bandit: str
    segment: str
    tallies: tuple[ArmTally, ...]


class Change(NamedTuple):
    """What is more, or less, known of one arm in one place: from others, or (`is_own`) from this agent itself."""

    bandit: str
    segment: str
    period: int
    tally: ArmTally
    is_own: bool = False


def faded(tally: ArmTally, weight: float) -> ArmTally:
    """Return observations that count only in part: fewer whole ones, of the same mean.

    >>> faded(ArmTally("A", 9, 6, 6), 0.5)
    ArmTally(arm='A', observations=4, reward_sum=2, square_sum=2)
    """
    arm, count, reward_sum, square_sum = tally
    left = round(count * weight)
    return ArmTally(arm, left, reward_sum * left // count, square_sum * left // count)


def difference(mine: Bandit, theirs: Bandit) -> str | None:
    """Return in words what two members declare differently about one bandit; `None` if they can share it.

    Arms may differ: the arms that two members have in common are shared.
    """
    for name in ("rewards", "units_per_reward", "period", "periods", "half_life"):
        one, other = getattr(mine, name), getattr(theirs, name)
        if one != other:
            return f"{name}: {one} here, {other} there"
    return None


def together(mine: Sequence[Bandit], theirs: Sequence[Bandit]) -> tuple[Bandit, ...]:
    """Return the bandits of two members, each with the arms of both. Where the declarations differ, `mine` wins."""
    found = {bandit.name: bandit for bandit in mine}
    for bandit in theirs:
        known = found.get(bandit.name, bandit)
        if difference(known, bandit) is None:
            found[bandit.name] = known._replace(arms=tuple(dict.fromkeys((*known.arms, *bandit.arms))))
    return tuple(found.values())


def check_bandits(bandits: Sequence[Bandit]) -> None:
    """Refuse impossible bandits.

    Raises:
        LocalError: A name is repeated or not usable, an arm set or a number is impossible, or there are too many.
    """
    if len(bandits) > MAX_BANDITS:
        raise LocalError(
            f"{len(bandits)} bandits are more than the limit of {MAX_BANDITS}: use segments, or two fleets"
        )
    if len({bandit.name for bandit in bandits}) < len(bandits):
        raise LocalError("a bandit is declared twice: give each a name of its own")
    for bandit in bandits:
        if bandit.name or bandit.arms:  # the arms of the plain one are declared elsewhere
            check_name("a bandit's name", bandit.name, LONGEST_NAME)
            check_part("a bandit's name", bandit.name)
            for arm in checked_arms(bandit.arms):
                check_arm(arm)
        check_whole(f"the quanta of bandit {bandit.name!r}", bandit.units_per_reward, 1, 2**31)
        check_whole(f"the periods of bandit {bandit.name!r}", bandit.periods, 1, MAX_PERIODS)
        for name in ("period", "half_life"):
            length = getattr(bandit, name)
            if length and not MIN_PERIOD <= length < math.inf:
                raise LocalError(
                    f"the {name} of bandit {bandit.name!r} must be 0, or {MIN_PERIOD} or more, not {length}"
                )
        low, high = bandit.rewards
        if not -math.inf < low < high < math.inf:
            raise LocalError(
                f"the rewards of bandit {bandit.name!r} must be from a lower to a higher number, not {low} to {high}"
            )


def check_next(bandits: Sequence[Bandit], known: Mapping[str, Bandit], served: Mapping[str, Bandit]) -> None:
    """Refuse bandits that may not replace the present and past ones.

    Raises:
        LocalError: One that must stay (`known`) gets another definition, or loses arms; or the plain bandit gets a
            window, or loses it.
    """
    check_bandits(bandits)
    for bandit in bandits:
        before = known.get(bandit.name)
        if before is not None and (what := difference(before, bandit)) is not None:
            raise LocalError(f"bandit {bandit.name!r} is known with another {what}: declare it under another name")
        if before is not None and not set(before.arms) <= set(bandit.arms):
            raise LocalError(f"bandit {bandit.name!r} has had the arms {', '.join(before.arms)}: they must stay")
    if ("" in served) != any(not bandit.name for bandit in bandits):
        raise LocalError("the plain bandit has a window from its first start on, or never")
