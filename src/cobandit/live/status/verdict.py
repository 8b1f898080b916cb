"""A verdict on one bandit, in figures and in words: who leads, how sure that is, what stopping now would cost.

It is made from what is known of each arm on offer: the posteriors of the policy, or, if it has none (UCB, AAE), those
that a uniform prior and the tallies give. This file owns the words and the rule of convergence. It does not know when a
verdict is wanted, and computing one takes milliseconds: it is done beside decisions and steps.
"""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cobandit.policies import Policy
from cobandit.policies.matching import Posterior, best_odds
from cobandit.policies.stopping import CONVERGED, expected_loss, leader_of
from cobandit.values.tally import LONGEST_NAME, Arm

LONGEST_IN_WORDS = 40
"""Characters of an arm's name in a sentence."""

_Unit = Annotated[float, Meta(ge=0.0, le=1.0)]


class Verdict(msgspec.Struct, frozen=True):
    """What can be said of a bandit now."""

    leader: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    """The arm with the highest mean if each is taken two standard deviations lower than it seems."""
    p_best: _Unit
    """How likely the leader is the best of the arms on offer."""
    mean: _Unit
    """The leader's mean, given what is known of it."""
    loss: _Unit
    """How much less a decision would bring, expected, if the leader was stayed with from now on."""
    is_converged: bool
    """Whether that loss is at most 1 % of the leader's mean."""
    observations: Annotated[int, Meta(ge=0)]
    """How many were known when this was said."""
    is_of_policy: bool
    """Whether it rests on the policy's own posteriors; if not, on those that the tallies give."""
    text: Annotated[str, Meta(max_length=2000)]
    """All of it in words."""

    def in_range(self, rewards: tuple[float, float]) -> "Verdict":
        """Return it with a mean and a loss in a range of rewards, of which they are shares."""
        low, high = rewards
        return msgspec.structs.replace(self, mean=low + (high - low) * self.mean, loss=(high - low) * self.loss)


class Standing(NamedTuple):
    """What is known of the arms of one bandit that are on offer."""

    arms: tuple[Arm, ...]
    posteriors: tuple[Posterior, ...]
    observations: int
    is_of_policy: bool


class Judgement(NamedTuple):
    """A verdict, and how likely each arm is the best."""

    verdict: Verdict | None
    """`None` if nothing is known."""
    p_best: dict[Arm, float]


def standing_of(policy: Policy, arms: Sequence[Arm]) -> Standing:
    """Return what a policy knows of some of its arms.

    >>> from cobandit.policies import UCB
    >>> standing_of(UCB(["A", "B"]), ["A"])
    Standing(arms=('A',), posteriors=((1.0, 1.0),), observations=0, is_of_policy=False)
    """
    own = policy.posteriors()
    known = {} if own is None else dict(zip(policy.candidates, own, strict=True))
    found = tuple(known[arm] if arm in known else _posterior(policy, arm) for arm in arms)
    return Standing(tuple(arms), found, policy.tally.observations, own is not None)


def judged(
    standing: Standing, rest: Callable[[], object] = lambda: None, rewards: tuple[float, float] = (0.0, 1.0)
) -> Judgement:
    """Return what can be said of a bandit.

    >>> judged(Standing(("A", "B"), ((51.0, 951.0), (41.0, 961.0)), 2000, True)).verdict.text
    'A leads before B: it is the best with 86 %. To stop now would cost 0.00068 a decision, 1.3 % of its mean: go on.'

    Args:
        standing: What is known.
        rest: Called now and then, for threads that must let others have their turn.
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
    return Judgement(msgspec.structs.replace(verdict, text=_words(verdict, odds, rewards)), odds)


def _posterior(policy: Policy, arm: Arm) -> Posterior:
    """Return what a uniform prior and the tally of an arm give: wider than need be if rewards lie between 0 and 1."""
    count, rewards = policy.tally.counts[arm], policy.tally.sums[arm] / policy.quantum.per_reward
    return 1.0 + max(0.0, rewards), 1.0 + max(0.0, count - rewards)


def _words(verdict: Verdict, odds: dict[Arm, float], rewards: tuple[float, float]) -> str:
    others = [arm for arm in odds if arm != verdict.leader]
    if not others:
        return f"{_short(verdict.leader)} is the only arm on offer."
    second = max(others, key=odds.__getitem__)
    part = verdict.loss / verdict.mean
    text = (
        f"{_short(verdict.leader)} leads before {_short(second)}: it is the best with {percent(verdict.p_best)}. "
        f"To stop now would cost {_cost(verdict.loss * (rewards[1] - rewards[0]), part, rewards[0])}: "
        f"{'it has converged' if verdict.is_converged else 'go on'}."
    )
    return text if verdict.is_of_policy else f"{text} By the tallies: the policy has no posteriors."


def _short(arm: Arm) -> Arm:
    return arm if len(arm) <= LONGEST_IN_WORDS else arm[: LONGEST_IN_WORDS - 1] + "…"


def percent(share: float) -> str:
    """Return a likelihood in words that never say 100 % of what is not certain.

    >>> percent(0.5), percent(0.9961), percent(0.99999), percent(0.0001)
    ('50 %', '99.6 %', 'over 99.9 %', 'under 0.1 %')
    """
    if share > 0.999:
        return "over 99.9 %"
    if share < 0.001:
        return "under 0.1 %"
    return f"{share:.1%}".replace("%", " %") if not 0.01 <= share <= 0.99 else f"{share:.0%}".replace("%", " %")


def _cost(loss: float, part: float, lowest: float) -> str:
    """Return what a decision would cost, with two digits that count; `part` is how much of the mean that is.

    >>> _cost(12.5, 0.25, -50.0)
    '12 a decision, 25 % of its mean above -50'
    """
    if part < 0.0001:
        return "next to nothing"
    digits = max(0, 1 - math.floor(math.log10(loss)))
    above = f" above {lowest:g}" if lowest else ""
    return f"{loss:.{digits}f} a decision, {100.0 * part:.2g} % of its mean{above}"
