"""Loss tolerance, compiled: `Delivery` and `TolerantEndpoint` on tables, and plain endpoints on a network with faults.

Functions carry the names of the readable methods, so that the two can be read side by side. Nobody restarts in a
simulated run, so there are no boots here. Outgoing messages go to the stack of `lossy.py`.
"""

import math

import numpy as np

from tacit.protocol import delivery
from tacit.protocol.delivery import first_wait, learned_deviation, learned_mean
from tacit.scenario.trace import Kind
from tacit.simulator.kernel import codes
from tacit.simulator.kernel.bits import WORD, lowest
from tacit.simulator.kernel.jit import borrow, compiled
from tacit.simulator.kernel.lossy import (
    CURRENT,
    SCRATCH,
    account,
    delays,
    keep_letter,
    new_letter,
    send,
    tell_loss,
    turn_round,
)
from tacit.simulator.kernel.mail import KEPT, tell
from tacit.simulator.kernel.tables import ONE_OBSERVATION, Record, Table
from tacit.simulator.kernel.talking import buffered, demand, merge, settled, share_received, withdraw

for _formula in (delivery.first_wait, delivery.learned_mean, delivery.learned_deviation):
    borrow(_formula)

_DELIVERY, _LEAVE = int(Kind.DELIVERY), int(Kind.LEAVE)


# What is owed.


@compiled
def eliminated(agents: Table, agent: int) -> int:
    """Return how many arms an agent no longer considers."""
    return agents[agent].arm_count - agents[agent].candidates


@compiled
def owes_notice(agents: Table, bonds: Table, link: Record, agent: int, peer: int) -> bool:
    """Return whether the peer must acknowledge something that does not wait until a buffer is full."""
    return link.is_unheard or (
        link.acknowledged_gone < agents[agent].own_eliminations and bonds[agent, peer].common > 0
    )


@compiled
def owes(world: Record, agents: Table, bonds: Table, link: Record, agent: int, peer: int) -> bool:
    """Return whether the peer must acknowledge something."""
    return (link.present or link.is_unheard) and (
        (link.phase == codes.WAITING and not settled(world, agents, bonds, agent, peer))
        or owes_notice(agents, bonds, link, agent, peer)
    )


@compiled
def has_unsaid(world: Record, agents: Table, bonds: Table, seen: Table, link: Record, agent: int, peer: int) -> bool:
    """Return whether the peer can use observations that it has not acknowledged."""
    if not link.present or settled(world, agents, bonds, agent, peer):
        return False
    for arm in range(world.arms):
        if seen[peer, arm].position >= 0 and seen[agent, arm].changed_at > link.acknowledged_version:
            return True
    return False


@compiled
def threshold_of(world: Record, agents: Table, thresholds: Table, agent: int, share_number: int) -> int:
    """Return f(c) (`Threshold.at`)."""
    if world.per_candidate:
        candidates, doublings = agents[agent].candidates, share_number - 1
        if doublings >= 62 or candidates > world.cap >> doublings:
            return world.cap
        return candidates << doublings
    return thresholds[min(share_number, thresholds.shape[0]) - 1]


@compiled
def has_reached(
    world: Record, agents: Table, pairs: Table, usable: Table, thresholds: Table, agent: int, peer: int
) -> bool:
    """Return whether the buffer holds enough for a share (`Exchange.has_reached`)."""
    pair = pairs[agent, peer]
    enough = threshold_of(world, agents, thresholds, agent, pair.share_number)
    return buffered(world, agents, pair, usable, agent, peer) >= enough


@compiled
def flush_at(world: Record, agents: Table, link: Record, agent: int) -> float:
    """Return when to send what is not acknowledged if nothing is observed until then."""
    quiet_since = max(link.sent_at, agents[agent].last_observed)
    return max(link.retry_at, quiet_since + world.tick)


@compiled
def wake_by(world: Record, agents: Table, agent: int, time: float) -> None:
    """Wake an agent no later than this."""
    agents[agent].wake_at = min(agents[agent].wake_at, time)
    world.next_wake = min(world.next_wake, agents[agent].wake_at)


@compiled
def schedule(world: Record, agents: Table, link: Record, agent: int) -> None:
    """Take it that a wait has changed."""
    agents[agent].next_retry = min(agents[agent].next_retry, link.retry_at)
    wake_by(world, agents, agent, flush_at(world, agents, link, agent))


@compiled
def expect(world: Record, link: Record, now: float) -> None:
    """Wait for something new to be acknowledged, as for an answer (`Delivery.expect`)."""
    link.wait = first_wait(link.mean_wait, link.deviation, link.filled, world.first, world.least, world.longest)
    link.sent_at = now
    link.retry_at = now + link.wait


@compiled
def expect_from_all(world: Record, agents: Table, links: Table, agent: int, now: float) -> None:
    """Give every peer the usual time to acknowledge something new; a wait that is under way goes on."""
    for peer in range(world.agents):
        if peer != agent:
            link = links[agent, peer]
            if link.retry_at <= now:
                expect(world, link, now)
            schedule(world, agents, link, agent)


# What is said.


@compiled
def write_share(
    world: Record,
    agents: Table,
    pairs: Table,
    links: Table,
    usable: Table,
    letters: Table,
    agent: int,
    peer: int,
    count: int,
    is_answer: bool,
) -> None:
    """Write the newest state with the number of the last share (`TolerantEndpoint._message`)."""
    pair, link, version = pairs[agent, peer], links[agent, peer], agents[agent].own_pulls
    pair.shared_version = version
    if not world.same_arms:
        pair.shared_usable = usable[agent, agents[peer].arm_set]
    letter = new_letter(world, letters, codes.SHARE, agent, peer)
    letter.number = pair.shares
    letter.count = count
    letter.attempt = link.attempts
    letter.is_answer = is_answer
    if version > link.acknowledged_version:
        letter.since, letter.version = link.acknowledged_version, version
    if link.acknowledged_gone < eliminated(agents, agent):
        letter.gone = eliminated(agents, agent)
    write_receipt(link, letter)


@compiled
def write_receipt(link: Record, letter: Record) -> None:
    """Write what the sender has of the receiver's."""
    letter.seen, letter.held, letter.known_gone = link.seen, link.held, link.peer_gone
    letter.known_notice = link.peer_notice


@compiled
def share(
    world: Record,
    agents: Table,
    pairs: Table,
    links: Table,
    usable: Table,
    thresholds: Table,
    letters: Table,
    agent: int,
    peer: int,
    is_answer: bool,
    now: float,
) -> None:
    """Write a fresh share (`Exchange._take`, and `_share` of either endpoint)."""
    pair = pairs[agent, peer]
    count, base = buffered(world, agents, pair, usable, agent, peer), np.int64(pair.shared_version)
    pair.shares += 1
    if not is_answer or world.answers_advance:
        pair.share_number += 1
    if world.tolerant:
        link = links[agent, peer]
        link.phase = codes.WAITING
        link.shared_at = now
        link.filled = np.float64(threshold_of(world, agents, thresholds, agent, max(1, pair.share_number - 1)))
        link.attempts = 0
        link.can_be_timed = True
        expect(world, link, now)
        schedule(world, agents, link, agent)
        write_share(world, agents, pairs, links, usable, letters, agent, peer, count, False)
        return
    pair.shared_version = agents[agent].own_pulls
    if not world.same_arms:
        pair.shared_usable = usable[agent, agents[peer].arm_set]
    letter = new_letter(world, letters, codes.SHARE, agent, peer)
    letter.number, letter.count = pair.shares, count
    letter.since, letter.version = base, agents[agent].own_pulls


@compiled
def repeat(
    world: Record,
    agents: Table,
    pairs: Table,
    links: Table,
    usable: Table,
    thresholds: Table,
    letters: Table,
    agent: int,
    peer: int,
    now: float,
    is_answer: bool,
) -> None:
    """Write the last share again: the same number, the newest state (`TolerantEndpoint._repeat`)."""
    link = links[agent, peer]
    carried = agents[agent].own_pulls - link.acknowledged_version
    if has_reached(world, agents, pairs, usable, thresholds, agent, peer):
        pairs[agent, peer].share_number += 1
    link.attempts += 1
    link.can_be_timed = False
    link.wait = min(link.wait * world.growth, world.longest)
    link.sent_at = now
    link.retry_at = now + link.wait
    schedule(world, agents, link, agent)
    if link.is_unheard:
        new_letter(world, letters, codes.JOIN, agent, peer).notice = agents[agent].notices
    write_share(world, agents, pairs, links, usable, letters, agent, peer, carried, is_answer)


@compiled
def repeat_what_is_due(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    links: Table,
    usable: Table,
    thresholds: Table,
    letters: Table,
    agent: int,
    now: float,
) -> None:
    """Repeat what was not acknowledged in time, and has enough to say."""
    agents[agent].next_retry = math.inf
    for peer in range(world.agents):
        link = links[agent, peer]
        if peer == agent or not owes(world, agents, bonds, link, agent, peer):
            continue
        if now >= link.retry_at and (
            has_reached(world, agents, pairs, usable, thresholds, agent, peer)
            or owes_notice(agents, bonds, link, agent, peer)
        ):
            repeat(world, agents, pairs, links, usable, thresholds, letters, agent, peer, now, False)
        agents[agent].next_retry = min(agents[agent].next_retry, link.retry_at)


# Inputs of an agent.


@compiled
def after_decision(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    usable: Table,
    thresholds: Table,
    links: Table,
    letters: Table,
    gone: Table,
    dropped: Table,
    slot: int,
    agent: int,
    arm: int,
) -> bool:
    """Write what one decision brings about (`Agent._observe`). Return whether there is a fresh share in it."""
    now = np.float64(slot)
    for place in range(world.dropped if world.policy == codes.AAE else 0):
        before = eliminated(agents, agent) - world.dropped + place
        gone[agent, before] = dropped[place]
        agents[agent].own_eliminations = before + 1
        if world.tolerant:
            expect_from_all(world, agents, links, agent, now)
        for peer in range(world.agents):
            if peer != agent and bonds[agent, peer].common > 0:
                new_letter(world, letters, codes.ELIMINATED, agent, peer).since = dropped[place]
    sent = False
    if world.protocol != codes.SILENT:
        for word in range(demanded.shape[1]):
            asking = demanded[agent, word]
            while asking != 0:
                peer = WORD * word + lowest(asking)
                asking &= asking - np.uint64(1)
                if seen[peer, arm].position < 0 or settled(world, agents, bonds, agent, peer):
                    continue
                if not has_reached(world, agents, pairs, usable, thresholds, agent, peer):
                    continue
                if world.protocol == codes.ON_DEMAND:
                    withdraw(demanded, agent, peer)
                share(world, agents, pairs, links, usable, thresholds, letters, agent, peer, False, now)
                sent = True
    if world.tolerant:
        agents[agent].last_observed = now
        agents[agent].wake_at = now + world.tick
        world.next_wake = min(world.next_wake, agents[agent].wake_at)
        if now >= agents[agent].next_retry:
            repeat_what_is_due(world, agents, pairs, bonds, links, usable, thresholds, letters, agent, now)
    return sent


@compiled
def wake(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    seen: Table,
    usable: Table,
    thresholds: Table,
    links: Table,
    letters: Table,
    slot: int,
    agent: int,
) -> None:
    """Write what is not acknowledged, if an agent has not observed anything for long (`TolerantEndpoint.wake`)."""
    now = np.float64(slot)
    agents[agent].wake_at = math.inf
    for peer in range(world.agents):
        link = links[agent, peer]
        if peer == agent or not (
            owes(world, agents, bonds, link, agent, peer) or has_unsaid(world, agents, bonds, seen, link, agent, peer)
        ):
            continue
        if now >= flush_at(world, agents, link, agent):
            repeat(world, agents, pairs, links, usable, thresholds, letters, agent, peer, now, False)
        wake_by(world, agents, agent, flush_at(world, agents, link, agent))


# Inputs from outside.


@compiled
def follow(
    world: Record,
    agents: Table,
    bonds: Table,
    seen: Table,
    own_arms: Table,
    believed: Table,
    gone: Table,
    agent: int,
    peer: int,
    arm: int,
) -> None:
    """Take it that a peer no longer considers an arm (`Endpoint._follow`)."""
    if not world.same_arms:
        bond = bonds[agent, peer]
        if bond.believed_candidates > 1 and believed[agent, peer, arm]:
            believed[agent, peer, arm] = False
            bond.believed_candidates -= 1
        return
    own = own_arms[agent, seen[agent, arm].position]
    if own.candidate and agents[agent].candidates > 1:
        gone[agent, eliminated(agents, agent)] = arm
        own.candidate = False
        agents[agent].candidates -= 1


@compiled
def greet(
    world: Record,
    agents: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    links: Table,
    agent: int,
    peer: int,
) -> None:
    """Take it that a known peer is here again (`_greet` of either endpoint)."""
    demand(demanded, agent, peer)
    link = links[agent, peer]
    link.present = True
    if world.tolerant:
        link.phase = codes.OPEN
        link.is_unheard = link.acknowledged_notice < agents[agent].notices
        if owes(world, agents, bonds, link, agent, peer) or has_unsaid(world, agents, bonds, seen, link, agent, peer):
            schedule(world, agents, link, agent)


@compiled
def merge_listed(
    agents: Table,
    knowledge: Table,
    seen: Table,
    history: Table,
    counted: Table,
    sender: int,
    receiver: int,
    base: int,
    version: int,
) -> None:
    """Add what a share lists to what the receiver knows, though shares before it may be missing (`Ledger.merge`).

    A share lists cumulative tallies of the arms that changed after its base. So of an arm that is listed everything is
    known up to the share's version, and an arm that is not listed is as it was.
    """
    begin = agents[sender].history
    for place in range(begin + base, begin + version):
        arm = history[place] >> 1
        position = seen[receiver, arm].position
        if position < 0:
            continue
        by_then = ONE_OBSERVATION * seen[sender, arm].pulls + seen[sender, arm].rewards
        for later in range(begin + version, begin + agents[sender].own_pulls):
            if history[later] >> 1 == arm:
                by_then -= ONE_OBSERVATION + np.int64(history[later] & 1)
        news = by_then - counted[receiver, sender, arm]
        counted[receiver, sender, arm] = by_then
        knowledge[receiver, position] += news
        agents[receiver].observed += news >> 32


@compiled
def receive_share(
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
    own_arms: Table,
    links: Table,
    letters: Table,
    counted: Table,
    believed: Table,
    gone: Table,
    now: float,
) -> None:
    """Take the current letter, a share (`_receive_share` of either endpoint)."""
    letter = letters[CURRENT]
    agent, peer = letter.receiver, letter.sender
    link, number = links[agent, peer], letter.number
    if not world.tolerant:
        if number <= link.seen:
            return
        merge_listed(agents, knowledge, seen, history, counted, peer, agent, letter.since, letter.version)
        link.seen = number
        if share_received(world, agents, pairs, bonds, demanded, usable, thresholds, agent, peer):
            share(world, agents, pairs, links, usable, thresholds, letters, agent, peer, True, now)
        return
    hear(world, agents, pairs, bonds, demanded, seen, links, letter)
    # Nobody forgets anything here, so what a share builds on is always held: `Ledger.is_usable` need not be asked.
    if letter.version > link.held:
        merge(world, agents, knowledge, seen, history, peer, agent, np.int64(link.held), letter.version)
        link.held = letter.version
    for place in range(letter.gone):
        follow(world, agents, bonds, seen, own_arms, believed, gone, agent, peer, gone[peer, place])
    link.peer_gone = max(link.peer_gone, letter.gone)
    if number > link.seen:
        take_turn(
            world, agents, pairs, bonds, demanded, usable, thresholds, links, letters,
            agent, peer, number, letter.seen, now,
        )  # fmt: skip
    elif letter.attempt > 0:
        take_repetition(
            world, agents, pairs, bonds, usable, thresholds, links, letters,
            agent, peer, letter.seen, letter.is_answer, now,
        )  # fmt: skip


@compiled
def take_turn(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    usable: Table,
    thresholds: Table,
    links: Table,
    letters: Table,
    agent: int,
    peer: int,
    number: int,
    seen_by_peer: int,
    now: float,
) -> None:
    """Take a fresh share: it asks for one of this agent's (`TolerantEndpoint._take_turn`)."""
    link = links[agent, peer]
    if seen_by_peer >= pairs[agent, peer].shares:
        answered(link, now)
    link.seen = number
    if settled(world, agents, bonds, agent, peer):
        if link.acknowledged_gone < eliminated(agents, agent):
            repeat(world, agents, pairs, links, usable, thresholds, letters, agent, peer, now, True)
    elif share_received(world, agents, pairs, bonds, demanded, usable, thresholds, agent, peer):
        share(world, agents, pairs, links, usable, thresholds, letters, agent, peer, True, now)
    else:
        link.phase = codes.OPEN


@compiled
def take_repetition(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    usable: Table,
    thresholds: Table,
    links: Table,
    letters: Table,
    agent: int,
    peer: int,
    seen_by_peer: int,
    is_to_an_answer: bool,
    now: float,
) -> None:
    """Answer what was said again (`TolerantEndpoint._take_repetition`)."""
    link = links[agent, peer]
    is_missing = link.phase == codes.WAITING and seen_by_peer < pairs[agent, peer].shares
    if settled(world, agents, bonds, agent, peer):
        is_missing = link.acknowledged_gone < eliminated(agents, agent)
    if is_missing and not is_to_an_answer:
        repeat(world, agents, pairs, links, usable, thresholds, letters, agent, peer, now, True)
    else:
        write_receipt(link, new_letter(world, letters, codes.ACKNOWLEDGEMENT, agent, peer))


@compiled
def receive_acknowledgement(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    links: Table,
    letter: Record,
) -> None:
    """Take a bare acknowledgement (`TolerantEndpoint._receive_acknowledgement`)."""
    link = links[letter.receiver, letter.sender]
    is_seen = letter.seen >= pairs[letter.receiver, letter.sender].shares
    if is_seen and link.phase == codes.WAITING and link.attempts == 1:
        link.can_be_timed = True
    hear(world, agents, pairs, bonds, demanded, seen, links, letter)


@compiled
def hear(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    demanded: Table,
    seen: Table,
    links: Table,
    letter: Record,
) -> None:
    """Take what every message says: what its sender has of the receiver's (`TolerantEndpoint._hear`)."""
    agent, peer = letter.receiver, letter.sender
    link = links[agent, peer]
    if not link.present and link.peer_notice % 2 == 0:
        greet(world, agents, bonds, demanded, seen, links, agent, peer)
    link.acknowledged_number = max(link.acknowledged_number, letter.seen)
    link.acknowledged_version = max(link.acknowledged_version, letter.held)
    link.acknowledged_gone = max(link.acknowledged_gone, letter.known_gone)
    link.acknowledged_notice = max(link.acknowledged_notice, letter.known_notice)
    is_new, link.is_heard = not link.is_heard, True
    link.is_unheard = (link.is_unheard or is_new) and link.acknowledged_notice < agents[agent].notices
    if link.acknowledged_number >= pairs[agent, peer].shares and link.phase == codes.WAITING:
        link.phase = codes.TRUSTING
    if is_new and (
        owes(world, agents, bonds, link, agent, peer) or has_unsaid(world, agents, bonds, seen, link, agent, peer)
    ):
        schedule(world, agents, link, agent)


@compiled
def answered(link: Record, now: float) -> None:
    """Learn how long an answer took (`Delivery.answered`)."""
    if link.phase == codes.OPEN or not link.can_be_timed:
        return
    wait = max(0.0, now - link.shared_at) / link.filled
    link.deviation = learned_deviation(link.mean_wait, link.deviation, wait)
    link.mean_wait = learned_mean(link.mean_wait, wait)


# Sending and delivering.


@compiled
def deliver_current(
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
    slot: int,
) -> None:
    """Hand the current letter over, or keep it if its receiver is away (`ReferenceRun._deliver`)."""
    letter = letters[CURRENT]
    sender, receiver = letter.sender, letter.receiver
    if agents[receiver].away:
        keep_letter(world, mail, letter)
        return
    below = world.letters_end
    if letter.kind == codes.SHARE:
        tell(world, trace, slot, _DELIVERY, receiver, sender, letter.number, 0, 0)
        receive_share(
            world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, own_arms, links,
            letters, counted, believed, gone, np.float64(slot),
        )  # fmt: skip
    elif letter.kind == codes.ACKNOWLEDGEMENT:
        receive_acknowledgement(world, agents, pairs, bonds, demanded, seen, links, letter)
    elif letter.kind == codes.ELIMINATED:
        follow(world, agents, bonds, seen, own_arms, believed, gone, receiver, sender, letter.since)
    elif not world.tolerant or letter.notice > links[receiver, sender].peer_notice:
        links[receiver, sender].peer_notice = letter.notice
        if letter.kind == codes.JOIN:
            greet(world, agents, bonds, demanded, seen, links, receiver, sender)
        else:
            withdraw(demanded, receiver, sender)
            links[receiver, sender].present = False
    turn_round(world, letters, below)


@compiled
def send_all(
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
    """Send what is on the stack, and what comes of it (`ReferenceRun._send_all`)."""
    while world.letters_end > SCRATCH and not world.overflow:
        letters[CURRENT] = letters[world.letters_end]
        world.letters_end -= 1
        letter = letters[CURRENT]
        account(world, agents, bonds, seen, history, gone, letter, trace, slot)
        first, second = delays(world, agents, bonds, cuts, cut_from, cut_until, slot, letter.sender, letter.receiver)
        if first < 0:
            tell_loss(world, trace, slot, letter.sender, letter.receiver)
        for delay in (first, second):
            if delay > 0:
                send(world, mail, letter, slot + delay)
            elif delay == 0:
                deliver_current(
                    world, agents, pairs, bonds, demanded, knowledge, seen, history, usable, thresholds, mail, trace,
                    own_arms, links, letters, counted, believed, gone, slot,
                )  # fmt: skip


@compiled
def write_move(world: Record, agents: Table, links: Table, letters: Table, slot: int, agent: int, leaves: bool) -> None:
    """Write the notices of an agent that leaves or is back (`Endpoint.leave`, `join` of either endpoint)."""
    if world.tolerant and not leaves:
        agents[agent].notices += 2
    for peer in range(world.agents):
        if peer != agent:
            letter = new_letter(world, letters, codes.LEAVE if leaves else codes.JOIN, agent, peer)
            if world.tolerant:
                letter.notice = agents[agent].notices + (1 if leaves else 0)
                links[agent, peer].is_unheard = links[agent, peer].is_unheard or not leaves
    if world.tolerant and not leaves:
        expect_from_all(world, agents, links, agent, np.float64(slot))


@compiled
def take_kept(world: Record, mail: Table, letters: Table, agent: int) -> bool:
    """Take the next message that was kept for an agent that is back; it is the current one then."""
    for place in range(world.kept_end):
        if mail[KEPT, place].receiver == agent:
            letters[CURRENT] = mail[KEPT, place]
            world.kept_end -= 1
            for later in range(place, world.kept_end):
                mail[KEPT, later] = mail[KEPT, later + 1]
            return True
    return False
