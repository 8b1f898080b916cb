"""What to pull, compiled. The formulas are those of `cobandit.policies`, compiled from the same source."""

import math

import numpy as np

from cobandit.policies import base, kl_ucb, normal_thompson, thompson, ucb, ucb_v
from cobandit.policies.base import variance_of
from cobandit.policies.kl_ucb import kl_ucb_index
from cobandit.policies.normal_thompson import normal_thompson_index
from cobandit.policies.thompson import thompson_index
from cobandit.policies.ucb import confidence_width, ucb_index
from cobandit.policies.ucb_v import ucb_v_index
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.custom import call_index
from cobandit.simulator.kernel.divergence import highest_kl_index
from cobandit.simulator.kernel.halves import observations, rewards
from cobandit.simulator.kernel.jit import borrow, inlined
from cobandit.simulator.kernel.tables import Record, Table, Tables
from cobandit.values import chance

for _formula in (
    chance.mix,
    chance.unit,
    chance.successor,
    chance.stream,
    chance.gamma,
    chance.least_gamma,
    chance.other,
    chance.beta,
    ucb.confidence_width,
    ucb.ucb_index,
    kl_ucb.bernoulli_divergence,
    kl_ucb.kl_ucb_index,
    thompson.thompson_index,
    chance.normal,
    base.variance_of,
    ucb_v.ucb_v_index,
    normal_thompson.normal_mean,
    normal_thompson.normal_variance,
    normal_thompson.normal_thompson_index,
):
    borrow(_formula)

ROUNDED = 1.0 - 1e-12
"""Makes a bound hold though its numbers are rounded."""


@inlined
def reward_sum(t: Tables, row: int, arm: int) -> float:
    """Return the rewards of an arm, as shares of their range added up (`sums / per_reward`)."""
    if t.world.graded:
        return np.float64(t.sums[row, arm].rewards) / np.float64(t.world.per_reward)
    return rewards(t.knowledge[row, arm])


@inlined
def square_sum(t: Tables, row: int, arm: int) -> float:
    """Return the squares of the rewards of an arm, added up (`Policy.squares`): of 0 and 1 they are the rewards."""
    if t.world.graded:
        return np.float64(t.sums[row, arm].squares) * t.world.square_size
    return rewards(t.knowledge[row, arm])


@inlined
def mean_of(t: Tables, row: int, arm: int, n: float) -> float:
    """Return the mean of an arm with so many observations (`Policy.mean`)."""
    if t.world.graded:
        return np.float64(t.sums[row, arm].rewards) / (n * np.float64(t.world.per_reward))
    return rewards(t.knowledge[row, arm]) / n


@inlined
def budget(t: Tables, position: int) -> float:
    """Return alpha log(1/delta)."""
    if t.world.confidence == codes.OWN:
        return t.world.alpha * math.log(max(1, t.agents[position].own_pulls))
    if t.world.confidence == codes.OWN_PLUS_2:
        return t.world.alpha * math.log(t.agents[position].own_pulls + 2)
    if t.world.confidence == codes.OBSERVED:
        return t.world.alpha * math.log(max(1, t.agents[t.agents[position].row].observed))
    return t.world.alpha * t.world.horizon_log


@inlined
def select_arm(t: Tables, position: int) -> int:
    """Return the own position of the arm to pull."""
    row = t.agents[position].row
    if t.world.policy == codes.AAE:
        return least_observed(t.knowledge[row], t.own_arms[row], t.agents[position].arm_count)
    if t.world.policy == codes.THOMPSON and not t.world.graded:
        return highest_draw(t.agents[position], t.knowledge[row])
    if t.world.policy in (codes.THOMPSON, codes.NORMAL_THOMPSON):
        return highest_graded_draw(t, t.agents[position], row)
    index = t.index[: t.agents[position].arm_count]
    if t.world.policy == codes.KL_UCB and not t.world.graded:
        return highest_kl_index(budget(t, position), t.knowledge[row], index, t.entropies[row])
    best = highest_index(t, budget(t, position), row, index)
    if t.world.policy == codes.CUSTOM_INDEX and t.world.no_number > 0:
        t.world.no_number_of = position
    return best


@inlined
def highest_index(t: Tables, spend: float, row: int, index: Table) -> int:
    """Return the arm with the highest index; an arm without observations first (`IndexPolicy.select_arm`)."""
    count, known = index.shape[0], t.knowledge[row]
    if t.world.policy == codes.UCB and not t.world.graded:  # the paper's arms and index, on a short way
        for arm in range(count):
            n = observations(known[arm])
            bound = ucb_index(rewards(known[arm]) / n, n, spend)
            index[arm] = math.inf if n == 0.0 else bound
    elif t.world.policy == codes.CUSTOM_INDEX:
        own_indices(t, spend, row, index)
    else:
        for arm in range(count):
            n = observations(known[arm])
            index[arm] = math.inf if n == 0.0 else index_of(t, row, arm, n, spend)
    # Two plain walks are faster than one that remembers where it was.
    best_index = -math.inf
    for arm in range(count):
        best_index = max(best_index, index[arm])
    for arm in range(count):
        if index[arm] == best_index:
            return arm
    return 0


@inlined
def index_of(t: Tables, row: int, arm: int, n: float, spend: float) -> float:
    """Return the index of an arm with observations."""
    mean = mean_of(t, row, arm, n)
    if t.world.policy == codes.UCB_V:
        return ucb_v_index(mean, variance_of(mean, square_sum(t, row, arm), n), n, spend)
    return ucb_index(mean, n, spend) if t.world.policy == codes.UCB else kl_ucb_index(mean, n, spend)


@inlined
def own_indices(t: Tables, spend: float, row: int, index: Table) -> None:
    """Fill in the indices of a user's own function, up to the first arm without observations: it is the one to pull."""
    index[:] = -math.inf
    for arm in range(index.shape[0]):
        n = observations(t.knowledge[row, arm])
        if n == 0.0:
            index[arm] = math.inf
            return
        index[arm] = own_index(t, mean_of(t, row, arm, n), n, spend)
        if math.isnan(index[arm]):
            t.world.no_number, t.world.no_number_arm = np.int64(n), arm
            t.world.overflow = True  # the run is over
            return


@inlined
def own_index(t: Tables, mean: float, count: float, spend: float) -> float:
    """Return what a user's own index function gives an arm."""
    return call_index(t.world.own_index, mean, np.int64(count), spend)


@inlined
def highest_draw(agent: Record, known: Table) -> int:
    """Return the arm with the highest draw from its posterior (`Thompson.select_arm`).

    The arm with the highest mean is drawn first. The second half of a draw is left out where it cannot win any more.
    """
    first = highest_mean(known, agent.arm_count)
    best, best_draw = (
        first,
        thompson_index(rewards(known[first]), observations(known[first]), key_of_draw(agent, first)),
    )
    for arm in range(agent.arm_count):
        if arm == first:
            continue
        hits, key = rewards(known[arm]), key_of_draw(agent, arm)
        misses = observations(known[arm]) - hits
        x = chance.gamma(1.0 + hits, key)
        if x < ROUNDED * best_draw * (x + chance.least_gamma(1.0 + misses)):
            continue
        draw = x / (x + chance.gamma(1.0 + misses, chance.other(key)))  # as `chance.beta`
        if draw > best_draw or (draw == best_draw and arm < best):
            best, best_draw = arm, draw
    return best


@inlined
def highest_graded_draw(t: Tables, agent: Record, row: int) -> int:
    """Return the arm with the highest draw from its posterior of any rewards."""
    best, best_draw = 0, -math.inf
    for arm in range(agent.arm_count):
        key = key_of_draw(agent, arm)
        n, paid = observations(t.knowledge[row, arm]), reward_sum(t, row, arm)
        if t.world.policy == codes.THOMPSON:
            draw = thompson_index(paid, n, key)
        else:
            draw = normal_thompson_index(paid, square_sum(t, row, arm), n, key)
        if draw > best_draw:
            best, best_draw = arm, draw
    return best


@inlined
def highest_mean(known: Table, count: int) -> int:
    """Return the arm with the highest mean of its posterior."""
    best, highest = 0, -1.0
    for arm in range(count):
        mean = (1.0 + rewards(known[arm])) / (2.0 + observations(known[arm]))
        if mean > highest:
            best, highest = arm, mean
    return best


@inlined
def key_of_draw(agent: Record, arm: int) -> np.uint64:
    """Return the key of the draw for an arm's position (`Thompson._draw`)."""
    return chance.stream(agent.policy_key, np.uint64(agent.own_pulls), np.uint64(arm))


@inlined
def least_observed(known: Table, own: Table, count: int) -> int:
    """Return the candidate with the fewest observations; what the decision rules out is gone already."""
    best = -1
    for arm in range(count):
        if own[arm].candidate and (best < 0 or known[arm] >> 32 < known[best] >> 32):
            best = arm
    return best


@inlined
def highest_lower_bound(t: Tables, row: int, count: int, spend: float) -> float:
    """Return the highest lower confidence bound of any arm with observations (`AAE.survivors`)."""
    highest = -math.inf
    for arm in range(count):
        if t.knowledge[row, arm] != 0:
            n = observations(t.knowledge[row, arm])
            highest = max(highest, mean_of(t, row, arm, n) - confidence_width(n, spend))
    return highest


@inlined
def is_dominated(t: Tables, row: int, arm: int, spend: float, highest: float) -> bool:
    """Return whether an arm's interval lies wholly below the highest lower bound."""
    if t.knowledge[row, arm] == 0:
        return False
    n = observations(t.knowledge[row, arm])
    return mean_of(t, row, arm, n) + confidence_width(n, spend) < highest
