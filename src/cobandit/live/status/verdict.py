"""A verdict on one bandit, in figures and in words: who leads, how sure that is, and what stopping now would cost.

It is based on what is known about each arm on offer: the policy's posteriors or, if it has none (UCB, AAE), posteriors
from a uniform prior and the tallies. This file owns the words and the rule for convergence. It does not know when a
verdict is wanted. Computing one takes milliseconds, so it happens in the background.
"""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cobandit.policies import Policy
from cobandit.policies.matching import Posterior, best_odds
from cobandit.policies.stopping import CONVERGED, expected_loss, leader_of
from cobandit.values.tally import LONGEST_NAME, Arm, Tally

LONGEST_IN_WORDS = 40
"""Maximum characters of an arm's name in a sentence."""

_Unit = Annotated[float, Meta(ge=0.0, le=1.0)]


class Verdict(msgspec.Struct, frozen=True):
    """What can be said about a bandit now."""

    leader: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    """The arm with the highest lower bound: its mean minus two standard deviations."""
    p_best: _Unit
    """The probability that the leader is the best of the arms on offer."""
    mean: _Unit
    """The leader's mean, given what is known about it."""
    loss: _Unit
    """The expected loss per decision if you stayed with the leader from now on."""
    is_converged: bool
    """Whether that loss is at most 1 % of the leader's mean."""
    observations: Annotated[int, Meta(ge=0)]
    """How many observations were known at the time."""
    is_of_policy: bool
    """Whether this uses the policy's own posteriors; otherwise it uses posteriors computed from the tallies."""
    text: Annotated[str, Meta(max_length=2000)]
    """The verdict in words."""

    def in_range(self, rewards: tuple[float, float]) -> "Verdict":
        """Return it with mean and loss in a range of rewards. Here they are shares of that range."""
        low, high = rewards
        return msgspec.structs.replace(self, mean=low + (high - low) * self.mean, loss=(high - low) * self.loss)


class Standing(NamedTuple):
    """What is known about the arms of one bandit that are on offer."""

    arms: tuple[Arm, ...]
    posteriors: tuple[Posterior, ...]
    observations: int
    is_of_policy: bool
    counts: tuple[int, ...] = ()
    """How often each arm was observed. Used for the words."""


class Judgement(NamedTuple):
    """A verdict, and how likely each arm is the best."""

    verdict: Verdict | None
    """`None` if nothing is known."""
    p_best: dict[Arm, float]


def standing_of(policy: Policy, arms: Sequence[Arm]) -> Standing:
    """Return what a policy knows about some of its arms.

    >>> from cobandit.policies import UCB
    >>> standing_of(UCB(["A", "B"]), ["A"])
    Standing(arms=('A',), posteriors=((1.0, 1.0),), observations=0, is_of_policy=False, counts=(0,))
    """
    own = policy.posteriors()
    known = {} if own is None else dict(zip(policy.candidates, own, strict=True))
    units = policy.quantum.per_reward
    found = tuple(known[arm] if arm in known else _posterior(policy.tally, units, arm) for arm in arms)
    counts = tuple(policy.tally.counts[arm] for arm in arms)
    return Standing(tuple(arms), found, policy.tally.observations, own is not None, counts)


def standing_by(tally: Tally, units_per_reward: int, arms: Sequence[Arm]) -> Standing:
    """Return what tallies alone say about some arms, where there is no policy."""
    found = tuple(_posterior(tally, units_per_reward, arm) for arm in arms)
    counts = tuple(tally.counts[arm] for arm in arms)
    return Standing(tuple(arms), found, tally.observations, is_of_policy=False, counts=counts)


def judged(
    standing: Standing, rest: Callable[[], object] = lambda: None, rewards: tuple[float, float] = (0.0, 1.0)
) -> Judgement:
    """Return the judgement on a bandit.

    >>> told = judged(Standing(("A", "B"), ((51.0, 951.0), (41.0, 961.0)), 2000, True)).verdict.text
    >>> print(*told.split(". "), sep=chr(10))
    A leads B, and is the best arm with 86 % probability
    Stopping now would cost 0.00068 per decision, 1.3 % of the expected 0.051: keep going.

    Args:
        standing: What is known.
        rest: Called now and then, so that other threads can run.
        rewards: The range of rewards. Words are in it; figures are shares of it.
    """
    if not standing.observations or not standing.arms:
        return Judgement(None, {})
    odds = dict(zip(standing.arms, best_odds(standing.posteriors, rest), strict=True))
    place = leader_of(standing.posteriors)
    leader, (a, b) = standing.arms[place], standing.posteriors[place]
    mean, loss = a / (a + b), min(1.0, expected_loss(standing.posteriors, place, rest))
    verdict = Verdict(
        leader=leader,
        p_best=min(1.0, odds[leader]),
        mean=mean,
        loss=loss,
        is_converged=loss <= CONVERGED * mean,
        observations=standing.observations,
        is_of_policy=standing.is_of_policy,
        text="",
    )
    return Judgement(msgspec.structs.replace(verdict, text=_words(verdict, standing, odds, rewards)), odds)


def _posterior(tally: Tally, units_per_reward: int, arm: Arm) -> Posterior:
    """Return an arm's posterior from a uniform prior and its tally, which is too wide for rewards between 0 and 1."""
    count, rewards = tally.counts[arm], tally.sums[arm] / units_per_reward
    return 1.0 + max(0.0, rewards), 1.0 + max(0.0, count - rewards)


def _words(verdict: Verdict, standing: Standing, odds: dict[Arm, float], rewards: tuple[float, float]) -> str:
    others = [arm for arm in odds if arm != verdict.leader]
    if not others:
        return f"{_short(verdict.leader)} is the only arm on offer."
    second = max(others, key=odds.__getitem__)
    width = rewards[1] - rewards[0]
    text = (
        f"{_leads(verdict, second, odds[second], standing)} "
        f"Stopping now would cost {_cost(verdict.loss * width, verdict.mean * width, rewards[0])}: "
        f"{'it has converged' if verdict.is_converged else 'keep going'}."
    )
    return text if verdict.is_of_policy else f"{text} This is by the counts alone: the policy has no posteriors."


def _leads(verdict: Verdict, second: Arm, p_second: float, standing: Standing) -> str:
    """Return who leads, how sure that is, and why a more likely best arm does not lead."""
    leader, other = _short(verdict.leader), _short(second)
    if p_second <= verdict.p_best:
        return f"{leader} leads {other}, and is the best arm with {percent(verdict.p_best)} probability."
    count = dict(zip(standing.arms, standing.counts, strict=False)).get(second)
    tried = "less is known about it" if count is None else f"was tried only {count:,} time{'s' * (count != 1)}"
    return (
        f"{leader} leads, and is the best arm with {percent(verdict.p_best)} probability. {other} looks better "
        f"({percent(p_second)}), but {'was never tried' if count == 0 else tried}."
    )


def _short(arm: Arm) -> Arm:
    return arm if len(arm) <= LONGEST_IN_WORDS else arm[: LONGEST_IN_WORDS - 1] + "…"


def percent(share: float) -> str:
    """Return a probability in words that never say 100 % of what is not certain.

    >>> percent(0.5), percent(0.9961), percent(0.99999), percent(0.0001)
    ('50 %', '99.6 %', 'over 99.9 %', 'under 0.1 %')
    """
    if share > 0.999:
        return "over 99.9 %"
    if share < 0.001:
        return "under 0.1 %"
    return f"{share:.1%}".replace("%", " %") if not 0.01 <= share <= 0.99 else f"{share:.0%}".replace("%", " %")


def _cost(loss: float, mean: float, lowest: float) -> str:
    """Return what a decision would cost, absolutely and relative to the leader's mean above the lowest reward.

    The mean is included. It is the expected one, which differs from the observed one while there are few observations.

    >>> _cost(12.5, 50.0, -50.0)
    '12 per decision, 25 % of the expected 50 above -50'
    """
    part = loss / mean
    if part < 0.0001:
        return "next to nothing"
    above = f" above {lowest:g}" if lowest else ""
    return f"{_rounded(loss)} per decision, {100.0 * part:.2g} % of the expected {_rounded(mean)}{above}"


def _rounded(amount: float) -> str:
    """Return an amount with two significant digits."""
    return f"{amount:.{max(0, 1 - math.floor(math.log10(amount)))}f}"
