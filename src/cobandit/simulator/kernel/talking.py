"""When to talk and what to say, compiled: `Exchange`, `Replica` and `Endpoint` on tables.

Functions carry the names of the readable methods, so that the two can be read side by side.
"""

import numpy as np

from cobandit.core import thresholds
from cobandit.core.protocols.rules import Input
from cobandit.core.thresholds import PHASE_BITS, phased
from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.bits import WORD, lowest
from cobandit.simulator.kernel.jit import borrow, inlined
from cobandit.simulator.kernel.mail import keep, post, speak, tell
from cobandit.simulator.kernel.sizes import SHARE_FRAME, bits_of, count_beyond, integer_size, note_size, told_size
from cobandit.simulator.kernel.slices import add_reward, add_slice, known_of, note_own
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Record, Tables
from cobandit.simulator.kernel.windows import merge_in_window, observe_in_period, windowed_size

borrow(thresholds.phased)

_SHARE, _DELIVERY = int(Kind.SHARE), int(Kind.DELIVERY)
_PHASE_MASK = (1 << PHASE_BITS) - 1

OBSERVED, HEARD, LEFT, JOINED = (int(happened) for happened in Input)
"""What can happen to a pair: places in the protocol's table."""


@inlined
def observe(t: Tables, agent: int, arm: int, reward: int) -> None:
    """Count one own observation (`Policy.update_all`, `Replica.observe`)."""
    me, mine = t.agents[agent], t.seen[agent, arm]
    if t.world.graded:
        t.knowledge[me.row, mine.position] += ONE_OBSERVATION
        t.history[me.history + me.own_pulls] = 2 * arm
        t.units[me.history + me.own_pulls] = reward
        mine.squares += reward * reward // t.world.square_unit
        add_reward(t, t.sums[me.row, mine.position], reward)
    else:
        t.knowledge[me.row, mine.position] += ONE_OBSERVATION + reward
        t.history[me.history + me.own_pulls] = 2 * arm + reward
    t.agents[me.row].observed += 1
    me.own_pulls += 1
    mine.pulls += 1
    mine.rewards += reward
    if t.world.has_milestones:
        note_own(t, agent, arm, reward)
    if t.world.windowed:
        observe_in_period(t, agent, arm, reward)
    if t.world.counts_sizes and t.pairs.shape[0] > 0:
        note_size(t, agent, arm)
    t.changed[agent, arm] = me.own_pulls
    if not t.world.same_arms:
        for number in range(t.members.shape[0]):
            t.usable[agent, number] += t.members[number, arm]


@inlined
def merge(t: Tables, sender: int, receiver: int, base: int, version: int) -> None:
    """Add a slice of the sender's history to what the receiver knows (`Replica.merge`, Algorithm 1, line 16)."""
    if t.world.windowed:
        merge_in_window(t, sender, receiver, base, version)
        return
    begin = t.agents[sender].history
    if t.world.same_order:
        add_slice(t, sender, receiver, base, version)
        t.agents[receiver].observed += version - base
        return
    for place in range(begin + base, begin + version):
        code = t.history[place]
        position = t.seen[receiver, code >> 1].position
        if position >= 0:
            t.knowledge[receiver, position] += known_of(code)
            t.agents[receiver].observed += 1
            if t.world.graded:
                add_reward(t, t.sums[receiver, position], np.int64(t.units[place]))


@inlined
def threshold_at(t: Tables, agent: int, peer: int, share_number: int) -> int:
    """Return f(c) for a share with this number (`Threshold.at`, `Geometric.between`)."""
    if t.world.per_candidate:
        candidates, doublings = t.agents[t.agents[agent].row].candidates, share_number - 1
        if doublings >= 62 or candidates > t.world.cap >> doublings:
            return t.world.cap
        return candidates << doublings
    size = t.thresholds[min(share_number, t.thresholds.shape[0]) - 1]
    if t.world.phased:
        phase = (t.agents[agent].phase_key + t.agents[peer].phase_key) & _PHASE_MASK
        return min(phased(size, phase), t.world.cap)
    return size


@inlined
def buffered(t: Tables, pair: Record, agent: int, peer: int) -> int:
    """Return how many observations that the peer can use were made since the last share to it."""
    if t.world.same_arms:
        return t.agents[agent].own_pulls - pair.shared_version
    return t.usable[agent, t.agents[peer].arm_set] - pair.shared_usable


@inlined
def has_reached(t: Tables, agent: int, peer: int) -> bool:
    """Return whether the buffer holds enough for a share (`Exchange.has_reached`)."""
    pair = t.pairs[agent, peer]
    return buffered(t, pair, agent, peer) >= threshold_at(t, agent, peer, pair.share_number)


@inlined
def can_answer(t: Tables, agent: int, peer: int) -> bool:
    """Return whether the buffer holds enough for an answer (`thresholds.needed`)."""
    if t.world.answers_wait:
        return has_reached(t, agent, peer)
    return buffered(t, t.pairs[agent, peer], agent, peer) >= 1


@inlined
def settled(t: Tables, agent: int, peer: int) -> bool:
    """Return whether the pair has nothing left to learn (`Endpoint.settled`)."""
    if not t.world.settles or t.agents[t.agents[agent].row].candidates > 1:
        return False
    return t.world.same_arms or t.bonds[agent, peer].believed_candidates == 1


@inlined
def is_told(t: Tables, agent: int, peer: int, arm: int) -> bool:
    """Return whether a peer is told of an elimination (`Endpoint.eliminate`)."""
    if t.world.literal_notices:
        return t.seen[peer, arm].position >= 0
    return t.bonds[agent, peer].common > 0


@inlined
def take(t: Tables, happened: int, agent: int, peer: int, reached: bool) -> bool:
    """Look up what an input does to a pair, and do it (`Exchange._take`). Return whether to share now."""
    word, bit = peer // WORD, np.uint64(1) << np.uint64(peer % WORD)
    others = t.demanded[agent, word] & ~bit
    step = t.rules[happened, int(t.demanded[agent, word] != others), int(reached)]
    t.demanded[agent, word] = others | bit if step.demanded else others
    return step.shares


@inlined
def concerned(t: Tables, agent: int, word: int) -> np.uint64:
    """Return the peers to whom an own observation can matter, by the protocol's table: a word of bits."""
    asked = t.demanded[agent, word]
    return asked & t.world.if_asked | t.others[agent, word] & ~asked & t.world.if_not_asked


@inlined
def observed_for(t: Tables, agent: int, peer: int, arm: int) -> bool:
    """Take an own observation for a peer. Return whether to share now (Algorithm 1, lines 7 and 8)."""
    if (not t.world.same_arms and t.seen[peer, arm].position < 0) or settled(t, agent, peer):
        return False
    return take(t, OBSERVED, agent, peer, has_reached(t, agent, peer))


@inlined
def share_received(t: Tables, agent: int, peer: int) -> bool:
    """Take a share of the peer. Return whether it is to be answered now (Algorithm 1, lines 17 to 21)."""
    return not settled(t, agent, peer) and take(t, HEARD, agent, peer, can_answer(t, agent, peer))


@inlined
def count_size(t: Tables, sender: int, receiver: int, count: int, base: int) -> None:
    """Add the size of a share, in bytes on the wire but for its head (`sizes.heads_size`), and in bits."""
    if t.world.windowed:
        t.world.bytes += windowed_size(t, sender, receiver, base) + count_beyond(count)
    else:
        t.world.bytes += told_size(t, sender, receiver, count, base)
    common = t.agents[sender].arm_count if t.world.same_arms else t.bonds[sender, receiver].common
    t.world.bits += 2 * common * bits_of(t, count)


@inlined
def number_share(t: Tables, pair: Record, is_answer: bool) -> None:
    """Give a share its number, and move c on (`Exchange._take`)."""
    pair.shares += 1
    if not is_answer or t.world.answers_advance:
        pair.share_number += 1


@inlined
def share(t: Tables, slot: int, sender: int, receiver: int, is_answer: bool) -> int:
    """Renew the buffer and move c on (Algorithm 1, lines 9 to 11, 18 and 19). Return the version shared before."""
    pair = t.pairs[sender, receiver]
    count = buffered(t, pair, sender, receiver)
    base, version = np.int64(pair.shared_version), t.agents[sender].own_pulls
    pair.shared_version = version
    if not t.world.same_arms:
        pair.shared_usable = t.usable[sender, t.agents[receiver].arm_set]
    number_share(t, pair, is_answer)
    speak(t, t.agents[sender], slot)
    if t.world.counts_sizes:
        count_size(t, sender, receiver, count, base)
    tell(t, slot, _SHARE, sender, receiver, pair.shares, count, version)
    return base


@inlined
def send_share(t: Tables, slot: int, sender: int, receiver: int, is_answer: bool) -> None:
    """Share the buffer. With zero delay go on until the pair is quiet: a share may be answered, and the answer too."""
    base = share(t, slot, sender, receiver, is_answer)
    while t.world.delay == 0 and not t.agents[receiver].away:
        tell(t, slot, _DELIVERY, receiver, sender, t.pairs[sender, receiver].shares, 0, 0)
        merge(t, sender, receiver, base, t.agents[sender].own_pulls)
        if not share_received(t, receiver, sender):
            return
        sender, receiver = receiver, sender
        base = share(t, slot, sender, receiver, True)
    version, number = t.agents[sender].own_pulls, t.pairs[sender, receiver].shares
    if t.world.delay > 0:
        post(t, slot + t.world.delay, codes.SHARE, sender, receiver, base, version, number)
    else:
        keep(t, codes.SHARE, sender, receiver, base, version, number)


@inlined
def share_with_peers(t: Tables, slot: int, agent: int, arm: int) -> bool:
    """Share with every peer with which the protocol says so (Algorithm 1, lines 6 to 11)."""
    sent = False
    for word in range(t.demanded.shape[1]):
        peers = concerned(t, agent, word)
        while peers != 0:
            peer = WORD * word + lowest(peers)
            peers &= peers - np.uint64(1)
            if observed_for(t, agent, peer, arm):
                send_share(t, slot, agent, peer, False)
                sent = True
    return sent


@inlined
def broadcast(t: Tables, slot: int, agent: int, arm: int) -> bool:
    """Share one observation with everybody, when everybody always knows the same: only counting is left."""
    if t.world.agents == 1 or (t.world.settles and t.agents[0].candidates == 1):
        return False
    me = t.agents[agent]
    number = me.own_pulls  # every pull so far was shared with everybody; `engine.finish` copies it to all pairs
    t.pairs[agent, agent].shares = number
    speak(t, me, slot)
    if t.world.counts_sizes:
        size = SHARE_FRAME + 1 + 2 * me.name_size + integer_size(number)
        t.world.bytes += (t.world.agents - 1) * (size + t.entry_sizes[agent, arm])
        t.world.bytes += t.world.agent_names_size - me.name_size
        t.world.bits += 2 * me.arm_count * (t.world.agents - 1)
    if t.trace.shape[0] > 0:
        for peer in range(t.world.agents):
            if peer != agent:
                tell(t, slot, _SHARE, agent, peer, number, 1, number)
                tell(t, slot, _DELIVERY, peer, agent, number, 0, 0)
    return True
