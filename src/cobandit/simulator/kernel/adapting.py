"""Arms that are told when they are known better, compiled: `cobandit.protocols.aac` and `cobandit.protocols.tcom`."""

from cobandit.protocols import accuracy
from cobandit.protocols.accuracy import radius_of, width_of
from cobandit.simulator.kernel.halves import observations, rewards
from cobandit.simulator.kernel.jit import borrow, compiled, inlined
from cobandit.simulator.kernel.notes import cell_size, learn, list_size, own_value, send_notice, send_share
from cobandit.simulator.kernel.tables import Tables

borrow(accuracy.radius_of)
borrow(accuracy.width_of)


@inlined
def radius(t: Tables, agent: int, arm: int) -> float:
    """Return the radius of an arm's confidence interval."""
    return radius_of(t.knowledge[agent, arm] >> 32, t.world.spend)


@inlined
def tell_who_asked(t: Tables, slot: int, agent: int, arm: int) -> bool:
    """Return tokens, and tell the arm if it is due (`AccuracyAdaptive.observed`). Return whether anything was told.

    Whether it is due is decided before tokens go out: what comes in for them does not count.
    """
    me, told = t.hubs[agent], t.told[agent, arm]
    is_due = t.world.factor * radius(t, agent, arm) <= told.radius
    if is_due:
        told.radius = radius(t, agent, arm)
        me.number += 1
        told.due_at = me.number
    held, me.tokens = me.tokens, 0
    for token in range(held):
        place = t.tokens[agent, token]  # what is told for it takes this place, or one before it
        send_notice(t, slot, place)
        take_back(t, slot, t.edges[place].back)
    sent = False
    if is_due:
        for place in range(me.edges, me.edges_end):
            if t.edges[place].demanded:
                tell_due(t, slot, place)
                sent = True
    return sent


@inlined
def take_back(t: Tables, slot: int, place: int) -> None:
    """Take a token back, and tell what waits for it (`AccuracyAdaptive.received`)."""
    edge = t.edges[place]
    edge.demanded = True
    if t.world.release and t.hubs[edge.sender].number > edge.told:
        tell_due(t, slot, place)


@compiled
def tell_due(t: Tables, slot: int, place: int) -> None:
    """Tell a neighbour the arms that are due, with its token (`AccuracyAdaptive._tell`)."""
    edge = t.edges[place]
    agent, to, since = edge.sender, edge.receiver, edge.told
    edge.told, edge.demanded = t.hubs[agent].number, False
    listed = count = size = 0
    for arm in range(t.world.arms):
        if t.told[agent, arm].due_at <= since:
            continue
        value = own_value(t, agent, arm)
        listed += 1
        count += value >> 32
        if t.world.counts_sizes:
            size += cell_size(t, agent, arm, value)
        learn(t, to, arm, value - t.rows[to, agent, arm].value)
        t.rows[to, agent, arm].value = value
        if t.world.others_count:
            t.told[to, arm].radius = min(t.told[to, arm].radius, radius(t, to, arm))
    t.tokens[to, t.hubs[to].tokens] = edge.back
    t.hubs[to].tokens += 1
    send_share(t, slot, place, count, size + list_size(listed))


@inlined
def tell_all(t: Tables, slot: int, agent: int, arm: int) -> bool:
    """Tell everybody the arm, if enough of it is buffered (`Tcom.observed`). Return whether anything was told.

    What everybody was told last is what everybody knows, so there are no rows.
    """
    told = t.told[agent, arm]
    if not is_open(t, slot, agent, arm):
        return False
    told.buffered += 1
    if told.buffered < t.world.factor * told.due_at:  # due_at: how much was buffered when it was last told
        return False
    told.due_at = told.buffered
    value = own_value(t, agent, arm)
    news, told.value = value - told.value, value
    size = list_size(1) + (cell_size(t, agent, arm, value) if t.world.counts_sizes else 0)
    node = t.hubs[agent]
    for place in range(node.edges, node.edges_end):
        learn(t, t.edges[place].receiver, arm, news)
        send_share(t, slot, place, value >> 32, size)
    return node.edges_end > node.edges


@inlined
def is_open(t: Tables, slot: int, agent: int, arm: int) -> bool:
    """Return whether another arm may be better (`Tcom._is_open`)."""
    lowest = mean(t, agent, arm) - width(t, slot, agent, arm)
    for other in range(t.world.arms):
        if other != arm and mean(t, agent, other) + width(t, slot, agent, other) > lowest:
            return True
    return False


@inlined
def width(t: Tables, slot: int, agent: int, arm: int) -> float:
    """Return how far off the mean of an arm may be (`Tcom._width`)."""
    return width_of(t.world.weight, slot, observations(t.knowledge[agent, arm]))


@inlined
def mean(t: Tables, agent: int, arm: int) -> float:
    """Return the mean of all that is known of an arm (`Policy.mean`)."""
    known = t.knowledge[agent, arm]
    return rewards(known) / observations(known) if known > 0 else 0.0
