"""The bytes of a message on the wire, compiled: what `cobandit.codec.encode` would make, without making it."""

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.tables import Record, Tables

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


@inlined
def integer_size(value: int) -> int:
    """Return how many bytes a whole number takes in MessagePack."""
    if value < 128:
        return 1
    if value < 256:
        return 2
    if value < 65536:
        return 3
    if value < 4294967296:
        return 5
    return 9


@inlined
def entry_size(seen: Record, squares: int) -> int:
    """Return the bytes of an arm's cumulative tally. The squares of 0 and 1 are their rewards."""
    return 1 + seen.name_size + integer_size(seen.pulls) + integer_size(seen.rewards) + integer_size(squares)


@inlined
def share_size(t: Tables, sender: int, receiver: int, number: int, count: int, base: int) -> int:
    """Return the bytes of a share: a frame, and an entry for each common arm that changed after `base`."""
    me, version = t.agents[sender], t.agents[sender].own_pulls
    listed = 0
    size = SHARE_FRAME + 2 * me.name_size + t.agents[receiver].name_size
    size += integer_size(number) + integer_size(count)
    if version - base < t.seen.shape[1]:
        for place in range(base, version):  # an arm is listed for its last observation in the slice
            arm = t.history[me.history + place] >> 1
            mine = t.seen[sender, arm]
            if mine.changed_at == place + 1 and (t.world.same_arms or t.seen[receiver, arm].position >= 0):
                listed += 1
                size += mine.entry_size
    else:
        for arm in range(t.seen.shape[1]):
            mine = t.seen[sender, arm]
            if mine.changed_at > base and (t.world.same_arms or t.seen[receiver, arm].position >= 0):
                listed += 1
                size += mine.entry_size
    return size + (0 if listed < 16 else 2)


@inlined
def tally_size(t: Tables, arm: int, value: int) -> int:
    """Return the bytes of a tally that stands in one integer."""
    return 1 + t.seen[0, arm].name_size + integer_size(value >> 32) + 2 * integer_size(value & 0xFFFFFFFF)


@compiled
def parcel_size(t: Tables, letter: Record) -> int:
    """Return the bytes of a share with relays or on a graph: its cells come in a group for each origin."""
    size = EMPTY_SHARE_FRAME + t.agents[letter.sender].name_size + t.agents[letter.receiver].name_size
    size += integer_size(letter.number) + integer_size(letter.count)
    room, arms = t.parcels.shape[1], t.world.arms
    if letter.version == 0:
        return size
    if not t.world.is_graph and letter.receiver < t.world.agents:  # totals: of everybody else, whose name is empty
        for place in range(letter.since, letter.since + letter.version):
            entry = t.parcels[letter.pool, place % room]
            size += tally_size(t, entry[0], entry[1])
        return size + CELLS_FRAME + 1 + (0 if letter.version < 16 else 2)
    origins = 0
    for place in range(letter.since, letter.since + letter.version):
        entry = t.parcels[letter.pool, place % room]
        group = t.groups[entry[0] // arms]
        if group[0] != t.world.shares:  # the number of this one
            group[0], group[1] = t.world.shares, 0
            origins += 1
            size += CELLS_FRAME + t.agents[entry[0] // arms].name_size
        group[1] += 1
        size += tally_size(t, entry[0] % arms, entry[1]) + (2 if group[1] == 16 else 0)
    return size + (0 if origins < 16 else 2)


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


@compiled
def letter_size(t: Tables, letter: Record) -> int:
    """Return the bytes of a share or of a bare acknowledgement, where messages may be lost."""
    sender, receiver = letter.sender, letter.receiver
    names = t.agents[sender].name_size + t.agents[receiver].name_size
    if not t.world.tolerant:
        return share_size(t, sender, receiver, letter.number, letter.count, letter.since)
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
    listed = 0
    for arm in range(t.seen.shape[1] if letter.version > 0 else 0):
        if t.seen[sender, arm].changed_at > letter.since and t.seen[receiver, arm].position >= 0:
            listed += 1
            size += t.seen[sender, arm].entry_size
    if listed > 0:
        size += CELLS_FRAME + t.agents[sender].name_size
    return size + (0 if listed < 16 else 2)


@compiled
def notice_size(t: Tables, kind: int, sender: int, receiver: int, arm: int, number: int, claim: tuple[int, int]) -> int:
    """Return the bytes of a notice."""
    size = NOTICE_FRAME + t.agents[sender].name_size + t.agents[receiver].name_size
    size += integer_size(claim[0]) + integer_size(claim[1])
    if kind == codes.ELIMINATED:
        return size + ELIMINATIONS_FRAME + t.agents[sender].name_size + t.seen[sender, arm].name_size
    return size + presence_size(t, sender, number)
