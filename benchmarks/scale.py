"""What does a share cost when there are many agents? From 10 to 10,000 agents with 20 decisions each, UCB, on demand.

State for a pair of agents is a few integers, so the work for a share does not depend on how many agents or arms there
are; what grows is the memory, with the number of pairs, and with it the time that a cache miss takes.

    python benchmarks/scale.py
"""

import resource
import time

from cobandit.core import on_demand
from cobandit.scenario import AgentSpec, BuiltIn, Rate, Scenario
from cobandit.simulator import kernel
from cobandit.studies.paper import surrogate_arms

SLOTS, DECISIONS = 2_000, 20


def main() -> None:
    """Print the time for each share, and the peak memory so far."""
    print(f"{'agents':>8}{'decisions':>12}{'shares':>16}{'seconds':>10}{'ns a share':>12}{'peak GiB':>10}")
    for count in (10, 30, 100, 300, 1_000, 3_000, 10_000):
        agents = (AgentSpec(Rate(DECISIONS / SLOTS)),) * count
        world = Scenario(SLOTS, surrogate_arms(), agents, BuiltIn("ucb"), on_demand())
        kernel.run(world, seed=1, sizes=False) if count == 10 else None
        before = time.perf_counter()
        result = kernel.run(world, seed=1, sizes=False)
        seconds = time.perf_counter() - before
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{count:>8,}{sum(result.decisions):>12,}{result.shares:>16,}{seconds:>10.2f}"
            f"{1e9 * seconds / max(1, result.shares):>12.1f}{peak:>10.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
