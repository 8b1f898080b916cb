"""The journal of one member, as its loop uses it: batches, snapshots, mail, and a disk that fails.

This file owns what is not written yet, when to retry a failed disk, and when to check the mailbox. It does not know
what a batch is about, and sends nothing: what cannot be written must not be sent.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import TypeVar

from cobandit.live.decide.common import MOST_WAITING
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.batch import Batch, Mail
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.step import Step
from cobandit.live.store.journal import Journal, JournalError
from cobandit.values.errors import LocalError

Value = TypeVar("Value")

BATCHES_UNTIL_SNAPSHOT = 4096

JOURNAL_RETRY = 1.0
"""Seconds until a failed disk is retried."""

MAIL_EVERY = 2.0
"""Seconds between two checks of the mailbox."""


class Writing:
    """Writes for one member. Only blocking disk work runs on another thread."""

    def __init__(self, machine: Machine, journal: Journal, executor: Executor | None) -> None:
        self._machine, self._journal, self._executor = machine, journal, executor
        self._unsaved: list[Batch] = []
        self._since_snapshot = 0
        self._mail: list[Mail] = []
        self._mail_done: list[int] = []
        self._mail_at = 0.0
        self.synced_batches = 0
        self.retry_at: float | None = None
        """When to retry a failed disk; `None` if it has not failed."""
        self.trouble: str | None = None
        """Why the journal cannot be written; `None` if it can. Written here, read on any thread."""

    @property
    def is_durable(self) -> bool:
        """Whether there is a disk to wait for."""
        return self._journal.is_durable

    @property
    def due_at(self) -> float | None:
        """When to check the mailbox; `None` if there is none."""
        return self._mail_at if self._journal.is_durable else None

    async def save(self, *, is_clean: bool) -> None:
        """Write the machine's whole state, which replaces everything before."""
        await self._blocking(self._journal.replace, self._machine.state(is_clean=is_clean))

    async def write(self, step: Step) -> None:
        """Write what a step produced, and what could not be written before.

        Raises:
            JournalError: The disk does not accept it. It is kept for the next attempt.
        """
        if not step.is_empty:
            self._unsaved.append(step.batch)
            self._mail_done += step.mail_done
        if self._unsaved:
            await self._blocking(self._journal.write, tuple(self._unsaved), tuple(self._mail_done))
            self.synced_batches += len(self._unsaved)
            self._since_snapshot += len(self._unsaved)
            self._unsaved.clear()
            self._mail_done.clear()
        if self._since_snapshot >= BATCHES_UNTIL_SNAPSHOT:
            await self.save(is_clean=False)
            self._since_snapshot = 0
        self.retry_at = None
        self._machine.decider.refusal = None
        self._say(None)

    def write_at_once(self, step: Step) -> None:
        """Write what a step produced to a journal that does not block."""
        if not step.is_empty:
            self._journal.write((step.batch,), step.mail_done)

    def failed(self, error: JournalError) -> None:
        """Note a failure of the disk."""
        self.retry_at = self._machine.clock.now() + JOURNAL_RETRY
        self._say(f"{error}. Until then it decides, shares nothing, and tries again")
        waiting = sum(len(batch.decided) + len(batch.settled) for batch in self._unsaved)
        if waiting > MOST_WAITING:
            self._machine.decider.refusal = f"{waiting} decisions and rewards wait for the disk: {error}"

    async def look_into_mailbox(self) -> None:
        """Fetch the rewards that other processes left, if it is time."""
        now = self._machine.clock.now()
        if self._journal.is_durable and now >= self._mail_at and not self._mail_done:
            self._mail_at = now + MAIL_EVERY
            try:
                self._mail = await self._blocking(self._journal.mail)
                self._machine.alerts.trouble(LogEvent.MAILBOX_UNREADABLE, None)
            except LocalError as error:
                self._machine.alerts.trouble(LogEvent.MAILBOX_UNREADABLE, str(error))

    def take_mail(self) -> list[Mail]:
        """Return the fetched mail, and remove it."""
        mail, self._mail = self._mail, []
        return mail

    def history(self) -> Iterator[Batch]:
        """Return the batches still in the journal: the log of decisions."""
        return self._journal.history()

    async def close(self) -> None:
        """Close the journal."""
        await self._blocking(self._journal.close)

    def _say(self, what: str | None) -> None:
        self.trouble = what
        self._machine.alerts.trouble(LogEvent.JOURNAL_UNWRITABLE, what)

    async def _blocking(self, work: Callable[..., Value], *arguments: object) -> Value:
        if not self._journal.is_durable or self._executor is None:
            return work(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)
