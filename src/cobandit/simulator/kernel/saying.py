"""What is said where messages may be lost, compiled: fresh shares, repetitions, and what a decision brings about.

Outgoing messages go to the stack of `lossy.py`.
"""

import math

import numpy as np

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.bits import WORD, lowest
from cobandit.simulator.kernel.jit import compiled
from cobandit.simulator.kernel.lossy import new_letter
from cobandit.simulator.kernel.tables import Record, Table
from cobandit.simulator.kernel.talking import buffered, settled, threshold_at, withdraw
from cobandit.simulator.kernel.waiting import (
    eliminated,
    expect,
    expect_from_all,
    flush_at,
    has_reached,
    has_unsaid,
    owes,
    schedule,
    wake_by,
)


@compiled
def write_share(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    links: Table,
    usable: Table,
    letters: Table,
    agent: int,
    peer: int,
    count: int,
    is_answer: bool,
) -> None:
    """Write the newest state with the number of the last share (`Endpoint._say`)."""
    pair, link, version = pairs[agent, peer], links[agent, peer], agents[agent].own_pulls
    pair.shared_version = version
    if not world.same_arms:
        pair.shared_usable = usable[agent, agents[peer].arm_set]
    letter = new_letter(world, agents, letters, codes.SHARE, agent, peer)
    letter.number = pair.shares
    letter.count = count
    letter.attempt = link.attempts
    letter.is_answer = is_answer
    if version > link.confirmed:
        letter.since, letter.version = link.confirmed, version
    if agents[agent].eliminated_at > link.acknowledged and bonds[agent, peer].common > 0:
        letter.gone = eliminated(agents, agent)
    if agents[agent].presence_at > link.acknowledged:
        letter.notice = agents[agent].notices
    letter.claim_from, letter.claim_upto = link.acknowledged, agents[agent].number
    write_receipt(link, letter)


@compiled
def write_receipt(link: Record, letter: Record) -> None:
    """Write what the sender has of the receiver's."""
    letter.seen, letter.held_version, letter.held = link.seen, link.held_version, link.held


@compiled
def share(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    links: Table,
    usable: Table,
    thresholds: Table,
    letters: Table,
    agent: int,
    peer: int,
    is_answer: bool,
    now: float,
) -> None:
    """Write a fresh share (`Exchange._take`, `Endpoint._share`)."""
    pair = pairs[agent, peer]
    count, base = buffered(world, agents, pair, usable, agent, peer), np.int64(pair.shared_version)
    pair.shares += 1
    if not is_answer or world.answers_advance:
        pair.share_number += 1
    if world.tolerant:
        link = links[agent, peer]
        link.phase = codes.WAITING
        link.shared_at = now
        link.filled = np.float64(threshold_at(world, agents, thresholds, agent, max(1, pair.share_number - 1)))
        link.attempts = 0
        link.can_be_timed = True
        expect(world, link, now)
        schedule(world, agents, link, agent)
        write_share(world, agents, pairs, bonds, links, usable, letters, agent, peer, count, False)
        return
    pair.shared_version = agents[agent].own_pulls
    if not world.same_arms:
        pair.shared_usable = usable[agent, agents[peer].arm_set]
    letter = new_letter(world, agents, letters, codes.SHARE, agent, peer)
    letter.number, letter.count = pair.shares, count
    letter.since, letter.version = base, agents[agent].own_pulls


@compiled
def repeat(
    world: Record,
    agents: Table,
    pairs: Table,
    bonds: Table,
    links: Table,
    usable: Table,
    thresholds: Table,
    letters: Table,
    agent: int,
    peer: int,
    now: float,
    is_answer: bool,
) -> None:
    """Write the last share again: the same number, the newest state (`Endpoint._repeat`)."""
    link = links[agent, peer]
    carried = agents[agent].own_pulls - link.confirmed
    if has_reached(world, agents, pairs, usable, thresholds, agent, peer):
        pairs[agent, peer].share_number += 1
    link.attempts += 1
    link.can_be_timed = False
    link.wait = min(link.wait * world.growth, world.longest)
    link.sent_at = now
    link.retry_at = now + link.wait
    schedule(world, agents, link, agent)
    write_share(world, agents, pairs, bonds, links, usable, letters, agent, peer, carried, is_answer)


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
            link.urgent > link.acknowledged
            or not link.present
            or has_reached(world, agents, pairs, usable, thresholds, agent, peer)
        ):
            repeat(world, agents, pairs, bonds, links, usable, thresholds, letters, agent, peer, now, False)
        agents[agent].next_retry = min(agents[agent].next_retry, link.retry_at)


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
        agents[agent].number += 1
        agents[agent].eliminated_at = agents[agent].own_eliminated_at = agents[agent].number
        if world.tolerant:
            expect_from_all(world, agents, links, agent, now)
        for peer in range(world.agents):
            if peer != agent and bonds[agent, peer].common > 0:
                links[agent, peer].urgent = agents[agent].number
                new_letter(world, agents, letters, codes.ELIMINATED, agent, peer).since = dropped[place]
    agents[agent].number += 1
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
                share(world, agents, pairs, bonds, links, usable, thresholds, letters, agent, peer, False, now)
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
    """Write what is not acknowledged, if an agent has not observed anything for long (`Endpoint.wake`)."""
    now = np.float64(slot)
    agents[agent].wake_at = math.inf
    for peer in range(world.agents):
        link = links[agent, peer]
        if peer == agent or not (
            owes(world, agents, bonds, link, agent, peer) or has_unsaid(world, agents, bonds, seen, link, agent, peer)
        ):
            continue
        if now >= flush_at(world, agents, link, agent):
            repeat(world, agents, pairs, bonds, links, usable, thresholds, letters, agent, peer, now, False)
        wake_by(world, agents, agent, flush_at(world, agents, link, agent))


@compiled
def write_move(world: Record, agents: Table, links: Table, letters: Table, slot: int, agent: int, leaves: bool) -> None:
    """Write the notices of an agent that leaves or is back (`Endpoint.leave`, `Endpoint.join`)."""
    me = agents[agent]
    if not leaves:
        me.notices += 2
        me.number += 1
        me.presence_at = me.number
    for peer in range(world.agents):
        if peer != agent:
            letter = new_letter(world, agents, letters, codes.LEAVE if leaves else codes.JOIN, agent, peer)
            letter.notice = me.notices + (1 if leaves else 0)
            if world.tolerant and not leaves:
                letter.claim_from, letter.claim_upto = me.number - 1, me.number
                links[agent, peer].urgent = me.number
    if world.tolerant and not leaves:
        expect_from_all(world, agents, links, agent, np.float64(slot))
