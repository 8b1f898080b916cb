"""A network with faults, compiled: `cobandit.simulator.network.Network`, and the outbox of `ReferenceRun`.

A message is a record, complete when it is made. Which messages were made and not sent yet is a stack, the next one on
top, because what a message brings about is sent before what was to be sent after it. Messages under way are a heap.
"""

import numpy as np

from cobandit.scenario import faults
from cobandit.scenario.faults import DOUBLED, FIRST_COPY, LOST, SECOND_COPY, holdup
from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import borrow, compiled, inlined
from cobandit.simulator.kernel.mail import KEPT, UNDER_WAY, speak, tell
from cobandit.simulator.kernel.sizes import bits_of, letter_size, notice_size
from cobandit.simulator.kernel.tables import Record, Tables
from cobandit.values import chance

borrow(faults.holdup)

_SHARE, _RETRY = int(Kind.SHARE), int(Kind.RETRY)
_ACKNOWLEDGE, _LOSS = int(Kind.ACKNOWLEDGE), int(Kind.LOSS)

ARRIVED = 0
"""The place of a letter that was under way or kept. Those that are made are behind it."""

EMPTY = -1
"""The top of an empty stack."""


@inlined
def push_letter(t: Tables, kind: int, sender: int, receiver: int) -> Record:
    """Put a message on top of the stack, and return it to be filled."""
    if t.world.made + 1 >= t.letters.shape[0]:
        t.world.overflow = True
        t.world.made, t.world.letters_end = ARRIVED, EMPTY  # the run is void: write where there is room
    t.world.made += 1
    t.world.letters_end += 1
    t.stack[t.world.letters_end] = t.world.made
    letter = t.letters[t.world.made]
    letter.kind, letter.sender, letter.receiver = kind, sender, receiver
    return letter


@compiled
def new_letter(t: Tables, kind: int, sender: int, receiver: int) -> Record:
    """Put an empty message on top of the stack, and return it to be filled."""
    letter = push_letter(t, kind, sender, receiver)
    letter.since = letter.version = letter.number = letter.count = letter.attempt = 0
    letter.seen = letter.held = letter.held_version = letter.gone = letter.notice = 0
    letter.claim_from = letter.claim_upto = 0
    letter.is_answer = False
    letter.is_introduced = t.agents[sender].presence_at > 0
    return letter


@inlined
def turn_round(t: Tables, below: int) -> None:
    """Reverse the letters above a place, so that the one made first is sent first."""
    low, high = below + 1, t.world.letters_end
    while low < high:
        t.stack[low], t.stack[high] = t.stack[high], t.stack[low]
        low += 1
        high -= 1


@inlined
def take_next(t: Tables) -> Record:
    """Take the next letter off the stack; it is the current one then."""
    t.world.current = t.stack[t.world.letters_end]
    t.world.letters_end -= 1
    return t.letters[t.world.current]


@inlined
def take_copy(t: Tables, letter: Record) -> None:
    """Let a letter that was under way or kept be the current one."""
    t.letters[ARRIVED] = letter
    t.world.current = ARRIVED


@inlined
def clear_letters(t: Tables) -> None:
    """Make room: everything that was made has been sent."""
    t.world.made = ARRIVED


@compiled
def account(t: Tables, letter: Record, slot: int) -> None:
    """Count a letter that is about to be sent (`ReferenceRun._count`)."""
    sender, receiver = letter.sender, letter.receiver
    bond = t.bonds[sender, receiver]
    speak(t, t.agents[sender], slot)
    is_notice = letter.kind not in (codes.SHARE, codes.ACKNOWLEDGEMENT)
    if t.world.counts_sizes:
        if is_notice:
            claim = letter.claim_from, letter.claim_upto
            t.world.bytes += notice_size(t, letter.kind, sender, receiver, letter.since, letter.notice, claim)
        else:
            t.world.bytes += letter_size(t, letter)
    if letter.kind == codes.SHARE:
        if t.world.counts_sizes and letter.count > 0:
            t.world.bits += 2 * bond.common * bits_of(t, np.int64(letter.count))
        if letter.attempt == 0:
            tell(t, slot, _SHARE, sender, receiver, letter.number, letter.count, t.agents[sender].own_pulls)
        else:
            bond.retries += 1
            tell(t, slot, _RETRY, sender, receiver, letter.number, letter.attempt, t.agents[sender].own_pulls)
    elif letter.kind == codes.ACKNOWLEDGEMENT:
        bond.acknowledgements += 1
        tell(t, slot, _ACKNOWLEDGE, sender, receiver, letter.seen, letter.held_version, 0)
    else:
        bond.notices += 1


@inlined
def is_cut(t: Tables, slot: int, sender: int, receiver: int) -> bool:
    """Return whether a partition keeps a message sent in this slot from arriving (`Faults.cut`)."""
    for place in range(t.cut_from.shape[0]):
        if t.cut_from[place] <= slot < t.cut_until[place] and t.cuts[place, sender, receiver]:
            return True
    return False


@compiled
def delays(t: Tables, slot: int, sender: int, receiver: int) -> tuple[int, int]:
    """Return how many slots each of two copies takes; -1 for a copy that there is not (`Network.delays`)."""
    if not t.world.has_faults:
        return t.world.delay, -1
    bond = t.bonds[sender, receiver]
    key = chance.stream(t.agents[sender].network_key, np.uint64(receiver), np.uint64(bond.sent))
    bond.sent += 1
    is_lost = chance.uniform(key, np.uint64(LOST)) < t.world.loss
    if is_lost or is_cut(t, slot, sender, receiver):
        return -1, -1
    first = delay_of(t, key, FIRST_COPY)
    is_doubled = chance.uniform(key, np.uint64(DOUBLED)) < t.world.duplication
    return first, delay_of(t, key, SECOND_COPY) if is_doubled else -1


@inlined
def delay_of(t: Tables, key: int, copy: int) -> int:
    """Return how many slots one copy of a message takes."""
    return t.world.delay + holdup(
        t.world.jitter,
        t.world.reordering,
        t.world.held_back,
        chance.uniform(key, np.uint64(copy)),
        chance.uniform(key, np.uint64(copy + 1)),
        chance.uniform(key, np.uint64(copy + 2)),
    )


@inlined
def tell_loss(t: Tables, slot: int, sender: int, receiver: int) -> None:
    """Tell that a message is lost."""
    tell(t, slot, _LOSS, sender, receiver, 0, 0, 0)


@inlined
def is_before(one: Record, other: Record) -> bool:
    """Return whether a message arrives before another; of two in one slot the one sent first does."""
    return one.arrival < other.arrival or (one.arrival == other.arrival and one.sequence < other.sequence)


@compiled
def send(t: Tables, letter: Record, arrival: int) -> None:
    """Put a copy of a message on its way (`Network.send`)."""
    if t.world.mail_end + 1 >= t.mail.shape[1]:  # the last place is room for a message on the move
        t.world.overflow = True
        return
    heap, moving = t.mail[UNDER_WAY], t.mail.shape[1] - 1
    heap[moving] = letter
    heap[moving].arrival = arrival
    heap[moving].sequence = t.world.sequence
    t.world.sequence += 1
    hole = t.world.mail_end
    t.world.mail_end += 1
    while hole > 0 and is_before(heap[moving], heap[(hole - 1) >> 1]):
        heap[hole] = heap[(hole - 1) >> 1]
        hole = (hole - 1) >> 1
    heap[hole] = heap[moving]


@compiled
def take_arrival(t: Tables) -> None:
    """Take the next message that arrives off the heap; it is the current one then (`Network.take_arrival`)."""
    heap = t.mail[UNDER_WAY]
    take_copy(t, heap[0])
    t.world.mail_end -= 1
    end = t.world.mail_end
    hole, child = 0, 1
    while child < end:
        if child + 1 < end and is_before(heap[child + 1], heap[child]):
            child += 1
        if not is_before(heap[child], heap[end]):
            break
        heap[hole] = heap[child]
        hole = child
        child = 2 * hole + 1
    heap[hole] = heap[end]


@compiled
def keep_letter(t: Tables, letter: Record) -> None:
    """Keep a message whose receiver is away (`Network.keep`)."""
    if t.world.kept_end == t.mail.shape[1]:
        t.world.overflow = True
        return
    t.mail[KEPT, t.world.kept_end] = letter
    t.world.kept_end += 1
