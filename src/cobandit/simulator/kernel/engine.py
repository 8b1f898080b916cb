"""The compiled run: the order of events is that of `cobandit.simulator.reference`, line by line."""

import math

import numpy as np

from cobandit.scenario.tape import bernoulli_reward
from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.choosing import select_arm
from cobandit.simulator.kernel.delivering import deliver_current, send_all, take_kept
from cobandit.simulator.kernel.jit import borrow, compiled
from cobandit.simulator.kernel.lossy import SCRATCH, take_arrival, turn_round
from cobandit.simulator.kernel.mail import UNDER_WAY, tell
from cobandit.simulator.kernel.noticing import announce_eliminations, deliver, eliminate, move
from cobandit.simulator.kernel.planning import halve, plan_halving, pop
from cobandit.simulator.kernel.saying import after_decision, wake, write_move
from cobandit.simulator.kernel.tables import AGENT_BITS, Record, Table
from cobandit.simulator.kernel.talking import broadcast, observe, share_with_peers

borrow(bernoulli_reward)

_DECISION, _LEAVE = int(Kind.DECISION), int(Kind.LEAVE)
_FAR = 2**62
_AGENT_MASK = (1 << AGENT_BITS) - 1


@compiled
def run(  # noqa: PLR0912, PLR0915  # one loop: what it calls is named, what it branches on is told apart once
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
    own_arms: Table,
    members: Table,
    index: Table,
    dropped: Table,
    planned: Table,
    heap: Table,
    moves: Table,
    links: Table,
    letters: Table,
    counted: Table,
    believed: Table,
    gone: Table,
    cuts: Table,
    cut_from: Table,
    cut_until: Table,
    observed: Table,
    checkpoints: Table,
    pulls_at: Table,
    shares_at: Table,
) -> None:
    """Walk from event to event until the horizon (`ReferenceRun.run`). The arguments are `Tables`, in order."""
    for agent in range(world.agents):
        if agents[agent].clock == codes.HALVING:
            plan_halving(world, agents, heap, agent, agents[agent].start - 1)
    next_planned = next_move = next_checkpoint = slot = 0
    while not world.overflow:
        decision = planned[next_planned] if next_planned < planned.shape[0] else _FAR
        if world.heap_size > 0:
            decision = min(decision, heap[0])
        before, slot = slot, decision >> AGENT_BITS
        if world.tolerant and world.next_wake < _FAR:
            slot = min(slot, max(before, math.ceil(world.next_wake)))
        if next_move < moves.shape[0]:
            slot = min(slot, moves[next_move, 0])
        if world.mail_end > world.mail_first:
            slot = min(slot, mail[UNDER_WAY, world.mail_first % mail.shape[1]].arrival)
        while next_checkpoint < checkpoints.shape[0] and checkpoints[next_checkpoint] <= min(slot, world.horizon):
            remember(world, pairs, seen, pulls_at[next_checkpoint], shares_at, next_checkpoint)
            next_checkpoint += 1
        if slot >= world.horizon:
            break
        if next_move < moves.shape[0] and moves[next_move, 0] == slot:
            if world.lossy:
                move_lossy(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                    own_arms, links, letters, counted, believed, gone, cuts, cut_from, cut_until,
                    slot, moves[next_move, 1], moves[next_move, 2],
                )  # fmt: skip
            else:
                move(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail,
                    trace, own_arms, slot, moves[next_move, 1], moves[next_move, 2],
                )  # fmt: skip
            next_move += 1
            continue
        if world.mail_end > world.mail_first:
            message = mail[UNDER_WAY, world.mail_first % mail.shape[1]]
            if message.arrival == slot and world.lossy:
                take_arrival(world, mail, letters)
                deliver_current(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                    own_arms, links, letters, counted, believed, gone, slot,
                )  # fmt: skip
                send_all(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                    own_arms, links, letters, counted, believed, gone, cuts, cut_from, cut_until, slot,
                )  # fmt: skip
                continue
            if message.arrival == slot:
                world.mail_first += 1
                deliver(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail,
                    trace, own_arms, slot, message,
                )  # fmt: skip
                continue
        if world.tolerant and world.next_wake <= slot:
            wake_who_is_due(
                world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                own_arms, links, letters, counted, believed, gone, cuts, cut_from, cut_until, slot,
            )  # fmt: skip
            continue
        agent = decision & _AGENT_MASK
        me = agents[agent]
        if me.clock == codes.HALVING:
            pop(world, heap)
        else:
            next_planned += 1
        if not me.away:
            if world.policy == codes.AAE:
                eliminate(world, agents, knowledge, own_arms, dropped, trace, slot, agent)
            position = select_arm(world, agents, knowledge, own_arms, index, agent)
            arm = own_arms[agent, position].arm
            chance = own_arms[agent, position].success
            reward = bernoulli_reward(me.reward_key, np.uint64(me.own_pulls), chance)
            world.lacking += lacked(world, agents, own_arms, observed, agent)
            world.decisions += 1
            observed[arm] += 1
            observe(world, agents, knowledge, seen, history, agent, arm, reward)
            if not world.same_arms:
                for number in range(members.shape[0]):
                    usable[agent, number] += members[number, arm]
            tell(world, trace, slot, _DECISION, agent, arm, reward, me.own_pulls, 0)
            if world.policy == codes.AAE and not world.lossy:
                announce_eliminations(world, agents, bonds, demanded, seen, mail, own_arms, dropped, slot, agent)
            if world.lossy:
                sent = after_decision(
                    world, agents, pairs, bonds, demanded, seen, usable, thresholds, links, letters, gone, dropped,
                    slot, agent, arm,
                )  # fmt: skip
                turn_round(world, letters, SCRATCH)
                send_all(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                    own_arms, links, letters, counted, believed, gone, cuts, cut_from, cut_until, slot,
                )  # fmt: skip
            elif world.one_table:
                sent = broadcast(world, agents, pairs, seen, trace, slot, agent, arm)
            else:
                sent = share_with_peers(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                    slot, agent, arm,
                )  # fmt: skip
            if sent and me.clock == codes.HALVING:
                halve(me)
        if me.clock == codes.HALVING:
            plan_halving(world, agents, heap, agent, slot)
    if world.one_table:
        finish(world, pairs)


@compiled
def wake_who_is_due(
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
    own_arms: Table,
    links: Table,
    letters: Table,
    counted: Table,
    believed: Table,
    gone: Table,
    cuts: Table,
    cut_from: Table,
    cut_until: Table,
    slot: int,
) -> None:
    """Wake every agent whose time has come, the first one first, and find out when the next one's comes."""
    agent = 0
    while agent < world.agents:
        if agents[agent].away or agents[agent].wake_at > slot:
            agent += 1
            continue
        wake(world, agents, pairs, bonds, seen, usable, thresholds, links, letters, slot, agent)
        turn_round(world, letters, SCRATCH)
        send_all(
            world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
            own_arms, links, letters, counted, believed, gone, cuts, cut_from, cut_until, slot,
        )  # fmt: skip
        agent = 0
    world.next_wake = math.inf
    for agent in range(world.agents):
        if not agents[agent].away:
            world.next_wake = min(world.next_wake, agents[agent].wake_at)


@compiled
def move_lossy(
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
    own_arms: Table,
    links: Table,
    letters: Table,
    counted: Table,
    believed: Table,
    gone: Table,
    cuts: Table,
    cut_from: Table,
    cut_until: Table,
    slot: int,
    agent: int,
    kind: int,
) -> None:
    """Leave, or join again, where messages may be lost (`ReferenceRun._move`)."""
    leaves = kind == _LEAVE
    tell(world, trace, slot, kind, agent, 0, 0, 0, 0)
    agents[agent].away = leaves
    write_move(world, agents, links, letters, slot, agent, leaves)
    turn_round(world, letters, SCRATCH)
    send_all(
        world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
        own_arms, links, letters, counted, believed, gone, cuts, cut_from, cut_until, slot,
    )  # fmt: skip
    if leaves:
        return
    world.next_wake = min(world.next_wake, agents[agent].wake_at)
    while take_kept(world, mail, letters, agent):
        deliver_current(
            world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
            own_arms, links, letters, counted, believed, gone, slot,
        )  # fmt: skip
        send_all(
            world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
            own_arms, links, letters, counted, believed, gone, cuts, cut_from, cut_until, slot,
        )  # fmt: skip


@compiled
def lacked(world: Record, agents: Table, own_arms: Table, observed: Table, agent: int) -> int:
    """Return how many observations of its arms have been made that an agent does not know of."""
    me = agents[agent]
    if world.one_table and world.settles and agents[0].candidates == 1:  # from now on everybody learns alone
        if world.settled_after == 0:
            world.settled_after = 1 + world.decisions
            for position in range(world.agents):
                agents[position].settled_after = agents[position].own_pulls
        return 1 + world.decisions - world.settled_after - (me.own_pulls - me.settled_after)
    made = world.decisions
    if not world.same_arms:
        made = 0
        for position in range(me.arm_count):
            made += observed[own_arms[agent, position].arm]
    return made - agents[me.row].observed


@compiled
def remember(world: Record, pairs: Table, seen: Table, pulls: Table, shares_at: Table, checkpoint: int) -> None:
    """Keep the counts so far, as they are at the beginning of a slot."""
    shares = np.int64(0)
    for agent in range(world.agents):
        for arm in range(world.arms):
            pulls[agent, arm] = seen[agent, arm].pulls
        if world.one_table:
            shares += (world.agents - 1) * pairs[agent, agent].shares
        else:
            for peer in range(world.agents):
                shares += pairs[agent, peer].shares
    shares_at[checkpoint] = shares


@compiled
def finish(world: Record, pairs: Table) -> None:
    """Copy the shares of a broadcasting run, counted once for all peers of an agent, to all its pairs."""
    for agent in range(world.agents):
        for peer in range(world.agents):
            if peer != agent:
                pairs[agent, peer].shares = pairs[agent, agent].shares
        pairs[agent, agent].shares = 0
