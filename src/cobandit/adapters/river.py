"""Bandit policies of river as policies of cobandit: agents that decide by river and learn from each other.

A policy of cobandit chooses from tallies, its own and those that others sent, and from nothing else. So the river
policy is made anew for each decision: a clone, filled with what the tallies say. What can be filled in works: a policy
of river whose state is, for each arm, how often it was observed and a mean (`stats.Mean`), a Beta posterior
(`proba.Beta`) or a normal distribution (`proba.Gaussian`). What depends on the order of rewards, on contexts or on the
odds with which an arm was pulled does not, and is refused in words.
"""

import math
from collections.abc import Sequence
from typing import Any

from cobandit.policies.base import Policy
from cobandit.values.chance import stream
from cobandit.values.checks import check_whole, plain
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by
from cobandit.values.quantum import MILLIONTH
from cobandit.values.tally import Arm

with needed_by("a policy of river"):
    from river import bandit, proba, stats
    from river.bandit.base import ContextualPolicy
    from river.bandit.base import Policy as RiverBase

_REWARDS = (stats.Mean, proba.Beta, proba.Gaussian)
_UNIFORM = proba.Beta()


class RiverPolicy(Policy):
    """Decides like a river policy with the same counts and rewards.

    Works with `UCB`, `EpsilonGreedy`, `ThompsonSampling`, `BayesUCB` and `RandomPolicy`, and with your own subclasses
    of `river.bandit.base.Policy` that do not override `update`. All known observations count, including those of other
    agents, also for a decay and for `burn_in`. In a Beta posterior, a reward between 0 and 1 counts by its size, where
    river would treat it as a 1. Randomness depends on `seed` and the number of own pulls; the river policy's own seed
    is not used.

    Building a policy for each decision takes 0.1 to 0.8 milliseconds with 3 to 16 arms. Simulations can afford that;
    for live members, use cobandit's own policies.

    Args:
        arms: The names of the arms.
        policy: A river policy with its parameters. It is cloned and not changed.
        seed: The seed of this agent's draws. Give every agent its own.
        quantum: The smallest step of a reward.

    Raises:
        LocalError: The policy needs more than counts and rewards.

    >>> from river import bandit
    >>> policy = RiverPolicy(["A", "B"], bandit.UCB(delta=1.0), seed=7)
    >>> for _ in range(100):
    ...     arm = policy.select_arm()
    ...     policy.update(arm, reward=1.0 if arm == "A" else 0.0)
    >>> policy.select_arm()
    'A'
    """

    draws = True

    def __init__(self, arms: Sequence[Arm], policy: RiverBase, *, seed: int, quantum: float = MILLIONTH) -> None:
        super().__init__(arms, quantum=quantum)
        _check(policy)
        self.seed: int = plain(seed)
        check_whole("seed", self.seed, 0)
        self.river = policy

    def select_arm(self) -> Arm:
        """Return the arm that the river policy pulls, from the candidates."""
        arm: Arm = self.filled().pull(list(self.candidates))
        return arm

    def filled(self) -> RiverBase:
        """Return a fresh river policy that knows what this one knows: to inspect, or to use elsewhere."""
        river = self.river.clone({"seed": stream(self.seed, self.own_pulls)})
        river._n = self.tally.observations  # noqa: SLF001  # river feeds one reward at a time, and has no other door
        for position, (arm, count) in enumerate(self.tally.counts.items()):
            if count:
                river._counts[arm] = count  # noqa: SLF001  # as above
                seed = stream(self.seed, self.own_pulls, position)
                river._rewards[arm] = self._known(self.river.reward_obj, arm, seed)  # noqa: SLF001  # as above
                if isinstance(river, bandit.BayesUCB):
                    river._posteriors[arm] = self._known(_UNIFORM, arm, seed)  # noqa: SLF001  # as above
        return river

    def _known(self, prior: Any, arm: Arm, seed: int) -> Any:  # noqa: ANN401  # river has few types
        """Return what river keeps of an arm, with what is known of it."""
        count, rewards = self.tally.counts[arm], self.tally.sums[arm] / self.quantum.per_reward
        if type(prior) is stats.Mean:
            known = stats.Mean()
            known.update(rewards / count, w=count)
        elif type(prior) is proba.Beta:
            known = proba.Beta(prior.alpha, prior.beta, seed=seed)
            known.alpha += rewards
            known.beta += count - rewards
        else:
            known = proba.Gaussian(seed=seed)
            squares = self.tally.squares[arm] * self.quantum.square_unit / self.quantum.per_reward**2
            mean = rewards / count
            away = math.sqrt(max(0.0, squares / count - mean * mean))
            for place in (mean - away, mean + away):  # two points of half the weight have any mean and any variance
                known.update(place, w=count / 2)
        return known


def _check(policy: object) -> None:
    """Refuse what cannot be made anew from tallies."""
    if not isinstance(policy, RiverBase):
        raise LocalError(f"{policy!r} is not a policy of river: write bandit.UCB(delta=1.0), say")
    kind = type(policy).__name__
    if isinstance(policy, ContextualPolicy):
        raise LocalError(f"{kind} needs a context for each decision, and agents share none: take UCB, say")
    if type(policy).update is not RiverBase.update and type(policy) is not bandit.BayesUCB:
        raise LocalError(
            f"{kind} learns something of its own from each reward, which tallies of other agents do not tell: take "
            "UCB, EpsilonGreedy, ThompsonSampling or BayesUCB"
        )
    if policy.reward_scaler:  # river looks at it in the same way: BayesUCB has 0 there
        raise LocalError(
            f"{kind} has a reward scaler, which depends on the order of rewards: leave it out, rewards are in [0, 1]"
        )
    if type(policy.reward_obj) not in _REWARDS:
        raise LocalError(
            f"{kind} keeps rewards as {type(policy.reward_obj).__name__}, which cannot be made from counts and sums: "
            "take stats.Mean, proba.Beta or proba.Gaussian"
        )
