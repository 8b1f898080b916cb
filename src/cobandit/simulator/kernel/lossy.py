"""A network with faults, compiled: `cobandit.simulator.network.Network`, and the outbox of `ReferenceRun`.

A message is a record, complete when it is made. Messages that were made and not sent yet are a stack, the next one on
top, because what a message brings about is sent before what was to be sent after it. Messages under way are a heap.
"""

import math

import numpy as np

from cobandit.scenario import faults
from cobandit.scenario.faults import DOUBLED, FIRST_COPY, LOST, SECOND_COPY, holdup
from cobandit.scenario.trace import Kind
from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.jit import borrow, compiled
from cobandit.simulator.kernel.mail import KEPT, UNDER_WAY, tell
from cobandit.simulator.kernel.sizes import letter_size, notice_size
from cobandit.simulator.kernel.tables import Record, Table
from cobandit.values import chance

borrow(faults.holdup)

_SHARE, _RETRY = int(Kind.SHARE), int(Kind.RETRY)
_ACKNOWLEDGE, _LOSS = int(Kind.ACKNOWLEDGE), int(Kind.LOSS)

CURRENT, SCRATCH = range(2)
"""The place of the letter that is being sent or delivered, and one to put a letter aside. The stack is behind them."""


@compiled
def new_letter(world: Record, agents: Table, letters: Table, kind: int, sender: int, receiver: int) -> Record:
    """Put an empty message on top of the stack, and return it to be filled."""
    if world.letters_end + 1 >= letters.shape[0]:
        world.overflow = True
        world.letters_end = SCRATCH  # the run is void: write where there is room
    world.letters_end += 1
    letter = letters[world.letters_end]
    letter.kind, letter.sender, letter.receiver = kind, sender, receiver
    letter.since = letter.version = letter.number = letter.count = letter.attempt = 0
    letter.seen = letter.held = letter.held_version = letter.gone = letter.notice = letter.claim_from = (
        letter.claim_upto
    ) = 0
    letter.is_answer = False
    letter.is_introduced = agents[sender].presence_at > 0
    return letter


@compiled
def turn_round(world: Record, letters: Table, below: int) -> None:
    """Reverse the letters above a place, so that the one made first is sent first."""
    low, high = below + 1, world.letters_end
    while low < high:
        letters[SCRATCH] = letters[low]
        letters[low] = letters[high]
        letters[high] = letters[SCRATCH]
        low += 1
        high -= 1


@compiled
def account(
    world: Record,
    agents: Table,
    bonds: Table,
    seen: Table,
    history: Table,
    gone: Table,
    letter: Record,
    trace: Table,
    slot: int,
) -> None:
    """Count a letter that is about to be sent (`ReferenceRun._count`)."""
    sender, receiver = letter.sender, letter.receiver
    bond = bonds[sender, receiver]
    is_notice = letter.kind not in (codes.SHARE, codes.ACKNOWLEDGEMENT)
    if world.counts_sizes:
        if is_notice:
            world.bytes += notice_size(
                agents,
                seen,
                letter.kind,
                sender,
                receiver,
                letter.since,
                letter.notice,
                letter.claim_from,
                letter.claim_upto,
            )
        else:
            world.bytes += letter_size(world, agents, seen, history, gone, letter)
    if letter.kind == codes.SHARE:
        if world.counts_sizes and letter.count > 0:
            world.bits += 2 * bond.common * (1.0 if letter.count == 1 else math.log2(letter.count + 1))
        if letter.attempt == 0:
            tell(world, trace, slot, _SHARE, sender, receiver, letter.number, letter.count, agents[sender].own_pulls)
        else:
            bond.retries += 1
            tell(world, trace, slot, _RETRY, sender, receiver, letter.number, letter.attempt, agents[sender].own_pulls)
    elif letter.kind == codes.ACKNOWLEDGEMENT:
        bond.acknowledgements += 1
        tell(world, trace, slot, _ACKNOWLEDGE, sender, receiver, letter.seen, letter.held_version, 0)
    else:
        bond.notices += 1


@compiled
def is_cut(cuts: Table, cut_from: Table, cut_until: Table, slot: int, sender: int, receiver: int) -> bool:
    """Return whether a partition keeps a message sent in this slot from arriving (`Faults.cut`)."""
    for place in range(cut_from.shape[0]):
        if cut_from[place] <= slot < cut_until[place] and cuts[place, sender, receiver]:
            return True
    return False


@compiled
def delays(
    world: Record,
    agents: Table,
    bonds: Table,
    cuts: Table,
    cut_from: Table,
    cut_until: Table,
    slot: int,
    sender: int,
    receiver: int,
) -> tuple[int, int]:
    """Return how many slots each of two copies takes; -1 for a copy that there is not (`Network.delays`)."""
    if not world.has_faults:
        return world.delay, -1
    bond = bonds[sender, receiver]
    key = chance.stream(agents[sender].network_key, np.uint64(receiver), np.uint64(bond.sent))
    bond.sent += 1
    is_lost = chance.uniform(key, np.uint64(LOST)) < world.loss
    if is_lost or is_cut(cuts, cut_from, cut_until, slot, sender, receiver):
        return -1, -1
    first = delay_of(world, key, FIRST_COPY)
    is_doubled = chance.uniform(key, np.uint64(DOUBLED)) < world.duplication
    return first, delay_of(world, key, SECOND_COPY) if is_doubled else -1


@compiled
def delay_of(world: Record, key: int, copy: int) -> int:
    """Return how many slots one copy of a message takes."""
    return world.delay + holdup(
        world.jitter,
        world.reordering,
        world.held_back,
        chance.uniform(key, np.uint64(copy)),
        chance.uniform(key, np.uint64(copy + 1)),
        chance.uniform(key, np.uint64(copy + 2)),
    )


@compiled
def tell_loss(world: Record, trace: Table, slot: int, sender: int, receiver: int) -> None:
    """Tell that a message is lost."""
    tell(world, trace, slot, _LOSS, sender, receiver, 0, 0, 0)


@compiled
def is_before(one: Record, other: Record) -> bool:
    """Return whether a message arrives before another; of two in one slot the one sent first does."""
    return one.arrival < other.arrival or (one.arrival == other.arrival and one.sequence < other.sequence)


@compiled
def send(world: Record, mail: Table, letter: Record, arrival: int) -> None:
    """Put a copy of a message on its way (`Network.send`)."""
    if world.mail_end + 1 >= mail.shape[1]:  # the last place is room for a message on the move
        world.overflow = True
        return
    heap, moving = mail[UNDER_WAY], mail.shape[1] - 1
    heap[moving] = letter
    heap[moving].arrival = arrival
    heap[moving].sequence = world.sequence
    world.sequence += 1
    hole = world.mail_end
    world.mail_end += 1
    while hole > 0 and is_before(heap[moving], heap[(hole - 1) >> 1]):
        heap[hole] = heap[(hole - 1) >> 1]
        hole = (hole - 1) >> 1
    heap[hole] = heap[moving]


@compiled
def take_arrival(world: Record, mail: Table, letters: Table) -> None:
    """Take the next message that arrives off the heap; it is the current one then (`Network.take_arrival`)."""
    heap = mail[UNDER_WAY]
    letters[CURRENT] = heap[0]
    world.mail_end -= 1
    end = world.mail_end
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
def keep_letter(world: Record, mail: Table, letter: Record) -> None:
    """Keep a message whose receiver is away (`Network.keep`)."""
    if world.kept_end == mail.shape[1]:
        world.overflow = True
        return
    mail[KEPT, world.kept_end] = letter
    world.kept_end += 1
