"""Hubs, compiled: `cobandit.protocols.hub`, `periodic_hub` and `event_hub`.

An agent tells the hub all that it has observed, and is told all that the others have told it. So after a
synchronisation it knows what the hub knows, and that is one row of totals.
"""

from cobandit.simulator.kernel.jit import inlined
from cobandit.simulator.kernel.notes import cell_size, list_size, own_value, send_share
from cobandit.simulator.kernel.tables import Tables


@inlined
def is_time(t: Tables, agent: int) -> bool:
    """Return whether an agent has pulled often enough since its last upload (`PeriodicHub.observed`)."""
    return t.agents[agent].own_pulls - t.edges[agent].told >= t.world.period


@inlined
def is_worth_it(t: Tables, agent: int) -> bool:
    """Return whether the news of an agent are worth an upload (`EventHub._is_worth_it`)."""
    product = 1.0
    for arm in range(t.world.arms):
        fresh = t.seen[agent, arm].pulls - (t.told[agent, arm].value >> 32)
        if fresh > 0:  # the others have a factor of 1
            product *= 1.0 + fresh / ((t.knowledge[agent, arm] >> 32) - fresh + t.world.weight)
    return product > 1.0 + t.world.factor


@inlined
def synchronise(t: Tables, slot: int, agent: int) -> bool:
    """Upload own news and take the totals of the others, if the hub is there (`upload`, `synchronise`)."""
    up, hub = t.edges[agent], t.edges[agent].receiver
    if t.agents[hub].away:
        return False
    listed = observations = size = 0
    for arm in range(t.world.arms):
        if t.changed[agent, arm] > up.told:
            value = own_value(t, agent, arm)
            t.totals[0, arm] += value - t.told[agent, arm].value
            t.told[agent, arm].value = value
            listed += 1
            observations += value >> 32
            if t.world.counts_sizes:
                size += cell_size(t, agent, arm, value)
    up.told = t.agents[agent].own_pulls
    send_share(t, slot, agent, observations, size + list_size(listed))
    listed = observations = size = 0
    for arm in range(t.world.arms):
        others = t.totals[0, arm] - t.told[agent, arm].value
        t.knowledge[agent, arm] = t.totals[0, arm]
        if others > 0:
            listed += 1
            observations += others >> 32
            if t.world.counts_sizes:
                size += cell_size(t, hub, arm, others)
    t.agents[agent].observed = t.agents[agent].own_pulls + observations
    send_share(t, slot, up.back, observations, size + list_size(listed))
    return True
