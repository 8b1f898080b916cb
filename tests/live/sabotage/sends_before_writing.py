"""Breaks the order of a step: packets go out before the batch is written. Run inside a worker."""

from cobandit.live.drive.node import Node
from cobandit.live.machine.step import Step

write = Node._write


async def send_and_write(self: Node, step: Step) -> None:
    self._send(step)
    step.outgoing.clear()
    await write(self, step)


Node._write = send_and_write  # type: ignore[method-assign]
