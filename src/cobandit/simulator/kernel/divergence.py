"""Which arm has the highest KL-UCB index, compiled: all but one or two are ruled out without computing theirs.

An index takes 32 halvings, with two logarithms each. Whether an index lies below some q takes one look: it does if
count kl(mean, q) > budget, since kl grows with q above the mean. So the arm that is likely the best is looked at first,
its index is found by Newton's method, and the others are held against it. `kl_ucb_index` stays the judge: where two
indices are too near to each other to be told apart in this way, it computes them all.
"""

import math

from cobandit.policies.kl_ucb import kl_ucb_index
from cobandit.simulator.kernel.halves import observations, rewards
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.tables import Record, Table

MARGIN = 1e-8
"""Indices further apart than this are in the right order. Halvings leave at most 2.4e-10 open; Newton's method, which
ends with a step below `LAST_STEP`, and rounding leave less than 1e-9 if no arm has more than 1e10 observations."""

LAST_STEP = 1e-7
MOST_STEPS = 40

NEAR_ONE = 1.0 - 1e-6
"""Indices above this are left to the judge: too few digits tell them from 1."""


@inlined
def highest_kl_index(spend: float, known: Table, index: Table, entropies: Table) -> int:
    """Return the arm with the highest index; an arm without observations first (`IndexPolicy.select_arm`)."""
    count = index.shape[0]
    for arm in range(count):
        if known[arm] == 0:
            return arm
    if spend <= 0.0:
        return judged(spend, known, index)
    for arm in range(count):
        index[arm] = likely_index(rewards(known[arm]), observations(known[arm]), spend)
    best, highest = 0, index[0]
    for arm in range(1, count):
        if index[arm] > highest:
            best, highest = arm, index[arm]
    bound = found_index(known[best], spend, entropies[best], highest)
    if bound > NEAR_ONE:
        return judged(spend, known, index)
    first = best
    log_hit, log_miss = math.log(bound - MARGIN), math.log(1.0 - (bound - MARGIN))
    for arm in range(count):
        if arm == first or is_below(known[arm], spend, entropies[arm], bound - MARGIN, log_hit, log_miss):
            continue
        other = found_index(known[arm], spend, entropies[arm], index[arm])
        if abs(other - bound) <= MARGIN or other > NEAR_ONE:
            return judged(spend, known, index)
        if other > bound:
            best, bound = arm, other
            log_hit, log_miss = math.log(bound - MARGIN), math.log(1.0 - (bound - MARGIN))
    return best


@compiled
def judged(spend: float, known: Table, index: Table) -> int:
    """Return the same, by computing every index."""
    best = 0
    for arm in range(index.shape[0]):
        n = observations(known[arm])
        index[arm] = kl_ucb_index(rewards(known[arm]) / n, n, spend)
        if index[arm] > index[best]:
            best = arm
    return best


@inlined
def likely_index(hits: float, n: float, spend: float) -> float:
    """Return about what an index is, without a logarithm: kl as far as its third power."""
    mean = hits / n
    return mean + math.sqrt(2.0 * mean * (1.0 - mean) * spend / n) + max(0.0, 1.0 - 2.0 * mean) * spend / (3.0 * n)


@inlined
def entropy_of(value: int, kept: Record) -> float:
    """Return p log(p) + (1 - p) log(1 - p) of an arm's mean p, computed again when the arm has changed."""
    if kept.known != value:
        mean = rewards(value) / observations(value)
        entropy = 0.0
        if mean > 0.0:
            entropy += mean * math.log(mean)
        if mean < 1.0:
            entropy += (1.0 - mean) * math.log(1.0 - mean)
        kept.known, kept.entropy = value, entropy
    return kept.entropy


@inlined
def is_below(value: int, spend: float, kept: Record, bound: float, log_hit: float, log_miss: float) -> bool:
    """Return whether an arm's index is certainly below a bound, whose two logarithms are given."""
    n, hits = observations(value), rewards(value)
    return hits < bound * n and n * entropy_of(value, kept) - hits * log_hit - (n - hits) * log_miss > spend


@compiled
def found_index(value: int, spend: float, kept: Record, likely: float) -> float:
    """Return an index by Newton's method, which comes from above once it is there: kl is convex. It ends near 1."""
    n = observations(value)
    mean = rewards(value) / n
    if mean >= 1.0:
        return 1.0
    entropy = entropy_of(value, kept)
    at = likely if mean < likely < 1.0 else 0.5 * (mean + 1.0)
    for _ in range(MOST_STEPS):
        excess = n * (entropy - mean * math.log(at) - (1.0 - mean) * math.log(1.0 - at)) - spend
        then = at - excess * at * (1.0 - at) / (n * (at - mean))
        if then >= 1.0:
            then = 0.5 * (at + 1.0)
        elif then <= mean:
            then = 0.5 * (at + mean)
        step, at = abs(then - at), then
        if step < LAST_STEP or at > NEAR_ONE:
            break
    return at
