"""Conversions of 5 % and 4 %: how much of the traffic does the better arm get, with each policy?

    PYTHONPATH=. python benchmarks/conversions.py

One live member as it ships, over the memory transport, and 100,000 decisions, each rewarded with 1 or 0 at once.
Rewards are a function of seed and decision, so that every policy meets the same visitors; seeds are 1 to `--seeds`.
What Thompson sampling draws differs from run to run, as at any start of a member.
"""

import argparse
import statistics

from cobandit import connect
from cobandit.values.chance import stream, uniform

MEANS = {"A": 0.04, "B": 0.05}
BEST = "B"
POLICIES = ("ucb", "kl-ucb", "thompson")
DECISIONS, SEEDS = 100_000, 10


def share_of_best(policy: str, seed: int, decisions: int) -> float:
    """Return which part of the decisions was for the better arm."""
    visitors, chosen = stream(seed), 0
    with connect(f"memory://{policy}-{seed}", group="shop", name=f"web-{seed}", arms=list(MEANS), policy=policy) as web:
        for number in range(decisions):
            decision = web.select_arm()
            chosen += decision.arm == BEST
            web.update(decision, float(uniform(visitors, number) < MEANS[decision.arm]))
    return chosen / decisions


def main() -> None:
    """Try every policy with every seed, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--decisions", type=int, default=DECISIONS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    print(f"the better arm's share of {options.decisions:,} decisions, seeds 1 to {options.seeds}")
    for policy in POLICIES:
        shares = [100.0 * share_of_best(policy, seed, options.decisions) for seed in range(1, options.seeds + 1)]
        print(
            f"{policy:10} mean {statistics.mean(shares):5.1f} %  least {min(shares):5.1f} %  most {max(shares):5.1f} %"
        )


if __name__ == "__main__":
    main()
