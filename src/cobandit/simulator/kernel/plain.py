"""Sharing where nothing special is asked for, compiled: most of the paper's experiments, and most of their time.

Who has asked gets a share, the threshold is constant, all have the same arms, there is no delay and no trace, and
nobody is away. So a pair is quiet after a share and its answer, and all are settled at once. What differs from peer to
peer is whether there is an answer, and nobody can foresee it: a processor that guesses wrong loses more time than the
answer takes. So short answers are computed without asking, and count for nothing where there is none.
"""

import numpy as np

from cobandit.simulator.kernel.bits import WORD, lowest
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.mail import speak
from cobandit.simulator.kernel.sizes import bits_of, recent_size, told_size
from cobandit.simulator.kernel.slices import SPARE, add_slice, known_of
from cobandit.simulator.kernel.tables import Tables
from cobandit.simulator.kernel.talking import HEARD, OBSERVED, settled


@inlined
def count_known(t: Tables, agent: int) -> None:
    """Count the observations that an agent knows of: here shares do not, because few decisions follow many of them."""
    known = 0
    for arm in range(t.knowledge.shape[1]):
        known += t.knowledge[agent, arm]
    t.agents[agent].observed = known >> 32  # the rewards of all decisions fit the lower half


@compiled
def share_plainly(t: Tables, slot: int, agent: int) -> bool:  # noqa: PLR0915  # one loop on numbers in registers
    """Do what `share_with_peers` and `send_share` do. Return whether anything was shared."""
    if settled(t, agent, agent):
        return False
    # Unsigned positions: a compiler that knows that an index is not negative need not look.
    me, my_place, enough = t.agents[agent], np.uint64(agent), t.thresholds[0]
    my_word, my_shift = my_place // np.uint64(WORD), my_place % np.uint64(WORD)
    version, last = me.own_pulls, t.history[me.history + me.own_pulls - 1]
    last_arm, last_value = last >> np.uint16(1), known_of(last)
    asked_after = t.rules[OBSERVED, 1, 1].demanded
    asked_after_answer = t.rules[HEARD, int(asked_after), 0].demanded
    counts_sizes, is_short, numbers = t.world.counts_sizes, not t.world.graded, 2 * me.arm_count * t.world.counts_sizes
    last_size, last_bits = recent_size(t, agent, version - 1), numbers * bits_of(t, 1)
    sizes, bits, rounds, sent = t.world.bytes, t.world.bits, t.world.agent_rounds, False
    for word in range(np.uint64(t.demanded.shape[1])):
        asking = t.demanded[my_place, word]
        still_asking = asking
        while asking != 0:
            peer = np.uint64(WORD) * np.uint64(word) + np.uint64(lowest(asking))
            bit = asking & (~asking + np.uint64(1))
            asking ^= bit
            there, back, other = t.pairs[my_place, peer], t.pairs[peer, my_place], t.agents[peer]
            fresh = version - there.shared_version
            if fresh < enough:
                continue
            sent = True
            if fresh == 1 and is_short:
                t.knowledge[peer, last_arm] += last_value
                sizes += last_size
                bits += last_bits
            else:
                add_slice(t, my_place, peer, version - fresh, version)
                if counts_sizes:
                    sizes += told_size(t, my_place, peer, fresh, version - fresh)
                    bits += numbers * bits_of(t, fresh)
            there.shared_version = version
            there.shares += 1
            theirs = other.own_pulls
            owed = theirs - back.shared_version
            asked = t.demanded[peer, my_word] >> my_shift & np.uint64(1)
            case = asked << np.uint64(1) | np.uint64(owed >= enough)
            answers = np.int64(t.world.heard_shares >> case & np.uint64(1))
            demands = t.world.heard_demands >> case & np.uint64(1)
            t.demanded[peer, my_word] ^= (asked ^ demands) << my_shift
            count = owed * answers
            if count <= SPARE and is_short:
                begin = other.history + theirs - count
                one, two = t.history[np.uint64(begin)], t.history[np.uint64(begin + 1)]
                t.knowledge[my_place, one >> np.uint16(1)] += known_of(one) & all_bits_above(0, count)
                t.knowledge[my_place, two >> np.uint16(1)] += known_of(two) & all_bits_above(1, count)
                sizes += recent_size(t, peer, theirs - owed) & all_bits_above(0, count)
                bits += numbers * t.log_counts[np.uint64(count)]
            else:
                add_slice(t, peer, my_place, theirs - count, theirs)
                if counts_sizes and count > 0:
                    sizes += told_size(t, peer, my_place, count, theirs - count)
                    bits += numbers * bits_of(t, count)
            back.shared_version += count
            back.shares += answers
            rounds += answers & np.int64(other.spoke_at != slot)
            other.spoke_at = slot if answers else other.spoke_at
            if not (asked_after_answer if answers else asked_after):
                still_asking ^= bit
        t.demanded[my_place, word] = still_asking
    t.world.bytes, t.world.bits, t.world.agent_rounds = sizes, bits, rounds
    if sent:
        speak(t, me, slot)
    return sent


@inlined
def all_bits_above(least: int, count: int) -> int:
    """Return all bits if a count is above the least one, or none: a compiler makes no jump of it."""
    return (least - count) >> 63
