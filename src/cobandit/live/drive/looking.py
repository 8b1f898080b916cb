"""Polls a decider's queues while it is in use, so that decisions need not wake another thread.

This file owns when to poll and when to stop. It takes nothing out of the queues: steps do.
"""

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

from cobandit.live.machine.machine import Machine

LOOK_EVERY = 0.005
LOOKS_UNTIL_IDLE = 200
"""The interval, in seconds, at which a decider in use is polled, until this many polls in a row found nothing. Then the
decider must wake this side again. Waking another thread costs a caller many times what a decision does."""


FEW_IN_USE = 3
"""If more deciders than this are in use on one loop, each is polled less often, so that all polls together take no more
of the loop."""

_in_use: "WeakKeyDictionary[asyncio.AbstractEventLoop, int]" = WeakKeyDictionary()
"""How many deciders each loop polls."""


class Looking:
    """Polls one member's decider.

    Args:
        machine: The member.
        found: Called when there is something for a step to take.
    """

    def __init__(self, machine: Machine, found: Callable[[], None]) -> None:
        self._machine, self._found = machine, found
        self._is_looking = self._is_stopping = False
        self._looks_in_vain = 0

    def begin(self) -> None:
        """Poll from now on, until the decider is out of use."""
        self._machine.decider.is_awake = True
        self._looks_in_vain = 0
        if not self._is_looking and not self._is_stopping:
            self._is_looking = True
            loop = asyncio.get_running_loop()
            _in_use[loop] = _in_use.get(loop, 0) + 1
            self._look_later(loop)

    def stop(self) -> None:
        """Stop polling."""
        self._is_stopping = True

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_later(LOOK_EVERY * max(1.0, _in_use[loop] / FEW_IN_USE), self._look)

    def _look(self) -> None:
        decider = self._machine.decider
        if decider.is_waiting:
            self._found()
            self._looks_in_vain = 0
        else:
            self._looks_in_vain += 1
        self._is_looking = self._looks_in_vain < LOOKS_UNTIL_IDLE and not self._is_stopping
        loop = asyncio.get_running_loop()
        if self._is_looking:
            self._look_later(loop)
            return
        _in_use[loop] -= 1
        decider.is_awake = False
        if decider.is_waiting and not self._is_stopping:  # it came before the decider knew that it must call
            self._found()
            self.begin()
