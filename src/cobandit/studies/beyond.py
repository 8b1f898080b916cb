"""Worlds that are not in the paper: what it leaves open, as experiments of the same kind."""

from dataclasses import replace

from cobandit.scenario import Faults
from cobandit.studies.paper import Experiment, experiment_1

LOSSES = (0, 1, 5, 10, 20, 30, 50)
"""Which losses are compared, in per cent."""

LOSS_ALGORITHMS = ("UCB-ODC", "UCB-ODC-LT", "UCB-ODC-D", "UCB-ODC-LT-D", "UCB-IBC", "UCB-NONE")
"""ODC as printed and loss-tolerant (LT), with a threshold of one and doubling (D); immediate broadcast; no sharing."""


def loss_world(percent: int) -> Experiment:
    """Return Experiment 1 with ratio 30 on a network that loses so many messages of a hundred."""
    world = experiment_1(30)
    return replace(
        world, name="loss", title=f"{world.title}, {percent} % of messages lost", faults=Faults(loss=percent / 100)
    )
