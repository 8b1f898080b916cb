"""The value of another policy from logged decisions: inverse propensity, self-normalised and doubly robust.

Let a decision have arm a, drawn with propensity p, and reward r. Another policy would draw a with probability pi(a), so
the decision stands for w = pi(a) / p of that policy's. Over n decisions:

    inverse propensity   mean of w r                                        unbiased
    self-normalised      sum of w r / sum of w                              slightly biased, varies less
    doubly robust        mean of sum_b pi(b) q(b) + w (r - q(a))            unbiased, varies less if q is good

q(b) is the mean reward of arm b in what was logged before, so it owes nothing to the decision that it is used for. That
makes the terms differences of a martingale, also when the policy that wrote the log was learning at the time.

An interval is the normal one, with z^2 / 2 made-up rewards of the lowest and as many of the highest logged kind, each
weighing as much as a decision does on average ("plus four", Agresti and Coull 1998): without them intervals are too
short where rewards are rare or few decisions count. Decisions for one subject are one draw, and one unit of chance.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import msgspec

from cobandit.evaluation.logged import Logged, LoggedDecisions, Row, decisions_of
from cobandit.values.checks import check_probability, is_number
from cobandit.values.errors import LocalError

FEW = 30
"""With an effective sample size below this, intervals are not to be relied on."""

_REFRESH = 16
"""The model is what it was before the last sixteenth of the log, at most."""

_ROUNDING = 1e-6


class Column(NamedTuple):
    """A log column that gives, for each decision, what the other policy would do: an arm, or arms and shares."""

    name: str


Target = str | Sequence[str] | Mapping[str, float] | Column
"""Another policy: always one arm; some arms, evenly; arms with their shares; or what a log column gives."""


class Estimate(msgspec.Struct, frozen=True):
    """A value and its interval."""

    value: float
    low: float
    high: float


class Evaluation(msgspec.Struct, frozen=True):
    """What is known about another policy's value: its mean reward per decision."""

    target: str
    """The other policy, in words."""
    decisions: int
    """The number of decisions of the log that count."""
    effective: float
    """The effective sample size: how many decisions of the other policy itself would be as informative."""
    confidence: float
    inverse_propensity: Estimate
    self_normalised: Estimate
    doubly_robust: Estimate
    logged: Estimate
    """The value of the policy that wrote the log, over the same decisions."""
    unrewarded: int
    certain: int
    untold: int
    """How many decisions were left out: without a reward, with only one possible arm, without a propensity."""
    cautions: tuple[str, ...] = ()
    """Reasons not to rely on these figures."""

    def to_json(self) -> bytes:
        """Return this as one line of JSON."""
        return msgspec.json.encode(self)


def evaluate(
    decisions: Iterable[Row | msgspec.Struct] | LoggedDecisions,
    target: Target,
    *,
    confidence: float = 0.95,
    unrewarded: float | None = None,
) -> Evaluation:
    """Estimate the value of another policy from decisions that were logged with their propensities.

    >>> log = [{"arm": "AB"[n % 2], "propensity": 0.5, "reward": float(n % 4 == 1)} for n in range(400)]
    >>> found = evaluate(log, "B")
    >>> found.effective, found.self_normalised.value, found.logged.value
    (200.0, 0.5, 0.25)

    Args:
        decisions: The result of `Member.log()` or `read_decisions(path)`.
        target: The other policy: one arm that it always chooses; some arms, evenly; arms with their shares; or the log
            column that gives what it would do (`Column`).
        confidence: How often an interval should contain the true value.
        unrewarded: The reward to assume for decisions that have none; by default they are left out.

    Raises:
        LocalError: The log says nothing about that policy, or the policy is invalid.
    """
    check_probability("the confidence", confidence)
    if not 0.0 < confidence < 1.0:
        raise LocalError(f"the confidence must be between 0 and 1, not {confidence!r}")
    log = decisions if isinstance(decisions, LoggedDecisions) else decisions_of(decisions, unrewarded=unrewarded)
    policy = _Policy(target, log.arms)
    sums = _summed(log.decisions, policy)
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    ends = _ends([decision.reward for decision in log.decisions])
    if not sums.weight:
        raise LocalError(f"no logged decision is one that the other policy ({policy.words}) would make")
    return Evaluation(
        target=policy.words,
        decisions=len(log.decisions),
        effective=sums.weight**2 / sums.squared_weight,
        confidence=confidence,
        inverse_propensity=_mean_of([unit.weighted for unit in sums.units], sums, ends, z),
        self_normalised=_ratio_of([(unit.weight, unit.weighted) for unit in sums.units], ends, z),
        doubly_robust=_mean_of([unit.robust for unit in sums.units], sums, ends, z),
        logged=_ratio_of([(float(unit.count), unit.reward) for unit in sums.units], ends, z),
        unrewarded=log.unrewarded,
        certain=log.certain,
        untold=log.untold,
        cautions=tuple(_cautions(sums)),
    )


class _Policy:
    """The other policy: which arms it would draw with which shares, for each decision."""

    def __init__(self, target: Target, arms: tuple[str, ...]) -> None:
        self._arms = arms
        self.column: str | None = None
        self.fixed: Mapping[str, float] = {}
        if isinstance(target, Column):
            self.column, self.words = target.name, f"column {target.name}"
        elif isinstance(target, str):
            self.fixed, self.words = self._checked({target: 1.0}), f"always {target}"
        elif isinstance(target, Mapping):
            self.fixed = self._checked(target)
            self.words = ", ".join(f"{arm} {share:.4g}" for arm, share in self.fixed.items())
        else:
            if not isinstance(target, Iterable):
                raise LocalError(
                    f"the other policy must be an arm, some arms, shares of arms or a Column, not {target!r}"
                )
            chosen = tuple(target)
            if not chosen or len(set(chosen)) < len(chosen):
                raise LocalError(f"the arms of the other policy must be some, each once, not {chosen!r}")
            self.fixed = self._checked(dict.fromkeys(chosen, 1.0 / len(chosen)))
            self.words = f"{', '.join(chosen)} evenly"

    def shares(self, decision: Logged) -> Mapping[str, float]:
        """Return what it would draw from in the place of a decision."""
        if self.column is None:
            return self.fixed
        said = decision.row.get(self.column)
        if isinstance(said, str):
            return self._checked({said: 1.0})
        if isinstance(said, Mapping):
            return self._checked({arm: share for arm, share in said.items() if share is not None})
        raise LocalError(
            f"the column {self.column!r} must have an arm, or arms and their shares, in every decision; in one it has "
            f"{said!r}"
        )

    def _checked(self, shares: Mapping[str, float]) -> Mapping[str, float]:
        for arm, share in shares.items():
            if not is_number(share) or not 0.0 <= share <= 1.0 + _ROUNDING:
                raise LocalError(f"the share of arm {arm!r} must be a number in [0, 1], not {share!r}")
            if share and arm not in self._arms:
                known = ", ".join(self._arms)
                raise LocalError(
                    f"arm {arm!r} is in no decision that counts, so the log says nothing of it: there are {known}"
                )
        if abs(total := math.fsum(shares.values()) - 1.0) > _ROUNDING:
            raise LocalError(f"the shares of the other policy must add up to 1, not {total + 1.0:g}")
        return shares


class _Unit:
    """What one subject, or one decision without a subject, adds."""

    __slots__ = ("count", "model", "reward", "robust", "weight", "weighted")

    def __init__(self, model: "_Model") -> None:
        self.model = model
        """As it was when the arm was drawn: what came of it must not be in it."""
        self.count = 0
        self.reward = self.weight = self.weighted = self.robust = 0.0


class _Model(NamedTuple):
    """The mean reward of each arm so far, drawn towards the mean of all; and of the other policy, if it is fixed."""

    means: dict[str, float]
    fixed: float

    def of(self, shares: Mapping[str, float], policy: _Policy) -> float:
        if policy.column is None:
            return self.fixed
        return math.fsum(share * self.means[arm] for arm, share in shares.items() if share)


class _Sums(NamedTuple):
    """All units, and what they weigh together."""

    units: list[_Unit]
    decisions: int
    weight: float
    squared_weight: float

    @property
    def usual_weight(self) -> float:
        """What a decision that counts weighs, by weight."""
        return self.squared_weight / self.weight


def _summed(decisions: Sequence[Logged], policy: _Policy) -> _Sums:
    counts: dict[str, int] = dict.fromkeys(policy._arms, 0)  # noqa: SLF001  # a part of this file
    sums: dict[str, float] = dict.fromkeys(policy._arms, 0.0)  # noqa: SLF001
    units: dict[object, _Unit] = {}
    model, refresh_at = _model(counts, sums, policy), 0
    for seen, decision in enumerate(decisions):
        if seen >= refresh_at:
            model, refresh_at = _model(counts, sums, policy), seen + 1 + seen // _REFRESH
        unit = units.get(decision.unit)
        if unit is None:
            unit = units[decision.unit] = _Unit(model)
        shares = policy.shares(decision)
        weight = shares.get(decision.arm, 0.0) / decision.propensity
        unit.count += 1
        unit.reward += decision.reward
        unit.weight += weight
        unit.weighted += weight * decision.reward
        unit.robust += unit.model.of(shares, policy) + weight * (decision.reward - unit.model.means[decision.arm])
        counts[decision.arm] += 1
        sums[decision.arm] += decision.reward
    found = list(units.values())
    weights = [unit.weight for unit in found]
    return _Sums(found, len(decisions), math.fsum(weights), math.fsum(weight * weight for weight in weights))


def _model(counts: Mapping[str, int], sums: Mapping[str, float], policy: _Policy) -> _Model:
    overall = sum(sums.values()) / max(1, sum(counts.values()))
    means = {arm: (sums[arm] + overall) / (count + 1) for arm, count in counts.items()}
    return _Model(means, math.fsum(share * means[arm] for arm, share in policy.fixed.items() if share))


UNIT_ENDS = (0.0, 1.0)


def _ends(rewards: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and the highest reward that there can be: 0 and 1, or what was logged if that is beyond."""
    lowest, highest = min(rewards), max(rewards)
    return UNIT_ENDS if lowest >= 0.0 and highest <= 1.0 else (lowest, highest)


def _mean_of(terms: Sequence[float], sums: _Sums, ends: tuple[float, float], z: float) -> Estimate:
    """Return the mean of terms over all decisions, with its interval."""
    n, usual = sums.decisions, sums.usual_weight
    value = math.fsum(terms) / n
    made_up = 0.5 * z * z * usual
    spread = _spread(term - value * unit.count for term, unit in zip(terms, sums.units, strict=True))
    spread += made_up * usual * math.fsum((end - value) ** 2 for end in ends)
    middle = n * value + made_up * math.fsum(ends)
    return _interval(value, middle, n + 2.0 * made_up, z * math.sqrt(spread), ends)


def _ratio_of(terms: Sequence[tuple[float, float]], ends: tuple[float, float], z: float) -> Estimate:
    """Return the weighted mean of rewards, given as weights and weighted rewards, with its interval."""
    weight = math.fsum(weight for weight, _ in terms)
    usual = math.fsum(weight * weight for weight, _ in terms) / weight
    value = math.fsum(weighted for _, weighted in terms) / weight
    made_up = 0.5 * z * z * usual
    total, middle = weight + 2.0 * made_up, weight * value + made_up * math.fsum(ends)
    spread = _spread(weighted - weight * middle / total for weight, weighted in terms)
    spread += made_up * usual * math.fsum((end - middle / total) ** 2 for end in ends)
    return _interval(value, middle, total, z * math.sqrt(spread), ends)


def _spread(residuals: Iterable[float]) -> float:
    found = list(residuals)
    return math.fsum(one * one for one in found) * len(found) / max(1, len(found) - 1)


def _interval(value: float, middle: float, total: float, half: float, ends: tuple[float, float]) -> Estimate:
    """Return an interval, which does not leave the range of rewards if that is known: from 0 to 1."""
    lowest, highest = ends if ends == UNIT_ENDS else (-math.inf, math.inf)
    low, high = max(lowest, (middle - half) / total), min(highest, (middle + half) / total)
    return Estimate(value, min(value, low), max(value, high))


def _cautions(sums: _Sums) -> Iterable[str]:
    effective = sums.weight**2 / sums.squared_weight
    if effective < FEW:
        yield f"the effective sample size is {effective:.1f}: below {FEW}, intervals are not to be relied on"
    mean = sums.weight / sums.decisions
    error = math.sqrt(_spread(unit.weight - mean * unit.count for unit in sums.units)) / sums.decisions
    if abs(mean - 1.0) > 4.0 * error + _ROUNDING:
        yield (
            f"the weights are {mean:.3f} on average, and should be 1: some arm of the other policy was not always on "
            "offer, or the propensities are wrong"
        )
