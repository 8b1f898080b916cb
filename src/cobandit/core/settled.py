"""Which decisions of a pen are settled: rewarded, withdrawn or given up, and so never to be counted again.

The decisions of a pen are numbered. A block of them is a fact (`facts.SettledKey`) whose value is a bitmap, and two
values merge by taking both together. The observations of a pen and the numbers that they belong to travel in the same
message (`parts.py`): a peer that knew one without the other could count a reward twice, or lose it. Numbers below a
*floor* are over: their rewards are no longer accepted, and their blocks are dropped, so that the state does not grow
for ever. A floor only rises: by itself over blocks in which all numbers are settled, and on the lender's instruction
over those that have become too old.

This file does not know who may settle what: that is up to the lender of a pen (`pens.py`).
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cobandit.core.facts import SettledKey, Teller
from cobandit.core.messages import AgentId
from cobandit.core.pen_names import SettledBlock

if TYPE_CHECKING:
    from cobandit.core.replica import Replica

BLOCK = 256
"""How many numbers share one bitmap."""

_ALL = (1 << BLOCK) - 1

FLOOR = -1
"""Used in a key instead of a block's number: the first block that is not over."""

MAX_BLOCK = 2**53 // BLOCK
"""The highest number of a block."""

MAX_BLOCKS = 2048
"""The most blocks of one pen that are not over: all of them must fit one message (`parts.py`)."""


def blocks_of(agent: AgentId, incarnation: int, numbers: Iterable[int]) -> tuple[SettledBlock, ...]:
    """Return numbers in the form in which they are sent.

    >>> [(told.block, told.bits.hex()) for told in blocks_of("r~1-1", 1, [0, 1, 9, 256])]
    [(0, '0302'), (1, '01')]
    """
    values: dict[int, int] = {}
    for number in numbers:
        block, place = divmod(number, BLOCK)
        values[block] = values.get(block, 0) | 1 << place
    return tuple(
        SettledBlock(agent, incarnation, block, value.to_bytes((value.bit_length() + 7) // 8, "little"))
        for block, value in values.items()
    )


def floor_of(agent: AgentId, incarnation: int, number: int) -> SettledBlock:
    """Return the message form of a floor: all numbers below `number` are over, in whole blocks."""
    return SettledBlock(agent, incarnation, min(number // BLOCK, MAX_BLOCK), b"")


def merge(replica: "Replica", told: Iterable[SettledBlock], teller: Teller | None) -> tuple[SettledKey, ...]:
    """Merge settled numbers. Return the blocks in which some are new."""
    news: list[SettledKey] = []
    for agent, incarnation, block, bits in told:
        floor = _floor(replica, agent, incarnation)
        key = SettledKey(agent, incarnation, block if bits else FLOOR)
        before = replica.value_of(key) or 0
        assert isinstance(before, int)
        if bits:
            value = before | int.from_bytes(bits, "little")
            is_news = block >= floor and value != before
        else:
            value, is_news = block, block > floor
        if not is_news:
            continue
        replica.put(key, value, teller)
        news.append(key)
        risen = _first_open(replica, agent, incarnation, floor if bits else block)
        if risen > floor:
            replica.put(SettledKey(agent, incarnation, FLOOR), risen, teller)
            over = [SettledKey(agent, incarnation, old) for old in known_blocks(replica, agent, incarnation)]
            replica.drop(key for key in over if key.block < risen)
    return tuple(news)


def _first_open(replica: "Replica", agent: AgentId, incarnation: int, block: int) -> int:
    """Return the first block, from `block` on, in which not all numbers are settled."""
    while replica.value_of(SettledKey(agent, incarnation, block)) == _ALL:
        block += 1
    return block


def is_settled(replica: "Replica", agent: AgentId, incarnation: int, number: int) -> bool:
    """Return whether a decision is settled, or over, as far as is known."""
    block, place = divmod(number, BLOCK)
    value = replica.value_of(SettledKey(agent, incarnation, block)) or 0
    assert isinstance(value, int)
    return bool(value >> place & 1) or is_over(replica, agent, incarnation, number)


def is_over(replica: "Replica", agent: AgentId, incarnation: int, number: int) -> bool:
    """Return whether a decision is below the floor."""
    return number // BLOCK < _floor(replica, agent, incarnation)


def has_room(replica: "Replica", agent: AgentId, incarnation: int, number: int) -> bool:
    """Return whether there is room to settle a number that is not settled yet: its signer may have made it up."""
    block = number // BLOCK
    if not 0 <= block <= MAX_BLOCK:
        return False
    blocks = known_blocks(replica, agent, incarnation)
    return block in blocks or len(blocks) < MAX_BLOCKS


def floor_number(replica: "Replica", agent: AgentId, incarnation: int) -> int:
    """Return the number below which all are over."""
    return _floor(replica, agent, incarnation) * BLOCK


def next_number(replica: "Replica", agent: AgentId, incarnation: int) -> int:
    """Return the number above all that are known to be settled."""
    blocks = known_blocks(replica, agent, incarnation)
    if not blocks:
        return _floor(replica, agent, incarnation) * BLOCK
    value = replica.value_of(SettledKey(agent, incarnation, max(blocks)))
    assert isinstance(value, int)
    return max(blocks) * BLOCK + value.bit_length()


def _floor(replica: "Replica", agent: AgentId, incarnation: int) -> int:
    value = replica.value_of(SettledKey(agent, incarnation, FLOOR)) or 0
    assert isinstance(value, int)
    return value


def known_blocks(replica: "Replica", agent: AgentId, incarnation: int) -> list[int]:
    """Return the blocks that hold settled numbers and are not over."""
    keys = (fact.key for fact in replica.facts_of(agent))
    return [
        key.block
        for key in keys
        if isinstance(key, SettledKey) and key.incarnation == incarnation and key.block != FLOOR
    ]
