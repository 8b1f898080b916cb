"""The network side of one member in real time: a machine, driven by an event loop, with a journal and a transport.

One task for each member. A step takes what has come in; then, in this order, the batch is written and synced, the
packets go out, the timer is set. What cannot be written is not sent; what cannot be sent is lost, and the protocol
repeats it. Everything here happens on the thread of one event loop; only the disk is waited for beside it.
"""

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from time import thread_time
from typing import TypeVar

from cobandit import __version__
from cobandit.codec import NotSpokenError, facts_that_fit
from cobandit.codec.frames import ENVELOPE
from cobandit.core import Acknowledgement, Message, Share
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.decider import MOST_WAITING
from cobandit.live.drive.background import Breaks
from cobandit.live.drive.proof_watch import ProofWatch
from cobandit.live.drive.rounds import Rounds
from cobandit.live.log_events import LogEvent
from cobandit.live.machine import control_messages
from cobandit.live.machine.batch import Batch, Mail
from cobandit.live.machine.control_messages import AnyControlMessage, ControlMessage
from cobandit.live.machine.machine import Machine, Question
from cobandit.live.machine.sessions import fresh_session
from cobandit.live.machine.step import Step
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.statistics import (
    MAX_GONE_NAMED,
    Communication,
    Statistics,
    arms_of,
    encode_statistics,
    peers_of,
)
from cobandit.live.store.journal import Journal, JournalError
from cobandit.live.transports.base import LARGEST_FRAME, Transport
from cobandit.policies.matching import Posterior, best_odds
from cobandit.values.errors import LocalError, NotNowError
from cobandit.values.tally import Arm

Value = TypeVar("Value")

MOST_PACKETS = 10_000
"""So many packets may wait to be looked at; further ones are refused."""

MOST_PACKET_BYTES = 64 * 2**20

LINGER = 0.002
"""Seconds to wait for more before a step that will sync a disk, unless it already follows another: then what came while
that one was written is enough to be worth it."""

LOOK_EVERY = 0.005
LOOKS_UNTIL_IDLE = 200
"""A decider in use is looked at so often, in seconds, until so many looks in a row found nothing; then it must wake
this side again. To wake another thread would cost a caller many times what a decision does."""

BATCHES_UNTIL_SNAPSHOT = 4096

FIRST_ANNOUNCEMENT, LONGEST_BETWEEN_ANNOUNCEMENTS = 2.0, 600.0
"""Seconds; the pause doubles from the one to the other, in case nobody heard."""

ANSWERED_WITHIN = 3.0
"""Seconds that a member waits at its start until another has told it what operators have set."""

ALONE_AFTER = 1.0
"""Seconds after which a member that has reached and heard nobody takes it that nobody is here."""

GRACE = 10.0
"""Seconds after the start in which it is no error if nobody can be reached."""

JOURNAL_RETRY = 1.0
"""Seconds until a disk that failed is tried again."""

FLUSH_WITHIN = 1.0
"""Seconds that a member which stops waits for the others to acknowledge its last observations."""

MATCHING_REST = 9.0
"""Computing odds is followed by a rest of so many times as long, so that it takes a tenth of a core at most."""

MAIL_EVERY = 2.0
"""Seconds between two looks into the mailbox."""


class Node:
    """One member's network side. It is also the inbox of its transport."""

    def __init__(
        self,
        machine: Machine,
        journal: Journal,
        transport: Transport,
        *,
        executor: Executor | None = None,
        matcher: Executor | None = None,
    ) -> None:
        self.machine = machine
        self._journal = journal
        self._transport = transport
        machine.guard.may_relay = transport.may_relay
        self._executor = executor
        self._matcher = matcher
        """Where odds are computed; on this loop if there is none."""
        self._started_at = self._now()
        self._own_at_start = sum(machine.agent.own_observations().values())
        self._packets: deque[tuple[bytes, str | None]] = deque()
        self._packet_bytes = 0
        self._mail: list[Mail] = []
        self._unsaved: list[Batch] = []
        self._mail_done: list[int] = []
        self._counts: Counter[str] = Counter()
        self._fitted: tuple[int, tuple[Arm, ...]] | None = None
        """For which size of packets, and which arms, it was computed how much fits a message."""
        self._unsent: dict[str, set[str | None]] = {}
        """By kind of message, to whom the last one was too large to be sent."""
        self._synced_batches = 0
        self._since_snapshot = 0
        self._announce_at: float | None = None
        self._pause = FIRST_ANNOUNCEMENT
        self._journal_retry_at: float | None = None
        self._mail_at = 0.0
        self._proof = ProofWatch(transport, machine.alerts, machine.clock)
        self._waiters: list[asyncio.Future[None]] = []
        self._event = asyncio.Event()
        self._steps = asyncio.Lock()
        self._has_company = False
        """Whether somebody else was reached or heard."""
        self._has_announced = True
        """Whether everybody who can be reached was told that this member is here."""
        self._informed = asyncio.Event()
        self._is_stopping = False
        self._is_looking = False
        self._looks_in_vain = 0
        self._rounds = Rounds(machine.answers)
        self._task: asyncio.Task[None] | None = None
        self._round: asyncio.Task[Fleet] | None = None
        self._matching: asyncio.Task[None] | None = None

    # The transport's inbox.

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Take a packet."""
        guard, now = self.machine.guard, self._now()
        if not guard.admits(sender, now):
            return
        if len(frame) > LARGEST_FRAME:
            self.machine.refuse(Refusal.OVERSIZED, sender, "a packet that is too large")
        elif len(self._packets) >= MOST_PACKETS or self._packet_bytes + len(frame) > MOST_PACKET_BYTES:
            guard.refuse(Refusal.FLOOD, None, now)
        else:
            self._has_company = True
            self._packets.append((frame, sender))
            self._packet_bytes += len(frame)
            self._counts["received"] += 1
            self._counts["bytes_received"] += len(frame)
            self._event.set()

    def reachable(self, peer: str | None) -> None:
        """Say that this member is here."""
        if peer is not None:
            self._has_company = True
            self.machine.greet(peer)
            if self._announce_at is None:  # or who has nothing to say would be taken to be gone
                self._pause = LONGEST_BETWEEN_ANNOUNCEMENTS
                self._announce_at = self._now() + self._pause
        else:
            self._announce_at, self._pause = self._now(), FIRST_ANNOUNCEMENT
            self._has_announced = False
        self._event.set()

    def refused(self, reason: Refusal, sender: str | None) -> None:
        """Count what the transport refused. The name is only claimed, so nobody is blamed."""
        is_known = sender is not None and self.machine.agent.knows(sender)  # others could make up as many as they like
        whose = f", in the name of {sender}" if is_known else ""
        self.machine.refuse(reason, None, f"something {reason.value}{whose}")

    def trouble(self, what: str | None) -> None:
        """Note that the network does not work, or works again."""
        is_beginning = self._now() < self._started_at + GRACE  # one must be the first of a fleet
        level = logging.WARNING if is_beginning else logging.ERROR
        self.machine.alerts.trouble(LogEvent.NETWORK_DOWN, what, level)

    # Life.

    async def start(self) -> None:
        """Write down that this start has begun, open the transport, say that this member is here, and hear what is set.

        So a newcomer obeys the kill switch from its first decision on.
        """
        self.machine.awaits_settings = True
        await self._blocking(self._journal.replace, self.machine.state(is_clean=False))
        self.machine.introduce()
        self.machine.publish()
        await self._transport.open(self.machine.terms.name, self.machine.terms.group, self)
        self._task = asyncio.create_task(self._run(), name=f"cobandit member {self.machine.terms.name}")
        self.wake()
        try:
            await self._hear_settings()
        except asyncio.CancelledError:
            self._is_stopping = True
            self._event.set()
            await asyncio.shield(self._task)
            raise

    async def _hear_settings(self) -> None:
        """Wait until another member has told what is set; not for long, and less if nobody is here."""
        machine = self.machine
        if not self._transport.is_alone:
            await self._until_informed(ALONE_AFTER)
            if (self._has_company and not self._is_among_newcomers) or not self._has_announced:
                await self._until_informed(ANSWERED_WITHIN - ALONE_AFTER)
        machine.awaits_settings = False
        if machine.settings_from is not None:
            told = f"starts with the settings that {machine.settings_from} has told"
            machine.alerts.say(logging.INFO, LogEvent.SETTINGS_TOLD, told)
        elif self._is_among_newcomers:
            machine.alerts.say(
                logging.INFO,
                LogEvent.STARTS_TOGETHER,
                f"everybody who answered has just started too: it starts with its own settings ({machine.controls})",
            )
        elif self._has_company:
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

    @property
    def _is_among_newcomers(self) -> bool:
        """Whether all peers have answered that they have just started, so that none knows more than this member."""
        discovery = self.machine.discovery
        reached = {*self.machine.peers, *discovery.unanswered}
        return bool(discovery.newcomers) and reached <= discovery.newcomers

    async def _until_informed(self, within: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._informed.wait()

    async def stop(self) -> None:
        """Say farewell, write everything down, leave the clean marker, and let go of everything."""
        self._is_stopping = True
        self._event.set()
        try:
            if self._task is not None:
                await self._task
            if self._matching is not None:
                self._matching.cancel()
            self.machine.answers.end()
            if self._round is not None:
                await self._round
            await self._flush(FLUSH_WITHIN)
            async with self._steps:
                self.machine.take_leave()
                if await self._work():
                    await self._blocking(self._journal.replace, self.machine.state(is_clean=True))
        except JournalError as error:
            self.machine.alerts.say(logging.ERROR, LogEvent.STOP_UNCLEAN, f"stops without a clean marker: {error}")
        finally:
            await self._transport.close()
            await self._blocking(self._journal.close)

    async def flush(self, within: float) -> bool:
        """Send to everybody who is here what it lacks. Return whether all acknowledge it within these seconds."""
        deadline = asyncio.get_running_loop().time() + within
        async with self._steps:
            await self._work()
            self.machine.flush()
        while self.machine.lacking and asyncio.get_running_loop().time() < deadline:
            self._event.set()
            await asyncio.sleep(LOOK_EVERY)
        return not self.machine.lacking

    async def _flush(self, within: float) -> None:
        """Do the same when nothing takes steps any more."""
        deadline = asyncio.get_running_loop().time() + within
        async with self._steps:
            if not await self._work() or self.machine.superseded_by is not None:
                return
            self.machine.flush()
            while self.machine.lacking and asyncio.get_running_loop().time() < deadline:
                if not await self._work():
                    return
                await asyncio.sleep(LOOK_EVERY)

    def wake(self) -> None:
        """Look at the decider's queues, now and from now on, until it is out of use."""
        self._event.set()
        self.machine.decider.is_awake = True
        self._looks_in_vain = 0
        if not self._is_looking and not self._is_stopping:
            self._is_looking = True
            asyncio.get_running_loop().call_later(LOOK_EVERY, self._look)

    def _look(self) -> None:
        decider = self.machine.decider
        if decider.is_waiting:
            self._event.set()
            self._looks_in_vain = 0
        else:
            self._looks_in_vain += 1
        self._is_looking = self._looks_in_vain < LOOKS_UNTIL_IDLE and not self._is_stopping
        if self._is_looking:
            asyncio.get_running_loop().call_later(LOOK_EVERY, self._look)
            return
        decider.is_awake = False
        if decider.is_waiting and not self._is_stopping:  # it came before the decider was told to call
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
        machine = self.machine
        async with self._steps:
            if arm in machine.agent.arms:
                machine.removed -= {arm}
            else:
                await self._begin_session(arms=(*machine.agent.arms, arm))
            machine.publish()

    async def act(self, work: Callable[[], Value]) -> Value:
        """Let the machine do something that operators asked for, between two steps, and tell the others soon."""
        async with self._steps:
            try:
                return work()
            finally:
                self._event.set()

    @property
    def disk_trouble(self) -> str | None:
        """Why the journal cannot be written; `None` if it can."""
        return self.machine.alerts.trouble_about(LogEvent.JOURNAL_UNWRITABLE)

    def statistics(self) -> Statistics:
        """Return how this member is."""
        machine, decider, now = self.machine, self.machine.decider, self._now()
        own = sum(machine.agent.own_observations().values())
        return Statistics(
            name=machine.terms.name,
            group=machine.terms.group,
            at=now,
            uptime_s=max(0.0, now - self._started_at),
            incarnation=machine.agent.incarnation,
            policy=type(machine.agent.policy).__name__,
            decisions=decider.decisions,
            own_observations=own,
            observations=machine.agent.policy.tally.observations,
            open_decisions=decider.open_count,
            arms=arms_of(machine.agent, machine.controls.frozen, machine.removed),
            control_arm=machine.controls.control_arm,
            peers=peers_of(machine.agent, now, machine.peer_versions.of),
            communication=Communication(**{name: self._counts[name] for name in Communication.__struct_fields__}),
            refused={reason.name.lower(): count for reason, count in machine.guard.refusals.items()},
            quarantined=machine.guard.quarantined(now),
            troubles=machine.alerts.troubles,
            synced_batches=self._synced_batches,
            observed=max(0, own - self._own_at_start),
            immediate=machine.immediate,
            rewards_waiting=machine.outbox.waiting,
            rewards_brought=machine.rewards_brought,
            rewards_given_up=machine.rewards_given_up,
            latest_setting=machine.controls.latest,
            settings_from=machine.settings_from,
            is_superseded=machine.superseded_by is not None,
            certificate_s=(
                None
                if (until := self._transport.valid_until) is None
                else max(0.0, until - machine.clock.time_of_day())
            ),
            trust_number=self._transport.trust_number,
            gone=machine.agent.gone,
            gone_observations=machine.agent.gone_observations(),
            gone_names=machine.agent.last_forgotten(MAX_GONE_NAMED),
            version=__version__,
        )

    async def fleet(self, wait_s: float) -> Fleet:
        """Ask the members that are here how they are. Who asks while a round is under way gets the same answer."""
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._ask(wait_s), name=f"cobandit fleet of {self.machine.terms.name}")
        return await asyncio.shield(self._round)

    async def _ask(self, wait_s: float) -> Fleet:
        question = control_messages.StatusAsked(self.machine.terms.name)
        agent = self.machine.agent

        def ask(answered: Collection[str]) -> None:
            for peer in agent.peers:
                reached = agent.is_present(peer) and peer not in answered
                if reached and (packet := self._packed(question, peer)) is not None:
                    self._counts["lost"] += not self._transport.send(peer, packet)

        return await self._rounds.collect(ask, wait_s, quiet_s=0.0, own=self.statistics())

    def history(self) -> Iterator[Batch]:
        """Return the batches that the journal still has: the log of decisions."""
        return self._journal.history()

    def step(self, *, may_wake: bool = True) -> None:
        """Take a step, write and send, all at once: for journals that do not block, in a time that is simulated."""
        step = self._step(may_wake=may_wake)
        if not step.is_empty:
            self._journal.write((step.batch,), step.mail_done)
        self._send(step)
        if (question := self.machine.question()) is not None:
            self.machine.answer(question, best_odds(question.posteriors))

    # Steps.

    async def _run(self) -> None:
        while not self._is_stopping:
            try:
                was_idle = await self._until_needed()
                if was_idle and self._journal.is_durable and not self._is_stopping:
                    await asyncio.sleep(LINGER)
                self._proof.look()
                async with self._steps:
                    await self._look_into_mailbox()
                    await self._work()
                    if self.machine.session_wanted is not None:
                        await self._begin_session(incarnation=self.machine.session_wanted)
                    self._match()
            except JournalError as error:
                self._not_written(error)
            except Exception as error:  # noqa: BLE001  # whatever it is, the member must not fall silent for good
                self.machine.alerts.crash("a step failed. If it is not a policy of your own, please report it", error)
                self.machine.alerts.trouble(LogEvent.STEP_FAILED, f"a step failed, and is tried again: {error!r}")
                await asyncio.sleep(JOURNAL_RETRY)
            else:
                self.machine.alerts.trouble(LogEvent.STEP_FAILED, None)

    def _match(self) -> None:
        """Let the odds of the arms be computed if something has changed, unless they just are."""
        if (self._matching is None or self._matching.done()) and (question := self.machine.question()) is not None:
            name = f"cobandit odds of {self.machine.terms.name}"
            self._matching = asyncio.create_task(self._matched(question), name=name)

    async def _matched(self, question: Question) -> None:
        asked = question
        while True:
            try:
                odds, worked_s = await self._odds(asked)
            except Exception as error:  # noqa: BLE001  # a policy of the user's own has posteriors that cannot be
                self.machine.alerts.trouble(
                    LogEvent.ODDS_FAILED, f"the policy's posteriors have no odds, so the last ones stay: {error!r}"
                )
                return
            self.machine.alerts.trouble(LogEvent.ODDS_FAILED, None)
            self.machine.answer(asked, odds)
            await asyncio.sleep(MATCHING_REST * worked_s)
            if (changed := self.machine.question()) is None:
                return
            asked = changed

    async def _odds(self, question: Question) -> tuple[list[float], float]:
        """Return the odds, and how many seconds the work took, without waiting."""
        if self._matcher is None:
            return best_odds(question.posteriors), 0.0
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._matcher, _odds_and_seconds, question.posteriors)

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
        return bool(self._packets or self._event.is_set() or self.machine.is_needed)

    def _due_at(self) -> float | None:
        if self._journal_retry_at is not None:
            return self._journal_retry_at
        announce_at = None if self.machine.superseded_by is not None else self._announce_at
        mail_at = self._mail_at if self._journal.is_durable else None
        times = (self.machine.due_at(), announce_at, mail_at, self._proof.due_at)
        return min((time for time in times if time is not None), default=None)

    async def _work(self) -> bool:
        """Take a step; write, then send. Return whether everything is written."""
        waiters, self._waiters = self._waiters, []
        try:
            step = self._step()
            await self._write(step)
        except JournalError as error:
            self._not_written(error)
            _disappoint(waiters, str(error))
            return False
        except BaseException as error:
            _disappoint(waiters, f"a step failed: {error!r}")
            raise
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._send(step)
        if self.machine.settings_from is not None:
            self._informed.set()
        return True

    def _step(self, *, may_wake: bool = True) -> Step:
        packets = [self._packets.popleft() for _ in range(len(self._packets))]
        self._packet_bytes = 0
        if self._journal_retry_at is not None:
            packets = []  # what cannot be written down must not be answered; it will be said again
        mail, self._mail = self._mail, []
        self._fit_packets()
        step = self.machine.step(packets, mail, may_wake=may_wake)
        if step.askers:
            status = control_messages.StatusTold(self.machine.terms.name, encode_statistics(self.statistics()))
            step.outgoing.extend((asker, status) for asker in step.askers)
        return step

    def _fit_packets(self) -> None:
        """See to it that what the agent says in one message fits a packet of the transport."""
        agent, largest = self.machine.agent, self._transport.largest_frame
        if (largest, agent.arms) != self._fitted:
            self._fitted = (largest, agent.arms)
            self.machine.room = min(self.machine.room, max(1, largest - 2 * ENVELOPE))
            try:
                agent.limit_facts(facts_that_fit(largest, agent.arms))
                self.machine.alerts.trouble(LogEvent.ARMS_TOO_MANY, None)
            except LocalError as error:
                self.machine.alerts.trouble(LogEvent.ARMS_TOO_MANY, str(error))

    async def _write(self, step: Step) -> None:
        if not step.is_empty:
            self._unsaved.append(step.batch)
            self._mail_done += step.mail_done
        if self._unsaved:
            await self._blocking(self._journal.write, tuple(self._unsaved), tuple(self._mail_done))
            self._synced_batches += len(self._unsaved)
            self._since_snapshot += len(self._unsaved)
            self._unsaved.clear()
            self._mail_done.clear()
        if self._since_snapshot >= BATCHES_UNTIL_SNAPSHOT:
            await self._blocking(self._journal.replace, self.machine.state(is_clean=False))
            self._since_snapshot = 0
        self._journal_retry_at = None
        self.machine.decider.refusal = None
        self.machine.alerts.trouble(LogEvent.JOURNAL_UNWRITABLE, None)

    def _not_written(self, error: JournalError) -> None:
        self._journal_retry_at = self._now() + JOURNAL_RETRY
        what = f"{error}. Until then it decides, shares nothing, and tries again"
        self.machine.alerts.trouble(LogEvent.JOURNAL_UNWRITABLE, what)
        waiting = sum(len(batch.decided) + len(batch.settled) for batch in self._unsaved)
        if waiting > MOST_WAITING:
            self.machine.decider.refusal = f"{waiting} decisions and rewards wait for the disk: {error}"

    def _send(self, step: Step) -> None:
        is_superseded = self.machine.superseded_by is not None
        for receiver, content in step.outgoing:
            if is_superseded and not isinstance(content, control_messages.StatusTold):
                continue  # another process speaks for this member now
            packet = self._packed(content, receiver)
            if packet is None:
                continue
            may_send = self.machine.guard.may_send(receiver, len(packet), self._now())
            if not (may_send and self._transport.send(receiver, packet)):
                self._counts["lost"] += 1
        if self._announce_at is not None and self._now() >= self._announce_at and not is_superseded:
            packet = self._packed(self.machine.hello(), None)
            if packet is not None:
                self._transport.announce(packet)
                self._has_announced = True
            self._announce_at = self._now() + self._pause
            self._pause = min(2.0 * self._pause, LONGEST_BETWEEN_ANNOUNCEMENTS)

    def _packed(self, content: Message | AnyControlMessage, receiver: str | None) -> bytes | None:
        """Return a packet in a version that its receiver reads: a hello in the oldest, for it says which those are."""
        terms, kind, is_hello = self.machine.terms, type(content).__name__, isinstance(content, control_messages.Hello)
        version = self.machine.peer_versions.of(None if is_hello else receiver)
        try:
            packet = terms.versions.packets.encode(content, terms.group, version)
            self._transport.check_size(packet)
        except NotSpokenError:  # it was added later, so who reads only that version does not miss it
            return None
        except LocalError as error:
            self._unsent.setdefault(kind, set()).add(receiver)
            self.machine.alerts.trouble(LogEvent.MESSAGE_TOO_LARGE, f"{kind} is not sent: {error}")
            return None
        if self._unsent and receiver in self._unsent.get(kind, ()):
            self._unsent[kind].discard(receiver)
            if not any(self._unsent.values()):
                self.machine.alerts.trouble(LogEvent.MESSAGE_TOO_LARGE, None)
        self._counts[_kind(content)] += 1
        self._counts["bytes_sent"] += len(packet)
        return packet

    async def _begin_session(self, *, incarnation: int | None = None, arms: tuple[Arm, ...] | None = None) -> None:
        """Begin a session, in a new incarnation or with more arms, once what came before is written."""
        if not await self._work():
            raise JournalError("the journal cannot be written now, so nothing can change: see statistics().troubles")
        machine = self.machine
        session = incarnation or fresh_session(machine.agent.session, machine.clock)
        machine.begin_session(session, incarnation=incarnation, arms=arms)
        machine.introduce()
        await self._work()
        self._announce_at, self._pause = self._now(), FIRST_ANNOUNCEMENT
        self._event.set()

    async def _look_into_mailbox(self) -> None:
        if self._journal.is_durable and self._now() >= self._mail_at and not self._mail_done:
            self._mail_at = self._now() + MAIL_EVERY
            try:
                self._mail = await self._blocking(self._journal.mail)
                self.machine.alerts.trouble(LogEvent.MAILBOX_UNREADABLE, None)
            except LocalError as error:
                self.machine.alerts.trouble(LogEvent.MAILBOX_UNREADABLE, str(error))

    def _now(self) -> float:
        return self.machine.clock.now()

    async def _blocking(self, work: Callable[..., Value], *arguments: object) -> Value:
        if not self._journal.is_durable or self._executor is None:
            return work(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)


def _odds_and_seconds(posteriors: Sequence[Posterior]) -> tuple[list[float], float]:
    started_at = thread_time()
    return best_odds(posteriors, Breaks()), thread_time() - started_at


def _disappoint(waiters: list[asyncio.Future[None]], why: str) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_exception(JournalError(why))


def _kind(content: Message | AnyControlMessage) -> str:
    match content:
        case Share():
            return "shares" if content.is_fresh else "repetitions"
        case Acknowledgement():
            return "acknowledgements"
        case ControlMessage():
            return "letters"
    return "notices"
