"""What a network does to messages: it loses, duplicates, delays and reorders them, and splits into parts.

The fate of a message depends on its own stream of randomness, whose key is its sender, its receiver and its number
between the two. So both engines get the same network.
"""

from dataclasses import dataclass

from cobandit.values.checks import check_probability, check_whole, keep_plain
from cobandit.values.errors import LocalError

LONGEST_HOLDUP = 2**30
"""The longest delay of a message, in slots."""

LOST, DOUBLED, FIRST_COPY, SECOND_COPY = 0, 1, 2, 5
"""The numbers in a message's stream that decide whether it is lost, whether it arrives twice, and (three each) how
late."""


@dataclass(frozen=True, slots=True)
class Partition:
    """From slot `start` until just before slot `stop`, messages between two groups of agents are lost.

    Args:
        start: The first slot in which messages are lost.
        stop: The first slot in which they are no longer lost.
        senders: Agents on one side, by position.
        receivers: Agents on the other side.
        one_way: Whether messages from the receivers to the senders still pass.
    """

    start: int
    stop: int
    senders: tuple[int, ...]
    receivers: tuple[int, ...]
    one_way: bool = False

    def __post_init__(self) -> None:
        keep_plain(self, "start", "stop", "senders", "receivers")
        check_whole("the start of a partition", self.start, 0)
        check_whole("the stop of a partition", self.stop, self.start + 1)
        for side in (self.senders, self.receivers):
            if not (isinstance(side, tuple) and side):
                raise LocalError(f"a partition needs a tuple of agents on both sides, not {side!r}")
            for agent in side:
                check_whole("an agent of a partition", agent, 0)
        if both := sorted(set(self.senders) & set(self.receivers)):
            raise LocalError(f"no agent can be on both sides of a partition, but {both} are")

    def cuts(self, slot: int, sender: int, receiver: int) -> bool:
        """Return whether a message sent in this slot is lost."""
        if not self.start <= slot < self.stop:
            return False
        if sender in self.senders and receiver in self.receivers:
            return True
        return not self.one_way and sender in self.receivers and receiver in self.senders


@dataclass(frozen=True, slots=True)
class Faults:
    """What a network does to messages. Without arguments, it does nothing.

    Args:
        loss: The probability that a message is lost.
        duplication: The probability that a message that is not lost arrives twice.
        jitter: The most slots that a copy takes beyond `delay`; every number of slots is equally likely.
        reordering: The probability that a copy is held back further, so that later ones overtake it.
        held_back: The most slots that a copy is held back; every number of slots is equally likely.
        partitions: The partitions of the network.
    """

    loss: float = 0.0
    duplication: float = 0.0
    jitter: int = 0
    reordering: float = 0.0
    held_back: int = 16
    partitions: tuple[Partition, ...] = ()

    def __post_init__(self) -> None:
        keep_plain(self, "loss", "duplication", "jitter", "reordering", "held_back")
        check_probability("loss", self.loss)
        check_probability("duplication", self.duplication)
        check_whole("jitter", self.jitter, 0, LONGEST_HOLDUP)
        check_probability("reordering", self.reordering)
        check_whole("held_back", self.held_back, 1, LONGEST_HOLDUP)
        given = self.partitions
        if not (isinstance(given, tuple) and all(isinstance(partition, Partition) for partition in given)):
            raise LocalError(f"partitions must be a tuple of Partition(...), not {self.partitions!r}")

    @property
    def are_none(self) -> bool:
        """Whether the network is perfect, as the paper assumes."""
        return self.lose_nothing and not (self.duplication or self.jitter or self.reordering)

    @property
    def lose_nothing(self) -> bool:
        """Whether every message arrives."""
        return not (self.loss or self.partitions)

    def cut(self, slot: int, sender: int, receiver: int) -> bool:
        """Return whether a partition keeps a message sent in this slot from arriving."""
        return any(partition.cuts(slot, sender, receiver) for partition in self.partitions)


def holdup(jitter: int, reordering: float, held_back: int, late: float, is_held: float, how_long: float) -> int:
    """Return how many slots later than usual a copy arrives, given three random numbers.

    >>> holdup(4, 0.1, 16, late=0.5, is_held=0.7, how_long=0.5), holdup(4, 0.1, 16, late=0.5, is_held=0.0, how_long=0.5)
    (2, 11)
    """
    slots = int(late * (jitter + 1))
    if is_held < reordering:
        slots += 1 + int(how_long * held_back)
    return slots
