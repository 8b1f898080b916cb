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
from cobandit.simulator.kernel.highest import FAR, first_highest, highest
from cobandit.simulator.kernel.jit import borrow, inlined
from cobandit.simulator.kernel.posteriors import highest_draw, key_of_draw
from cobandit.simulator.kernel.tables import ARM_BITS, Record, Table, Tables
from cobandit.values import chance

for _formula in (
    chance.mix,
    chance.unit,
    chance.successor,
    chance.stream,
    chance.gamma,
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

ROUGHLY = np.float32(1.0 - 1e-6)
"""Makes a bound of 32-bit floats hold: four roundings of at most 2**-24 each are a relative error below 2.4e-7."""

SLACK = np.float32(1e-6)
"""The error of a lower bound that is above 0, and so of a width below 1: less than this."""

MOST_LOGS = 1 << 16
"""Logarithms of numbers below this are kept."""


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
        return t.world.alpha * log_of(t, max(1, t.agents[position].own_pulls))
    if t.world.confidence == codes.OWN_PLUS_2:
        return t.world.alpha * log_of(t, t.agents[position].own_pulls + 2)
    if t.world.confidence == codes.OBSERVED:
        return t.world.alpha * log_of(t, max(1, t.agents[t.agents[position].row].observed))
    return t.world.alpha * t.world.horizon_log


@inlined
def log_of(t: Tables, number: int) -> float:
    """Return the logarithm of a whole number: agents count through the same ones, so each is computed once."""
    if number >= t.logs.shape[0]:
        return math.log(number)
    place = np.uint64(number)
    if t.logs[place] == 0.0:
        t.logs[place] = math.log(number)
    return t.logs[place]


@inlined
def select_arm(t: Tables, position: int) -> int:
    """Return the own position of the arm to pull."""
    row = t.agents[position].row
    if t.world.policy == codes.AAE:
        return least_observed(t.knowledge[row], t.own_arms[row], t.agents[position].arm_count)
    if t.world.policy == codes.THOMPSON and not t.world.graded:
        return highest_draw(t.agents[position], t.knowledge[row], t.index)
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
        return highest_ucb_index(spend, known, index, t.rough_index[0, : index.shape[0]])
    if t.world.policy == codes.CUSTOM_INDEX:
        own_indices(t, spend, row, index)
    else:
        for arm in range(count):
            n = observations(known[arm])
            index[arm] = math.inf if n == 0.0 else index_of(t, row, arm, n, spend)
    return first_highest(index)


@inlined
def highest_ucb_index(spend: float, known: Table, index: Table, rough: Table) -> int:
    """Return the arm with the highest UCB index: by half the digits, if these tell it from all others."""
    count = np.uint64(index.shape[0])
    rough_spend, two, never = np.float32(spend), np.float32(2.0), np.float32(math.inf)
    for arm in range(count):
        few, hits = np.float32(np.int32(known[arm] >> 32)), np.float32(np.int32(known[arm] & 0xFFFFFFFF))
        about = hits / few + np.float32(math.sqrt(rough_spend / (two * few)))
        rough[arm] = never if known[arm] == 0 else about
    least = highest(rough) * ROUGHLY
    near, first = 0, FAR
    for arm in range(count):
        is_near = rough[arm] >= least
        near += is_near
        first = min(first, np.int64(arm) if is_near else FAR)
    if near == 1:
        return int(first)
    for arm in range(count):
        n = observations(known[arm])
        bound = ucb_index(rewards(known[arm]) / n, n, spend)
        index[arm] = math.inf if n == 0.0 else bound
    return first_highest(index)


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
def least_observed(known: Table, own: Table, count: int) -> int:
    """Return the candidate with the fewest observations; what the decision rules out is gone already."""
    least = FAR
    for arm in range(np.uint64(count)):  # without a jump: the count, and below it the arm
        key = (known[arm] >> 32 << ARM_BITS) + np.int64(arm)
        least = min(least, key if own[arm].candidate else FAR)
    return int(least & ((1 << ARM_BITS) - 1))


@inlined
def may_drop(t: Tables, row: int, count: int, spend: float) -> bool:
    """Return whether an interval may lie below another one, by half the digits: if not, none does."""
    known, lower, upper = t.knowledge[row], t.rough_index[0, :count], t.rough_index[1, :count]
    rough_spend, two, never = np.float32(spend), np.float32(2.0), np.float32(math.inf)
    for arm in range(np.uint64(count)):
        few, hits = np.float32(np.int32(known[arm] >> 32)), np.float32(np.int32(known[arm] & 0xFFFFFFFF))
        mean, width = hits / few, np.float32(math.sqrt(rough_spend / (two * few)))
        lower[arm] = -never if known[arm] == 0 else mean - width
        upper[arm] = never if known[arm] == 0 else mean + width
    above, near = highest(lower) + SLACK, 0
    for arm in range(np.uint64(count)):
        near += (upper[arm] * ROUGHLY < above) & t.own_arms[row, arm].candidate
    return near > 0


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
