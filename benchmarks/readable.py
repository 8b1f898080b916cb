"""How many decisions a second does the readable engine make: with what is built in, an own policy, an own protocol?

The world is the paper's Experiment 5, its first 300 slots. "one process" is by the processor's time, the best of some
turns; "as used" is by the clock: `cobandit.simulate` with several trials, on as many cores as there are.

    python benchmarks/readable.py
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cobandit
from cobandit.protocols import plug_in
from cobandit.scenario import Scenario
from cobandit.simulator import reference
from cobandit.studies.paper import experiment
from cobandit.values.cores import core_count

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path[:0] = [str(EXAMPLES / "policies"), str(EXAMPLES / "protocols")]
from epsilon_greedy import EpsilonGreedy  # noqa: E402
from token_ring import TokenRing  # noqa: E402

SLOTS, TURNS, TRIALS = 300, 7, 16


def own_policy(arms: Sequence[str], seed: int) -> cobandit.Policy:
    """Return a policy of the examples."""
    return EpsilonGreedy(arms, seed=seed, quantum=1.0)


def worlds() -> dict[str, Scenario]:
    """Return the worlds by name."""
    paper = replace(experiment("5").scenario("UCB-ODC"), horizon=SLOTS)
    return {
        "UCB-ODC": paper,
        "own policy": replace(paper, policy=own_policy),
        "own protocol": replace(paper, sharing=plug_in(TokenRing)),
    }


def in_one_process(world: Scenario) -> float:
    """Return the decisions a second of a whole run, by the processor's time."""
    before = time.process_time()
    result = reference.run(world, seed=1)
    return sum(result.decisions) / (time.process_time() - before)


def as_used(world: Scenario) -> float:
    """Return the decisions a second of all trials together, by the clock."""
    before = time.perf_counter()
    results = cobandit.simulate(world, trials=TRIALS, seed=1, engine="reference")
    return float(results.trials["decisions"].sum()) / (time.perf_counter() - before)


def main() -> None:
    """Print a line for each world."""
    print(f"{'':16}{'one process':>16}{f'as used, {core_count()} cores':>22}")
    for name, world in worlds().items():
        best = max(in_one_process(world) for _ in range(TURNS))
        used = max(as_used(world) for _ in range(2))
        print(f"{name:16}{best:>13,.0f} /s{used:>19,.0f} /s", flush=True)


if __name__ == "__main__":
    main()
