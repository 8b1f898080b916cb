"""The bytes of a message on the wire, compiled: what `cobandit.codec.encode` would make, without making it."""

import math

import numpy as np

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.cells import origin_of
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.tables import Record, Table, Tables

MESSAGE_FRAME = 8
"""A checksum; the head of the envelope, wire version, the empty group and kind."""

CHANGES_FRAME = 5
"""Heads of the changes and of their four lists."""

NO_CLAIM = 2
"""Changes from 0 up to 0."""

CELLS_FRAME = 6
"""Heads of the cells and of their tallies; incarnation, bandit, segment and period, of which there is one each."""

SHARE_FRAME = MESSAGE_FRAME + 1 + CHANGES_FRAME + NO_CLAIM + CELLS_FRAME + 1
"""The head of the share; its changes, with one entry of cells; and that there is no delivery."""

EMPTY_SHARE_FRAME = SHARE_FRAME - CELLS_FRAME
"""A share that tells nothing."""

ELIMINATIONS_FRAME = 3
"""Heads of the eliminations and of their arms; the incarnation."""

PRESENCE_FRAME = 7
"""Heads of the presence and of its arms; session, incarnation, three truth values. The quantum comes to it."""

DELIVERY_FRAME = 6
"""Heads of the delivery and of its receipt; both sessions, is_answer, is_introduced."""

NOTICE_FRAME = MESSAGE_FRAME + 1 + CHANGES_FRAME + 2
"""And the head of the notice, the session, is_introduced."""

ACKNOWLEDGEMENT_FRAME = MESSAGE_FRAME + 1
"""And its head."""

RECENT = 16
"""Versions of which an agent keeps the sizes of shares."""

_RING = RECENT - 1

SMALL_COUNTS = 128
"""Counts below this have their logarithm in a table, and take one byte."""


def fill_sizes(shape: tuple[int, int]) -> dict[str, Table]:
    """Return the tables from which sizes are read, before anything was observed."""
    return {
        "changed": np.zeros(shape, np.int32),
        "entry_sizes": np.zeros(shape, np.int32),
        "recent_sizes": np.zeros((shape[0], RECENT), np.int32),
        "log_counts": np.array([math.log2(count + 1) for count in range(SMALL_COUNTS)]),
    }


@inlined
def integer_size(value: int) -> int:
    """Return how many bytes a whole number takes in MessagePack."""
    return 1 + (value >= 128) + (value >= 256) + 2 * (value >= 65536) + 4 * (value >= 4294967296)


@inlined
def entry_size(seen: Record, squares: int) -> int:
    """Return the bytes of an arm's cumulative tally. The squares of 0 and 1 are their rewards."""
    return 1 + seen.name_size + integer_size(seen.pulls) + integer_size(seen.rewards) + integer_size(squares)


@inlined
def note_size(t: Tables, agent: int, arm: int) -> None:
    """Take an own observation, which is counted already but for `Tables.changed`, for the sizes of shares.

    In the ring of recent versions, a place has the bytes of all arms observed after its version. The arm comes to those
    that did not have it, and its growth to the others.
    """
    seen, before = t.seen[agent, arm], t.agents[agent].own_pulls - 1
    old, new = t.entry_sizes[agent, arm], np.int32(entry_size(seen, seen.squares if t.world.graded else seen.rewards))
    t.entry_sizes[agent, arm] = new
    if t.world.one_table or not t.world.same_arms:
        return
    grown, age, latest = new - old, np.int32(min(before - t.changed[agent, arm], RECENT)), np.int32(before & _RING)
    t.recent_sizes[agent, latest] = 0
    for place in range(np.uint64(t.recent_sizes.shape[1])):
        ago = (latest - np.int32(place)) & np.int32(_RING)
        t.recent_sizes[agent, place] += new if ago <= age else grown


@inlined
def recent_size(t: Tables, agent: int, base: int) -> int:
    """Return the bytes of the entries of all arms that changed after a recent version."""
    return np.int64(t.recent_sizes[agent, np.uint64(base & _RING)])


@inlined
def entries_size(t: Tables, sender: int, receiver: int, base: int) -> int:
    """Return the bytes of what a share tells: an entry for each common arm that changed after `base`."""
    me, version = t.agents[sender], t.agents[sender].own_pulls
    if t.world.same_arms and version - base < RECENT:
        return recent_size(t, sender, base)
    listed = size = np.int64(0)
    if t.world.same_arms:
        for arm in range(np.uint64(t.changed.shape[1])):
            is_listed = np.int32(t.changed[sender, arm] > np.int32(base))
            listed += is_listed
            size += is_listed * t.entry_sizes[sender, arm]
    elif version - base < t.changed.shape[1]:
        for place in range(base, version):  # an arm is listed for its last observation in the slice
            arm = t.history[me.history + place] >> 1
            if t.changed[sender, arm] == place + 1 and t.seen[receiver, arm].position >= 0:
                listed += 1
                size += t.entry_sizes[sender, arm]
    else:
        for arm in range(t.changed.shape[1]):
            if t.changed[sender, arm] > base and t.seen[receiver, arm].position >= 0:
                listed += 1
                size += t.entry_sizes[sender, arm]
    return size + (0 if listed < 16 else 2)


@inlined
def count_beyond(count: int) -> int:
    """Return the bytes of a count but for one."""
    return 0 if count < SMALL_COUNTS else integer_size(count) - 1


@inlined
def told_size(t: Tables, sender: int, receiver: int, count: int, base: int) -> int:
    """Return the bytes of a share but for its head (`heads_size`)."""
    return entries_size(t, sender, receiver, base) + count_beyond(count)


@inlined
def bits_of(t: Tables, count: int) -> float:
    """Return the bits of one number of a share (Definition 1)."""
    return t.log_counts[count] if count < SMALL_COUNTS else math.log2(count + 1)


@compiled
def heads_size(t: Tables) -> int:
    """Return the bytes of the heads of all shares so far, in a mesh that loses nothing: the same but for their number.

    What a share adds to its head is its entries, and what its count takes beyond one byte.
    """
    size = 0
    for sender in range(t.world.agents):
        for receiver in range(t.world.agents):
            count = np.int64(t.pairs[sender, receiver].shares)
            if count > 0 and receiver != sender:
                names = 2 * t.agents[sender].name_size + t.agents[receiver].name_size
                size += count * (SHARE_FRAME + names + 1) + numbers_size(count)
    return size


@inlined
def numbers_size(count: int) -> int:
    """Return the bytes of all numbers from 1 to a count."""
    size = count
    for least, more in ((128, 1), (256, 1), (65536, 2), (4294967296, 4)):
        size += more * max(0, count + 1 - least)
    return size


@inlined
def tally_size(t: Tables, arm: int, value: int) -> int:
    """Return the bytes of a tally that stands in one integer."""
    return 1 + t.seen[0, arm].name_size + integer_size(value >> 32) + 2 * integer_size(value & 0xFFFFFFFF)


@inlined
def share_head_size(t: Tables, letter: Record) -> int:
    """Return the bytes of a share with relays or on a graph but for its cells."""
    size = EMPTY_SHARE_FRAME + t.agents[letter.sender].name_size + t.agents[letter.receiver].name_size
    return size + integer_size(letter.number) + integer_size(letter.count)


@inlined
def list_beyond(count: int) -> int:
    """Return the bytes of the head of a list but for one."""
    return 0 if count < 16 else 2


@inlined
def note_cell(t: Tables, share: int, entry: Record) -> tuple[int, int]:
    """Return the bytes of a cell of a share, and whether it is the first one of its origin: each has a group."""
    group = t.groups[origin_of(t, entry.cell)]
    is_first = group.share != share
    group.share, group.cells = share, 1 + (0 if is_first else group.cells)
    return entry.bytes + (group.head if is_first else 0) + (2 if group.cells == 16 else 0), is_first


@compiled
def presence_size(t: Tables, agent: int, number: int) -> int:
    """Return the bytes of what an agent says of its being here."""
    me = t.agents[agent]
    size = PRESENCE_FRAME + me.name_size + integer_size(number) + (0 if me.arm_count < 16 else 2)
    size += integer_size(t.world.per_reward)
    for arm in range(t.seen.shape[1]):
        if t.seen[agent, arm].position >= 0:
            size += t.seen[agent, arm].name_size
    return size


@inlined
def fresh_size(t: Tables, link: Record, sender: int, receiver: int, number: int, count: int, claim: int) -> int:
    """Return the bytes of a loss-tolerant share that is said once and tells observations only (`letter_size`)."""
    size = MESSAGE_FRAME + 1 + DELIVERY_FRAME + 1 + CHANGES_FRAME + CELLS_FRAME
    size += 2 * t.agents[sender].name_size + t.agents[receiver].name_size
    size += integer_size(link.seen) + integer_size(link.held) + integer_size(number) + integer_size(count)
    size += integer_size(link.acknowledged) + integer_size(claim)
    return size + entries_size(t, sender, receiver, np.int64(link.confirmed))


@compiled
def letter_size(t: Tables, letter: Record) -> int:
    """Return the bytes of a share or of a bare acknowledgement, where messages may be lost."""
    sender, receiver = letter.sender, letter.receiver
    names = t.agents[sender].name_size + t.agents[receiver].name_size
    if not t.world.tolerant:
        size = SHARE_FRAME + names + t.agents[sender].name_size + integer_size(letter.number)
        return size + integer_size(letter.count) + entries_size(t, sender, receiver, letter.since)
    delivery = DELIVERY_FRAME + integer_size(letter.attempt) + integer_size(letter.seen) + integer_size(letter.held)
    if letter.kind == codes.ACKNOWLEDGEMENT:
        return ACKNOWLEDGEMENT_FRAME + names + delivery
    size = MESSAGE_FRAME + 1 + names + delivery + integer_size(letter.number) + integer_size(letter.count)
    size += CHANGES_FRAME + integer_size(letter.claim_from) + integer_size(letter.claim_upto)
    if letter.notice > 0:
        size += presence_size(t, sender, letter.notice)
    if letter.gone > 0:
        size += ELIMINATIONS_FRAME + t.agents[sender].name_size + (0 if letter.gone < 16 else 2)
        for place in range(letter.gone):
            size += t.seen[sender, t.gone[sender, place]].name_size
    told = entries_size(t, sender, receiver, letter.since) if letter.version > 0 else 0
    return size + told + (CELLS_FRAME + t.agents[sender].name_size if told > 0 else 0)


@compiled
def notice_size(t: Tables, kind: int, sender: int, receiver: int, arm: int, number: int, claim: tuple[int, int]) -> int:
    """Return the bytes of a notice."""
    size = NOTICE_FRAME + t.agents[sender].name_size + t.agents[receiver].name_size
    size += integer_size(claim[0]) + integer_size(claim[1])
    if kind == codes.ELIMINATED:
        return size + ELIMINATIONS_FRAME + t.agents[sender].name_size + t.seen[sender, arm].name_size
    return size + presence_size(t, sender, number)
