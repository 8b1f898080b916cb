"""A world in virtual time: it runs real agents over real bytes, and lets everything go wrong that the plan says.

First the faults are on, and everything must stay true. Then the world heals: nothing is lost any more, everyone who is
down is started, agents pull on for a while and stop. From then on only timers run, and in the end it must be quiet and
everyone must know everything.
"""

import heapq
from functools import partial

from cobandit.core import AgentId, Bandit
from cobandit.scenario.faults import Faults
from lab.swarm.disk import Disk
from lab.swarm.machinery import Machinery
from lab.swarm.place_worlds import FURTHER_ARMS
from lab.swarm.plan import Incident, Kind, Plan
from lab.swarm.process import Process, declare, first_start, next_session, start_from
from lab.swarm.transcript import Transcript

MOST_EVENTS = 60_000
"""A world in which more happens than this never comes to rest."""

LONGEST_LATENESS = 50.0
"""No message is late by more than this, if it is not held back."""

HEALTHY = Faults()


class World(Machinery):
    """One run of a plan."""

    def __init__(self, plan: Plan, transcript: Transcript) -> None:
        super().__init__(plan, transcript)
        self.events = self.restarts = 0
        self._disks: dict[AgentId, Disk] = {}
        self._left: set[AgentId] = set()
        """Who has left, and not come back."""
        self._starts = [0] * len(plan.members)
        self._arms = [member.arms for member in plan.members]
        """Which arms the operators want each agent to have."""
        self._bandits = [member.bandits for member in plan.members]
        """Which bandits the operators want each agent to serve."""
        self._definitions = [member.definitions for member in plan.members]
        """How they declare each bandit, with the arms that it has by then."""
        self._is_over = False
        """Whether the operators have told everyone who is here and who is not."""

    def run(self) -> None:
        """Run until it is quiet, or something is wrong."""
        self._begin()
        queue, inspector = self._queue, self.inspector
        while queue and not inspector.violations:
            self.time, _, act = heapq.heappop(queue)
            self.events += 1
            if self.time > self.plan.ends_at or self.events > MOST_EVENTS:
                inspector.violations.append(f"it is not quiet at time {self.time:g}, after {self.events} events")
                return
            act()
        if not inspector.violations:
            for process in self.running.values():  # all calendars are the same at last
                process.agent.turn(self.plan.stops_at + self.plan.latest_calendar, self._now(process))
            inspector.at_rest(list(self.running.values()))

    def _begin(self) -> None:
        plan = self.plan
        for position, member in enumerate(plan.members):
            if not member.joins_at:
                self.running[str(position)] = first_start(plan, position, plan.first_session, *self._served(position))
            else:
                self._at(member.joins_at, partial(self._arrive, position))
            self._plan_pull(position, member.joins_at)
        for process in self.running.values():
            self._disks[process.name] = process.disk
            for peer in self.running.values():
                if plan.are_linked(peer.position, process.position):
                    self._take(process, process.agent.peer_joined(peer.name, peer.agent.arms, self._now(process)))
            process.disk.sync()
        for position in range(len(plan.members)) if plan.has_leaves or plan.bandits else sorted(plan.relays):
            if str(position) in self.running:  # the others are known to all, and what they do is what all do
                self.inspector.started(str(position))
                self._join(self.running[str(position)])
        for incident in plan.incidents:
            self._at(incident.time, partial(self._befall, incident))
        self._at(plan.heals_at, self._heal)

    # What goes wrong.

    def _befall(self, incident: Incident) -> None:
        kind, name = incident.kind, str(incident.agent)
        process = self.running.get(name)
        if process is None or self.time >= self.plan.heals_at:
            return
        self._transcript.note(self.time, name, kind.value)
        match kind:
            case Kind.JUMP:
                self._clocks[incident.agent] += incident.amount
                self.inspector.disturbed(name)
            case Kind.FUSE:
                process.fuse = incident.amount
            case Kind.DOUBLE:
                self._double(process, incident.lasting)
            case Kind.LEAVE:
                self._leave(process, incident.lasting)
            case Kind.GROW:
                self._grow(incident.agent, incident.amount)
                self._serve_more(process)
            case Kind.SERVE:
                self._serve_others(process, incident.amount)
            case Kind.DECLARE:
                self._declare_more(process, incident.amount)
            case Kind.CALENDAR:
                self._calendars[incident.agent] = incident.amount
            case Kind.STOP:
                process.disk.forgets, forgets = False, process.disk.forgets
                process.disk.sync()
                process.disk.forgets = forgets
                self._end(process)
                back_at = min(self.time + incident.lasting, self.plan.heals_at)
                self._at(back_at, partial(self._start, incident.agent, None))
            case _:
                self._fail(process, incident)

    def _fail(self, process: Process, incident: Incident) -> None:
        """Let a process end without order. It starts again later, with what its disk has kept."""
        kind, name = incident.kind, process.name
        self._end(process)
        process.disk.lose_tail()
        if kind is Kind.ROLL_BACK:
            process.disk.roll_back(incident.amount)
        if kind in (Kind.LOSE_DISK, Kind.SHRINK):
            del self._disks[name]
        if kind is Kind.SHRINK:
            self._arms[incident.agent] = self.plan.members[incident.agent].arms
        if kind is Kind.GROW_UNCLEANLY:
            self._grow(incident.agent, incident.amount)
        self._at(min(self.time + incident.lasting, self.plan.heals_at), partial(self._start, incident.agent, 0))

    def _grow(self, position: int, amount: float) -> None:
        """Give an agent some of its further arms, from now on, or from its next start on."""
        has = self._arms[position]
        further = [arm for arm in self.plan.members[position].further_arms if arm not in has]
        self._arms[position] = (*has, *further[: 1 + int(amount * len(further))])

    def _serve_more(self, process: Process) -> None:
        """Let a process that runs serve the arms that its operator wants it to, and say so."""
        position = process.position
        arms = tuple(dict.fromkeys((*process.agent.arms, *self._arms[position])))
        if arms == process.agent.arms:
            return
        self._starts[position] += 1
        session = next_session(process.endpoint.session, self._starts[position])
        self.inspector.started(process.name)
        self._take(process, process.agent.begin(session, self._now(process), arms=arms))
        if process.is_running:
            self._join(process)

    def _serve_others(self, process: Process, amount: float) -> None:
        """Let a process serve a bandit more, or one less, and say so."""
        definitions, has = self._definitions[process.position], process.agent.bandits
        chosen = definitions[int(amount * len(definitions))]
        rest = tuple(one for one in has if one.name != chosen.name)
        self._serve(process, rest if len(rest) < len(has) else (*has, chosen))

    def _declare_more(self, process: Process, amount: float) -> None:
        """Give a bandit one more arm, and let a process serve it with that."""
        position = process.position
        definitions = list(self._definitions[position])
        place = int(amount * len(definitions))
        chosen = definitions[place]
        arms = (*chosen.arms, *(arm for arm in FURTHER_ARMS if arm not in chosen.arms))[: len(chosen.arms) + 1]
        definitions[place] = chosen._replace(arms=arms)
        self._definitions[position] = tuple(definitions)
        rest = tuple(one for one in process.agent.bandits if one.name != chosen.name)
        self._serve(process, (*rest, definitions[place]))

    def _serve(self, process: Process, bandits: tuple[Bandit, ...]) -> None:
        position = process.position
        wanted = bandits if self.plan.window is None else (*bandits, self.plan.window)
        self._bandits[position] = wanted
        self._starts[position] += 1
        session = next_session(process.endpoint.session, self._starts[position])
        self.inspector.started(process.name)
        self._take(process, process.agent.begin(session, self._now(process), bandits=wanted))
        declare(process.agent)
        if process.is_running:
            self._join(process)

    def _crash(self, process: Process) -> None:
        self._transcript.note(self.time, process.name, "crashes in the middle of sending")
        is_double = self.doubles.get(process.name) is process
        self._end(process)
        process.disk.lose_tail()
        if not is_double:
            self._at(self.time + 1.0, partial(self._start, process.position, 0))

    def _end(self, process: Process) -> None:
        process.is_running = False
        for processes in (self.running, self.doubles):
            if processes.get(process.name) is process:
                del processes[process.name]

    def _start(self, position: int, above: int | None) -> None:
        """Start an agent from its disk, if it has one, and let it say that it is here."""
        name = str(position)
        if name in self.running or name in self._left:
            return
        self.restarts += 1
        self._starts[position] += 1
        if name in self._disks:
            process = start_from(
                self.plan,
                position,
                self._disks[name],
                above,
                self._starts[position],
                self._arms[position],
                self.time + self._clocks[position],
                self._bandits[position],
            )
        else:
            incarnation = next_session(above or 0, self._starts[position])
            process = first_start(self.plan, position, incarnation, *self._served(position))
        self._introduce(process)

    def _arrive(self, position: int) -> None:
        self._introduce(first_start(self.plan, position, self.plan.first_session, *self._served(position)))

    def _served(self, position: int) -> tuple[tuple[str, ...], tuple[Bandit, ...], float]:
        """Return what the operator wants an agent to serve, and what its calendar says."""
        return self._arms[position], self._bandits[position], self._calendar(position)

    def _introduce(self, process: Process) -> None:
        """Let a process say that it is here, to everyone whom its operator knows."""
        name = process.name
        self._transcript.note(
            self.time, name, f"starts as incarnation {process.incarnation}, session {process.endpoint.session}"
        )
        if process.agent.arms != self.plan.members[process.position].arms:
            self._transcript.note(self.time, name, f"has arms {', '.join(process.agent.arms)}")
        self.running[name] = process
        self._disks[name] = process.disk
        self.inspector.started(name)
        for position, member in enumerate(self.plan.members):
            peer = str(position)
            is_here = member.joins_at <= self.time and peer not in self._left
            is_here = is_here and self.plan.are_linked(position, process.position)
            if is_here and peer not in process.agent.endpoint.links:
                process.disk.append(process.agent.peer_joined(peer, self._arms[position], self._now(process)).records)
        self._join(process)
        if self._is_over and process.is_running:
            self._tell_members(process)

    def _superseded(self, process: Process, session: int) -> None:
        """A later session is known. The second of two processes stops; one that had forgotten starts again."""
        self._transcript.note(self.time, process.name, f"hears that it is superseded by session {session}")
        is_double = self.doubles.get(process.name) is process
        self._end(process)
        if not is_double:
            self._start(process.position, session)

    def _double(self, process: Process, lasting: float) -> None:
        """Start a second process under the same name from a copy of the disk. The first one goes on for a while."""
        if process.name in self.doubles:
            return
        disk = process.disk.clone()
        disk.lose_tail()
        del self.running[process.name]
        self.doubles[process.name] = process
        self._disks[process.name] = disk
        self._at(min(self.time + lasting, self.plan.heals_at), partial(self._end, process))
        self._start(process.position, 0)

    def _leave(self, process: Process, lasting: float) -> None:
        if lasting > self.plan.heals_at / 4.0:  # who goes for long says what is left; others forget to
            self.inspector.disturbed(process.name)  # it does not wait until it is time
            self._take(process, process.agent.flush(self._now(process)))
        if process.is_running:
            self._take(process, process.agent.leave())
        if not process.is_running:
            return
        process.disk.sync()
        self._end(process)
        self._left.add(process.name)
        if self.time + lasting < self.plan.heals_at:
            self._at(self.time + lasting, partial(self._return, process.position))

    def _return(self, position: int) -> None:
        self._left.discard(str(position))
        self._start(position, 0 if self._starts[position] % 2 else None)

    # What goes right.

    def _heal(self) -> None:
        """Let nothing go wrong any more, and start all that are down."""
        self._transcript.note(self.time, "", "THE WORLD HEALS")
        self._faults = HEALTHY
        for double in list(self.doubles.values()):
            self._end(double)
        for position, member in enumerate(self.plan.members):
            if member.joins_at <= self.time:
                self._start(position, 0)
        for process in self.running.values():
            process.fuse = None
        self._at(self.time + self.plan.delay + LONGEST_LATENESS + self.plan.faults.held_back, self._finish)

    def _finish(self) -> None:
        """Let the operators tell everyone who is here and who is not, now that nothing old is on its way."""
        self._is_over = True
        for process in list(self.running.values()):
            self._tell_members(process)

    def _tell_members(self, process: Process) -> None:
        for position, arms in enumerate(self._arms):
            name, now = str(position), self._now(process)
            is_known = name in process.agent.endpoint.links
            if name in self._left and is_known:
                self._take(process, process.agent.peer_left(name, now))
            elif name in self.running and not is_known and self.plan.are_linked(position, process.position):
                self._take(process, process.agent.peer_joined(name, arms, now))
