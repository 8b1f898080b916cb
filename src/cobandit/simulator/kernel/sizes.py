"""The bytes of a message on the wire, compiled: what `cobandit.wire.encode` would make, without making it."""

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.tables import Record, Table

MESSAGE_FRAME = 8
"""A checksum; the head of the envelope, wire version, the empty group and kind."""

SHARE_FRAME = MESSAGE_FRAME + 6
"""Heads of the share, its list of records, the record and its tallies; the boot; and that there is no handling."""

NOTICE_FRAME = MESSAGE_FRAME + 2
"""And the head of the notice, and the boot."""

HANDLED_FRAME = MESSAGE_FRAME + 7
"""Heads of the share, its list of records, the handling and its list of eliminations; boot, formers, is_answer."""

RECORD_FRAME = 3
"""Heads of the record and its tallies; the boot."""

RECEIPT_FRAME = 3
"""Its head, boot and formers."""

ACKNOWLEDGEMENT_FRAME = MESSAGE_FRAME + 2
"""Its head and boot."""

JOIN_QUANTUM = 1
"""A join notice tells the quantum; rewards of simulated arms are 0 or 1."""


@compiled
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


@compiled
def entry_size(seen: Record) -> int:
    """Return the bytes of an arm's cumulative tally."""
    return 1 + seen.name_size + integer_size(seen.pulls) + integer_size(seen.rewards)


@inlined
def share_size(
    agents: Table, seen: Table, history: Table, sender: int, receiver: int, number: int, count: int, base: int
) -> int:
    """Return the bytes of a share: a frame, and an entry for each common arm that changed after `base`."""
    me, version = agents[sender], agents[sender].own_pulls
    listed = 0
    size = SHARE_FRAME + 2 * me.name_size + agents[receiver].name_size
    size += integer_size(number) + integer_size(count) + integer_size(base) + integer_size(version)
    if version - base < seen.shape[1]:
        for place in range(base, version):  # an arm is listed for its last observation in the slice
            arm = history[me.history + place] >> 1
            if seen[sender, arm].changed_at == place + 1 and seen[receiver, arm].position >= 0:
                listed += 1
                size += seen[sender, arm].entry_size
    else:
        for arm in range(seen.shape[1]):
            if seen[sender, arm].changed_at > base and seen[receiver, arm].position >= 0:
                listed += 1
                size += seen[sender, arm].entry_size
    return size + (0 if listed < 16 else 2)


@compiled
def letter_size(world: Record, agents: Table, seen: Table, history: Table, gone: Table, letter: Record) -> int:
    """Return the bytes of a share or of a bare acknowledgement, where messages may be lost."""
    sender, receiver = letter.sender, letter.receiver
    names = agents[sender].name_size + agents[receiver].name_size
    if not world.tolerant:
        return share_size(agents, seen, history, sender, receiver, letter.number, letter.count, letter.since)
    receipt = RECEIPT_FRAME + integer_size(letter.seen) + integer_size(letter.held)
    receipt += integer_size(letter.known_gone) + integer_size(letter.known_notice)
    if letter.kind == codes.ACKNOWLEDGEMENT:
        return ACKNOWLEDGEMENT_FRAME + names + receipt
    size = HANDLED_FRAME + names + receipt
    size += integer_size(letter.number) + integer_size(letter.count) + integer_size(letter.attempt)
    size += 0 if letter.gone < 16 else 2
    for place in range(letter.gone):
        size += seen[sender, gone[sender, place]].name_size
    if letter.version == 0:
        return size
    listed = 0
    for arm in range(seen.shape[1]):
        if seen[sender, arm].changed_at > letter.since and seen[receiver, arm].position >= 0:
            listed += 1
            size += seen[sender, arm].entry_size
    size += RECORD_FRAME + agents[sender].name_size + integer_size(letter.since) + integer_size(letter.version)
    return size + (0 if listed < 16 else 2)


@compiled
def notice_size(agents: Table, seen: Table, kind: int, sender: int, receiver: int, arm: int, number: int) -> int:
    """Return the bytes of a notice."""
    size = NOTICE_FRAME + agents[sender].name_size + agents[receiver].name_size
    if kind == codes.ELIMINATED:
        return size + seen[sender, arm].name_size
    size += integer_size(number)
    if kind == codes.LEAVE:
        return size
    size += JOIN_QUANTUM + (1 if agents[sender].arm_count < 16 else 3)
    for place in range(seen.shape[1]):
        if seen[sender, place].position >= 0:
            size += seen[sender, place].name_size
    return size
