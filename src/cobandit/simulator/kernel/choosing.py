"""What to pull, compiled. The formulas are those of `cobandit.policies`, compiled from the same source."""

import math

import numpy as np

from cobandit.policies import kl_ucb, thompson, ucb
from cobandit.policies.thompson import thompson_index
from cobandit.policies.ucb import confidence_width, ucb_index
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
):
    borrow(_formula)

ROUNDED = 1.0 - 1e-12
"""Makes a bound hold though its numbers are rounded."""


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
    if t.world.policy == codes.THOMPSON:
        return highest_draw(t.agents[position], t.knowledge[row])
    index = t.index[: t.agents[position].arm_count]
    if t.world.policy == codes.KL_UCB:
        return highest_kl_index(budget(t, position), t.knowledge[row], index, t.entropies[row])
    best = highest_index(t, budget(t, position), t.knowledge[row], index)
    if t.world.policy == codes.CUSTOM_INDEX and t.world.no_number > 0:
        t.world.no_number_of = position
    return best


@inlined
def highest_index(t: Tables, spend: float, known: Table, index: Table) -> int:
    """Return the arm with the highest index; an arm without observations first (`IndexPolicy.select_arm`)."""
    count = index.shape[0]
    if t.world.policy == codes.UCB:
        for arm in range(count):
            n = observations(known[arm])
            bound = ucb_index(rewards(known[arm]) / n, n, spend)
            index[arm] = math.inf if n == 0.0 else bound
    else:
        own_indices(t, spend, known, index)
    # Two plain walks are faster than one that remembers where it was.
    best_index = -math.inf
    for arm in range(count):
        best_index = max(best_index, index[arm])
    for arm in range(count):
        if index[arm] == best_index:
            return arm
    return 0


@inlined
def own_indices(t: Tables, spend: float, known: Table, index: Table) -> None:
    """Fill in the indices of a user's own function, up to the first arm without observations: it is the one to pull."""
    index[:] = -math.inf
    for arm in range(index.shape[0]):
        n = observations(known[arm])
        if n == 0.0:
            index[arm] = math.inf
            return
        index[arm] = own_index(t, rewards(known[arm]) / n, n, spend)
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
def highest_lower_bound(known: Table, count: int, spend: float) -> float:
    """Return the highest lower confidence bound of any arm with observations (`AAE.survivors`)."""
    highest = -math.inf
    for arm in range(count):
        if known[arm] != 0:
            n = observations(known[arm])
            highest = max(highest, rewards(known[arm]) / n - confidence_width(n, spend))
    return highest


@inlined
def is_dominated(known: int, spend: float, highest: float) -> bool:
    """Return whether an arm's interval lies wholly below the highest lower bound."""
    if known == 0:
        return False
    n = observations(known)
    return rewards(known) / n + confidence_width(n, spend) < highest
