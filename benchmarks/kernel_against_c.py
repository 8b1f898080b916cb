"""How fast is the compiled engine, against a literal Algorithm 1 in C, in one run on one core?

Experiment 1 with ratio 30: ten agents at 0.3 and thirty at 0.01, 16 arms, 80,000 slots, UCB with delta = 1/n_j. The
yardstick is `literal.c` beside this file, compiled here with -O3 -march=native. The two take turns; the best of each
counts. Time is the processor's, so that a busy machine matters less.

    python benchmarks/kernel_against_c.py
"""

import subprocess
import tempfile
import time
from pathlib import Path

from cobandit.core import Sharing, immediate, on_demand
from cobandit.scenario import AgentSpec, BuiltIn, Rate, Scenario
from cobandit.simulator import kernel
from cobandit.studies.paper import surrogate_arms

TURNS = 25
FAST, SLOW, HORIZON = (10, 0.3), (30, 0.01), 80_000


def main() -> None:
    """Print decisions a second of both, and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        yardstick = Path(folder) / "literal"
        source = Path(__file__).with_name("literal.c")
        subprocess.run(["cc", "-O3", "-march=native", "-o", yardstick, source, "-lm"], check=True)
        print(f"{'':10}{'C, literal':>16}{'compiled':>16}{'ratio':>8}{'with sizes':>16}{'ratio':>8}")
        for name, sharing in (("UCB-ODC", on_demand()), ("UCB-IBC", immediate())):
            literal, bare, sized = measure(yardstick, name[-3:].lower(), sharing)
            print(
                f"{name:10}{literal:>12,.0f} /s{bare:>14,.0f} /s{bare / literal:>6.2f}"
                f"{sized:>13,.0f} /s{sized / literal:>8.2f}"
            )


def measure(yardstick: Path, protocol: str, sharing: Sharing) -> tuple[float, float, float]:
    """Return the best decisions a second of the C program, of the engine, and of the engine counting bytes as well."""
    agents = (AgentSpec(Rate(FAST[1])),) * FAST[0] + (AgentSpec(Rate(SLOW[1])),) * SLOW[0]
    world = Scenario(HORIZON, surrogate_arms(), agents, BuiltIn("ucb", alpha=3.0, confidence="own"), sharing)
    kernel.run(world, seed=1)  # compile, or load what was compiled
    best = [0.0, 0.0, 0.0]
    for turn in range(TURNS):
        speeds = (
            literal_speed(yardstick, protocol, turn),
            kernel_speed(world, turn, sizes=False),
            kernel_speed(world, turn, sizes=True),
        )
        best = [max(pair) for pair in zip(best, speeds, strict=True)]
    return best[0], best[1], best[2]


def literal_speed(yardstick: Path, protocol: str, seed: int) -> float:
    """Return the decisions a second of one run of the C program, by its own clock of the processor's time."""
    arguments = [protocol, FAST[0], FAST[1], SLOW[0], SLOW[1], HORIZON, seed]
    means = " ".join(map(str, surrogate_arms().means))
    command = [str(yardstick), *map(str, arguments)]
    done = subprocess.run(command, input=means, capture_output=True, text=True, check=True)
    decisions, _, _, seconds = done.stdout.split()
    return int(decisions) / float(seconds)


def kernel_speed(world: Scenario, trial: int, *, sizes: bool) -> float:
    """Return the decisions a second of one whole run of the engine, tables, decision times and all."""
    before = time.process_time()
    result = kernel.run(world, seed=1, trial=trial, sizes=sizes)
    return sum(result.decisions) / (time.process_time() - before)


if __name__ == "__main__":
    main()
