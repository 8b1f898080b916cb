"""How fast is the compiled engine away from the plainest world? Every row in one run, on one core, bytes counted.

The world is that of `kernel_against_c.py`: Experiment 1 with ratio 30. A row is a policy, a protocol, a network and
what agents have of the arms. First come the rows that change one of them, then some that change two. Rows take turns,
and the best of each counts. Decisions a second stand beside two yardsticks of the same run: a literal Algorithm 1 in
C, which counts no bytes, and plain UCB-ODC here.

    python benchmarks/worlds.py
    python benchmarks/worlds.py --turns 3 kl-ucb thompson "thompson, tolerant doubling"
    python benchmarks/worlds.py --write    # the table of docs/speed.md, too
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from cobandit.core import Geometric, RetryTimers, Sharing, immediate, on_demand
from cobandit.scenario import AgentSpec, BuiltIn, Faults, Forgetting, Graph, Rate, Relays, Scenario
from cobandit.simulator import kernel
from cobandit.studies.paper import surrogate_arms

sys.path.insert(0, str(Path(__file__).parent))
from kernel_against_c import FAST, HORIZON, SLOW, kernel_speed, literal_speed

TURNS = 9
PAGE = Path(__file__).parents[1] / "docs" / "speed.md"
HEAD = "| world | policy | protocol | network | arms | decisions a second | to C | to plain UCB-ODC | bar |"
RULE = "| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: |"

DOUBLING = Geometric(2, cap=64)
"""What live members use."""

POLICIES = {
    "ucb": BuiltIn("ucb", alpha=3.0, confidence="own"),
    "aae": BuiltIn("aae", alpha=3.0, confidence="own"),
    "kl-ucb": BuiltIn("kl-ucb"),
    "thompson": BuiltIn("thompson"),
}
PROTOCOLS: dict[str, Sharing] = {
    "odc": on_demand(),
    "ibc": immediate(),
    "doubling": on_demand(DOUBLING),
    "tolerant": on_demand(loss_tolerant=RetryTimers()),
    "tolerant doubling": on_demand(DOUBLING, loss_tolerant=RetryTimers()),
}
NETWORKS: dict[str, dict[str, Any]] = {
    "mesh": {},
    "10 % loss": {"faults": Faults(loss=0.1)},
    "delay": {"delay": 20},
    "ring": {"topology": Graph.ring(FAST[0] + SLOW[0])},
    "relays": {"topology": Relays(2)},
}
ARMS: dict[str, dict[str, Any]] = {
    "all": {},
    "arm sets": {},
    "window": {"forgetting": Forgetting(window=8_000)},
}
"""What agents have of the arms: all of them, ten of the sixteen, or all and only what was observed lately."""

TABLE = [
    ("plain", None),
    ("ibc", None),
    ("doubling", None),
    ("tolerant", 0.33),
    ("tolerant doubling", 0.8),
    ("aae", 0.9),
    ("kl-ucb", 0.25),
    ("thompson", 0.4),
    ("arm sets", 0.7),
    ("window", None),
    ("delay", 0.7),
    ("ring", 0.5),
    ("relays", 0.5),
    ("tolerant, 10 % loss", None),
    ("tolerant doubling, 10 % loss", None),
    ("doubling, delay", None),
    ("tolerant doubling, delay", None),
    ("doubling, ring", None),
    ("doubling, relays", None),
    ("ibc, relays", None),
    ("aae, arm sets", None),
    ("aae, tolerant", None),
    ("aae, ring", None),
    ("kl-ucb, tolerant doubling", None),
    ("kl-ucb, relays", None),
    ("thompson, tolerant doubling", None),
    ("thompson, delay", None),
    ("tolerant, arm sets", None),
    ("kl-ucb, window", None),
    ("doubling, window", None),
]
"""What is not as in the plain world, and how much of plain UCB-ODC's speed it must have."""


class Row(NamedTuple):
    """A world, what is where in it, and how much of plain UCB-ODC's speed it must have."""

    world: Scenario
    policy: str = "ucb"
    protocol: str = "odc"
    network: str = "mesh"
    arms: str = "all"
    bar: float | None = None


def row_of(name: str, bar: float | None) -> Row:
    """Return the row in which these things are not as in the plain world."""
    said = name.split(", ")
    policy, protocol, network, arms = (
        next((choice for choice in choices if choice in said), next(iter(choices)))
        for choices in (POLICIES, PROTOCOLS, NETWORKS, ARMS)
    )
    agents = (AgentSpec(Rate(FAST[1])),) * FAST[0] + (AgentSpec(Rate(SLOW[1])),) * SLOW[0]
    if arms == "arm sets":
        agents = with_arm_sets(agents)
    what = {"policy": POLICIES[policy], "sharing": PROTOCOLS[protocol], **NETWORKS[network], **ARMS[arms]}
    return Row(Scenario(HORIZON, surrogate_arms(), agents, **what), policy, protocol, network, arms, bar)


def with_arm_sets(agents: Sequence[AgentSpec]) -> tuple[AgentSpec, ...]:
    """Return agents of which each has ten of the sixteen arms."""
    names = surrogate_arms().names
    return tuple(
        replace(agent, arms=tuple(names[(place + step) % len(names)] for step in range(10)))
        for place, agent in enumerate(agents)
    )


def rows() -> dict[str, Row]:
    """Return all rows by name."""
    return {name: row_of(name, bar) for name, bar in TABLE}


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
    lines = [HEAD, RULE]
    for name, speed in best.items():
        row, ratio = worlds[name], speed / best["plain"]
        where = f"{row.policy} | {row.protocol} | {row.network} | {row.arms}"
        told = "" if row.bar is None else f"{row.bar}{'' if ratio >= row.bar else ' missed'}"
        lines.append(f"| {name} | {where} | {speed:,.0f} | {speed / literal:.2f} | {ratio:.2f} | {told} |")
    if is_markdown:
        return lines
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]
    return [f"{name:<30}" + "".join(f"{cell:>20}" for cell in rest[4:]) for name, *rest in cells]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("world", nargs="*", help="only these rows, besides the plain one")
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
