"""How fast is each protocol on the compiled engine, against plain UCB-ODC in the same run, and the readable engine?

Experiment 1 with ratio 30: ten agents at 0.3 and thirty at 0.01, 16 arms, 80,000 slots, UCB with delta = 1/n_j, bytes
counted. The protocols take turns; the best of each counts, in processor time. The readable engine runs the first slots
of the same world, once.

    python benchmarks/protocols.py
"""

import time
from collections.abc import Callable
from dataclasses import replace

from cobandit.core import Sharing, immediate, on_demand
from cobandit.protocols import PlugIn, plug_in
from cobandit.protocols.aac import AccuracyAdaptive
from cobandit.protocols.event_hub import EventHub
from cobandit.protocols.gossip import Gossip
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.protocols.tcom import Tcom
from cobandit.scenario import AgentSpec, BuiltIn, Rate, Scenario
from cobandit.simulator import kernel, reference
from cobandit.simulator.result import Result
from cobandit.studies.paper import surrogate_arms

TURNS = 5
HORIZON, READABLE_HORIZON = 80_000, 300
AGENTS = (AgentSpec(Rate(0.3)),) * 10 + (AgentSpec(Rate(0.01)),) * 30
BASE = "UCB-ODC"
SHARINGS: dict[str, Sharing | PlugIn] = {
    BASE: on_demand(),
    "UCB-IBC": immediate(),
    "periodic hub": plug_in(PeriodicHub),
    "event-triggered hub": plug_in(EventHub),
    "gossip, push": plug_in(Gossip),
    "gossip, push-pull": plug_in(Gossip, pull=True),
    "AAC": plug_in(AccuracyAdaptive),
    "TCOM": plug_in(Tcom),
}


def main() -> None:
    """Print decisions a second of each, and how that compares."""
    worlds = {
        name: Scenario(HORIZON, surrogate_arms(), AGENTS, BuiltIn("ucb", confidence="own"), sharing)
        for name, sharing in SHARINGS.items()
    }
    best = dict.fromkeys(worlds, 0.0)
    for turn in range(TURNS + 1):
        for name, world in worlds.items():
            speed = speed_of(kernel.run, world, turn)
            best[name] = max(best[name], speed) if turn else 0.0  # the first turn compiles
    print(f"{'':22}{'compiled':>16}{'of ' + BASE:>12}{'readable':>16}{'times as fast':>16}")
    for name, world in worlds.items():
        readable = speed_of(reference.run, replace(world, horizon=READABLE_HORIZON), 0)
        ratios = best[name] / best[BASE], best[name] / readable
        print(f"{name:22}{best[name]:>13,.0f} /s{ratios[0]:>12.2f}{readable:>13,.0f} /s{ratios[1]:>16,.0f}", flush=True)


def speed_of(run: Callable[..., Result], world: Scenario, trial: int) -> float:
    """Return the decisions a second of one whole run, tables, decision times and all."""
    before = time.process_time()
    result = run(world, seed=1, trial=trial)
    return sum(result.decisions) / (time.process_time() - before)


if __name__ == "__main__":
    main()
