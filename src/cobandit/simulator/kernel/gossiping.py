"""Gossip, compiled: `cobandit.protocols.gossip`, and what it uses of `cobandit.protocols.ledger`.

A node has a row for each agent, and for each of its cells the number of its last change and who told it.
"""

import numpy as np

from cobandit.simulator.kernel.hubs import NOBODY
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.notes import cell_size, learn, list_size, send_share
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Tables
from cobandit.values.chance import uniform


@inlined
def gossip(t: Tables, slot: int, agent: int, arm: int, reward: int) -> bool:
    """Count an own pull, and push when it is time (`Gossip.observed`). Return whether anything was sent."""
    set_cell(t, agent, agent, arm, t.rows[agent, agent, arm].value + ONE_OBSERVATION + reward, NOBODY)
    me, node = t.agents[agent], t.hubs[agent]
    neighbours = node.edges_end - node.edges
    if me.own_pulls % t.world.period != 0 or neighbours == 0:
        return False
    drawn = uniform(me.protocol_key, np.uint64(me.picks))
    me.picks += 1
    place = node.edges + np.int64(drawn * neighbours)
    push(t, slot, place)
    if t.world.pull_back:
        push(t, slot, t.edges[place].back)
    return True


@compiled
def push(t: Tables, slot: int, place: int) -> None:
    """Tell a neighbour what it was not told (`Gossip._push`, `Node.news_for`, `Node.learn`).

    Who has just pulled has news. An answer may have none, and is not sent then.
    """
    edge = t.edges[place]
    agent, to, since = edge.sender, edge.receiver, edge.told
    edge.told = t.hubs[agent].number
    listed = observations = size = 0
    for source in range(t.world.agents):
        if source == to:
            continue
        for arm in range(t.world.arms):
            if t.rows[agent, source, arm].logged <= since or t.rows[agent, source, arm].teller == to:
                continue
            value, known = t.rows[agent, source, arm].value, t.rows[to, source, arm].value
            listed += 1
            observations += value >> 32
            if t.world.counts_sizes:
                size += cell_size(t, source, arm, value)
            if value >> 32 > known >> 32:
                set_cell(t, to, source, arm, value, agent)
                learn(t, to, arm, value - known)
    if listed > 0:
        send_share(t, slot, place, observations, 2 + size + list_size(listed))


@inlined
def set_cell(t: Tables, agent: int, source: int, arm: int, value: int, teller: int) -> None:
    """Take the new value of a cell (`Ledger._set`)."""
    t.hubs[agent].number += 1
    t.rows[agent, source, arm].value = value
    t.rows[agent, source, arm].logged = t.hubs[agent].number
    t.rows[agent, source, arm].teller = teller
