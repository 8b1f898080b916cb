"""How fast is the compiled engine away from the plainest world? Every row in one run, on one core, bytes counted.

The world is that of `kernel_against_c.py`: Experiment 1 with ratio 30. Each row changes one thing about it: the policy,
the protocol, the network, the arms. Rows take turns, and the best of each counts. Decisions a second stand beside two
yardsticks of the same run: a literal Algorithm 1 in C, which counts no bytes, and plain UCB-ODC here.

    python benchmarks/worlds.py
    python benchmarks/worlds.py --turns 3 kl-ucb thompson
    python benchmarks/worlds.py --write    # the table of docs/speed.md, too
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from cobandit.core import Geometric, RetryTimers, Sharing, immediate, on_demand
from cobandit.scenario import AgentSpec, BuiltIn, Faults, Graph, Rate, Relays, Scenario
from cobandit.simulator import kernel
from cobandit.studies.paper import surrogate_arms

sys.path.insert(0, str(Path(__file__).parent))
from kernel_against_c import FAST, HORIZON, SLOW, kernel_speed, literal_speed

TURNS = 9
PAGE = Path(__file__).parents[1] / "docs" / "speed.md"
HEAD = "| world | decisions a second | to C | to plain UCB-ODC | bar |"

UCB = BuiltIn("ucb", alpha=3.0, confidence="own")
DOUBLING = Geometric(2, cap=64)
"""What live members use."""


class Row(NamedTuple):
    """A world, and how much of plain UCB-ODC's speed it must have."""

    world: Scenario
    bar: float | None = None


def plain(sharing: Sharing | None = None, policy: BuiltIn = UCB) -> Scenario:
    """Return the plainest world, with other sharing or another policy."""
    agents = (AgentSpec(Rate(FAST[1])),) * FAST[0] + (AgentSpec(Rate(SLOW[1])),) * SLOW[0]
    return Scenario(HORIZON, surrogate_arms(), agents, policy, sharing or on_demand())


def arm_sets() -> Scenario:
    """Return a world in which each agent has ten of the sixteen arms."""
    world = plain()
    names = world.arms.names
    agents = tuple(
        replace(agent, arms=tuple(names[(place + step) % len(names)] for step in range(10)))
        for place, agent in enumerate(world.agents)
    )
    return replace(world, agents=agents)


def rows() -> dict[str, Row]:
    """Return all rows by name."""
    tolerant = RetryTimers()
    return {
        "plain": Row(plain()),
        "ibc": Row(plain(immediate())),
        "doubling": Row(plain(on_demand(DOUBLING))),
        "tolerant": Row(plain(on_demand(loss_tolerant=tolerant)), 0.33),
        "tolerant doubling": Row(plain(on_demand(DOUBLING, loss_tolerant=tolerant)), 0.8),
        "tolerant, 10 % loss": Row(replace(plain(on_demand(loss_tolerant=tolerant)), faults=Faults(loss=0.1))),
        "aae": Row(plain(policy=BuiltIn("aae", alpha=3.0, confidence="own")), 0.9),
        "kl-ucb": Row(plain(policy=BuiltIn("kl-ucb")), 0.25),
        "thompson": Row(plain(policy=BuiltIn("thompson")), 0.4),
        "arm sets": Row(arm_sets(), 0.7),
        "delay": Row(replace(plain(), delay=20), 0.7),
        "ring": Row(replace(plain(), topology=Graph.ring(FAST[0] + SLOW[0])), 0.5),
        "relays": Row(replace(plain(), topology=Relays(2)), 0.5),
    }


def measure(worlds: dict[str, Row], turns: int) -> tuple[float, dict[str, float]]:
    """Return the best decisions a second of the C program, and of every world."""
    with tempfile.TemporaryDirectory() as folder:
        yardstick = Path(folder) / "literal"
        source = Path(__file__).with_name("literal.c")
        subprocess.run(["cc", "-O3", "-march=native", "-o", yardstick, source, "-lm"], check=True)
        for row in worlds.values():
            kernel.run(row.world, seed=1)  # compile, or load what was compiled
        literal, best = 0.0, dict.fromkeys(worlds, 0.0)
        for turn in range(turns):
            literal = max(literal, literal_speed(yardstick, "odc", turn))
            for name, row in worlds.items():
                best[name] = max(best[name], kernel_speed(row.world, turn, sizes=True))
    return literal, best


def table(literal: float, best: dict[str, float], worlds: dict[str, Row], *, is_markdown: bool) -> Sequence[str]:
    """Return what was measured, a line for each world."""
    lines = [HEAD, "| --- | ---: | ---: | ---: | ---: |"]
    for name, speed in best.items():
        bar, ratio = worlds[name].bar, speed / best["plain"]
        told = "" if bar is None else f"{bar}{'' if ratio >= bar else ' missed'}"
        lines.append(f"| {name} | {speed:,.0f} | {speed / literal:.2f} | {ratio:.2f} | {told} |")
    if is_markdown:
        return lines
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]
    return [f"{name:<22}" + "".join(f"{cell:>20}" for cell in rest) for name, *rest in cells]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("world", nargs="*", help="only these, besides the plain one")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--write", action="store_true", help="put the table into docs/speed.md as well")
    options = parser.parse_args()
    worlds = {name: row for name, row in rows().items() if name == "plain" or name in (options.world or rows())}
    literal, best = measure(worlds, options.turns)
    print("\n".join(table(literal, best, worlds, is_markdown=False)))
    if options.write:
        write(table(literal, best, worlds, is_markdown=True))


def write(lines: Sequence[str]) -> None:
    """Put a table where the page has one."""
    page = PAGE.read_text(encoding="utf-8").splitlines()
    begin = page.index(HEAD)
    end = begin + next(place for place, line in enumerate([*page[begin:], ""]) if not line.startswith("|"))
    PAGE.write_text("\n".join([*page[:begin], *lines, *page[end:]]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
