"""Loss-tolerant agents on a network that loses nothing, compiled: a share is heard where it is said, without a letter.

Everybody is here, all have the same arms, nothing is ruled out, there is no delay and no trace. So a peer has always
seen the last share, and both sides of a link are at hand. This does what `saying.share`, `lossy.account` and
`hearing.receive_share` do then. What is said again goes by letters, as elsewhere.
"""

import numpy as np

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.bits import WORD, lowest
from cobandit.simulator.kernel.delivering import send_all
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.lossy import EMPTY, turn_round
from cobandit.simulator.kernel.mail import speak
from cobandit.simulator.kernel.saying import repeat_what_is_due
from cobandit.simulator.kernel.sizes import bits_of, fresh_size
from cobandit.simulator.kernel.slices import add_slice
from cobandit.simulator.kernel.tables import Tables
from cobandit.simulator.kernel.talking import HEARD, OBSERVED, can_answer, concerned, has_reached, number_share, take
from cobandit.simulator.kernel.waiting import answered, shared


@compiled
def share_directly(t: Tables, slot: int, agent: int) -> bool:
    """Do what one decision brings about (`Agent._observe`). Return whether anything fresh was shared."""
    me, now, sent = t.agents[agent], np.float64(slot), False
    me.number += 1
    me.last_observed = now
    me.wake_at = now + t.world.tick
    t.world.next_wake = min(t.world.next_wake, me.wake_at)
    claim = me.number  # everything is written before anything is heard
    for word in range(t.demanded.shape[1]):
        peers = concerned(t, agent, word)
        while peers != 0:
            peer = WORD * word + lowest(peers)
            peers &= peers - np.uint64(1)
            if take(t, OBSERVED, agent, peer, has_reached(t, agent, peer)):
                share(t, slot, agent, peer, claim)
                sent = True
    if now >= me.next_retry:
        heard, me.number = me.number, claim
        repeat_what_is_due(t, agent, now)
        me.number = heard
        turn_round(t, EMPTY)
        send_all(t, slot)
    return sent


@inlined
def share(t: Tables, slot: int, sender: int, receiver: int, claim: int) -> None:
    """Share, and go on until the pair is quiet."""
    is_answer = False
    while True:
        say(t, slot, sender, receiver, claim, is_answer)
        if not is_answered(t, np.float64(slot), receiver, sender):
            return
        sender, receiver, claim, is_answer = receiver, sender, t.agents[receiver].number, True


@inlined
def say(t: Tables, slot: int, sender: int, receiver: int, claim: int, is_answer: bool) -> None:
    """Write a fresh share, count it, and let its receiver take what it tells."""
    me, pair = t.agents[sender], t.pairs[sender, receiver]
    mine, theirs = t.links[sender, receiver], t.links[receiver, sender]
    count, version = me.own_pulls - pair.shared_version, me.own_pulls
    number_share(t, pair, is_answer)
    pair.shared_version = version
    shared(t, mine, pair, sender, receiver, np.float64(slot))
    speak(t, me, slot)
    if t.world.counts_sizes:
        t.world.bytes += fresh_size(t, mine, sender, receiver, np.int64(pair.shares), count, claim)
        t.world.bits += 2 * me.arm_count * bits_of(t, count)
    add_slice(t, sender, receiver, np.int64(theirs.held_version), version)
    t.agents[receiver].observed += version - theirs.held_version
    t.agents[receiver].number += version - theirs.held_version
    theirs.held_version = version
    theirs.held = claim
    theirs.confirmed, theirs.acknowledged = mine.held_version, mine.held


@inlined
def is_answered(t: Tables, now: float, agent: int, peer: int) -> bool:
    """Take a fresh share, of which everything was taken that it tells. Return whether it is answered at once."""
    link = t.links[agent, peer]
    answered(link, now)
    link.seen = t.pairs[peer, agent].shares
    if take(t, HEARD, agent, peer, can_answer(t, agent, peer)):
        return True
    link.phase = codes.OPEN
    return False
