"""The compiled run with relays or on a graph: the order of events is that of `cobandit.simulator.reference`.

What is in a mesh a slice of a history is a parcel here, because relays pass on what others observed: see `hubs.py`.
"""

import numpy as np

import cobandit.simulator.kernel.passing  # noqa: F401  # Numba learns what t is
from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.cells import spot_of
from cobandit.simulator.kernel.engine import keep_counts, next_event, pull
from cobandit.simulator.kernel.hubs import answer, copy_entry, hear_as_relay, hear_in_graph, observe_in_graph, pass_on
from cobandit.simulator.kernel.jit import compiled, entrance, inlined
from cobandit.simulator.kernel.leaves import hear_as_leaf, notify_relays, observed_by_leaf, rehome, share_down
from cobandit.simulator.kernel.lossy import (
    ARRIVED,
    EMPTY,
    clear_letters,
    keep_letter,
    push_letter,
    take_copy,
    take_next,
    turn_round,
)
from cobandit.simulator.kernel.mail import KEPT, UNDER_WAY, first_mail, place_of, speak, tell
from cobandit.simulator.kernel.payment import remember_means
from cobandit.simulator.kernel.planning import halve, plan_halving, pop
from cobandit.simulator.kernel.sizes import bits_of, notice_size, share_head_size
from cobandit.simulator.kernel.tables import AGENT_BITS, Record, Table, Tables
from cobandit.simulator.kernel.talking import JOINED, LEFT

_LEAVE, _SHARE, _DELIVERY = int(Kind.LEAVE), int(Kind.SHARE), int(Kind.DELIVERY)
_FAR = 2**62
_AGENT_MASK = (1 << AGENT_BITS) - 1


@entrance
def run(t: Tables) -> None:  # noqa: PLR0912  # one loop: what happens next is told apart once
    """Walk from event to event until the horizon (`ReferenceRun.run`)."""
    for agent in range(t.world.agents):
        if t.agents[agent].clock == codes.HALVING:
            plan_halving(t, agent, t.agents[agent].start - 1)
    next_planned = next_move = next_checkpoint = slot = 0
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
        if next_move < t.moves.shape[0] and t.moves[next_move, 0] == slot:
            move(t, slot, t.moves[next_move, 1], t.moves[next_move, 2])
            next_move += 1
        elif t.world.mail_end > t.world.mail_first and first_mail(t).arrival == slot:
            take_copy(t, first_mail(t))
            t.world.mail_first += 1
            if t.letters[ARRIVED].kind == codes.SHARE:  # what was told before it has arrived
                t.world.parcels_first = t.letters[ARRIVED].since
            deliver_current(t, slot)
            send_all(t, slot)
        else:
            agent = decision & _AGENT_MASK
            is_halving = t.agents[agent].clock == codes.HALVING
            if is_halving:
                pop(t)
            else:
                next_planned += 1
            if not t.agents[agent].away:
                decide(t, slot, agent)
            if is_halving:
                plan_halving(t, agent, slot)


@inlined
def decide(t: Tables, slot: int, agent: int) -> None:
    """Let an agent pull, record and share (`ReferenceRun._decide`)."""
    me = t.agents[agent]
    arm, reward = pull(t, slot, agent)
    if t.world.policy == codes.AAE:
        for place in range(t.world.dropped):
            notify_all(t, slot, codes.ELIMINATED, agent, t.dropped[place])
    sent = observe_in_graph(t, agent, arm, reward) if t.world.is_graph else observed_by_leaf(t, agent)
    if t.world.letters_end > EMPTY:
        turn_round(t, EMPTY)
        send_all(t, slot)
    if sent and me.clock == codes.HALVING:
        halve(me)


@compiled
def notify_all(t: Tables, slot: int, kind: int, agent: int, arm: int) -> None:
    """Tell neighbours at once that an arm is eliminated, or that an agent leaves or is back (`Endpoint.eliminate`)."""
    if not t.world.is_graph:
        notify_relays(t, slot, kind, agent, arm)
        return
    for place in range(t.hubs[agent].edges, t.hubs[agent].edges_end):
        edge = t.edges[place]
        is_told = t.seen[edge.receiver, arm].position >= 0 if t.world.literal_notices else edge.common > 0
        if kind != codes.ELIMINATED or is_told:
            letter = push_letter(t, kind, agent, edge.receiver)
            letter.link, letter.number = place, arm


@compiled
def send_all(t: Tables, slot: int) -> None:
    """Send what is on the stack, and what comes of it (`ReferenceRun._send_all`)."""
    while t.world.letters_end > EMPTY and not t.world.overflow:
        letter = take_next(t)
        account(t, letter, slot)
        if t.world.delay == 0:
            deliver_current(t, slot)
        elif t.world.mail_end - t.world.mail_first == t.mail.shape[1]:
            t.world.overflow = True
        else:
            letter.arrival = slot + t.world.delay
            t.mail[UNDER_WAY, place_of(t, t.world.mail_end)] = letter
            t.world.mail_end += 1
    clear_letters(t)
    if t.world.mail_end == t.world.mail_first:  # nothing is under way: the places in the cache are used again
        t.world.parcels_first = t.world.parcels_end = 0


@inlined
def account(t: Tables, letter: Record, slot: int) -> None:
    """Count a letter that is about to be sent (`ReferenceRun._count`)."""
    sender, receiver = letter.sender, letter.receiver
    speak(t, t.agents[sender], slot)
    if letter.kind == codes.SHARE:
        t.world.shares += 1
        if t.world.counts_sizes:
            t.world.bytes += share_head_size(t, letter)
            if letter.count > 0:
                common = t.world.arms
                if t.world.is_graph:
                    common = t.edges[letter.link].common
                elif sender < t.world.agents:
                    common = t.agents[sender].arm_count
                t.world.bits += 2 * common * bits_of(t, np.int64(letter.count))
        tell(t, slot, _SHARE, sender, receiver, letter.number, letter.count, t.agents[sender].own_pulls)
        return
    t.edges[letter.link].notices += 1
    if t.world.counts_sizes:
        number = t.agents[sender].notices + (1 if letter.kind == codes.LEAVE else 0)
        t.world.bytes += notice_size(t, letter.kind, sender, receiver, letter.number, number, (0, 0))


@compiled
def deliver_current(t: Tables, slot: int) -> None:
    """Hand the current letter over, or keep it if its receiver is away (`ReferenceRun._deliver`)."""
    letter = t.letters[t.world.current]
    sender, receiver, link = letter.sender, letter.receiver, letter.link
    if t.agents[receiver].away:
        keep_parcel(t, letter)
        keep_letter(t, letter)
        return
    below = t.world.letters_end
    if letter.kind != codes.SHARE:
        hear_notice(t, letter.kind, receiver, t.edges[link].back, letter.number)
        return
    pool, since, told = letter.pool, letter.since, letter.version
    tell(t, slot, _DELIVERY, receiver, sender, letter.number, 0, 0)
    if not is_new(t, sender, receiver, link, letter.number):
        return
    if t.world.is_graph:
        hear_in_graph(t, receiver, sender, pool, since, told, t.edges[link].back)
    elif receiver < t.world.agents:
        hear_as_leaf(t, receiver, link % t.uplinks.shape[1], pool, since, told)
    else:
        relay = receiver - t.world.agents
        hear_as_relay(t, relay, pool, since, told)
        if sender >= t.world.agents:
            answer(t, t.edges[link].back)
        else:
            share_down(t, relay, sender, link % t.uplinks.shape[1])
        pass_on(t, relay, sender, pool, since, told)
    turn_round(t, below)


@inlined
def is_new(t: Tables, sender: int, receiver: int, link: int, number: int) -> bool:
    """Return whether no later share has arrived: one that was kept may come after it (`Endpoint._receive_certain`)."""
    if not t.world.is_graph and min(sender, receiver) < t.world.agents:
        known = t.uplinks.shape[1]
        pair = t.uplinks[link // known, link % known]
        before = pair.seen_up if sender < receiver else pair.seen_down
        if sender < receiver:
            pair.seen_up = max(before, number)
        else:
            pair.seen_down = max(before, number)
        return number > before
    edge = t.edges[link]
    before = edge.seen
    edge.seen = max(before, number)
    return number > before


@compiled
def hear_notice(t: Tables, kind: int, agent: int, back: int, arm: int) -> None:
    """Take a notice of a neighbour in a graph (`Endpoint._receive_notice`)."""
    if kind != codes.ELIMINATED:
        edge = t.edges[back]
        edge.demanded = t.rules[JOINED if kind == codes.JOIN else LEFT, int(edge.demanded), 0].demanded
    elif t.hubs[agent].same_arms:
        own = t.own_arms[agent, t.seen[agent, arm].position]
        if own.candidate and t.agents[agent].candidates > 1:
            own.candidate = False
            t.agents[agent].candidates -= 1


@compiled
def keep_parcel(t: Tables, letter: Record) -> None:
    """Put what a letter tells where it can wait for an agent that is away."""
    if letter.kind != codes.SHARE or letter.pool == KEPT:
        return
    room, begin = t.parcels.shape[1], t.world.parcels_kept
    if begin + letter.version > room:
        t.world.overflow = True
        return
    for place in range(letter.version):
        copy_entry(t.parcels[UNDER_WAY, spot_of(t, letter.since + place)], t.parcels[KEPT, begin + place])
    t.world.parcels_kept += letter.version
    letter.since, letter.pool = begin, KEPT


@compiled
def move(t: Tables, slot: int, agent: int, kind: int) -> None:
    """Leave, or join again (`ReferenceRun._move`): what was kept for an agent that is back is handed over in order."""
    leaves = kind == _LEAVE
    tell(t, slot, kind, agent, 0, 0, 0, 0)
    t.agents[agent].away = leaves
    if agent < t.world.agents:
        t.agents[agent].notices += 0 if leaves else 2
        notify_all(t, slot, codes.LEAVE if leaves else codes.JOIN, agent, 0)
    else:
        rehome(t)
    turn_round(t, EMPTY)
    send_all(t, slot)
    if leaves:
        return
    before, left = t.world.kept_end, 0
    for place in range(before):
        if t.mail[KEPT, place].receiver == agent:
            take_copy(t, t.mail[KEPT, place])
            deliver_current(t, slot)
            send_all(t, slot)
    for place in range(t.world.kept_end):
        if place >= before or t.mail[KEPT, place].receiver != agent:
            t.mail[KEPT, left] = t.mail[KEPT, place]
            left += 1
    t.world.kept_end = left


@compiled
def remember(t: Tables, pulls: Table, checkpoint: int) -> None:
    """Keep the counts so far, as they are at the beginning of a slot."""
    remember_means(t, checkpoint)
    for agent in range(t.world.agents):
        for arm in range(t.world.arms):
            pulls[agent, arm] = t.seen[agent, arm].pulls
    keep_counts(t, t.counted_at[checkpoint], t.world.shares, 0)
