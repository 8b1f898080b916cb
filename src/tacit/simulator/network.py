"""A network that takes a fixed number of slots, keeps the order, and loses nothing.

The paper assumes reliable communication. So a message for an agent that is away is not lost: it waits, and arrives
when the agent is back, in the order of sending.
"""

from collections import deque

from tacit.protocol import AgentId, Message


class Network:
    """Messages on their way."""

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self._under_way: deque[tuple[int, Message]] = deque()
        self._waiting: dict[AgentId, deque[Message]] = {}

    def send(self, message: Message, slot: int) -> None:
        """Take a message sent in this slot."""
        self._under_way.append((slot + self.delay, message))

    def next_arrival(self) -> int | None:
        """Return the slot of the next arrival, if anything is on its way."""
        return self._under_way[0][0] if self._under_way else None

    def take_arrival(self, slot: int) -> Message | None:
        """Take out the next message that arrives by this slot, if there is one."""
        if self._under_way and self._under_way[0][0] <= slot:
            return self._under_way.popleft()[1]
        return None

    def keep(self, message: Message) -> None:
        """Keep a message whose receiver is away."""
        self._waiting.setdefault(message.receiver, deque()).append(message)

    def take_kept(self, agent: AgentId) -> Message | None:
        """Take out the next message that was kept for an agent that is back, if there is one."""
        waiting = self._waiting.get(agent)
        return waiting.popleft() if waiting else None

    def in_flight(self) -> list[Message]:
        """Return every message that was sent and has not arrived: kept ones first, then in sending order."""
        kept = [message for messages in self._waiting.values() for message in messages]
        return kept + [message for _, message in self._under_way]
