"""Breaks the order of a step: packets go out before the batch is written. Run inside a worker."""

from cobandit.live.drive.node import Node
from cobandit.live.machine.step import Step

take_step = Node._step


def step_and_send(self: Node, *, may_wake: bool = True) -> Step:
    step = take_step(self, may_wake=may_wake)
    self._sending.send(step)
    step.outgoing.clear()
    return step


Node._step = step_and_send  # type: ignore[method-assign]
