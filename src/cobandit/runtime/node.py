"""The network side of one member in real time: a clerk, driven by an event loop, with a journal and a transport.

One task for each member. A turn takes what has come in; then, in this order, the batch is written and synced, the
packets go out, the timer is set. What cannot be written is not sent; what cannot be sent is lost, and the protocol
repeats it. Everything here happens on the thread of one event loop; only the disk is waited for beside it.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor
from typing import TypeVar

from cobandit.codec import NotSpokenError
from cobandit.core import Acknowledgement, Message, Share
from cobandit.runtime import letters
from cobandit.runtime.clerk import Clerk
from cobandit.runtime.desk import MOST_WAITING
from cobandit.runtime.fleet import Fleet
from cobandit.runtime.journal import Batch, Journal, JournalError, Mail
from cobandit.runtime.letters import AnyLetter, Letter
from cobandit.runtime.sessions import fresh_session
from cobandit.runtime.statistics import (
    Communication,
    Statistics,
    arms_of,
    encode_statistics,
    peers_of,
)
from cobandit.runtime.transports.base import LARGEST_FRAME, Refusal, Transport
from cobandit.runtime.turn import Turn
from cobandit.values.errors import LocalError, NotNowError
from cobandit.values.tally import Arm

Value = TypeVar("Value")

MOST_PACKETS = 10_000
"""So many packets may wait to be looked at; further ones are refused."""

MOST_PACKET_BYTES = 64 * 2**20

LINGER = 0.002
"""Seconds to wait for more before a turn that will sync a disk, unless it already follows another: then what came while
that one was written is enough to be worth it."""

LOOK_EVERY = 0.005
LOOKS_UNTIL_IDLE = 200
"""A desk in use is looked at so often, in seconds, until so many looks in a row found nothing; then it must wake this
side again. To wake another thread would cost a caller many times what a decision does."""

BATCHES_UNTIL_SNAPSHOT = 4096

FIRST_ANNOUNCEMENT, LONGEST_BETWEEN_ANNOUNCEMENTS = 2.0, 600.0
"""Seconds; the pause doubles from the one to the other, in case nobody heard."""

GRACE = 10.0
"""Seconds after the start in which it is no error if nobody can be reached."""

JOURNAL_RETRY = 1.0
"""Seconds until a disk that failed is tried again."""

FLUSH_WITHIN = 1.0
"""Seconds that a member which stops waits for the others to acknowledge its last observations."""

MAIL_EVERY = 2.0
"""Seconds between two looks into the mailbox."""

JOURNAL = "the journal"
"""What a disk that does not work is called among the troubles."""


class Node:
    """One member's network side. It is also the inbox of its transport."""

    def __init__(
        self, clerk: Clerk, journal: Journal, transport: Transport, *, executor: Executor | None = None
    ) -> None:
        self.clerk = clerk
        self._journal = journal
        self._transport = transport
        self._executor = executor
        self._started_at = self._now()
        self._own_at_start = sum(clerk.agent.own_observations().values())
        self._packets: deque[tuple[bytes, str | None]] = deque()
        self._packet_bytes = 0
        self._mail: list[Mail] = []
        self._unsaved: list[Batch] = []
        self._mail_done: list[int] = []
        self._counts: Counter[str] = Counter()
        self._synced_batches = 0
        self._since_snapshot = 0
        self._announce_at: float | None = None
        self._pause = FIRST_ANNOUNCEMENT
        self._journal_retry_at: float | None = None
        self._mail_at = 0.0
        self._waiters: list[asyncio.Future[None]] = []
        self._event = asyncio.Event()
        self._turns = asyncio.Lock()
        self._is_stopping = False
        self._is_looking = False
        self._looks_in_vain = 0
        self._task: asyncio.Task[None] | None = None
        self._round: asyncio.Task[Fleet] | None = None

    # The transport's inbox.

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Take a packet."""
        guard, now = self.clerk.guard, self._now()
        if not guard.admits(sender, now):
            return
        if len(frame) > LARGEST_FRAME:
            self.clerk.refuse(Refusal.OVERSIZED, sender, "a packet that is too large")
        elif len(self._packets) >= MOST_PACKETS or self._packet_bytes + len(frame) > MOST_PACKET_BYTES:
            guard.refuse(Refusal.FLOOD, None, now)
        else:
            self._packets.append((frame, sender))
            self._packet_bytes += len(frame)
            self._counts["received"] += 1
            self._counts["bytes_received"] += len(frame)
            self._event.set()

    def reachable(self, peer: str | None) -> None:
        """Say that this member is here."""
        if peer is not None:
            self.clerk.greet(peer)
        else:
            self._announce_at, self._pause = self._now(), FIRST_ANNOUNCEMENT
        self._event.set()

    def refused(self, reason: Refusal, sender: str | None) -> None:
        """Count what the transport refused. The name is only claimed, so nobody is blamed."""
        self.clerk.refuse(reason, None, f"something {reason.value}")  # a name that is only claimed may be anything
        del sender

    def trouble(self, what: str | None) -> None:
        """Note that the network does not work, or works again."""
        is_beginning = self._now() < self._started_at + GRACE  # one must be the first of a fleet
        self.clerk.complaints.trouble("the network", what, logging.WARNING if is_beginning else logging.ERROR)

    # Life.

    async def start(self) -> None:
        """Write down that this start has begun, open the transport, and say that this member is here."""
        await self._blocking(self._journal.replace, self.clerk.state(is_clean=False))
        self.clerk.introduce()
        self.clerk.publish()
        await self._transport.open(self.clerk.terms.name, self.clerk.terms.group, self)
        self._task = asyncio.create_task(self._run(), name=f"cobandit member {self.clerk.terms.name}")
        self.wake()

    async def stop(self) -> None:
        """Say farewell, write everything down, leave the clean marker, and let go of everything."""
        self._is_stopping = True
        self._event.set()
        try:
            if self._task is not None:
                await self._task
            self.clerk.answers.end()
            if self._round is not None:
                await self._round
            await self._flush(FLUSH_WITHIN)
            async with self._turns:
                self.clerk.take_leave()
                if await self._work():
                    await self._blocking(self._journal.replace, self.clerk.state(is_clean=True))
        except JournalError as error:
            self.clerk.complaints.say(logging.ERROR, f"stops without a clean marker: {error}")
        finally:
            await self._transport.close()
            await self._blocking(self._journal.close)

    async def flush(self, within: float) -> bool:
        """Send to everybody who is here what it lacks. Return whether all acknowledge it within these seconds."""
        deadline = asyncio.get_running_loop().time() + within
        async with self._turns:
            await self._work()
            self.clerk.flush()
        while self.clerk.lacking and asyncio.get_running_loop().time() < deadline:
            self._event.set()
            await asyncio.sleep(LOOK_EVERY)
        return not self.clerk.lacking

    async def _flush(self, within: float) -> None:
        """Do the same when nothing takes turns any more."""
        deadline = asyncio.get_running_loop().time() + within
        async with self._turns:
            if not await self._work() or self.clerk.superseded_by is not None:
                return
            self.clerk.flush()
            while self.clerk.lacking and asyncio.get_running_loop().time() < deadline:
                if not await self._work():
                    return
                await asyncio.sleep(LOOK_EVERY)

    def wake(self) -> None:
        """Look at the desk's queues, now and from now on, until it is out of use."""
        self._event.set()
        self.clerk.desk.is_awake = True
        self._looks_in_vain = 0
        if not self._is_looking and not self._is_stopping:
            self._is_looking = True
            asyncio.get_running_loop().call_later(LOOK_EVERY, self._look)

    def _look(self) -> None:
        desk = self.clerk.desk
        if desk.is_waiting:
            self._event.set()
            self._looks_in_vain = 0
        else:
            self._looks_in_vain += 1
        self._is_looking = self._looks_in_vain < LOOKS_UNTIL_IDLE and not self._is_stopping
        if self._is_looking:
            asyncio.get_running_loop().call_later(LOOK_EVERY, self._look)
            return
        desk.is_awake = False
        if desk.is_waiting and not self._is_stopping:  # it came before the desk was told to call
            self.wake()

    async def synced(self) -> None:
        """Return when everything that was rewarded before is on the disk.

        Raises:
            JournalError: The disk does not take it. It is tried again.
        """
        if self._is_stopping:
            raise NotNowError("the member is closed")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._event.set()
        await waiter

    async def add_arm(self, arm: Arm) -> None:
        """Offer an arm more. One that was never there begins a new session, which tells the others."""
        clerk = self.clerk
        async with self._turns:
            if arm in clerk.agent.arms:
                clerk.removed -= {arm}
            else:
                await self._begin_session(arms=(*clerk.agent.arms, arm))
            clerk.publish()

    async def act(self, work: Callable[[], Value]) -> Value:
        """Let the clerk do something that operators asked for, between two turns, and tell the others soon."""
        async with self._turns:
            try:
                return work()
            finally:
                self._event.set()

    @property
    def disk_trouble(self) -> str | None:
        """Why the journal cannot be written; `None` if it can."""
        return self.clerk.complaints.trouble_about(JOURNAL)

    def statistics(self) -> Statistics:
        """Return how this member is."""
        clerk, desk, now = self.clerk, self.clerk.desk, self._now()
        own = sum(clerk.agent.own_observations().values())
        return Statistics(
            name=clerk.terms.name,
            group=clerk.terms.group,
            at=now,
            uptime_s=max(0.0, now - self._started_at),
            incarnation=clerk.agent.incarnation,
            policy=type(clerk.agent.policy).__name__,
            decisions=desk.decisions,
            own_observations=own,
            observations=clerk.agent.policy.tally.observations,
            open_decisions=desk.open_decisions,
            arms=arms_of(clerk.agent, clerk.controls.frozen, clerk.removed),
            control_arm=clerk.controls.control_arm,
            peers=peers_of(clerk.agent, now, clerk.peer_versions),
            communication=Communication(**{name: self._counts[name] for name in Communication.__struct_fields__}),
            refused={reason.name.lower(): count for reason, count in clerk.guard.refusals.items()},
            quarantined=clerk.guard.quarantined(now),
            troubles=clerk.complaints.troubles,
            synced_batches=self._synced_batches,
            observed=max(0, own - self._own_at_start),
            immediate=clerk.immediate,
            is_superseded=clerk.superseded_by is not None,
        )

    async def fleet(self, wait_s: float) -> Fleet:
        """Ask the members that are here how they are. Who asks while a round is under way gets the same answer."""
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._ask(wait_s), name=f"cobandit fleet of {self.clerk.terms.name}")
        return await asyncio.shield(self._round)

    async def _ask(self, wait_s: float) -> Fleet:
        question = letters.StatusAsked(self.clerk.terms.name)
        agent = self.clerk.agent

        def ask(answered: Collection[str]) -> None:
            for peer in agent.peers:
                is_asked = agent.link(peer).is_present and peer not in answered
                if is_asked and (packet := self._packed(question, peer)) is not None:
                    self._counts["lost"] += not self._transport.send(peer, packet)

        return await self.clerk.answers.collect(ask, wait_s, quiet_s=0.0, own=self.statistics())

    def history(self) -> Iterator[Batch]:
        """Return the batches that the journal still has: the log of decisions."""
        return self._journal.history()

    def step(self, *, may_wake: bool = True) -> None:
        """Take a turn, write and send, all at once: for journals that do not block, in a time that is simulated."""
        turn = self._turn(may_wake=may_wake)
        if not turn.is_empty:
            self._journal.write((turn.batch,), turn.mail_done)
        self._send(turn)

    # Turns.

    async def _run(self) -> None:
        while not self._is_stopping:
            try:
                was_idle = await self._until_needed()
                if was_idle and self._journal.is_durable and not self._is_stopping:
                    await asyncio.sleep(LINGER)
                async with self._turns:
                    await self._look_into_mailbox()
                    await self._work()
                    if self.clerk.session_wanted is not None:
                        await self._begin_session(incarnation=self.clerk.session_wanted)
            except JournalError as error:
                self._not_written(error)
            except Exception as error:  # noqa: BLE001  # whatever it is, the member must not fall silent for good
                self.clerk.complaints.crash("a turn failed. If it is not a policy of your own, please report it", error)
                self.clerk.complaints.trouble("a turn", f"a turn failed, and is tried again: {error!r}")
                await asyncio.sleep(JOURNAL_RETRY)
            else:
                self.clerk.complaints.trouble("a turn", None)

    async def _until_needed(self) -> bool:
        """Return when there is something to do, and whether it had to be waited for."""
        await asyncio.sleep(0)  # others on this loop have their turn even if this member always has something to do
        was_idle = False
        while not self._is_needed:
            due_at = self._due_at()
            pause = None if due_at is None else due_at - self._now()
            if pause is not None and pause <= 0.0:
                break
            was_idle = True
            self._event.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._event.wait()
            except TimeoutError:
                break
        self._event.clear()
        return was_idle

    @property
    def _is_needed(self) -> bool:
        if self._waiters or self._is_stopping:
            return True
        if self._journal_retry_at is not None:
            return False  # whatever it is, it cannot be written down before the disk is tried again
        return bool(self._packets or self._event.is_set() or self.clerk.is_needed)

    def _due_at(self) -> float | None:
        if self._journal_retry_at is not None:
            return self._journal_retry_at
        announce_at = None if self.clerk.superseded_by is not None else self._announce_at
        times = (self.clerk.due_at(), announce_at, self._mail_at if self._journal.is_durable else None)
        return min((time for time in times if time is not None), default=None)

    async def _work(self) -> bool:
        """Take a turn; write, then send. Return whether everything is written."""
        waiters, self._waiters = self._waiters, []
        try:
            turn = self._turn()
            await self._write(turn)
        except JournalError as error:
            self._not_written(error)
            _disappoint(waiters, str(error))
            return False
        except BaseException as error:
            _disappoint(waiters, f"a turn failed: {error!r}")
            raise
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._send(turn)
        return True

    def _turn(self, *, may_wake: bool = True) -> Turn:
        packets = [self._packets.popleft() for _ in range(len(self._packets))]
        self._packet_bytes = 0
        if self._journal_retry_at is not None:
            packets = []  # what cannot be written down must not be answered; it will be said again
        mail, self._mail = self._mail, []
        turn = self.clerk.turn(packets, mail, may_wake=may_wake)
        if turn.askers:
            status = letters.StatusTold(self.clerk.terms.name, encode_statistics(self.statistics()))
            turn.outgoing.extend((asker, status) for asker in turn.askers)
        return turn

    async def _write(self, turn: Turn) -> None:
        if not turn.is_empty:
            self._unsaved.append(turn.batch)
            self._mail_done += turn.mail_done
        if self._unsaved:
            await self._blocking(self._journal.write, tuple(self._unsaved), tuple(self._mail_done))
            self._synced_batches += len(self._unsaved)
            self._since_snapshot += len(self._unsaved)
            self._unsaved.clear()
            self._mail_done.clear()
        if self._since_snapshot >= BATCHES_UNTIL_SNAPSHOT:
            await self._blocking(self._journal.replace, self.clerk.state(is_clean=False))
            self._since_snapshot = 0
        self._journal_retry_at = None
        self.clerk.desk.refusal = None
        self.clerk.complaints.trouble(JOURNAL, None)

    def _not_written(self, error: JournalError) -> None:
        self._journal_retry_at = self._now() + JOURNAL_RETRY
        self.clerk.complaints.trouble(JOURNAL, f"{error}. Until then it decides, shares nothing, and tries again")
        waiting = sum(len(batch.decided) + len(batch.settled) for batch in self._unsaved)
        if waiting > MOST_WAITING:
            self.clerk.desk.refusal = f"{waiting} decisions and rewards wait for the disk: {error}"

    def _send(self, turn: Turn) -> None:
        is_superseded = self.clerk.superseded_by is not None
        for receiver, content in turn.outgoing:
            if is_superseded and not isinstance(content, letters.StatusTold):
                continue  # another process speaks for this member now
            packet = self._packed(content, receiver)
            if packet is not None and not self._transport.send(receiver, packet):
                self._counts["lost"] += 1
        if self._announce_at is not None and self._now() >= self._announce_at and not is_superseded:
            packet = self._packed(self.clerk.hello(), None)
            if packet is not None:
                self._transport.announce(packet)
            self._announce_at = self._now() + self._pause
            self._pause = min(2.0 * self._pause, LONGEST_BETWEEN_ANNOUNCEMENTS)

    def _packed(self, content: Message | AnyLetter, receiver: str | None) -> bytes | None:
        """Return a packet in a version that its receiver reads: a hello in the oldest, for it says which those are."""
        terms, is_hello = self.clerk.terms, isinstance(content, letters.Hello)
        version = self.clerk.peer_versions.of(None if is_hello else receiver)
        try:
            packet = terms.versions.packets.encode(content, terms.group, version)
            self._transport.check_size(packet)
        except NotSpokenError:  # it was added later, so who reads only that version does not miss it
            return None
        except LocalError as error:
            self.clerk.complaints.say_once(logging.ERROR, str(error))
            return None
        self._counts[_kind(content)] += 1
        self._counts["bytes_sent"] += len(packet)
        return packet

    async def _begin_session(self, *, incarnation: int | None = None, arms: tuple[Arm, ...] | None = None) -> None:
        """Begin a session, in a new incarnation or with more arms, once what came before is written."""
        if not await self._work():
            raise JournalError("the journal cannot be written now, so nothing can change: see statistics().troubles")
        clerk = self.clerk
        session = incarnation or fresh_session(clerk.agent.session, clerk.clock)
        clerk.begin_session(session, incarnation=incarnation, arms=arms)
        clerk.introduce()
        await self._work()
        self._announce_at, self._pause = self._now(), FIRST_ANNOUNCEMENT
        self._event.set()

    async def _look_into_mailbox(self) -> None:
        if self._journal.is_durable and self._now() >= self._mail_at and not self._mail_done:
            self._mail_at = self._now() + MAIL_EVERY
            try:
                self._mail = await self._blocking(self._journal.mail)
                self.clerk.complaints.trouble("the mailbox", None)
            except LocalError as error:
                self.clerk.complaints.trouble("the mailbox", str(error))

    def _now(self) -> float:
        return self.clerk.clock.now()

    async def _blocking(self, work: Callable[..., Value], *arguments: object) -> Value:
        if not self._journal.is_durable or self._executor is None:
            return work(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)


def _disappoint(waiters: list[asyncio.Future[None]], why: str) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_exception(JournalError(why))


def _kind(content: Message | AnyLetter) -> str:
    match content:
        case Share():
            return "shares" if content.is_fresh else "repetitions"
        case Acknowledgement():
            return "acknowledgements"
        case Letter():
            return "letters"
    return "notices"
