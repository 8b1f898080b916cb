"""What the kernel leaves out of a choice cannot win: held against the formulas, arm by arm, in random tables.

Python cannot call these functions when they are compiled, so `test_without_a_compiler.py` runs this file.
"""

import math
import random

import numpy as np

from cobandit.policies.kl_ucb import kl_ucb_index
from cobandit.policies.thompson import thompson_index
from cobandit.policies.ucb import ucb_index
from cobandit.simulator.kernel import choosing, divergence, posteriors
from cobandit.simulator.kernel.tables import ENTROPY, ONE_OBSERVATION, records
from cobandit.values.chance import gamma, least_gamma, stream

TABLES = 3000


def test_the_arm_is_that_of_the_highest_kl_ucb_index() -> None:
    luck = random.Random(20)
    for number in range(TABLES):
        spread = luck.choice([3, 30, 1000, 10**6])
        counts = [luck.randint(1, spread) for _ in range(luck.randint(1, 8))]
        hits = [luck.randint(0, count) for count in counts]
        if number % 3 == 0:  # the same arm twice: the first one is chosen
            place = luck.randrange(len(counts))
            counts.append(counts[place])
            hits.append(hits[place])
        spend = luck.choice([0.0, 0.01, 1.0, 12.0, 50.0])
        known = np.array([count * ONE_OBSERVATION + hit for count, hit in zip(counts, hits, strict=True)], np.int64)
        indices = [kl_ucb_index(hit / count, count, spend) for count, hit in zip(counts, hits, strict=True)]
        ref = indices.index(max(indices))
        got = divergence.highest_kl_index(spend, known, np.zeros(len(known)), records(len(known), ENTROPY))
        assert got == ref, (counts, hits, spend)


def test_the_arm_is_that_of_the_highest_ucb_index_though_few_digits_do_not_tell() -> None:
    luck = random.Random(21)
    for _ in range(TABLES):
        n, spend = luck.randint(10**4, 10**7), luck.choice([0.0, 1.0, 30.0])
        counts = [n + luck.randint(-2, 2) for _ in range(luck.randint(1, 8))]
        hits = [count // 2 + luck.randint(-1, 1) for count in counts]
        known = np.array([count * ONE_OBSERVATION + hit for count, hit in zip(counts, hits, strict=True)], np.int64)
        indices = [ucb_index(hit / count, count, spend) for count, hit in zip(counts, hits, strict=True)]
        rough = np.zeros(len(known), np.float32)
        got = choosing.highest_ucb_index(spend, known, np.zeros(len(known)), rough)
        assert got == indices.index(max(indices)), (counts, hits, spend)


def test_no_draw_is_above_what_is_possible() -> None:
    luck, sure = random.Random(22), 0
    for number in range(20 * TABLES):
        n = luck.randint(0, luck.choice([10, 100, 10**4, 10**6]))
        hits, key = luck.randint(0, n), stream(5, number)
        bound = posteriors.highest_possible(float(hits), float(n), key)
        assert thompson_index(hits, n, key) <= bound * (1.0 + 1e-13), (hits, n, key)
        sure += bound < 1.0
    assert sure > 10 * TABLES


def test_no_draw_is_below_its_bound() -> None:
    for shape in (1.0, 2.5, 30.0, 1000.0, 1e6):
        assert all(least_gamma(shape) < gamma(shape, stream(4, n)) for n in range(2000))


def test_the_bound_is_that_of_the_largest_radius() -> None:
    radius = math.sqrt(-2.0 * math.log(2.0**-53))
    shape = 1000.0
    d = shape - 1.0 / 3.0
    lowest = d * (1.0 - radius / math.sqrt(9.0 * d)) ** 3
    assert 0.99 * lowest < least_gamma(shape) < lowest
