"""Breaks the order of a turn: packets go out before the batch is written. Run inside a worker."""

from cobandit.runtime.node import Node
from cobandit.runtime.turn import Turn

write = Node._write


async def send_and_write(self: Node, turn: Turn) -> None:
    self._send(turn)
    turn.outgoing.clear()
    await write(self, turn)


Node._write = send_and_write  # type: ignore[method-assign]
