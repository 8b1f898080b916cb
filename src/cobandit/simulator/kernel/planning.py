"""When agents decide, compiled: the clocks of `cobandit.scenario.schedules`.

Decision times depend on the tape alone, so they are walked before the run, agent by agent, and sorted. Only a clock
that halves its rate depends on what its agent does; its decisions go through a heap during the run.
"""

import math

import numpy as np

from cobandit.scenario import schedules
from cobandit.scenario.schedules import NEVER, gap, log_of_miss
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import borrow, compiled, entrance_with_memory, inlined
from cobandit.simulator.kernel.tables import AGENT_BITS, Record, Table, Tables
from cobandit.values import chance
from cobandit.values.chance import uniform

for _formula in (chance.mix, chance.unit, chance.uniform, schedules.gap, schedules.log_of_miss):
    borrow(_formula)


@inlined
def next_of_rate(agent: Record, after: int) -> int:
    """Return the next decision slot of a clock with a rate."""
    drawn = uniform(agent.decision_key, np.uint64(agent.drawn))
    agent.drawn += 1
    return after + gap(drawn, agent.log_miss)


@inlined
def next_toggle(agent: Record, after: int) -> int:
    """Return the next slot in which a clock goes offline or online."""
    drawn = uniform(agent.toggle_key, np.uint64(agent.toggles_drawn))
    agent.toggles_drawn += 1
    return after + gap(drawn, agent.log_stay)


@compiled
def next_of_on_off(agent: Record, after: int, horizon: int) -> int:
    """Return the next decision slot of a clock that goes offline and online."""
    if agent.online_until < 0:
        agent.online_until = next_toggle(agent, after)
    slot = next_of_rate(agent, after)
    while slot >= agent.online_until:
        if agent.online_until >= horizon:
            return NEVER
        online_again = next_toggle(agent, agent.online_until)
        agent.online_until = next_toggle(agent, online_again)
        slot = next_of_rate(agent, online_again - 1)
    return slot


@compiled
def next_of_sine(agent: Record, after: int, horizon: int) -> int:
    """Return the next decision slot of a clock that follows a sine wave."""
    for slot in range(after + 1, horizon):
        if uniform(agent.decision_key, np.uint64(slot)) < math.sin(agent.phase + slot / agent.slots_per_radian):
            return slot
    return NEVER


@compiled
def next_slot(agent: Record, slots: Table, after: int, horizon: int) -> int:
    """Return the next decision slot after this one, or any past the horizon (`Clock.next_slot`)."""
    if agent.clock == codes.SINE:
        return next_of_sine(agent, after, horizon)
    if agent.clock == codes.ON_OFF:
        return next_of_on_off(agent, after, horizon)
    if agent.clock == codes.SLOTS:
        while agent.slots < agent.slots_end and slots[agent.slots] <= after:
            agent.slots += 1
        return slots[agent.slots] if agent.slots < agent.slots_end else NEVER
    return next_of_rate(agent, after)


@compiled
def walk(agent: Record, position: int, slots: Table, room: Table, after: int, horizon: int) -> tuple[int, int]:
    """Write the decisions after a slot into the room. Return how many, and the last slot: past the end, if all fit."""
    slot = after
    for place in range(room.shape[0]):
        slot = next_slot(agent, slots, slot, horizon)
        if slot >= agent.stop:
            return place, slot
        room[place] = slot << AGENT_BITS | position
    return room.shape[0], slot


@compiled
def walk_rate(agent: Record, position: int, room: Table, after: int) -> tuple[int, int]:
    """Do what `walk` does, for the most common clock: nothing is stored between two decisions."""
    slot, stop, key, log_miss, drawn = after, agent.stop, agent.decision_key, agent.log_miss, agent.drawn
    for place in range(room.shape[0]):
        slot += gap(uniform(key, np.uint64(drawn + place)), log_miss)
        if slot >= stop:
            return place, slot
        room[place] = slot << AGENT_BITS | position
    agent.drawn += room.shape[0]
    return room.shape[0], slot


@entrance_with_memory
def plan(agents: Table, slots: Table, horizon: int, room: int) -> tuple[Table, int]:
    """Walk every clock. Return the decisions, unsorted, and how many there may be in all.

    A clock that halves its rate is walked as if it did not, for the length of its history alone: the same numbers at a
    lower rate give no more decisions.
    """
    planned = np.empty(room, np.int64)
    count = 0
    history = 0
    for position in range(agents.shape[0]):
        agent = agents[position]
        agent.history = history
        after = agent.start - 1
        while True:
            if agent.clock == codes.RATE:
                written, after = walk_rate(agent, position, planned[count:], after)
            else:
                written, after = walk(agent, position, slots, planned[count:], after, horizon)
            history += written
            if agent.clock != codes.HALVING:
                count += written
            if after >= agent.stop:
                break
            longer = np.empty(2 * planned.shape[0], np.int64)
            for place in range(count):  # a slice would bring texts for errors along, and seconds to compile them
                longer[place] = planned[place]
            planned = longer
        if agent.clock == codes.HALVING:
            agent.drawn = 0
    return planned[:count], history


@compiled
def plan_halving(t: Tables, position: int, after: int) -> None:
    """Put the next decision of an agent whose clock halves on the heap."""
    agent = t.agents[position]
    slot = next_of_rate(agent, after)
    if slot < agent.stop:
        push(t, slot << AGENT_BITS | position)


@compiled
def halve(agent: Record) -> None:
    """Halve the rate of a clock whose agent sent (`Clock.decided`)."""
    agent.rate /= 2.0
    agent.log_miss = log_of_miss(agent.rate)


@inlined
def push(t: Tables, key: int) -> None:
    """Add a key to a binary heap."""
    hole = t.world.heap_size
    t.world.heap_size += 1
    while hole > 0:
        parent = (hole - 1) >> 1
        if t.heap[parent] <= key:
            break
        t.heap[hole] = t.heap[parent]
        hole = parent
    t.heap[hole] = key


@inlined
def pop(t: Tables) -> int:
    """Take the smallest key off a binary heap."""
    smallest = t.heap[0]
    t.world.heap_size -= 1
    end = t.world.heap_size
    key = t.heap[end]
    hole = 0
    child = 1
    while child < end:
        if child + 1 < end and t.heap[child + 1] < t.heap[child]:
            child += 1
        if t.heap[child] >= key:
            break
        t.heap[hole] = t.heap[child]
        hole = child
        child = 2 * hole + 1
    t.heap[hole] = key
    return smallest
