"""What is said where messages may be lost, compiled: fresh shares, repetitions, and what a decision brings about.

Outgoing messages go to the stack of `lossy.py`.
"""

import math

import numpy as np

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.bits import WORD, lowest
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.lossy import new_letter
from cobandit.simulator.kernel.tables import Record, Tables
from cobandit.simulator.kernel.talking import buffered, concerned, has_reached, is_told, number_share, observed_for
from cobandit.simulator.kernel.waiting import (
    eliminated,
    expect_from_all,
    flush_at,
    has_unsaid,
    owes,
    schedule,
    shared,
    wake_by,
)


@compiled
def write_share(t: Tables, agent: int, peer: int, count: int, is_answer: bool) -> None:
    """Write the newest state with the number of the last share (`Speech._say`)."""
    pair, link, version = t.pairs[agent, peer], t.links[agent, peer], t.agents[agent].own_pulls
    pair.shared_version = version
    if not t.world.same_arms:
        pair.shared_usable = t.usable[agent, t.agents[peer].arm_set]
    letter = new_letter(t, codes.SHARE, agent, peer)
    letter.number = pair.shares
    letter.count = count
    letter.attempt = link.attempts
    letter.is_answer = is_answer
    if version > link.confirmed:
        letter.since, letter.version = link.confirmed, version
    if t.agents[agent].eliminated_at > link.acknowledged and t.bonds[agent, peer].common > 0:
        letter.gone = eliminated(t, agent)
    if t.agents[agent].presence_at > link.acknowledged:
        letter.notice = t.agents[agent].notices
    letter.claim_from, letter.claim_upto = link.acknowledged, t.agents[agent].number
    write_receipt(link, letter)


@inlined
def write_receipt(link: Record, letter: Record) -> None:
    """Write what the sender has of the receiver's."""
    letter.seen, letter.held_version, letter.held = link.seen, link.held_version, link.held


@compiled
def share(t: Tables, agent: int, peer: int, is_answer: bool, now: float) -> None:
    """Write a fresh share (`Exchange._take`, `Speech.share`)."""
    pair = t.pairs[agent, peer]
    count, base = buffered(t, pair, agent, peer), np.int64(pair.shared_version)
    number_share(t, pair, is_answer)
    if t.world.tolerant:
        shared(t, t.links[agent, peer], pair, agent, peer, now)
        write_share(t, agent, peer, count, False)
        return
    pair.shared_version = t.agents[agent].own_pulls
    if not t.world.same_arms:
        pair.shared_usable = t.usable[agent, t.agents[peer].arm_set]
    letter = new_letter(t, codes.SHARE, agent, peer)
    letter.number, letter.count = pair.shares, count
    letter.since, letter.version = base, t.agents[agent].own_pulls


@compiled
def repeat(t: Tables, agent: int, peer: int, now: float, is_answer: bool) -> None:
    """Write the last share again: the same number, the newest state (`Speech.repeat`)."""
    link = t.links[agent, peer]
    carried = t.agents[agent].own_pulls - link.confirmed
    if has_reached(t, agent, peer):
        t.pairs[agent, peer].share_number += 1
    link.attempts += 1
    link.can_be_timed = False
    link.wait = min(link.wait * t.world.growth, t.world.longest)
    link.sent_at = now
    link.retry_at = now + link.wait
    schedule(t, link, agent)
    write_share(t, agent, peer, carried, is_answer)


@compiled
def repeat_what_is_due(t: Tables, agent: int, now: float) -> None:
    """Repeat what was not acknowledged in time, and has enough to say."""
    t.agents[agent].next_retry = math.inf
    for peer in range(t.world.agents):
        link = t.links[agent, peer]
        if peer == agent or not owes(t, link, agent, peer):
            continue
        is_urgent = link.urgent > link.acknowledged or not link.present
        if now >= link.retry_at and (is_urgent or has_reached(t, agent, peer)):
            repeat(t, agent, peer, now, False)
        t.agents[agent].next_retry = min(t.agents[agent].next_retry, link.retry_at)


@compiled
def after_decision(t: Tables, slot: int, agent: int, arm: int) -> bool:
    """Write what one decision brings about (`Agent._observe`). Return whether there is a fresh share in it."""
    now = np.float64(slot)
    for place in range(t.world.dropped if t.world.policy == codes.AAE else 0):
        before = eliminated(t, agent) - t.world.dropped + place
        t.gone[agent, before] = t.dropped[place]
        t.agents[agent].number += 1
        t.agents[agent].eliminated_at = t.agents[agent].own_eliminated_at = t.agents[agent].number
        if t.world.tolerant:
            expect_from_all(t, agent, now)
        for peer in range(t.world.agents):
            if peer != agent and is_told(t, agent, peer, t.dropped[place]):
                t.links[agent, peer].urgent = t.agents[agent].number
                new_letter(t, codes.ELIMINATED, agent, peer).since = t.dropped[place]
    t.agents[agent].number += 1
    sent = False
    for word in range(t.demanded.shape[1]):
        peers = concerned(t, agent, word)
        while peers != 0:
            peer = WORD * word + lowest(peers)
            peers &= peers - np.uint64(1)
            if observed_for(t, agent, peer, arm):
                share(t, agent, peer, False, now)
                sent = True
    if t.world.tolerant:
        t.agents[agent].last_observed = now
        t.agents[agent].wake_at = now + t.world.tick
        t.world.next_wake = min(t.world.next_wake, t.agents[agent].wake_at)
        if now >= t.agents[agent].next_retry:
            repeat_what_is_due(t, agent, now)
    return sent


@compiled
def wake(t: Tables, slot: int, agent: int) -> None:
    """Write what is not acknowledged, if an agent has not observed anything for long (`Endpoint.wake`)."""
    now = np.float64(slot)
    t.agents[agent].wake_at = math.inf
    for peer in range(t.world.agents):
        link = t.links[agent, peer]
        if peer == agent or not (owes(t, link, agent, peer) or has_unsaid(t, link, agent, peer)):
            continue
        if now >= flush_at(t, link, agent):
            repeat(t, agent, peer, now, False)
        wake_by(t, agent, flush_at(t, link, agent))


@compiled
def write_move(t: Tables, slot: int, agent: int, leaves: bool) -> None:
    """Write the notices of an agent that leaves or is back (`Endpoint.leave`, `Endpoint.join`)."""
    me = t.agents[agent]
    if not leaves:
        me.notices += 2
        me.number += 1
        me.presence_at = me.number
    for peer in range(t.world.agents):
        if peer != agent:
            letter = new_letter(t, codes.LEAVE if leaves else codes.JOIN, agent, peer)
            letter.notice = me.notices + (1 if leaves else 0)
            if t.world.tolerant and not leaves:
                letter.claim_from, letter.claim_upto = me.number - 1, me.number
                t.links[agent, peer].urgent = me.number
    if t.world.tolerant and not leaves:
        expect_from_all(t, agent, np.float64(slot))
