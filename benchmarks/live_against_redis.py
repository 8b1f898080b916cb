"""What does a decision cost: with counters in Redis, and at a member of a live group, in one run on one machine?

Sixteen arms and UCB on both sides; a decision here is to select an arm and to count its reward. In Redis that takes two
round trips: read all counters, add to two of them. A member decides on what it has, and its journal is on: what is
rewarded is on the disk before anybody hears of it. Then the same member with other members saying more and more to it.

    PYTHONPATH=. python benchmarks/live_against_redis.py

Redis runs on this machine, without persistence; a network between the two would only add to it. The loops take turns,
and the best of each counts. The member shares a process with its network side, and Python runs one of the two at a
time: the last columns say what was merged meanwhile, and how long it took afterwards until all was on the disk.
"""

import argparse
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import redis
from live_load import arms, load

from cobandit import UCB, connect
from cobandit.live.drive.member import Member
from cobandit.live.status.statistics import Statistics
from lab.servers import nats_server, redis_server

ARM_COUNT = 16
MEANS = [0.30 + 0.02 * place for place in range(ARM_COUNT)]
ALPHA = 3.0
SECONDS, TURNS = 3.0, 3
FEW, MANY = 8, 600
"""Peers."""
QUIET_RATE, BUSY_RATE, PACED_RATE = 100.0, 3000.0, 2100.0
"""Messages a second that the peers send."""
PACE = 2000.0
"""Decisions a second where the caller sleeps between them."""
WITHIN_US = 100.0
BUSY = 2000.0
GROUP, NAME = "benchmark", "member"

Decide = Callable[[random.Random], None]


class Measured(NamedTuple):
    """One loop."""

    decisions_per_s: float
    p50_us: float
    p99_us: float
    p999_us: float
    merged_per_s: float = 0.0
    sync_s: float = 0.0


def main() -> None:
    """Print the table, and the ratios."""
    options = _options()
    with redis_server() as counters, nats_server() as hub:
        by_redis, live = against_redis(counters.port, hub.url, options.seconds, options.turns)
        print(f"{'':36}{'decisions/s':>12}{'p50 us':>9}{'p99 us':>9}{'p99.9 us':>10}{'merged/s':>10}{'sync ms':>9}")
        show("counters in Redis", by_redis)
        show(f"member, {FEW} peers", live)
        busy = best(lambda: under_load(hub.url, options.seconds, MANY, BUSY_RATE), options.turns)
        show(f"member, {MANY} peers, busy", busy)
        paced = best(lambda: under_load(hub.url, options.seconds, MANY, PACED_RATE, PACE), options.turns)
        show(f"member, {MANY} peers, busy, paced", paced)
        quiet = best(lambda: under_load(hub.url, options.seconds, FEW, QUIET_RATE, PACE), options.turns)
        show(f"member, {FEW} peers, paced", quiet)
        show("UCB alone, paced", best(lambda: timed(policy_loop(), options.seconds, PACE), options.turns))
    ratio, median = live.decisions_per_s / by_redis.decisions_per_s, by_redis.p50_us / live.p50_us
    print(f"\nmember against Redis: {ratio:.1f} times the decisions a second, {median:.1f} times as fast in the median")
    for name, one in (("busy", busy), ("busy, paced", paced)):
        is_met = one.p99_us < WITHIN_US and one.merged_per_s >= BUSY
        verdict = "yes" if is_met else "NO"
        print(f"{name}: p99 under {WITHIN_US:.0f} us while {BUSY:,.0f} messages a second are merged: {verdict}")


def show(name: str, one: Measured) -> None:
    """Print a row."""
    print(
        f"{name:36}{one.decisions_per_s:>12,.0f}{one.p50_us:>9.1f}{one.p99_us:>9.1f}{one.p999_us:>10.1f}"
        f"{one.merged_per_s:>10,.0f}{1000 * one.sync_s:>9.0f}",
        flush=True,
    )


def against_redis(port: int, url: str, seconds: float, turns: int) -> tuple[Measured, Measured]:
    """Return the best turn of both, which take turns."""
    by_redis, live = [], []
    for _ in range(turns):
        with redis.Redis(port=port) as client:
            client.flushall()
            by_redis.append(timed(redis_loop(client), seconds))
        live.append(under_load(url, seconds, FEW, QUIET_RATE))
    return max(by_redis), max(live)


def under_load(url: str, seconds: float, peers: int, rate: float, pace: float | None = None) -> Measured:
    """Return how a member decides while so many peers send so many messages a second."""
    with (
        member_with_journal(url) as member,
        load(url, GROUP, NAME, agents=peers, rate=rate, arm_count=ARM_COUNT),
    ):
        loop = member_loop(member)
        timed(loop, min(1.0, seconds), pace)  # until every peer has had its first answer
        return observed(member, loop, seconds, pace)


def best(measure: Callable[[], Measured], turns: int) -> Measured:
    """Return one whole turn: the one with the lowest p99 of those in which enough was merged, or most if none was."""
    taken = [measure() for _ in range(turns)]
    most = max(one.merged_per_s for one in taken)
    return min((one for one in taken if one.merged_per_s >= min(BUSY, most)), key=lambda one: one.p99_us)


@contextmanager
def member_with_journal(url: str) -> Iterator[Member]:
    """Open a member whose state is on the disk."""
    with (
        tempfile.TemporaryDirectory(prefix="cobandit-") as folder,
        connect(
            url, group=GROUP, name=NAME, arms=arms(ARM_COUNT), state=Path(folder) / "state", policy="ucb"
        ) as member,
    ):
        yield member


def member_loop(member: Member) -> Decide:
    """Return one decision of a member, with its reward."""
    means = dict(zip(arms(ARM_COUNT), MEANS, strict=True))

    def decide(chance: random.Random) -> None:
        decision = member.select_arm()
        member.update(decision, 1.0 if chance.random() < means[decision.arm] else 0.0)

    return decide


def policy_loop() -> Decide:
    """Return one decision of a policy that is nobody's: what this machine needs for that alone."""
    policy, means = UCB(arms(ARM_COUNT)), dict(zip(arms(ARM_COUNT), MEANS, strict=True))

    def decide(chance: random.Random) -> None:
        arm = policy.select_arm()
        policy.update(arm, 1.0 if chance.random() < means[arm] else 0.0)

    return decide


def redis_loop(client: "redis.Redis") -> Decide:
    """Return one decision by counters in Redis, with its reward: two round trips."""
    key = "counters"
    fields = [(f"count-{place}", f"sum-{place}") for place in range(ARM_COUNT)]
    found = [(count.encode(), total.encode()) for count, total in fields]

    def select() -> int:
        counters = client.hgetall(key)
        counts = [int(counters.get(count, 0)) for count, _ in found]
        if 0 in counts:
            return counts.index(0)
        half_budget = 0.5 * ALPHA * math.log(sum(counts))
        best_place, best_index = 0, -math.inf
        for place, (_, total) in enumerate(found):
            count = counts[place]
            index = int(counters[total]) / count + math.sqrt(half_budget / count)
            if index > best_index:
                best_place, best_index = place, index
        return best_place

    def decide(chance: random.Random) -> None:
        place = select()
        count, total = fields[place]
        with client.pipeline(transaction=False) as pipeline:
            pipeline.hincrby(key, count, 1)
            pipeline.hincrby(key, total, 1 if chance.random() < MEANS[place] else 0)
            pipeline.execute()

    return decide


def observed(member: Member, loop: Decide, seconds: float, pace: float | None = None) -> Measured:
    """Time a member, and say what it merged meanwhile and how long the disk needs afterwards."""
    before = member.statistics()
    measured = timed(loop, seconds, pace)
    ended = time.perf_counter()
    after = member.statistics()
    member.sync()
    merged = (shares_merged(after) - shares_merged(before)) / (after.at - before.at)
    return measured._replace(merged_per_s=merged, sync_s=time.perf_counter() - ended)


def shares_merged(now: Statistics) -> int:
    """Return how many different shares of others a member has counted."""
    return sum(peer.shares_received for peer in now.peers)


def timed(decide: Decide, seconds: float, pace: float | None = None) -> Measured:
    """Decide for so many seconds, as fast as it goes or at this pace, and time each decision by itself."""
    chance, clock = random.Random(1), time.perf_counter_ns
    taken: list[int] = []
    began = clock()
    end = began + int(seconds * 1e9)
    while True:
        before = clock()
        if before >= end:
            break
        decide(chance)
        taken.append(clock() - before)
        if pace is not None:
            time.sleep(max(0.0, (began + len(taken) * 1e9 / pace - clock()) / 1e9))
    elapsed = (clock() - began) / 1e9
    cuts = statistics.quantiles(taken, n=1000)
    return Measured(len(taken) / elapsed, cuts[499] / 1000, cuts[989] / 1000, cuts[998] / 1000)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each loop")
    parser.add_argument("--turns", type=int, default=TURNS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
