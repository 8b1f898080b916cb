"""Who holds rows, compiled: relays, and the agents of a graph. `Replica`, `RunningTotals` and `roles.pass_on`.

A hub has a row for each agent, and an edge to each hub that it talks to. What it has to tell there waits in a queue, in
the order of changes. A message is a letter, and what it tells is a parcel: cells with their cumulative values, or arms
with their totals. So what a share costs depends on what it tells, and not on how many agents there are. Only networks
that lose nothing are here.
"""

import numpy as np

from cobandit.core.replica import MAX_FACTS_PER_MESSAGE
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.cells import arm_of, cell_of, origin_of, spot_of
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.lossy import push_letter
from cobandit.simulator.kernel.mail import UNDER_WAY
from cobandit.simulator.kernel.sizes import CELLS_FRAME, list_beyond, note_cell, tally_size
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Record, Tables
from cobandit.simulator.kernel.talking import HEARD, OBSERVED, number_share, threshold_at

_MAX_FACTS = MAX_FACTS_PER_MESSAGE

NOBODY = -1
"""The teller of what a hub has observed itself."""


@inlined
def put(t: Tables, cell: int, value: int) -> None:
    """Add an entry to the parcel that a leaf makes or is to get: a cell, or an arm with its total."""
    if t.world.parcels_end - t.world.parcels_first == t.parcels.shape[1]:
        t.world.overflow = True
        return
    entry = t.parcels[UNDER_WAY, spot_of(t, t.world.parcels_end)]
    entry.cell, entry.value, entry.bytes = cell, value, tally_size(t, arm_of(t, cell), value)
    t.world.parcels_end += 1
    t.world.bytes += entry.bytes if t.world.counts_sizes else 0


@inlined
def finish_parcel(t: Tables, letter: Record, name_size: int) -> None:
    """Say how long a parcel is whose cells are of one origin."""
    letter.version = t.world.parcels_end - letter.since
    if letter.version > 0 and t.world.counts_sizes:
        t.world.bytes += CELLS_FRAME + name_size + list_beyond(letter.version)


@inlined
def copy_entry(one: Record, other: Record) -> None:
    """Copy what is told of a cell."""
    other.cell, other.value, other.bytes = one.cell, one.value, one.bytes


@inlined
def wants(t: Tables, peer: int, cell: int, all_arms: bool) -> bool:
    """Return whether a hub wants what another one heard from a third (`Link.wants`)."""
    return origin_of(t, cell) != peer and (all_arms or t.seen[peer, arm_of(t, cell)].position >= 0)


@compiled
def make_room(t: Tables, place: int, count: int) -> None:
    """Drop from a queue what has changed again since, so that there is room for more entries."""
    edge, room = t.edges[place], t.queues.shape[1]
    hub, end = edge.sender - t.world.first_hub, 0
    for spot in range(edge.queued):
        entry = t.queues[place, spot]
        if t.cells[hub, entry.cell] == entry.value:
            copy_entry(entry, t.queues[place, end])
            end += 1
    edge.queued = end
    if end + max(count, end) > room:  # half of it stays free, or this would be done again and again
        t.world.overflow = True
        edge.queued = 0


@compiled
def keep_rest(t: Tables, place: int, first: int, end: int) -> None:
    """Let what did not fit into a message wait for the next one."""
    for spot in range(first, end):
        copy_entry(t.queues[place, spot], t.queues[place, spot - first])
    t.edges[place].queued = end - first


@compiled
def write_queue(t: Tables, place: int, letter: Record) -> None:
    """Tell all that waits, as much as a message holds. Of changes of one cell the last one is told."""
    edge, end = t.edges[place], t.world.parcels_end
    hub, count = edge.sender - t.world.first_hub, np.int64(edge.queued)
    if end - t.world.parcels_first + count > t.parcels.shape[1]:
        t.world.overflow = True
        return
    t.world.written += 1
    spot, told, origins, size, share = 0, 0, 0, 0, t.world.written
    while spot < count and told < _MAX_FACTS:
        entry = t.queues[place, spot]
        if t.cells[hub, entry.cell] == entry.value:
            copy_entry(entry, t.parcels[UNDER_WAY, spot_of(t, end + told)])
            told += 1
            entry_size, is_first = note_cell(t, share, entry)
            origins += is_first
            size += entry_size
        spot += 1
    edge.queued = 0
    if spot < count:
        keep_rest(t, place, spot, count)
    if t.world.counts_sizes:
        t.world.bytes += size + list_beyond(origins)
    letter.since, letter.version = end, told
    t.world.parcels_end = end + told


@inlined
def has_reached(t: Tables, edge: Record) -> bool:
    """Return whether the buffer holds enough for a share (`Exchange.has_reached`)."""
    return edge.buffered >= threshold_at(t, edge.sender, edge.receiver, edge.share_number)


@inlined
def take(t: Tables, happened: int, edge: Record, reached: bool) -> bool:
    """Look up what an input does to a pair, and do it (`Exchange._take`). Return whether to share now."""
    step = t.rules[happened, int(edge.demanded), int(reached)]
    edge.demanded = step.demanded
    return step.shares


@compiled
def share(t: Tables, place: int, is_answer: bool) -> None:
    """Share with another hub (`Speech.share`)."""
    edge = t.edges[place]
    letter = push_letter(t, codes.SHARE, edge.sender, edge.receiver)
    number_share(t, edge, is_answer)
    letter.link, letter.number, letter.count, letter.pool = place, edge.shares, edge.buffered, UNDER_WAY
    edge.buffered = 0
    write_queue(t, place, letter)


@inlined
def observe(t: Tables, place: int, count: int) -> bool:
    """Take news for another hub, and share if the protocol says so (`Exchange.observe`). Return whether it shares."""
    edge = t.edges[place]
    edge.buffered += count
    if not take(t, OBSERVED, edge, has_reached(t, edge)):
        return False
    share(t, place, False)
    return True


@inlined
def answer(t: Tables, place: int) -> None:
    """Take a share of another hub, and answer it if the protocol says so (`Exchange.share_received`)."""
    edge = t.edges[place]
    reached = has_reached(t, edge) if t.world.answers_wait else edge.buffered >= 1
    if take(t, HEARD, edge, reached):
        share(t, place, True)


@compiled
def observe_in_graph(t: Tables, agent: int, arm: int, reward: int) -> bool:
    """Take an own observation of an agent of a graph (`Endpoint.observe`). Return whether it shares."""
    cell = cell_of(t, agent, arm)
    value = t.cells[agent, cell] + ONE_OBSERVATION + reward
    t.cells[agent, cell] = value
    size, sent = tally_size(t, arm, value), False
    for place in range(t.hubs[agent].edges, t.hubs[agent].edges_end):
        edge = t.edges[place]
        if t.seen[edge.receiver, arm].position >= 0:
            if edge.queued == t.queues.shape[1]:
                make_room(t, place, 1)
            entry = t.queues[place, edge.queued]
            entry.cell, entry.value, entry.bytes = cell, value, size
            edge.queued += 1
            sent = observe(t, place, 1) or sent
    return sent


@compiled
def hear_in_graph(t: Tables, agent: int, sender: int, pool: int, since: int, told: int, back: int) -> None:
    """Take a share of a neighbour, answer it, and pass on what is new (`Endpoint.merge`, `roles.pass_on`)."""
    in_order, observed = t.world.same_order, 0
    for place in range(since, since + told):
        entry = t.parcels[pool, spot_of(t, place)]
        arm = arm_of(t, entry.cell)
        position = arm if in_order else t.seen[agent, arm].position
        entry.news = 0
        if position >= 0:
            added = merge_cell(t, agent, entry)
            t.knowledge[agent, position] += added
            observed += entry.news
    t.agents[agent].observed += observed
    answer(t, back)
    pass_on(t, agent, sender, pool, since, told)


@compiled
def hear_as_relay(t: Tables, relay: int, pool: int, since: int, told: int) -> None:
    """Take what a leaf or another relay tells."""
    me = t.hubs[relay]
    for place in range(since, since + told):
        entry = t.parcels[pool, spot_of(t, place)]
        added = merge_cell(t, relay, entry)
        if added > 0:
            arm = arm_of(t, entry.cell)
            me.number += entry.news
            t.totals[relay, arm] += added
            t.total_at[relay, arm] = me.number


@inlined
def merge_cell(t: Tables, hub: int, entry: Record) -> int:
    """Take a cell: of two values the one with the higher count is the later one. Return what is new."""
    before = t.cells[hub, entry.cell]
    added = max(0, entry.value - before)
    t.cells[hub, entry.cell] = before + added
    entry.news = added >> 32
    return added


@compiled
def pass_on(t: Tables, hub: int, sender: int, pool: int, since: int, told: int) -> None:
    """Let what is new wait for all others. What agents have observed may be enough for a share."""
    for place in range(t.hubs[hub].edges, t.hubs[hub].edges_end):
        edge = t.edges[place]
        peer, end, count = edge.receiver, np.int64(edge.queued), 0
        all_arms = edge.common == t.agents[t.world.first_hub + hub].arm_count
        if peer == sender:
            continue
        if end + told > t.queues.shape[1]:
            make_room(t, place, told)
            if t.world.overflow:
                return
            end = np.int64(edge.queued)
        for spot in range(since, since + told):
            entry = t.parcels[pool, spot_of(t, spot)]
            if entry.news > 0 and wants(t, peer, entry.cell, all_arms):
                copy_entry(entry, t.queues[place, end])
                end += 1
                count += entry.news
        edge.queued = end
        if count > 0 and sender < t.world.agents:
            observe(t, place, count)
