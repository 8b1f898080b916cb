"""A network in virtual time: messages take a number of slots, and are affected by the scenario's faults.

Without faults it is as in the paper: it keeps the order and loses nothing. A message for an agent that is away is not
lost. It waits, and arrives when the agent is back, in the order of sending.
"""

import heapq
from collections import deque
from typing import Any

from cobandit.core import AgentId
from cobandit.scenario.faults import DOUBLED, FIRST_COPY, LOST, SECOND_COPY, Faults, holdup
from cobandit.values.chance import stream, uniform

Message = Any
"""A message of agents or of a plug-in's nodes. The network only uses its `receiver`."""


class Network:
    """Messages on their way."""

    def __init__(self, delay: int, faults: Faults | None = None) -> None:
        self.delay = delay
        self.faults = faults or Faults()
        self._is_perfect = self.faults.are_none
        self._under_way: list[tuple[int, int, Message]] = []
        self._sequence = 0
        self._waiting: dict[AgentId, deque[Message]] = {}
        self._sent: dict[tuple[int, int], int] = {}

    def delays(self, slot: int, key: int, sender: int, receiver: int) -> tuple[int, ...]:
        """Return how many slots each copy of a message sent now takes: no copies if it is lost.

        Args:
            slot: The slot.
            key: The sender's stream for its messages.
            sender: The sender's position.
            receiver: The receiver's position.
        """
        faults = self.faults
        if self._is_perfect:
            return (self.delay,)
        number = self._sent.get((sender, receiver), 0)
        self._sent[sender, receiver] = number + 1
        message_key = stream(key, receiver, number)
        if faults.cut(slot, sender, receiver) or uniform(message_key, LOST) < faults.loss:
            return ()
        is_doubled = uniform(message_key, DOUBLED) < faults.duplication
        return tuple(
            self.delay
            + holdup(
                faults.jitter,
                faults.reordering,
                faults.held_back,
                *(uniform(message_key, copy + place) for place in range(3)),
            )
            for copy in ((FIRST_COPY, SECOND_COPY) if is_doubled else (FIRST_COPY,))
        )

    def send(self, message: Message, arrival: int) -> None:
        """Take a message that arrives in this slot."""
        heapq.heappush(self._under_way, (arrival, self._sequence, message))
        self._sequence += 1

    def next_arrival(self) -> int | None:
        """Return the slot of the next arrival, if anything is on its way."""
        return self._under_way[0][0] if self._under_way else None

    def take_arrival(self, slot: int) -> Message | None:
        """Remove and return the next message that arrives by this slot, if any; of several, the one sent first."""
        if self._under_way and self._under_way[0][0] <= slot:
            return heapq.heappop(self._under_way)[2]
        return None

    def keep(self, message: Message) -> None:
        """Keep a message whose receiver is away."""
        self._waiting.setdefault(message.receiver, deque()).append(message)

    def take_kept(self, agent: AgentId) -> Message | None:
        """Remove and return the next message kept for an agent that is back, if any."""
        waiting = self._waiting.get(agent)
        return waiting.popleft() if waiting else None

    def in_flight(self) -> list[Message]:
        """Return all messages that were sent and have not arrived: kept ones first, then in sending order."""
        kept = [message for messages in self._waiting.values() for message in messages]
        return kept + [message for _, _, message in sorted(self._under_way, key=lambda entry: entry[1])]
