"""How a member learns what operators have set before its first decision: how long it waits, and what it logs.

This file owns the wait at a start. The machine knows which member has sent the settings. How they spread later is not
this file's concern.
"""

import asyncio
import contextlib
import logging

from cobandit.live.drive.sending import Sending
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.machine import Machine
from cobandit.live.transports.base import Transport

ANSWERED_WITHIN = 3.0
"""Seconds that a member waits at its start for another to send the settings."""

ALONE_AFTER = 1.0
"""Seconds after which a member that has neither reached nor heard another one takes itself to be alone."""


class FirstSettings:
    """The wait of one member."""

    def __init__(self, machine: Machine, transport: Transport, sending: Sending) -> None:
        self._machine, self._transport, self._sending = machine, transport, sending
        self._news = asyncio.Event()
        """Set when the wait may be over."""
        self._is_announced = False
        """Whether, at the end of the first second, all reachable members had been told of this one."""
        self.has_company = False
        """Whether another member was reached or heard."""

    def look(self) -> None:
        """Check again whether the wait is over, because something was heard."""
        self._news.set()

    async def hear(self) -> None:
        """Wait briefly for another member to send the settings; less if no other member knows them."""
        machine, loop = self._machine, asyncio.get_running_loop()
        began = loop.time()
        await self._until(began + ALONE_AFTER)
        self._is_announced = self._sending.has_announced and not self._transport.is_connecting
        await self._until(began + ANSWERED_WITHIN)
        machine.introduction.settings_known()
        if machine.introduction.settings_from is not None:
            told = f"starts with the settings that {machine.introduction.settings_from} has told"
            machine.alerts.say(logging.INFO, LogEvent.SETTINGS_TOLD, told)
        elif machine.leaf is not None:
            late = f"has told the settings within {ANSWERED_WITHIN:g} seconds"
            machine.alerts.say(
                logging.WARNING,
                LogEvent.SETTINGS_NOT_TOLD,
                f"no relay {'is here' if self._transport.is_alone else late}: it starts with its own settings "
                f"({machine.controls}), and obeys others as soon as it hears of them",
            )
        elif self._is_among_newcomers:
            machine.alerts.say(
                logging.INFO,
                LogEvent.STARTS_TOGETHER,
                f"everybody who answered has just started too: it starts with its own settings ({machine.controls})",
            )
        elif self.has_company or not self._is_announced:
            machine.alerts.say(
                logging.WARNING,
                LogEvent.SETTINGS_NOT_TOLD,
                f"nobody has told the settings within {ANSWERED_WITHIN:g} seconds: it starts with its own "
                f"({machine.controls}), and obeys others as soon as it hears of them",
            )
        else:
            machine.alerts.say(
                logging.INFO,
                LogEvent.STARTS_ALONE,
                f"nobody else is here: it starts with its own settings ({machine.controls})",
            )

    async def _until(self, end: float) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < end and not self._is_over:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(end):
                    await self._news.wait()

    @property
    def _is_over(self) -> bool:
        """Return whether it is pointless to wait any longer.

        On most networks, a member cannot tell which others are there. So even a group of newcomers waits for an older
        member that may be slow. If this member's announcement may be late, it waits for the full time, because the
        others have not had time to answer. A leaf waits for a relay, which answers it again at the end of the relay's
        own wait.
        """
        if self._machine.introduction.settings_from is not None or self._transport.is_alone:
            return True
        if not self._is_announced or self._machine.leaf is not None:
            return False
        return self._is_among_newcomers or not self.has_company

    @property
    def _is_among_newcomers(self) -> bool:
        """Whether all peers have answered that they have just started, so that none knows more than this member."""
        discovery = self._machine.discovery
        reached = {*self._machine.peers, *discovery.unanswered}
        return bool(discovery.newcomers) and reached <= discovery.newcomers
