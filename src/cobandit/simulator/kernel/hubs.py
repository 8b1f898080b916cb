"""Who holds rows, compiled: relays, and the agents of a graph. `Replica`, `RunningTotals` and `Endpoint._pass_on`.

A hub has a row for each agent, a log of which cells changed in which order, and an edge to each hub that it talks to. A
message is a letter, and what it tells is a parcel: cells with their cumulative values, or arms with their totals. So
what a share costs depends on what it tells, and not on how many agents there are. Only networks that lose nothing are
here.
"""

from cobandit.core.replica import MAX_FACTS_PER_MESSAGE
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.cells import arm_of, cell_of, origin_of, spot_of
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.lossy import new_letter
from cobandit.simulator.kernel.mail import UNDER_WAY
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Record, Tables
from cobandit.simulator.kernel.talking import HEARD, OBSERVED, number_share, threshold_at

_MAX_FACTS = MAX_FACTS_PER_MESSAGE

NOBODY = -1
"""The teller of what a hub has observed itself."""


@inlined
def put(t: Tables, index: int, value: int) -> None:
    """Add an entry to the parcel that is being made."""
    room = t.parcels.shape[1]
    if t.world.parcels_end - t.world.parcels_first == room:
        t.world.overflow = True
        return
    entry = t.parcels[UNDER_WAY, spot_of(t, t.world.parcels_end)]
    entry[0], entry[1] = index, value
    t.world.parcels_end += 1


@inlined
def log_cell(t: Tables, hub: int, origin: int, arm: int, teller: int) -> None:
    """Note that a cell has changed, and who told it (`Replica._changed`)."""
    me, room = t.hubs[hub], t.log.shape[1]
    if me.log_end - me.log_first == room:
        me.log_first = me.log_end
        for place in range(me.edges, me.edges_end):
            me.log_first = min(me.log_first, t.edges[place].told)
        if me.log_end - me.log_first == room:
            t.world.overflow = True
            return
    t.log[hub, me.log_end & (room - 1)] = cell_of(origin, arm)
    known = t.rows[hub, origin, arm]
    known.logged, known.teller = me.log_end, teller
    me.log_end += 1


@inlined
def merge_cell(t: Tables, hub: int, origin: int, arm: int, value: int, teller: int) -> int:
    """Take a cell: of two values the one with the higher count is the later one. Return how many are new."""
    before = t.rows[hub, origin, arm].value
    news = (value >> 32) - (before >> 32)
    if news <= 0:
        return 0
    me = t.hubs[hub]
    t.rows[hub, origin, arm].value = value
    me.number += news
    if t.totals.shape[0] > 0:
        t.totals[hub, arm] += value - before
        t.total_at[hub, arm] = me.number
    if t.log.shape[0] > 0:
        log_cell(t, hub, origin, arm, teller)
    return news


@inlined
def wants(t: Tables, peer: int, origin: int, arm: int) -> bool:
    """Return whether a hub wants what another one heard from a third (`Link.wants`): relays have all arms."""
    return not t.world.is_graph or (origin != peer and (t.world.same_arms or t.seen[peer, arm].position >= 0))


@compiled
def write_rows(t: Tables, edge: Record, letter: Record) -> None:
    """Tell everything that changed and is wanted since the last share, as much as a message holds."""
    hub, peer = edge.sender - t.world.first_hub, edge.receiver
    letter.since, told, place, end = t.world.parcels_end, 0, edge.told, t.hubs[hub].log_end
    while place < end and told < _MAX_FACTS:
        cell = t.log[hub, place & (t.log.shape[1] - 1)]
        origin, arm = origin_of(cell), arm_of(cell)
        known = t.rows[hub, origin, arm]
        if known.logged == place and known.teller != peer and wants(t, peer, origin, arm):
            put(t, cell, known.value)
            told += 1
        place += 1
    edge.told, letter.version = place, told


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
    letter = new_letter(t, codes.SHARE, edge.sender, edge.receiver)
    number_share(t, edge, is_answer)
    letter.link, letter.number, letter.count, letter.pool = place, edge.shares, edge.buffered, UNDER_WAY
    edge.buffered = 0
    write_rows(t, edge, letter)


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
    t.rows[agent, agent, arm].value += ONE_OBSERVATION + reward
    t.hubs[agent].number += 1
    log_cell(t, agent, agent, arm, NOBODY)
    sent = False
    for place in range(t.hubs[agent].edges, t.hubs[agent].edges_end):
        if t.seen[t.edges[place].receiver, arm].position >= 0:
            sent = observe(t, place, 1) or sent
    return sent


@compiled
def hear_in_graph(t: Tables, agent: int, sender: int, pool: int, since: int, told: int, back: int) -> None:
    """Take a share of a neighbour, answer it, and pass on what is new (`Endpoint._merge`, `Endpoint._pass_on`)."""
    for place in range(since, since + told):
        entry = t.parcels[pool, spot_of(t, place)]
        origin, arm = origin_of(entry[0]), arm_of(entry[0])
        position = t.seen[agent, arm].position
        if position < 0:
            entry[1] = 0
            continue
        before = t.rows[agent, origin, arm].value
        news = merge_cell(t, agent, origin, arm, entry[1], sender)
        if news > 0:
            t.knowledge[agent, position] += entry[1] - before
            t.agents[agent].observed += news
        entry[1] = news  # from here on
    answer(t, back)
    for edge in range(t.hubs[agent].edges, t.hubs[agent].edges_end):
        peer, count = t.edges[edge].receiver, 0
        for place in range(since, since + told if peer != sender else since):
            entry = t.parcels[pool, spot_of(t, place)]
            if entry[1] > 0 and wants(t, peer, origin_of(entry[0]), arm_of(entry[0])):
                count += entry[1]
        if count > 0:
            observe(t, edge, count)


@compiled
def hear_as_relay(t: Tables, relay: int, sender: int, pool: int, since: int, told: int) -> int:
    """Take what a leaf or another relay tells. Return how many observations are new."""
    news = 0
    for place in range(since, since + told):
        entry = t.parcels[pool, spot_of(t, place)]
        news += merge_cell(t, relay, origin_of(entry[0]), arm_of(entry[0]), entry[1], sender)
    return news
