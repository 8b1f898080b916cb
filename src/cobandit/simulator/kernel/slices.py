"""Slices of a history, compiled: what a share carries, added to what its receiver knows.

A short slice is walked. For a long one there are milestones: every so many own observations, a copy of all that the
agent has observed itself. What lies between two milestones is their difference, and only the ends are walked. This is
for agents that all have the same arms, where rewards are 0 and 1.
"""

import numpy as np

from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Record, Table, Tables

SPARE = 2
"""Places behind the last history, so that two observations can be read where there is none."""

_LEAST_STRIDE_BITS = 4


def fill_milestones(world: Record, shape: tuple[int, int], decisions: int) -> dict[str, Table]:
    """Return room for all milestones: there are as many observations between two as arms, so 8 bytes for a decision."""
    agents, arms = shape if world.has_milestones else (0, 0)
    world.stride_bits = max(_LEAST_STRIDE_BITS, (arms - 1).bit_length())
    count = (decisions >> int(world.stride_bits)) + agents
    return {"own": np.zeros((agents, arms), np.int64), "milestones": np.zeros((count, arms), np.int64)}


@inlined
def milestone_at(t: Tables, agent: int, version: int) -> int:
    """Return the place of the last milestone up to a version."""
    return (t.agents[agent].history >> t.world.stride_bits) + np.int64(agent) + (version >> t.world.stride_bits)


@inlined
def note_own(t: Tables, agent: int, arm: int, reward: int) -> None:
    """Take an own observation, which is counted already, for the next milestone."""
    t.own[agent, arm] += ONE_OBSERVATION + reward
    if t.agents[agent].own_pulls & ((1 << t.world.stride_bits) - 1) == 0:
        place = milestone_at(t, agent, t.agents[agent].own_pulls)
        for other in range(t.own.shape[1]):
            t.milestones[place, other] = t.own[agent, other]


@inlined
def known_of(code: int) -> int:
    """Return what is known from one observation of a history."""
    return ONE_OBSERVATION + np.int64(code & np.uint16(1))


@inlined
def walk_slice(t: Tables, receiver: int, begin: int, end: int) -> None:
    """Add observations, from one place in the history to another, to what an agent knows."""
    if t.world.graded:
        for spot in range(np.uint64(begin), np.uint64(end)):
            add_reward(t, t.sums[receiver, t.history[spot] >> np.uint16(1)], np.int64(t.units[spot]))
    for spot in range(np.uint64(begin), np.uint64(end)):
        code = t.history[spot]
        t.knowledge[receiver, code >> np.uint16(1)] += known_of(code)


@inlined
def add_reward(t: Tables, total: Record, units: int) -> None:
    """Add a reward and its square to what is known of an arm (`Tally.add`)."""
    total.rewards += units
    total.squares += units * units // t.world.square_unit


@inlined
def add_slice(t: Tables, sender: int, receiver: int, base: int, version: int) -> None:
    """Add what an agent observed itself between two of its versions to what another one knows."""
    begin = t.agents[sender].history
    if not t.world.has_milestones or (version - base) >> t.world.stride_bits == 0:
        walk_slice(t, receiver, begin + base, begin + version)
    else:
        add_long_slice(t, sender, receiver, base, version)


@compiled
def add_long_slice(t: Tables, sender: int, receiver: int, base: int, version: int) -> None:
    """Do the same for a slice in which there is a milestone."""
    begin, bits = t.agents[sender].history, t.world.stride_bits
    after = (base + (1 << bits) - 1) >> bits << bits
    walk_slice(t, receiver, begin + base, begin + after)
    first = milestone_at(t, sender, after)
    if version == t.agents[sender].own_pulls:
        for arm in range(t.own.shape[1]):
            t.knowledge[receiver, arm] += t.own[sender, arm] - t.milestones[first, arm]
        return
    last = milestone_at(t, sender, version)
    for arm in range(t.own.shape[1]):
        t.knowledge[receiver, arm] += t.milestones[last, arm] - t.milestones[first, arm]
    walk_slice(t, receiver, begin + (version >> bits << bits), begin + version)
