"""The compiled run: the order of events is that of `cobandit.simulator.reference`, line by line."""

import math

import numpy as np

import cobandit.simulator.kernel.passing  # noqa: F401  # Numba learns what t is
from cobandit.scenario.tape import bernoulli_reward, luck_of_arm
from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.choosing import select_arm
from cobandit.simulator.kernel.delivering import deliver_current, send_all, take_kept
from cobandit.simulator.kernel.direct import share_directly
from cobandit.simulator.kernel.jit import borrow, compiled, entrance, inlined
from cobandit.simulator.kernel.lossy import EMPTY, take_arrival, turn_round
from cobandit.simulator.kernel.mail import first_mail, tell
from cobandit.simulator.kernel.noticing import announce_eliminations, deliver, deliver_kept, eliminate, notify_all
from cobandit.simulator.kernel.payment import add_means, draw, remember_means
from cobandit.simulator.kernel.plain import count_known, share_plainly
from cobandit.simulator.kernel.planning import halve, plan_halving, pop
from cobandit.simulator.kernel.saying import after_decision, wake, write_move
from cobandit.simulator.kernel.sizes import heads_size
from cobandit.simulator.kernel.tables import AGENT_BITS, Record, Table, Tables
from cobandit.simulator.kernel.talking import broadcast, observe, share_with_peers
from cobandit.simulator.kernel.windows import turn

borrow(bernoulli_reward)
borrow(luck_of_arm)

_DECISION, _LEAVE = int(Kind.DECISION), int(Kind.LEAVE)
_FAR = 2**62
_AGENT_MASK = (1 << AGENT_BITS) - 1


@entrance
def run(t: Tables) -> None:  # noqa: PLR0912  # one loop: what happens next is told apart once
    """Walk from event to event until the horizon (`ReferenceRun.run`)."""
    for agent in range(t.world.agents):
        if t.agents[agent].clock == codes.HALVING:
            plan_halving(t, agent, t.agents[agent].start - 1)
    next_planned = next_move = next_checkpoint = slot = 0
    deciding = -1  # the slot in which agents have begun to decide; nobody is woken before they are through
    while not t.world.overflow:
        decision = t.planned[next_planned] if next_planned < t.planned.shape[0] else _FAR
        if t.world.heap_size > 0:
            decision = min(decision, t.heap[0])
        slot = next_event(t, slot, decision >> AGENT_BITS, next_move)
        while next_checkpoint < t.checkpoints.shape[0] and t.checkpoints[next_checkpoint] <= min(slot, t.world.horizon):
            remember(t, t.pulls_at[next_checkpoint], next_checkpoint)
            next_checkpoint += 1
        if slot >= t.world.horizon:
            break
        if t.world.windowed and slot >= t.world.turns_at:
            turn(t, slot)
        if next_move < t.moves.shape[0] and t.moves[next_move, 0] == slot:
            move(t, slot, t.moves[next_move, 1], t.moves[next_move, 2])
            next_move += 1
        elif t.world.mail_end > t.world.mail_first and first_mail(t).arrival == slot:
            take_mail(t, slot)
        elif t.world.tolerant and t.world.next_wake <= slot and not deciding == slot == decision >> AGENT_BITS:
            wake_who_is_due(t, slot)
        else:
            deciding, agent = slot, decision & _AGENT_MASK
            is_halving = t.agents[agent].clock == codes.HALVING
            if is_halving:
                pop(t)
            else:
                next_planned += 1
            if not t.agents[agent].away:
                decide(t, slot, agent)
            if is_halving:
                plan_halving(t, agent, slot)
    if t.world.one_table:
        finish(t)
    elif has_heads(t):
        t.world.bytes += heads_size(t)


@inlined
def next_event(t: Tables, now: int, decision: int, next_move: int) -> int:
    """Return the slot in which something happens next; nobody is woken before now."""
    slot = decision
    if t.world.tolerant and t.world.next_wake < _FAR:
        slot = min(slot, max(now, math.ceil(t.world.next_wake)))
    if next_move < t.moves.shape[0]:
        slot = min(slot, t.moves[next_move, 0])
    if t.world.mail_end > t.world.mail_first:
        slot = min(slot, first_mail(t).arrival)
    return slot


@inlined
def decide(t: Tables, slot: int, agent: int) -> None:
    """Let an agent pull, record and share (`ReferenceRun._decide`)."""
    me = t.agents[agent]
    arm, _ = pull(t, slot, agent)
    if t.world.direct:
        sent = share_directly(t, slot, agent)
    elif t.world.lossy:
        sent = after_decision(t, slot, agent, arm)
        turn_round(t, EMPTY)
        send_all(t, slot)
    else:
        if t.world.policy == codes.AAE:
            announce_eliminations(t, slot, agent)
        if t.world.one_table:
            sent = broadcast(t, slot, agent, arm)
        elif t.world.plain:
            sent = share_plainly(t, slot, agent)
        else:
            sent = share_with_peers(t, slot, agent, arm)
    if sent and me.clock == codes.HALVING:
        halve(me)


@inlined
def pull(t: Tables, slot: int, agent: int) -> tuple[int, int]:
    """Let an agent choose, pull and record. Return the arm and the reward."""
    if t.world.plain and not t.world.one_table:
        count_known(t, agent)
    if t.world.policy == codes.AAE:
        eliminate(t, slot, agent)
    own = t.own_arms[agent, select_arm(t, agent)]
    reward = reward_of(t, slot, agent, own)
    if t.world.moving:
        add_means(t, agent, own.arm)
    t.world.lacking += lacked(t, agent)
    t.world.decisions += 1
    t.observed[own.arm] += 1
    observe(t, agent, own.arm, reward)
    tell(t, slot, _DECISION, agent, own.arm, reward, t.agents[agent].own_pulls, 0)
    return own.arm, reward


@inlined
def reward_of(t: Tables, slot: int, agent: int, own: Record) -> int:
    """Draw the reward of the pull at hand, which is not counted yet."""
    key, number = t.agents[agent].reward_key, np.uint64(t.agents[agent].own_pulls)
    if t.world.luck_by_arm:
        key, number = luck_of_arm(key, np.uint64(own.arm)), np.uint64(t.seen[agent, own.arm].pulls)
    if t.world.pays_more:
        return draw(t, agent, own.arm, slot, key, number)
    return bernoulli_reward(key, number, own.success)


@inlined
def take_mail(t: Tables, slot: int) -> None:
    """Hand over the next message that is due."""
    if t.world.lossy:
        take_arrival(t)
        deliver_current(t, slot)
        send_all(t, slot)
    else:
        message = first_mail(t)
        t.world.mail_first += 1
        deliver(t, slot, message)


@compiled
def move(t: Tables, slot: int, agent: int, kind: int) -> None:
    """Leave, or join again (`ReferenceRun._move`): what was kept for an agent that is back is handed over in order."""
    leaves = kind == _LEAVE
    tell(t, slot, kind, agent, 0, 0, 0, 0)
    t.agents[agent].away = leaves
    if t.world.lossy:
        write_move(t, slot, agent, leaves)
        turn_round(t, EMPTY)
        send_all(t, slot)
    else:
        notify_all(t, slot, agent, leaves)
    if leaves:
        return
    if t.world.lossy:
        t.world.next_wake = min(t.world.next_wake, t.agents[agent].wake_at)
        while take_kept(t, agent):
            deliver_current(t, slot)
            send_all(t, slot)
    else:
        deliver_kept(t, slot, agent)


@compiled
def wake_who_is_due(t: Tables, slot: int) -> None:
    """Wake every agent whose time has come, the first one first, and find out when the next one's comes."""
    agent = 0
    while agent < t.world.agents:
        if t.agents[agent].away or t.agents[agent].wake_at > slot:
            agent += 1
            continue
        wake(t, slot, agent)
        turn_round(t, EMPTY)
        send_all(t, slot)
        agent = 0
    t.world.next_wake = math.inf
    for agent in range(t.world.agents):
        if not t.agents[agent].away:
            t.world.next_wake = min(t.world.next_wake, t.agents[agent].wake_at)


@inlined
def lacked(t: Tables, agent: int) -> int:
    """Return how many observations of its arms have been made that an agent does not know of."""
    me = t.agents[agent]
    if t.world.one_table and t.world.settles and t.agents[0].candidates == 1:  # from now on everybody learns alone
        if t.world.settled_after == 0:
            t.world.settled_after = 1 + t.world.decisions
            for position in range(t.world.agents):
                t.agents[position].settled_after = t.agents[position].own_pulls
        return 1 + t.world.decisions - t.world.settled_after - (me.own_pulls - me.settled_after)
    made = t.world.decisions
    if t.world.windowed or not t.world.same_arms:
        made = 0
        for position in range(me.arm_count):
            made += t.observed[t.own_arms[agent, position].arm]
    return made - t.agents[me.row].observed


@compiled
def remember(t: Tables, pulls: Table, checkpoint: int) -> None:
    """Keep the counts so far, as they are at the beginning of a slot."""
    shares = repeated = np.int64(0)
    remember_means(t, checkpoint)
    for agent in range(t.world.agents):
        for arm in range(t.world.arms):
            pulls[agent, arm] = t.seen[agent, arm].pulls
        if t.world.one_table:
            shares += (t.world.agents - 1) * t.pairs[agent, agent].shares
        else:
            for peer in range(t.world.agents):
                shares += t.pairs[agent, peer].shares
                repeated += t.bonds[agent, peer].retries + t.bonds[agent, peer].acknowledgements
    keep_counts(t, t.counted_at[checkpoint], shares, repeated)
    if has_heads(t):
        t.counted_at[checkpoint, 2] += heads_size(t)


@inlined
def has_heads(t: Tables) -> bool:
    """Return whether the heads of shares are counted from how many shares there were."""
    return t.world.counts_sizes and not t.world.lossy and not t.world.one_table


@inlined
def keep_counts(t: Tables, row: Table, shares: int, repeated: int) -> None:
    """Keep what was counted so far of all agents together (`result.COUNTED_AT`)."""
    row[0] = shares
    row[1] = shares + repeated
    row[2] = t.world.bytes
    row[3] = t.world.agent_rounds
    row[4] = t.world.lacking


@compiled
def finish(t: Tables) -> None:
    """Copy the shares of a broadcasting run, counted once for all peers of an agent, to all its pairs."""
    for agent in range(t.world.agents):
        for peer in range(t.world.agents):
            if peer != agent:
                t.pairs[agent, peer].shares = t.pairs[agent, agent].shares
        t.pairs[agent, agent].shares = 0
