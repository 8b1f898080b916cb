"""What does a share cost behind relays, when there are many agents? Up to a million, with 20 decisions each.

A leaf keeps a total for each home and a relay a row for each leaf, so the work for a share does not depend on how many
agents there are; memory grows with their number. What is timed is a whole call of `cobandit.simulate`, with one trial
on one thread: tables, decision times, the run, the frames. CPU seconds depend little on what else the machine does. "Of
the run" is the compiled loop alone.

    python benchmarks/fleet_scale.py [AGENTS ...]
"""

import resource
import sys
import time

import numpy as np

import cobandit
from cobandit.scenario import Scenario, Tape
from cobandit.simulator.kernel import Room, fleet, prepare
from cobandit.studies.fleets import large_fleet

SIZES = (1_000, 10_000, 100_000)


def main() -> None:
    """Print the time of each size, the time for each share, and the peak memory so far."""
    cobandit.simulate(large_fleet(10), trials=1, workers=1)  # compile, or load what was compiled
    heads = ("agents", "decisions", "shares", "seconds", "CPU seconds", "of the run", "ns a share", "peak GiB")
    print("".join(f"{head:>14}" for head in heads))
    for count in map(int, sys.argv[1:] or SIZES):
        world = large_fleet(count)
        before, cpu_before = time.perf_counter(), time.process_time()
        totals = cobandit.simulate(world, trials=1, workers=1).trials.iloc[0]
        seconds, cpu = time.perf_counter() - before, time.process_time() - cpu_before
        running = run_time(world)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{count:>14,}{totals.decisions:>14,}{totals.shares:>14,}{seconds:>14.2f}{cpu:>14.2f}{running:>14.2f}"
            f"{1e9 * running / totals.shares:>14.0f}{peak:>14.2f}",
            flush=True,
        )


def run_time(world: Scenario) -> float:
    """Return how long the compiled loop takes."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        tables = prepare(world, Tape(1), (), Room(world.node_count, 0, 1), sizes=True)
    before = time.process_time()
    fleet.run(tables)
    return time.process_time() - before


if __name__ == "__main__":
    main()
