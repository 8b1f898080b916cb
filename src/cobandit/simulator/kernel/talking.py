"""When to talk and what to say, compiled: `Exchange`, `Replica` and `Endpoint` on tables.

Functions carry the names of the readable methods, so that the two can be read side by side.
"""

import math

import numpy as np

from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.bits import WORD, lowest
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.mail import keep, post, tell
from cobandit.simulator.kernel.sizes import SHARE_FRAME, entry_size, integer_size, share_size
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Record, Table

_SHARE, _DELIVERY = int(Kind.SHARE), int(Kind.DELIVERY)


@inlined
def observe(
    world: Record, agents: Table, knowledge: Table, seen: Table, history: Table, agent: int, arm: int, reward: int
) -> None:
    """Count one own observation (`Policy.update_all`, `Replica.observe`)."""
    me, mine = agents[agent], seen[agent, arm]
    knowledge[me.row, mine.position] += ONE_OBSERVATION + reward
    agents[me.row].observed += 1
    history[me.history + me.own_pulls] = 2 * arm + reward
    me.own_pulls += 1
    mine.pulls += 1
    mine.rewards += reward
    mine.changed_at = me.own_pulls
    if world.counts_sizes:
        mine.entry_size = entry_size(mine)


@inlined
def add_slice(knowledge: Table, history: Table, receiver: int, begin: int, end: int) -> None:
    """Add observations, from one place in the history to another, to what an agent knows; all have the same arms."""
    for spot in range(np.uint64(begin), np.uint64(end)):
        code = history[spot]
        knowledge[receiver, code >> np.uint16(1)] += ONE_OBSERVATION + np.int64(code & np.uint16(1))


@inlined
def merge(
    world: Record,
    agents: Table,
    knowledge: Table,
    seen: Table,
    history: Table,
    sender: int,
    receiver: int,
    base: int,
    version: int,
) -> None:
    """Add a slice of the sender's history to what the receiver knows (`Replica.merge`, Algorithm 1, line 16)."""
    begin = agents[sender].history
    if world.same_order:
        add_slice(knowledge, history, receiver, begin + base, begin + version)
        agents[receiver].observed += version - base
        return
    for place in range(begin + base, begin + version):
        code = history[place]
        position = seen[receiver, code >> 1].position
        if position >= 0:
            knowledge[receiver, position] += ONE_OBSERVATION + np.int64(code & 1)
            agents[receiver].observed += 1


@inlined
def threshold_at(world: Record, agents: Table, thresholds: Table, agent: int, share_number: int) -> int:
    """Return f(c) for a share with this number (`Threshold.at`)."""
    if world.per_candidate:
        candidates, doublings = agents[agents[agent].row].candidates, share_number - 1
        if doublings >= 62 or candidates > world.cap >> doublings:
            return world.cap
        return candidates << doublings
    return thresholds[min(share_number, thresholds.shape[0]) - 1]


@inlined
def buffered(world: Record, agents: Table, pair: Record, usable: Table, agent: int, peer: int) -> int:
    """Return how many observations that the peer can use were made since the last share to it."""
    if world.same_arms:
        return agents[agent].own_pulls - pair.shared_version
    return usable[agent, agents[peer].arm_set] - pair.shared_usable


@inlined
def settled(world: Record, agents: Table, bonds: Table, agent: int, peer: int) -> bool:
    """Return whether the pair has nothing left to learn (`Endpoint.settled`)."""
    if not world.settles or agents[agents[agent].row].candidates > 1:
        return False
    return world.same_arms or bonds[agent, peer].believed_candidates == 1


@inlined
def demand(demanded: Table, agent: int, peer: int) -> None:
    """Set the exchange demand of an agent for a peer to true."""
    demanded[agent, peer // WORD] |= np.uint64(1) << np.uint64(peer % WORD)


@inlined
def withdraw(demanded: Table, agent: int, peer: int) -> None:
    """Set the exchange demand of an agent for a peer to false."""
    demanded[agent, peer // WORD] &= ~(np.uint64(1) << np.uint64(peer % WORD))


@inlined
def count_size(
    world: Record,
    agents: Table,
    bonds: Table,
    seen: Table,
    history: Table,
    sender: int,
    receiver: int,
    number: int,
    count: int,
    base: int,
) -> None:
    """Add the size of a share of `count` observations, in bytes on the wire and in bits of Definition 1."""
    world.bytes += share_size(agents, seen, history, sender, receiver, number, count, base)
    world.bits += 2 * bonds[sender, receiver].common * (1.0 if count == 1 else math.log2(count + 1))


@inlined
def share(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    seen: Table,
    history: Table,
    usable: Table,
    trace: Table,
    slot: int,
    sender: int,
    receiver: int,
    is_answer: bool,
) -> int:
    """Renew the buffer and move c on (Algorithm 1, lines 9 to 11, 18 and 19). Return the version shared before."""
    pair = pairs[sender, receiver]
    count = buffered(world, agents, pair, usable, sender, receiver)
    base, version = np.int64(pair.shared_version), agents[sender].own_pulls
    pair.shared_version = version
    if not world.same_arms:
        pair.shared_usable = usable[sender, agents[receiver].arm_set]
    pair.shares += 1
    if not is_answer or world.answers_advance:
        pair.share_number += 1
    if world.counts_sizes:
        count_size(world, agents, bonds, seen, history, sender, receiver, pair.shares, count, base)
    tell(world, trace, slot, _SHARE, sender, receiver, pair.shares, count, version)
    return base


@inlined
def share_received(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    usable: Table,
    thresholds: Table,
    agent: int,
    peer: int,
) -> bool:
    """Take a share of the peer. Return whether it is to be answered now (Algorithm 1, lines 17 to 21)."""
    pair = pairs[agent, peer]
    if world.protocol != codes.ON_DEMAND or settled(world, agents, bonds, agent, peer):
        return False
    if buffered(world, agents, pair, usable, agent, peer) >= threshold_at(
        world, agents, thresholds, agent, pair.share_number
    ):
        return True
    demand(demanded, agent, peer)
    return False


@inlined
def send_share(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    knowledge: Table,
    seen: Table,
    history: Table,
    usable: Table,
    thresholds: Table,
    mail: Table,
    trace: Table,
    slot: int,
    sender: int,
    receiver: int,
    is_answer: bool,
) -> None:
    """Share the buffer. With zero delay go on until the pair is quiet: a share may be answered, and the answer too."""
    base = share(world, agents, pairs, bonds, seen, history, usable, trace, slot, sender, receiver, is_answer)
    while world.delay == 0 and not agents[receiver].away:
        tell(world, trace, slot, _DELIVERY, receiver, sender, pairs[sender, receiver].shares, 0, 0)
        merge(world, agents, knowledge, seen, history, sender, receiver, base, agents[sender].own_pulls)
        if not share_received(world, agents, pairs, bonds, demanded, usable, thresholds, receiver, sender):
            return
        sender, receiver = receiver, sender
        base = share(world, agents, pairs, bonds, seen, history, usable, trace, slot, sender, receiver, True)
    version, number = agents[sender].own_pulls, pairs[sender, receiver].shares
    if world.delay > 0:
        post(world, mail, slot + world.delay, codes.SHARE, sender, receiver, base, version, number)
    else:
        keep(world, mail, codes.SHARE, sender, receiver, base, version, number)


@inlined
def share_plainly(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    knowledge: Table,
    seen: Table,
    history: Table,
    enough: int,
    agent: int,
) -> bool:
    """Do what `share_with_peers` and `send_share` do, where nothing special is asked for.

    That is: on demand, with a constant threshold, the same arms for all, no delay, nobody away or settled, no trace.
    It is what most of the paper's experiments are, and most of their time goes here.
    """
    # Unsigned positions: a compiler that knows that an index is not negative need not look.
    me, my_place = agents[agent], np.uint64(agent)
    version, sent = me.own_pulls, False
    my_word, my_bit = my_place // np.uint64(WORD), np.uint64(1) << (my_place % np.uint64(WORD))
    for word in range(np.uint64(demanded.shape[1])):
        asking = demanded[my_place, word]
        still_asking = asking
        while asking != 0:
            peer = np.uint64(WORD) * np.uint64(word) + np.uint64(lowest(asking))
            bit = asking & (~asking + np.uint64(1))
            asking ^= bit
            there, back, other = pairs[my_place, peer], pairs[peer, my_place], agents[peer]
            fresh = version - there.shared_version
            if fresh < enough:
                continue
            sent = True
            add_slice(knowledge, history, peer, me.history + version - fresh, me.history + version)
            other.observed += fresh
            there.shared_version = version
            there.shares += 1
            if world.counts_sizes:
                count_size(
                    world, agents, bonds, seen, history, agent, np.int64(peer), there.shares, fresh, version - fresh
                )
            owed = other.own_pulls - back.shared_version
            if owed >= enough:  # the peer answers at once, and its answer asks again
                begin = other.history + other.own_pulls - owed
                add_slice(knowledge, history, my_place, begin, begin + owed)
                me.observed += owed
                back.shared_version = other.own_pulls
                back.shares += 1
                if world.counts_sizes:
                    since = other.own_pulls - owed
                    count_size(world, agents, bonds, seen, history, np.int64(peer), agent, back.shares, owed, since)
            else:
                demanded[peer, my_word] |= my_bit
                still_asking ^= bit
        demanded[my_place, word] = still_asking
    return sent


@inlined
def share_with_peers(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    knowledge: Table,
    seen: Table,
    history: Table,
    usable: Table,
    thresholds: Table,
    mail: Table,
    trace: Table,
    slot: int,
    agent: int,
    arm: int,
) -> bool:
    """Share with every peer that has asked and for which enough is buffered (Algorithm 1, lines 6 to 11)."""
    if world.protocol == codes.SILENT:
        return False
    if world.plain:
        return share_plainly(world, agents, pairs, bonds, demanded, knowledge, seen, history, thresholds[0], agent)
    sent = False
    for place in range(demanded.shape[1]):
        asking = demanded[agent, place]
        while asking != 0:
            peer = WORD * place + lowest(asking)
            asking &= asking - np.uint64(1)
            pair = pairs[agent, peer]
            if not world.same_arms and seen[peer, arm].position < 0:
                continue
            enough = threshold_at(world, agents, thresholds, agent, pair.share_number)
            if buffered(world, agents, pair, usable, agent, peer) < enough or settled(
                world, agents, bonds, agent, peer
            ):
                continue
            if world.protocol == codes.ON_DEMAND:
                withdraw(demanded, agent, peer)
            send_share(
                world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                slot, agent, peer, False,
            )  # fmt: skip
            sent = True
    return sent


@compiled
def broadcast(
    world: Record, agents: Table, pairs: Table, seen: Table, trace: Table, slot: int, agent: int, arm: int
) -> bool:
    """Share one observation with everybody, when everybody always knows the same: only counting is left."""
    if world.agents == 1 or (world.settles and agents[0].candidates == 1):
        return False
    me = agents[agent]
    number = me.own_pulls  # every pull so far was shared with everybody; `engine.finish` copies it to all pairs
    pairs[agent, agent].shares = number
    if world.counts_sizes:
        size = SHARE_FRAME + 1 + 2 * me.name_size + integer_size(number)
        world.bytes += (world.agents - 1) * (size + seen[agent, arm].entry_size)
        world.bytes += world.agent_names_size - me.name_size
        world.bits += 2 * me.arm_count * (world.agents - 1)
    if trace.shape[0] > 0:
        for peer in range(world.agents):
            if peer != agent:
                tell(world, trace, slot, _SHARE, agent, peer, number, 1, number)
                tell(world, trace, slot, _DELIVERY, peer, agent, number, 0, 0)
    return True
