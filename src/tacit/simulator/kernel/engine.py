"""The compiled run: the order of events is that of `tacit.simulator.reference`, line by line."""

import numpy as np

from tacit.scenario.tape import bernoulli_reward
from tacit.scenario.trace import Kind
from tacit.simulator.kernel import codes
from tacit.simulator.kernel.choosing import select_arm
from tacit.simulator.kernel.jit import borrow, compiled
from tacit.simulator.kernel.mail import UNDER_WAY, tell
from tacit.simulator.kernel.noticing import announce_eliminations, deliver, eliminate, move
from tacit.simulator.kernel.planning import halve, plan_halving, pop
from tacit.simulator.kernel.tables import AGENT_BITS, Record, Table
from tacit.simulator.kernel.talking import broadcast, observe, share_with_peers

borrow(bernoulli_reward)

_DECISION = int(Kind.DECISION)
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
    observed: Table,
    checkpoints: Table,
    pulls_at: Table,
    shares_at: Table,
) -> None:
    """Walk from event to event until the horizon (`ReferenceRun.run`). The arguments are `Tables`, in order."""
    for agent in range(world.agents):
        if agents[agent].clock == codes.HALVING:
            plan_halving(world, agents, heap, agent, agents[agent].start - 1)
    next_planned = next_move = next_checkpoint = 0
    while not world.overflow:
        decision = planned[next_planned] if next_planned < planned.shape[0] else _FAR
        if world.heap_size > 0:
            decision = min(decision, heap[0])
        slot = decision >> AGENT_BITS
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
            move(
                world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail,
                trace, own_arms, slot, moves[next_move, 1], moves[next_move, 2],
            )  # fmt: skip
            next_move += 1
            continue
        if world.mail_end > world.mail_first:
            message = mail[UNDER_WAY, world.mail_first % mail.shape[1]]
            if message.arrival == slot:
                world.mail_first += 1
                deliver(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail,
                    trace, own_arms, slot, message,
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
            world.lacking += made_so_far(world, own_arms, observed, agent, me.arm_count) - agents[me.row].observed
            world.decisions += 1
            observed[arm] += 1
            observe(world, agents, knowledge, seen, history, agent, arm, reward)
            if not world.same_arms:
                for number in range(members.shape[0]):
                    usable[agent, number] += members[number, arm]
            tell(world, trace, slot, _DECISION, agent, arm, reward, me.own_pulls, 0)
            if world.policy == codes.AAE:
                announce_eliminations(world, agents, bonds, demanded, seen, mail, own_arms, dropped, slot, agent)
            if world.one_table:
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
def made_so_far(world: Record, own_arms: Table, observed: Table, agent: int, arm_count: int) -> int:
    """Return how many observations all agents have made of an agent's arms."""
    if world.same_arms:
        return world.decisions
    made = 0
    for position in range(arm_count):
        made += observed[own_arms[agent, position].arm]
    return made


@compiled
def remember(world: Record, pairs: Table, seen: Table, pulls: Table, shares_at: Table, checkpoint: int) -> None:
    """Keep the counts so far, as they are at the beginning of a slot."""
    shares = 0
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
