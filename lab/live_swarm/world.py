"""A live fleet in virtual time: real members over real packets, and everything goes wrong that the plan says.

First the faults are on, and everything must stay true. Then the world heals: the network is whole, clocks are right,
everybody who is not gone for good runs. In the end everybody must know the same, owe nobody anything, and be quiet.
"""

from collections import Counter
from functools import partial

from cobandit.live.drive.clock import NeverBack
from cobandit.live.machine.step import Step
from cobandit.live.store.journal import JournalError
from lab.live_swarm.computer import AFTER_WRITE, BEFORE_PACKET, BEFORE_WRITE, Clock, Disk, ProcessClock
from lab.live_swarm.insides import is_superseded, look_for_mail_every, surroundings
from lab.live_swarm.inspector import Inspector
from lab.live_swarm.network import Network
from lab.live_swarm.operators import Operators
from lab.live_swarm.people import People
from lab.live_swarm.plan import Incident, Kind, Plan
from lab.live_swarm.process import Fuse, Process
from lab.live_swarm.rest import at_rest
from lab.live_swarm.timeline import Timeline
from lab.swarm.dice import Dice
from lab.swarm.transcript import Transcript

MOST_EVENTS = 400_000
"""A world in which more happens than this never comes to rest."""

RARELY = 600.0
"""Seconds between two looks into a mailbox when nobody leaves mail any more: each look costs real time."""

A_WHILE = 300.0
"""Seconds after healing until operators look, and again until everybody decides once more."""

_DICE_OF_SECRETS = 15

_FUSES = {
    Kind.KILL_BEFORE_WRITE: BEFORE_WRITE,
    Kind.KILL_AFTER_WRITE: AFTER_WRITE,
    Kind.KILL_WHILE_SENDING: BEFORE_PACKET,
}


class World:
    """One run of a plan."""

    def __init__(self, plan: Plan, transcript: Transcript) -> None:
        self.plan = plan
        self.timeline = Timeline()
        self.inspector = Inspector(plan, self.timeline)
        self.network = Network(plan, self.timeline, transcript)
        self.starts = 0
        self.running: dict[str, Process] = {}
        """Who runs under its name."""
        self.doubles: dict[str, Process] = {}
        """Older processes that run on under the same name."""
        self.disks = {member.name: Disk(forgets=member.forgets) for member in plan.members}
        self.gone: set[str] = set()
        """Who will not come back."""
        self._transcript = transcript
        self._clocks = {
            member.name: Clock(self.timeline, member.clock_offset, member.clock_drift, plan.calendar_stops_at)
            for member in plan.members
        }
        self._far_ahead = Counter[str]()
        """How often the clock of a member was set so far ahead that the calendar turns, and not yet set right."""
        self._far = plan.calendar_stops_at - plan.heals_at
        self._operators = Operators(plan, self.timeline, transcript, self.inspector, self.network)
        self._fuse_lasting: dict[str, float] = {}
        self._people = People(plan, self.timeline, transcript, self.inspector, self)
        self._is_over = False

    def run(self) -> None:
        """Run until the end, or until something is wrong."""
        plan, timeline, violations, bugs = self.plan, self.timeline, self.inspector.violations, list[str]()
        for member in plan.members:
            timeline.at(member.joins_at, partial(self._start, member.name))
        for incident in plan.incidents:
            timeline.at(incident.time, partial(self._befall, incident))
        timeline.at(plan.heals_at, self._heal)
        timeline.at(plan.quiet_at, self._listen)
        timeline.at(plan.ends_at, self._finish)
        self._people.come()
        with surroundings(
            Dice(plan.seed, _DICE_OF_SECRETS),
            batches_until_snapshot=plan.batches_until_snapshot,
            forget_after=plan.forget_after,
            bugs=bugs,
        ):
            look_for_mail_every(plan.mail_every)
            # Who is killed for good is probed for ever, as seldom as `longest` says.
            probes = len(plan.members) ** 2 * plan.ends_at / plan.sharing.retry.longest if plan.sharing.retry else 0.0
            most_events = MOST_EVENTS + int(20.0 * probes)
            while not (self._is_over or violations or bugs):
                timeline.step()
                if timeline.events > most_events:
                    violations.append(f"it is not quiet at time {timeline.time:g}, after {timeline.events} events")
            violations += bugs
            for process in (*self.running.values(), *self.doubles.values()):
                process.kill()
                process.loop.bury()

    # What befalls whom.

    def _befall(self, incident: Incident) -> None:
        name = self.plan.members[incident.member].name
        process, kind = self.running.get(name), incident.kind
        if process is None or not process.is_up or self.timeline.time >= self.plan.heals_at:
            return
        self._note(name, kind.value)
        if kind in _FUSES:
            process.fuse = Fuse(_FUSES[kind], passes=int(4 * incident.amount))
            self._fuse_lasting[name] = incident.lasting
        elif kind is Kind.CLOCK:
            self._clocks[name].offset += incident.amount
            if incident.lasting:
                self._far_ahead[name] += incident.amount > self._far
                self.timeline.after(incident.lasting, partial(self._set_right, name, incident.amount))
        elif kind is Kind.REFUSE:
            process.disk.refuses = True
            self.timeline.after(incident.lasting, partial(setattr, process.disk, "refuses", False))
        elif kind is Kind.TWIN:
            self._double(process, incident)
        elif kind in (Kind.STOP, Kind.GO):
            self._stop(process, incident)
        elif not self._operators.tell(process, incident):
            self._kill(process, incident)

    def _set_right(self, name: str, amount: float) -> None:
        if not self.network.is_healed:  # then all clocks are right
            self._clocks[name].offset -= amount
            self._far_ahead[name] -= amount > self._far

    def _kill(self, process: Process, incident: Incident) -> None:
        disk, kind, name = process.disk, incident.kind, process.name
        if incident.amount > 0.5:
            self._people.hurry(process)
        process.kill()
        self._ended(process)
        if kind is Kind.POWER and disk.lose_power():
            disk.forgot_at = self.timeline.time
        elif kind is Kind.ROLL_BACK:
            disk.roll_back(incident.amount)
            disk.forgot_at = self.timeline.time
        elif kind is Kind.LOSE_DISK:
            self.disks[name] = Disk(forgets=disk.forgets)
            self.disks[name].forgot_at = self.timeline.time
        if kind is Kind.DIE:
            self.gone.add(name)
        else:
            self._start_after(incident.lasting, name)

    def _stop(self, process: Process, incident: Incident) -> None:
        async def stop() -> None:
            await process.stop()
            self._ended(process)
            if incident.kind is not Kind.GO:
                self._start_after(incident.lasting, process.name)

        if incident.kind is Kind.GO:
            self.gone.add(process.name)
        process.run(stop())

    def _double(self, process: Process, incident: Incident) -> None:
        """Start a second process under the same name, with a copy of the disk or with none. The first one goes on."""
        name = process.name
        if name in self.doubles:
            return
        del self.running[name]
        self.doubles[name] = process
        self.disks[name] = process.disk.copied() if incident.amount < 0.7 else Disk(forgets=False)
        self.disks[name].forgot_at = self.timeline.time
        self.timeline.after(incident.lasting, partial(self._end_double, process))
        self._start(name)

    def _end_double(self, older: Process) -> None:
        """Let the operator end one of two: the one that says that another speaks for it, or else the older."""
        name, newer = older.name, self.running.get(older.name)
        if self.doubles.get(name) is not older:
            return
        if newer is not None and newer.is_up and is_superseded(newer.machine) and not is_superseded(older.machine):
            newer.kill()
            self._ended(newer)
            del self.doubles[name]
            self.running[name] = older
            self.disks[name] = older.disk
            older.disk.forgot_at = self.timeline.time  # what the other had written is gone
        else:
            older.kill()
            self._ended(older)

    # How processes begin and end.

    def _start_after(self, seconds: float, name: str) -> None:
        left = max(1.0, self.plan.heals_at - self.timeline.time)
        self.timeline.after(min(seconds, left), partial(self._start, name))

    def _start(self, name: str) -> None:
        if name in self.running or name in self.gone:
            return
        self.starts += 1
        clock = self._clocks[name]
        self.disks[name].was_read_ahead |= self._far_ahead[name] > 0
        process = Process(
            self.plan,
            name,
            timeline=self.timeline,
            network=self.network,
            disk=self.disks[name],
            clock=NeverBack(clock) if self.plan.clocks_follow else ProcessClock(clock),
            arms=self._operators.arms[name],
            bandits=self._operators.bandits_of(name),
            number=self.starts,
            stepped=self._stepped,
            wrote=self.inspector.wrote,
            killed=self._killed,
        )
        process.others = {other.name: (other, other.settings) for other in self.running.values() if other.is_up}
        self._note(name, f"starts as number {process.number}")
        self.running[name] = process
        process.run(self._started(process))

    async def _started(self, process: Process) -> None:
        try:
            await process.start(self.inspector.restored)
            self.inspector.came_up(process, self.running, self.doubles)
        except JournalError:
            process.kill()
            self._ended(process)
            self._start_after(1.0, process.name)
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not be
            self.inspector.complain(f"{process.name} cannot be started: {error!r}")

    def _stepped(self, process: Process, step: Step) -> None:
        self._note(process.name, f"takes a step, {len(step.batch.records)} records")
        self.inspector.stepped(process, step)

    def _killed(self, process: Process) -> None:
        self._note(process.name, "is killed at a point of its program")
        self._ended(process)
        self._start_after(self._fuse_lasting.get(process.name, 1.0), process.name)

    def _ended(self, process: Process) -> None:
        self._note(process.name, f"number {process.number} has ended")
        self.inspector.ended(process)
        for processes in (self.running, self.doubles):
            if processes.get(process.name) is process:
                del processes[process.name]

    # How it ends.

    def _heal(self) -> None:
        self._note("", "the world heals")
        self.network.is_healed = True
        look_for_mail_every(RARELY)
        for process in tuple(self.doubles.values()):
            self._end_double(process)
        self._far_ahead.clear()
        for name, clock in self._clocks.items():
            clock.offset = clock.drift = 0.0
            self.disks[name].refuses = False
        for process in self.running.values():
            process.fuse = None
        for member in self.plan.members:
            self._start(member.name)
        self.network.reconnect()
        if self.plan.bandits and self.plan.declares_again:
            self.timeline.after(1.5 * A_WHILE, lambda: self._operators.declare_all(tuple(self.running.values())))
        if not self.plan.allowed.nobody_restarts_the_superseded:
            self.timeline.after(1.0 * A_WHILE, self._restart_superseded)
        if not self.plan.stays_idle:
            self.timeline.after(2.0 * A_WHILE, self._people.come_again)

    def _restart_superseded(self) -> None:
        """Let an operator start members again that say that another process speaks for them: there is no other.

        After a stop in good order they would go on in the incarnation that is over. So they are killed.
        """
        for process in tuple(self.running.values()):
            if process.is_up and is_superseded(process.machine):
                self._note(process.name, "is started again by its operator")
                self._kill(process, Incident(self.timeline.time, Kind.KILL, 0))

    def _listen(self) -> None:
        self._note("", "it should be quiet")
        self.network.unquiet = []

    def _finish(self) -> None:
        self._is_over = True
        living = [process for process in self.running.values() if process.name not in self.gone]
        self.inspector.violations += at_rest(self.plan, living, self.inspector.truth, self.network)

    def _note(self, who: str, what: str) -> None:
        self._transcript.note(self.timeline.time, who, what)
