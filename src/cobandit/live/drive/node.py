"""The network side of one member in real time: a machine, driven by an event loop, with a journal and a transport.

There is one task for each member. A step processes what has come in. Then, in this order, the batch is written and
synced, the packets are sent, and the timer is set. What cannot be written is not sent. What cannot be sent is lost, and
the protocol repeats it. Everything here runs on the thread of one event loop; only disk writes run elsewhere.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import TypeVar

from cobandit.core.places import Bandit
from cobandit.live.auth.refusal import Refusal
from cobandit.live.drive import looking
from cobandit.live.drive.first_settings import FirstSettings
from cobandit.live.drive.looking import Looking
from cobandit.live.drive.matching import Matching
from cobandit.live.drive.proof_watch import ProofWatch
from cobandit.live.drive.receiving import Receiving
from cobandit.live.drive.relay_places import RelayPlaces
from cobandit.live.drive.reporting import Reporting
from cobandit.live.drive.rounds import MemberRounds
from cobandit.live.drive.sending import Sending
from cobandit.live.drive.verdicts import Verdicts
from cobandit.live.drive.writing import Writing
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.bandits import Declared
from cobandit.live.machine.batch import Batch
from cobandit.live.machine.holding import Leftovers, not_given_back
from cobandit.live.machine.introduction import DECLARE_WITHIN
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.sessions import fresh_session
from cobandit.live.machine.step import Step
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.roles import role_of
from cobandit.live.status.statistics import Statistics
from cobandit.live.store.journal import Journal, JournalError
from cobandit.live.transports.base import Transport
from cobandit.values.errors import NotNowError
from cobandit.values.tally import Arm

Value = TypeVar("Value")

LINGER = 0.002
"""Seconds to wait for more input before a step that will sync a disk. A step right after another does not wait, because
what arrived during the previous write is enough to be worth it."""

RETRY = 1.0
"""Seconds until a failed step is retried."""

GRACE = 10.0
"""Seconds after the start in which an unreachable network is no error."""

FLUSH_WITHIN = 1.0
"""Seconds that a stopping member waits for acknowledgements of its last observations."""


FLUSH_AGAIN = 0.3
"""Seconds until a flush is repeated for the first time. Each later interval is twice as long."""

PASS_ON_WITHIN = 1.0
"""Seconds that a relay waits for the others when a leaf asks for the status of all members."""


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
        self._transport = transport
        machine.guard.may_relay = transport.may_relay
        if machine.lending is not None:
            machine.lending.veil = transport.veil
        transport.role = role_of(is_relay=machine.terms.is_relay, is_leaf=machine.terms.is_leaf)
        transport.on_gone = self.gone if machine.terms.is_leaf else None
        self._event = asyncio.Event()
        """Set when there may be something to do."""
        self._writing = Writing(machine, journal, executor)
        self._sending = Sending(machine, transport)
        self._receiving = Receiving(machine)
        self._matching = Matching(machine, matcher)
        self._looking = Looking(machine, self._event.set)
        self._first_settings = FirstSettings(machine, transport, self._sending)
        self._reporting = Reporting(
            machine, transport, receiving=self._receiving, sending=self._sending, writing=self._writing
        )
        self._verdicts = Verdicts(machine, matcher, self._event.set)
        self._askers: list[str] = []
        """Members that asked for this member's status, and wait for a verdict."""
        self._rounds = MemberRounds(machine, self._sending)
        self._proof = ProofWatch(transport, machine.alerts, machine.clock)
        self._relays = RelayPlaces(machine, transport)
        self._telling = set[asyncio.Task[None]]()
        """Tasks that send leaves the status of all members."""
        self.pen_wanted = asyncio.Event()
        """Set when this member needs another pen, if its name is one."""
        self._waiters: list[asyncio.Future[None]] = []
        self._steps = asyncio.Lock()
        self._is_stopping = self._is_abandoned = False
        self._network_trouble: str | None = None
        self._task: asyncio.Task[None] | None = None

    # The transport's inbox.

    def frame(self, frame: bytes, sender: str | None) -> None:
        """Take a packet."""
        if self._receiving.frame(frame, sender):
            self._first_settings.has_company = True
            self._event.set()

    def reachable(self, peer: str | None) -> None:
        """Announce this member."""
        leaf = self.machine.leaf
        if peer is not None:
            self._first_settings.has_company = True
            if leaf is None:
                self.machine.introduction.greet(peer)
            else:
                leaf.reached(peer, self._transport.place_of(peer))
            self._sending.announce_now_and_then()
        else:
            if leaf is not None:
                leaf.greet_all()
            self._sending.announce_soon()
            self._sending.has_announced = False
        self._event.set()

    def gone(self, peer: str) -> None:
        """Note that a relay's name is absent, as far as the network can tell."""
        if self.machine.leaf is not None:
            self.machine.leaf.homes.gone(peer, self.machine.clock.now())
            self._event.set()

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        """Count what the transport refused. The name is only claimed, so no member is blamed."""
        is_known = (
            sender is not None and sender in self.machine.agent.peers
        )  # others could make up as many names as they like
        whose = f", in the name of {sender}" if is_known else ""
        where = "" if host is None else f" (first from {host})"
        self.machine.refuse(reason, None, f"something {reason.value}{whose}", where)

    def trouble(self, what: str | None) -> None:
        """Note that the network does not work, or works again (`None`)."""
        is_beginning = self.machine.clock.now() < self._reporting.started_at + GRACE  # one must be the first of a fleet
        level = logging.WARNING if is_beginning else logging.ERROR
        self._network_trouble = what
        self.machine.alerts.trouble(LogEvent.NETWORK_DOWN, what, level)

    # Start and stop.

    async def start(self) -> None:
        """Write this start down, open the transport, announce this member, and learn what is set.

        So a newcomer obeys the kill switch from its first decision.
        """
        self.machine.introduction.awaits_settings = True
        await self._writing.save(is_clean=False)
        if self.machine.leaf is not None:
            self.machine.leaf.begin()
        self.machine.introduction.introduce()
        self.machine.publish()
        await self._transport.open(self.machine.terms.name, self.machine.terms.group, self)
        self._task = asyncio.create_task(self._run(), name=f"cobandit member {self.machine.terms.name}")
        self.wake()
        try:
            await self._first_settings.hear()
            self._event.set()
        except asyncio.CancelledError:
            self._begin_to_stop()
            await asyncio.shield(self._task)
            raise

    async def stop(self) -> None:
        """Say farewell, write everything to disk, leave the clean marker, and release all resources."""
        if self._is_abandoned:
            return
        self._begin_to_stop()
        try:
            await self._end_tasks()
            await self._flush(FLUSH_WITHIN)
            await self._give_pen_back(FLUSH_WITHIN)
            async with self._steps:
                self.machine.take_leave()
                if await self._work():
                    await self._writing.save(is_clean=True)
        except JournalError as error:
            self.machine.alerts.say(logging.ERROR, LogEvent.STOP_UNCLEAN, f"stops without a clean marker: {error}")
        finally:
            await self._transport.close()
            await self._writing.close()

    async def flush(self, within: float) -> bool:
        """Send all present members what they lack. Return whether all acknowledge it within this many seconds.

        What is observed after the call may be sent with it, but need not be acknowledged. A leaf needs relays that take
        all that it has observed.
        """
        deadline = asyncio.get_running_loop().time() + within
        async with self._steps:
            await self._work()
        number, flushing = self.machine.agent.log_number, self._flushes()
        while True:
            try:
                async with asyncio.timeout_at(deadline), self._steps:  # somebody may be waiting for the disk
                    next(flushing)
            except TimeoutError:
                return False
            self._event.set()
            is_known = self._network_trouble is None or self.machine.has_company  # who is here, and lacks something
            if (is_flushed := is_known and self.machine.is_flushed(number)) or self._is_stopping:
                return is_flushed
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(looking.LOOK_EVERY)

    async def _flush(self, within: float) -> None:
        """Do the same after the task that takes steps has ended, but wait for no relay."""
        deadline = asyncio.get_running_loop().time() + within
        async with self._steps:
            if not await self._work() or self.machine.succession.superseded_by is not None:
                return
            number, flushing, holding = self.machine.agent.log_number, self._flushes(), self.machine.holding
            next(flushing)
            # A member without a disk must get its rewards for others out, too.
            while not self.machine.has_told(number) or (holding is not None and holding.under_way):
                if asyncio.get_running_loop().time() >= deadline or not await self._work():
                    return
                await asyncio.sleep(looking.LOOK_EVERY)
                next(flushing)

    def _flushes(self) -> Iterator[None]:
        """Flush, and again at ever longer intervals: packets are lost, and members come while others are awaited."""
        now = asyncio.get_running_loop().time
        patience, next_at = FLUSH_AGAIN, now()
        while True:
            if now() >= next_at:
                self.machine.flush()
                patience, next_at = 2.0 * patience, now() + patience
            yield

    async def _give_pen_back(self, within: float) -> None:
        """Give back the pen that is this member's name, once its lender has all its observations."""
        holding, deadline = self.machine.holding, asyncio.get_running_loop().time() + within
        if holding is None or holding.is_over:
            return
        if holding.under_way:
            self.machine.alerts.say(
                logging.WARNING,
                LogEvent.STOP_UNCLEAN,
                f"stops before a relay has taken {holding.under_way} rewards for decisions of others: they may be lost",
            )
        async with self._steps:
            holding.close(self.machine.clock.now())
            while not (holding.is_closed or holding.is_over) and asyncio.get_running_loop().time() < deadline:
                if not await self._work():
                    return
                await asyncio.sleep(looking.LOOK_EVERY)
            if not holding.is_closed:
                self.machine.alerts.say(
                    logging.WARNING,
                    LogEvent.STOP_UNCLEAN,
                    not_given_back(holding.lender, holding.unacknowledged),
                )

    # Pens.

    @property
    def is_lender_silent(self) -> bool:
        """Whether the lender of this member's name has owed an answer for too long."""
        holding = self.machine.holding
        return holding is not None and holding.is_lender_silent(self.machine.clock.now())

    @property
    def wants_pen(self) -> bool:
        """Whether this member should continue with another pen."""
        holding = self.machine.holding
        return holding is not None and (holding.is_over or holding.is_worn or self.is_lender_silent)

    async def abandon(self) -> Leftovers:
        """Stop without a farewell, because the pen is over. Return what must be kept.

        The decider continues: callers use it until they have the next one.
        """
        holding = self.machine.holding
        assert holding is not None
        self._is_abandoned = True
        self._begin_to_stop()
        await self._end_tasks()
        leftovers = holding.leftovers()
        await self._transport.close()
        await self._writing.close()
        return leftovers

    def wake(self) -> None:
        """Look at the decider's queues now, and keep looking until it is out of use."""
        self._event.set()
        self._looking.begin()

    async def synced(self) -> None:
        """Return when everything rewarded so far is on the disk.

        Raises:
            JournalError: The disk does not accept it. The member will try again.
        """
        if self._is_stopping:
            raise NotNowError("the member is closed")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._event.set()
        await waiter

    async def add_arm(self, arm: Arm) -> None:
        """Offer another arm. A new one begins a session, which tells the others."""
        machine = self.machine
        async with self._steps:
            if arm in machine.agent.arms:
                machine.operations.offer_again(arm)
            else:
                await self._begin_session(arms=(*machine.agent.arms, arm))
            machine.publish()

    async def declare(self, declared: Declared) -> None:
        """Declare a bandit. One that is not served yet begins a session, which tells the others."""
        machine = self.machine
        async with self._steps:
            bandits = machine.bandits.check(declared, machine.serving.giving_way)
            if bandits is not None:
                await self._begin_session(bandits=bandits, is_said=False)
                machine.introduction.introduce_soon()
            machine.declare(declared)
            self._matching.match_at_once()
            self._event.set()

    async def act(self, work: Callable[[], Value]) -> Value:
        """Let the machine do what operators asked for, between two steps, and tell the others soon."""
        async with self._steps:
            try:
                return work()
            finally:
                self._event.set()

    @property
    def disk_trouble(self) -> str | None:
        """Why the journal cannot be written; `None` if it can. May be read on any thread."""
        return self._writing.trouble

    @property
    def is_cut_off(self) -> bool:
        """Whether no relay answers this leaf. May be read on any thread."""
        return self._relays.is_cut_off

    def statistics(self) -> Statistics:
        """Return this member's status, with the last verdicts on its bandits."""
        return self._reporting.statistics(self._verdicts.last, self._verdicts.on_bandits())

    async def fresh_statistics(self) -> Statistics:
        """Return this member's status, with a verdict on what is known now."""
        await self._verdicts.fresh()
        return self.statistics()

    async def fleet(self, wait_s: float) -> Fleet:
        """Ask the present members for their status. A call during a round gets that round's answer."""
        await self._verdicts.fresh()
        return await self._rounds.fleet(wait_s, self.statistics)

    def history(self) -> Iterator[Batch]:
        """Return the batches still in the journal: the log of decisions."""
        return self._writing.history()

    def step(self, *, may_wake: bool = True) -> None:
        """Take a step, write and send, all at once: for journals that do not block, in simulated time."""
        step = self._step(may_wake=may_wake)
        self._writing.write_at_once(step)
        self._sending.send(step)
        self._matching.match_at_once()

    # Steps.

    async def _run(self) -> None:
        while not self._is_stopping:
            try:
                was_idle = await self._until_needed()
                if was_idle and self._writing.is_durable and not self._is_stopping:
                    await asyncio.sleep(LINGER)
                self._proof.look()
                self._relays.look()
                async with self._steps:
                    await self._writing.look_into_mailbox()
                    await self._work()
                    if (wanted := self.machine.succession.session_wanted) is not None:
                        await self._begin_session(incarnation=wanted)
                    if self.machine.serving.wanted is not None:
                        await self._begin_session(is_wanted=True)
                    self._matching.look()
            except JournalError as error:
                self._writing.failed(error)
            except Exception as error:  # noqa: BLE001  # whatever it is, the member must not fall silent for good
                self.machine.alerts.crash("a step failed. If it is not a policy of your own, please report it", error)
                self.machine.alerts.trouble(LogEvent.STEP_FAILED, f"a step failed, and is tried again: {error!r}")
                await asyncio.sleep(RETRY)
            else:
                self.machine.alerts.trouble(LogEvent.STEP_FAILED, None)

    async def _until_needed(self) -> bool:
        """Wait until there is something to do. Return whether it had to wait."""
        await asyncio.sleep(0)  # let others on this loop run even if this member is always busy
        was_idle = False
        while not self._is_needed:
            due_at = self._due_at()
            pause = None if due_at is None else due_at - self.machine.clock.now()
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
        if self._writing.retry_at is not None:
            return False  # nothing can be written before the disk is retried
        return bool(self._receiving.is_waiting or self._event.is_set() or self.machine.is_needed)

    def _due_at(self) -> float | None:
        if self._writing.retry_at is not None:
            return self._writing.retry_at
        times = (
            self.machine.due_at(),
            self._sending.due_at,
            self._writing.due_at,
            self._proof.due_at,
            self._relays.due_at,
        )
        return min((time for time in times if time is not None), default=None)

    async def _work(self) -> bool:
        """Take a step; write, then send. Return whether everything was written."""
        waiters, self._waiters = self._waiters, []
        try:
            step = self._step()
            await self._writing.write(step)
        except JournalError as error:
            self._writing.failed(error)
            _disappoint(waiters, str(error))
            return False
        except BaseException as error:
            _disappoint(waiters, f"a step failed: {error!r}")
            raise
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._sending.send(step)
        self._relays.seek()
        self._first_settings.look()
        if self.wants_pen:
            self.pen_wanted.set()
        return True

    def _step(self, *, may_wake: bool = True) -> Step:
        packets = self._receiving.take()
        if self._writing.retry_at is not None:
            packets = []  # what cannot be written must not be answered; it will be repeated
        self._sending.fit_packets()
        step = self.machine.step(packets, self._writing.take_mail(), may_wake=may_wake)
        self._answer(step)
        self._tell_fleet()
        return step

    def _answer(self, step: Step) -> None:
        """Send this member's status to those that asked, in this step or once there is a verdict."""
        self._askers += step.askers
        if step.askers:
            self._verdicts.look()
        if self._askers and not self._verdicts.is_thinking:
            parts = self._sending.status(self.statistics())
            step.outgoing.extend((asker, part) for asker in dict.fromkeys(self._askers) for part in parts)
            self._askers.clear()

    def _tell_fleet(self) -> None:
        """Send leaves that ask for it the status of all members, once that is known here."""
        askers, self.machine.fleet_askers = self.machine.fleet_askers, []
        if askers:
            task = asyncio.create_task(self._pass_on(askers), name=f"cobandit fleet for {', '.join(askers)}")
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _pass_on(self, askers: list[str]) -> None:
        fleet = await self.fleet(PASS_ON_WITHIN)
        first = int(1000 * self.machine.clock.now())
        for answer, member in enumerate(fleet.members, first):
            for message in self._sending.passed_on(member, answer):
                for asker in askers:
                    if asker != member.name:
                        self._sending.ask(asker, message)

    async def _begin_session(
        self,
        *,
        incarnation: int | None = None,
        arms: tuple[Arm, ...] | None = None,
        bandits: tuple[Bandit, ...] | None = None,
        is_said: bool = True,
        is_wanted: bool = False,
    ) -> None:
        """Begin a session, with another incarnation or more arms or bandits, after writing what came before."""
        if not await self._work():
            raise JournalError("the journal cannot be written now, so nothing can change: see statistics().troubles")
        machine = self.machine
        if is_wanted:
            bandits = machine.serving.take_wanted()  # including what was heard or declared here until now
        session = incarnation or fresh_session(machine.agent.session, machine.clock)
        machine.begin_session(session, incarnation=incarnation, arms=arms, bandits=bandits)
        if is_said:
            machine.introduction.introduce()
        await self._work()
        self._sending.announce_soon(0.0 if is_said else DECLARE_WITHIN)
        self._event.set()

    def _begin_to_stop(self) -> None:
        self._is_stopping = True
        self._looking.stop()
        self._event.set()

    async def _end_tasks(self) -> None:
        if self._task is not None:
            await self._task
        self._matching.cancel()
        await self._relays.end()
        for task in self._telling:
            task.cancel()
        await self._rounds.end()


def _disappoint(waiters: list[asyncio.Future[None]], why: str) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_exception(JournalError(why))
