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
from cobandit.simulator.kernel.tables import AGENT, ENTROPY, ONE_OBSERVATION, records
from cobandit.values.chance import stream

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


def test_a_rough_draw_is_near_the_exact_one_or_not_sure() -> None:
    luck, sure, near = random.Random(22), 0, (1.0 - posteriors.NEAR) / 2.0
    for number in range(20 * TABLES):
        n = luck.randint(0, luck.choice([10, 100, 10**4, 10**6, 10**9]))
        hits, key = luck.randint(0, n), stream(5, number)
        rough = posteriors.rough_draw(float(hits), float(n), key)
        if rough >= 0.0:
            assert math.isclose(rough, thompson_index(hits, n, key), rel_tol=near), (hits, n, key)
            sure += 1
    assert sure > 19 * TABLES


def test_rough_logarithms_and_cosines_are_as_near_as_they_say() -> None:
    for step in range(1, 20 * TABLES + 1):
        u = step / (20 * TABLES)
        assert abs(posteriors.cosine_of_turns(u - 1e-9) - math.cos(2.0 * math.pi * (u - 1e-9))) < 1.2e-8
        for small in (u, u**4):
            if small > 2.0**-12:
                assert math.isclose(posteriors.minus_log(small), -math.log(small), rel_tol=2.0**-25, abs_tol=0.0)


def test_the_arm_is_that_of_the_highest_draw() -> None:
    luck = random.Random(23)
    for number in range(TABLES):
        spread = luck.choice([3, 30, 1000, 10**6])
        counts = [luck.randint(0, spread) for _ in range(luck.randint(1, 8))]
        hits = [count // 2 if number % 2 else luck.randint(0, count) for count in counts]
        known = np.array([count * ONE_OBSERVATION + hit for count, hit in zip(counts, hits, strict=True)], np.int64)
        agent = records(1, AGENT)[0]
        agent.arm_count, agent.policy_key, agent.own_pulls = len(counts), number, sum(counts)
        keys = [stream(number, sum(counts), arm) for arm in range(len(counts))]
        draws = [thompson_index(*arm) for arm in zip(hits, counts, keys, strict=True)]
        with np.errstate(over="ignore"):
            got = posteriors.highest_draw(agent, known, np.zeros(len(known)))
        assert got == draws.index(max(draws)), (counts, hits)
