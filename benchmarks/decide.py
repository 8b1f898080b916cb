"""What does a decision cost at a connected member, and how does that grow with the number of arms?

    PYTHONPATH=. python benchmarks/decide.py

`Member.select_arm` as a caller gets it: a member over the memory transport, connected to another, its network side at
work in the same process, every decision rewarded. The loops of one run take turns, the best of each counts, and the
last column has each as a multiple of UCB with two arms. `--assert` ends with 1 if a draw among 1,000 arms costs more
than three times one among two.
"""

import argparse
import random
import statistics
import sys
import time
from contextlib import ExitStack

from cobandit import connect
from cobandit.live.drive.member import Member
from cobandit.policies.matching import best_odds

ARMS, POLICIES = (2, 16, 1000), ("ucb", "thompson")
TURNS = 3
LEARNED = 4000
"""Rewards before anything is measured."""
MOST_GROWTH = 3.0


def started(stack: ExitStack, policy: str, count: int) -> Member:
    """Return a member that has met another and learned something."""
    names = [f"arm {number}" for number in range(count)]
    url, group = f"memory://decide-{policy}-{count}", f"{policy}-{count}"
    _, member = (
        stack.enter_context(connect(url, group=group, name=name, arms=names, policy=policy))
        for name in ("web-1", "web-2")
    )
    dice = random.Random(1)
    for _ in range(LEARNED):
        decision = member.select_arm()
        member.update(decision, float(dice.random() < 0.05))
    member.sync()
    return member


def measured(member: Member, seconds: float) -> list[float]:
    """Return what each decision took, in microseconds, sorted."""
    dice, clock, took = random.Random(2), time.perf_counter, []
    end = clock() + seconds
    while clock() < end:
        started_at = clock()
        decision = member.select_arm()
        took.append(1e6 * (clock() - started_at))
        member.update(decision, float(dice.random() < 0.05))
    return sorted(took)


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each loop")
    parser.add_argument("--assert", dest="must", action="store_true", help="end with 1 if it grows too much")
    options = parser.parse_args()
    best: dict[tuple[str, int], list[float]] = {}
    with ExitStack() as stack:
        members = {(policy, count): started(stack, policy, count) for policy in POLICIES for count in ARMS}
        for _ in range(TURNS):
            for case, member in members.items():
                took = measured(member, options.seconds)
                if case not in best or statistics.median(took) < statistics.median(best[case]):
                    best[case] = took
    unit = statistics.median(best["ucb", ARMS[0]])
    print(f"{'policy':10} {'arms':>5} {'median µs':>10} {'99 % µs':>9} {'99.9 % µs':>10} {'times':>7}")
    for (policy, count), took in best.items():
        middle, rare, rarer = (took[int(share * len(took))] for share in (0.5, 0.99, 0.999))
        print(f"{policy:10} {count:5} {middle:10.1f} {rare:9.1f} {rarer:10.1f} {middle / unit:7.1f}")
    for count in ARMS:
        dice = random.Random(3)
        posteriors = [(1.0 + 60.0 * dice.random(), 1000.0 + dice.random()) for _ in range(count)]
        started_at = time.perf_counter()
        best_odds(posteriors)
        print(f"the odds of {count} arms, beside decisions: {1e3 * (time.perf_counter() - started_at):.1f} ms")
    growth = statistics.median(best["thompson", ARMS[-1]]) / statistics.median(best["thompson", ARMS[0]])
    print(f"a draw among {ARMS[-1]} arms costs {growth:.1f} times one among {ARMS[0]}")
    return int(options.must and growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
