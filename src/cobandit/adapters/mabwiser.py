"""Learning policies of MABWiser as policies of cobandit: agents that decide by MABWiser and learn from each other.

A policy of cobandit chooses from tallies, its own and those that others sent, and from nothing else. So a MABWiser
bandit is made anew for each decision, and filled with what the tallies say. All learning policies without contexts are
functions of counts and sums and work; those with contexts (LinUCB, LinTS, LinGreedy, neighborhoods) are refused, and so
is a binarizer, which would have to see every reward.
"""

from collections.abc import Sequence
from typing import Any

from cobandit.policies.base import Policy
from cobandit.values.chance import stream
from cobandit.values.checks import check_whole, plain
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by
from cobandit.values.quantum import MILLIONTH
from cobandit.values.tally import Arm

with needed_by("a policy of MABWiser"):
    from mabwiser.mab import MAB, LearningPolicy

_WORKING = {
    kind.__name__: kind
    for kind in (
        LearningPolicy.EpsilonGreedy,
        LearningPolicy.Popularity,
        LearningPolicy.Random,
        LearningPolicy.Softmax,
        LearningPolicy.ThompsonSampling,
        LearningPolicy.UCB1,
    )
}
_SEEDS = 2**32


class MABWiserPolicy(Policy):
    """Decides like a MABWiser bandit fitted to the same observations.

    MABWiser learns from a history and never explores an arm that is not in it. Therefore candidates without any
    observations are pulled first, in order. All known observations count, including those of other agents. In Thompson
    sampling, a reward between 0 and 1 counts by its size. Randomness depends on `seed` and the number of own pulls.

    Building a bandit for each decision takes about 0.1 milliseconds. Simulations can afford that; for live members, use
    cobandit's own policies.

    Args:
        arms: The names of the arms.
        policy: A MABWiser learning policy without contexts, such as `LearningPolicy.UCB1(alpha=1.25)`.
        seed: The seed of this agent's draws. Give every agent its own.
        quantum: The smallest step of a reward.

    Raises:
        LocalError: The policy needs more than counts and sums, or MABWiser refuses its parameters.

    >>> from mabwiser.mab import LearningPolicy
    >>> policy = MABWiserPolicy(["A", "B"], LearningPolicy.UCB1(alpha=1.0), seed=7)
    >>> for _ in range(100):
    ...     arm = policy.select_arm()
    ...     policy.update(arm, reward=1.0 if arm == "A" else 0.0)
    >>> policy.select_arm()
    'A'
    """

    draws = True

    def __init__(self, arms: Sequence[Arm], policy: object, *, seed: int, quantum: float = MILLIONTH) -> None:
        super().__init__(arms, quantum=quantum)
        _check(policy)
        self.seed: int = plain(seed)
        check_whole("seed", self.seed, 0)
        self.learning_policy = policy

    def select_arm(self) -> Arm:
        """Return the first candidate without observations; otherwise, what MABWiser predicts."""
        for arm in self.candidates:
            if not self.tally.counts[arm]:
                return arm
        chosen: Arm = self.filled().predict()
        return chosen

    def filled(self) -> MAB:
        """Return a MABWiser bandit of the candidates that knows what this policy knows."""
        bandit = MAB(list(self.candidates), self.learning_policy, seed=stream(self.seed, self.own_pulls) % _SEEDS)
        self._fill(bandit._imp)  # noqa: SLF001  # `fit` takes one reward for each row, and a tally has none
        bandit._is_initial_fit = True  # noqa: SLF001  # as above
        return bandit

    def _fill(self, inside: Any) -> None:  # noqa: ANN401  # MABWiser has no types
        """Set what `fit` computes, policy by policy; `tests/adapters/test_mabwiser.py` holds it to `fit`."""
        per_reward = self.quantum.per_reward
        counts = {arm: self.tally.counts[arm] for arm in self.candidates}
        sums = {arm: self.tally.sums[arm] / per_reward for arm in self.candidates}
        means = {arm: sums[arm] / count if count else 0.0 for arm, count in counts.items()}
        match self.learning_policy:
            case LearningPolicy.ThompsonSampling():
                inside.arm_to_success_count = {arm: 1 + sums[arm] for arm in counts}
                inside.arm_to_fail_count = {arm: 1 + counts[arm] - sums[arm] for arm in counts}
            case LearningPolicy.UCB1(alpha):
                total = sum(counts.values())
                for arm, count in counts.items():
                    if count:
                        inside.arm_to_expectation[arm] = inside._get_ucb(means[arm], alpha, total, count)  # noqa: SLF001
            case LearningPolicy.EpsilonGreedy():
                inside.arm_to_expectation = means
            case LearningPolicy.Popularity():
                inside.arm_to_expectation = means
                inside._normalize_expectations()  # noqa: SLF001
            case LearningPolicy.Softmax():
                inside.arm_to_mean = means
                inside._expectation_operation()  # noqa: SLF001


def _check(policy: object) -> None:
    """Refuse what cannot be made anew from tallies."""
    kind = type(policy).__name__
    if _WORKING.get(kind) is not type(policy):
        contextual = isinstance(policy, LearningPolicy.LinGreedy | LearningPolicy.LinTS | LearningPolicy.LinUCB)
        why = "needs a context for each decision, and agents share none" if contextual else "cannot be used"
        raise LocalError(f"{kind} {why}: take LearningPolicy.{', '.join(sorted(_WORKING))}")
    if getattr(policy, "binarizer", None) is not None:
        raise LocalError(f"{kind} has a binarizer, which tallies have no rewards for: give rewards of 0 and 1 instead")
    try:
        policy._validate()  # type: ignore[attr-defined]  # noqa: SLF001  # what MAB itself calls, but only later
    except (TypeError, ValueError) as error:
        raise LocalError(f"MABWiser refuses {policy!r}: {error}") from error
