"""A fleet with a window, compiled: what every agent knows is kept by period, and leaves with its period.

Periods are a ring: a period stands where the one stood that has left the window. What is known in all
(`Tables.knowledge`) is the sum of the ring, so choosing does not know that there is a window. This is for a mesh
whose messages are not lost.
"""

import math

import numpy as np

from cobandit.scenario.scenario import Scenario
from cobandit.simulator.kernel.jit import borrow, compiled, inlined
from cobandit.simulator.kernel.sizes import CELLS_FRAME, integer_size
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, OWN_CELL, SUM, Record, Table, Tables, records


def whole_quotient(x: float, y: float) -> float:
    """Return x // y of positive numbers, as Python computes it.

    >>> [whole_quotient(slot, 2.5) == slot // 2.5 for slot in (0, 2, 3, 5, 7)]
    [True, True, True, True, True]
    """
    quotient = (x - x % y) / y
    whole = math.floor(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else float(whole)


borrow(whole_quotient)


def fill_window(world: Record, scenario: Scenario, arm_count: int, history: int) -> dict[str, Table]:
    """Return the rings, and fill in what the world says of periods."""
    forgetting, agents = scenario.forgetting, len(scenario.agents)
    world.windowed = forgetting is not None
    if forgetting is None:
        agents = history = 0
    else:
        world.period_slots, world.periods = forgetting.period, forgetting.periods
    periods = int(world.periods)
    return {
        "history_period": np.zeros(history, np.int32),
        "ring": np.zeros((agents, periods, arm_count), np.int64),
        "ring_sums": records((agents if world.graded else 0, periods, arm_count), SUM),
        "own_ring": records((agents, periods, len(scenario.arms.names)), OWN_CELL),
    }


@compiled
def turn(t: Tables, slot: int) -> None:
    """Let everybody know that a period has begun, and forget what is outside the window (`ReferenceRun._turn`)."""
    number = whole_quotient(np.float64(slot), t.world.period_slots)
    t.world.turns_at = t.world.period_slots * (number + 1.0)
    before, present = t.world.present, np.int64(number)
    if present == before:
        return
    t.world.present = present
    for agent in range(t.world.agents):
        if has_observed(t, agent, before % t.world.periods):
            for peer in range(t.world.agents):
                t.pairs[agent, peer].share_number = 1  # `Exchange.start_again`
    first = max(before + 1, present - t.world.periods + 1)
    for period in range(first, present + 1):
        for agent in range(t.world.agents):
            forget(t, agent, period % t.world.periods)


@inlined
def has_observed(t: Tables, agent: int, place: int) -> bool:
    """Return whether an agent has observed anything in a period."""
    for arm in range(t.world.arms):  # noqa: SIM110  # compiled code has no generators
        if t.own_ring[agent, place, arm].pulls > 0:
            return True
    return False


@compiled
def forget(t: Tables, agent: int, place: int) -> None:
    """Drop what an agent knows of the period at this place of the ring (`Replica.turn`)."""
    for arm in range(t.world.arms):
        own = t.own_ring[agent, place, arm]
        t.observed[arm] -= own.pulls
        own.pulls = own.rewards = own.squares = own.changed_at = 0
    for position in range(t.agents[agent].arm_count):
        known = t.ring[agent, place, position]
        t.knowledge[agent, position] -= known
        t.agents[agent].observed -= known >> 32
        t.ring[agent, place, position] = 0
        if t.world.graded:
            left, total = t.ring_sums[agent, place, position], t.sums[agent, position]
            total.rewards -= left.rewards
            total.squares -= left.squares
            left.rewards = left.squares = 0


@compiled
def observe_in_period(t: Tables, agent: int, arm: int, reward: int) -> None:
    """Count an own observation, which `talking.observe` has counted in all, in the present period."""
    me, place = t.agents[agent], t.world.present % t.world.periods
    own, position = t.own_ring[agent, place, arm], t.seen[agent, arm].position
    own.pulls += 1
    own.rewards += reward
    own.squares += reward * reward // t.world.square_unit
    own.changed_at = me.own_pulls
    t.history_period[me.history + me.own_pulls - 1] = t.world.present
    add_to_ring(t, agent, place, position, reward)


@inlined
def add_to_ring(t: Tables, agent: int, place: int, position: int, reward: int) -> None:
    """Add an observation to what an agent knows of a period."""
    t.ring[agent, place, position] += ONE_OBSERVATION
    if t.world.graded:
        known = t.ring_sums[agent, place, position]
        known.rewards += reward
        known.squares += reward * reward // t.world.square_unit
    else:
        t.ring[agent, place, position] += reward


@compiled
def merge_in_window(t: Tables, sender: int, receiver: int, base: int, version: int) -> None:
    """Add what lies in the window of a slice of the sender's history to what the receiver knows (`Replica.merge`)."""
    begin = t.agents[sender].history
    for spot in range(begin + base, begin + version):
        arm, period = np.int64(t.history[spot]) >> 1, np.int64(t.history_period[spot])
        position = t.seen[receiver, arm].position
        if position < 0 or period <= t.world.present - t.world.periods:
            continue
        reward = np.int64(t.units[spot]) if t.world.graded else np.int64(t.history[spot]) & 1
        add_to_ring(t, receiver, period % t.world.periods, position, reward)
        t.agents[receiver].observed += 1
        t.knowledge[receiver, position] += ONE_OBSERVATION
        if t.world.graded:
            known = t.sums[receiver, position]
            known.rewards += reward
            known.squares += reward * reward // t.world.square_unit
        else:
            t.knowledge[receiver, position] += reward


@compiled
def windowed_size(t: Tables, sender: int, receiver: int, base: int) -> int:
    """Return the bytes of what a share tells beyond one group: its cells come in a group for each period."""
    me = t.agents[sender]
    size = -CELLS_FRAME - me.name_size
    oldest = np.int64(t.history_period[me.history + base])  # what is told was observed in this period, or later
    for period in range(max(oldest, t.world.present - t.world.periods + 1), t.world.present + 1):
        listed = 0
        for arm in range(t.world.arms):
            own = t.own_ring[sender, period % t.world.periods, arm]
            if own.changed_at > base and t.seen[receiver, arm].position >= 0:
                listed += 1
                size += 1 + t.seen[sender, arm].name_size + integer_size(own.pulls)
                size += integer_size(own.rewards) + integer_size(own.squares)
        if listed > 0:
            size += CELLS_FRAME - 1 + integer_size(period) + me.name_size + (0 if listed < 16 else 2)
    return size
