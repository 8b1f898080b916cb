"""What is gained if the luck of a reward belongs to the arm: how alike are two algorithms on one tape?

Twenty agents, two of them 25 times as fast as the rest, 16 arms, 8,000 slots: pairs of algorithms, once with the luck
of an agent's n-th pull (`luck="pull"`) and once with that of its n-th pull of an arm (`luck="arm"`). For each pair: the
correlation of group regret over the trials, and how many times as many trials the same interval of the difference would
take on unrelated tapes.

    python benchmarks/common_luck.py [trials]
"""

import sys
from dataclasses import replace

from cobandit import Geometric, immediate, on_demand, silent, simulate
from cobandit.scenario import AgentSpec, BuiltIn, Rate, Scenario
from cobandit.scenario.tape import Luck
from cobandit.simulator.comparison import Comparison
from cobandit.simulator.interval import half_width
from cobandit.studies.paper import surrogate_arms

HORIZON, FAST, SLOW = 8_000, (AgentSpec(Rate(0.5)),) * 2, (AgentSpec(Rate(0.02)),) * 18
PAIRS = (
    ("on demand", "broadcast"),
    ("on demand", "doubling"),
    ("doubling", "broadcast"),
    ("on demand", "alone"),
    ("on demand", "KL-UCB"),
)
LUCK: tuple[Luck, ...] = ("pull", "arm")


def worlds(luck: Luck) -> dict[str, Scenario]:
    """Return the algorithms that are compared."""
    world = Scenario(HORIZON, surrogate_arms(), (*FAST, *SLOW), BuiltIn("ucb"), on_demand(), luck=luck)
    return {
        "on demand": world,
        "broadcast": replace(world, sharing=immediate()),
        "doubling": replace(world, sharing=on_demand(Geometric(2))),
        "alone": replace(world, sharing=silent()),
        "KL-UCB": replace(world, policy=BuiltIn("kl-ucb")),
    }


def main() -> None:
    """Print a line for each pair."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    results = {luck: simulate(worlds(luck), trials=trials, seed=1) for luck in LUCK}
    print(f"{trials} trials{'':17}correlation of regret     trials saved, times    95 % interval of the difference")
    print(f"{'':29}{'pull':>8}{'arm':>8}{'pull':>16}{'arm':>8}{'pull':>20}{'arm':>12}")
    for one, other in PAIRS:
        by = [results[luck].compare(one, other) for luck in LUCK]
        alike = "".join(f"{each.correlation or 0.0:>8.2f}" for each in by)
        saved = "".join(f"{each.trials_saved or 0.0:>{16 - 8 * place}.1f}" for place, each in enumerate(by))
        wide = "".join(f"{_interval(each):>{20 - 4 * place}}" for place, each in enumerate(by))
        print(f"{one + ' and ' + other:29}{alike}{saved}{wide}")


def _interval(one: Comparison) -> str:
    return f"{one.difference.mean:,.0f} ± {half_width(one.difference) or 0.0:,.1f}"


if __name__ == "__main__":
    main()
