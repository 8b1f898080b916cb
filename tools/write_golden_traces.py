"""Write the golden traces anew: what every world of tests/golden/worlds does in the present version.

    python tools/write_golden_traces.py            every world
    python tools/write_golden_traces.py churn      the worlds of these names

The traces judge every later version bit by bit. So a golden trace is only ever rewritten with a decision record
(docs/decisions) that says why the old one was wrong or the new one is wanted. Both engines must agree on it. A minute
or two: in worlds that are judged by counts it is measured how far luck alone moves them.
"""

import statistics
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.golden.golden import (
    READABLE_TRIALS,
    Total,
    World,
    all_worlds,
    first_difference,
    run_readable,
    story,
    summary,
    totals,
    write,
)

from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import Stream, Tape
from cobandit.scenario.trace import Row
from cobandit.simulator import kernel
from cobandit.simulator.reference import ReferenceRun
from cobandit.simulator.result import Result
from cobandit.simulator.trials import engine_for

LUCK_TRIALS = 40
"""In how many trials it is measured what luck does."""

NETWORKS = 5
"""In how many networks each of them is run: the same decisions and rewards, but other messages are lost."""

SHARE = 0.01
"""How far a total may be off, as a share of it."""

DEVIATIONS = 4.0
"""How far it may be off, in standard deviations of the difference of two totals that differ by luck alone."""


def main(names: list[str]) -> None:
    """Write the traces of these worlds, or of all."""
    worlds = {world.name: world for world in all_worlds()}
    if unknown := sorted(set(names) - set(worlds)):
        sys.exit(f"there are no golden worlds {', '.join(unknown)}")
    for name in names or worlds:
        world = worlds[name]
        told = story(world, run_readable)
        if engine_for(world.scenario, "auto") == "compiled":
            difference = first_difference(told, story(world, run_compiled))
            assert not difference, f"the engines differ in {name}: {difference}"
        write(world, told, sums(world) if world.judged == "counts" else [])
        print(f"{name}: {len(told)} lines")


def run_compiled(scenario: Scenario, seed: int, trial: int, trace: list[Row] | None) -> Result:
    """Run the compiled engine."""
    return kernel.run(scenario, seed=seed, trial=trial, trace=trace)


def sums(world: World) -> list[Total]:
    """Return the totals of a world, over a few trials and over many, and how far each may be off."""
    deviations = luck(world)
    found = []
    for trials, run in ((READABLE_TRIALS, run_readable), (world.trials, run_compiled)):
        for what, value in totals(world, run, trials).items():
            by_luck = DEVIATIONS * deviations[what] * (2 * trials) ** 0.5
            found.append(Total(trials, what, value, round(max(SHARE * value, by_luck), 3)))
    return found


def luck(world: World) -> dict[str, float]:
    """Return by how much each count of one trial varies if nothing changes but what befalls the messages."""
    variances = defaultdict[str, list[float]](list)
    for trial in range(LUCK_TRIALS):
        runs = [summary(run_on_network(world, trial, network)) for network in range(NETWORKS)]
        for what in runs[0]:
            variances[what].append(statistics.variance(run[what] for run in runs))
    return {what: statistics.fmean(found) ** 0.5 for what, found in variances.items()}


def run_on_network(world: World, trial: int, network: int) -> Result:
    """Run a trial on a network with other luck. Number 0 is the trial's own."""
    run = ReferenceRun(world.scenario, Tape(world.seed, trial), None)
    if network:
        other = Tape(world.seed + 1_000_000 * network, trial)
        run._message_keys = [  # noqa: SLF001  # no run but this one has luck of two kinds
            other.key(position, Stream.NETWORK) for position in range(len(world.scenario.agents))
        ]
    run.run()
    return run.result()


if __name__ == "__main__":
    main(sys.argv[1:])
