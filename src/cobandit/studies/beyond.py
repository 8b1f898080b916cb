"""Worlds that are not in the paper: what it leaves open, as experiments of the same kind."""

import math
from dataclasses import replace

from cobandit.scenario import AgentSpec, Faults, Rate
from cobandit.studies.paper import Experiment, experiment_1

LOSSES = (0, 1, 5, 10, 20, 30, 50)
"""Which losses are compared, in per cent."""

LOSS_ALGORITHMS = ("UCB-ODC", "UCB-ODC-LT", "UCB-ODC-D", "UCB-ODC-LT-D", "UCB-IBC", "UCB-NONE")
"""ODC as printed and loss-tolerant (LT), with a threshold of one and doubling (D); immediate broadcast; no sharing."""


PHASE_LOSSES = (0, 10, 30)
"""At which losses thresholds with and without phases are compared."""

PHASE_ALGORITHMS = ("UCB-ODC-LT-D", "UCB-ODC-LT-D-P", "UCB-ODC-LT-D64", "UCB-ODC-LT-D64-P")
"""Doubling, without end and up to 64 as live members have it; each in step and with a phase for each pair (P)."""

SPREAD = 0.7
"""How far the rates of fast agents are spread: from e^-0.7 to e^0.7 times the common one, evenly in the exponent."""


def spread_world(percent: int) -> Experiment:
    """Return `loss_world` with fast agents of different rates: then none of them double in step."""
    world = loss_world(percent)
    fast = sorted(world.fast)
    agents = list(world.agents)
    for place, agent in enumerate(fast):
        exponent = SPREAD * (2.0 * place / (len(fast) - 1) - 1.0)
        agents[agent] = AgentSpec(Rate(round(0.3 * math.exp(exponent), 4)))
    return replace(world, name="spread", title=f"{world.title}, fast rates spread", agents=tuple(agents))


def loss_world(percent: int) -> Experiment:
    """Return Experiment 1 with ratio 30 on a network that loses so many messages of a hundred."""
    world = experiment_1(30)
    return replace(
        world, name="loss", title=f"{world.title}, {percent} % of messages lost", faults=Faults(loss=percent / 100)
    )
