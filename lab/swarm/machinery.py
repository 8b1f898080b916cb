"""What runs the processes of a world: events in virtual time, the contract of an agent's driver, and the network.

What goes wrong with the processes, and when, is in `world.py`.
"""

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

from cobandit.codec import decode, encode
from cobandit.core import AgentId, Message, Notice, Outcome, Placed, Share
from cobandit.scenario.faults import DOUBLED, FIRST_COPY, LOST, SECOND_COPY, holdup
from cobandit.values.chance import stream, uniform
from cobandit.values.errors import PeerError
from cobandit.values.tally import ArmTally
from lab.swarm.dice import Dice
from lab.swarm.history import Where, plainly
from lab.swarm.inspector import Inspector
from lab.swarm.plan import Plan
from lab.swarm.process import Process
from lab.swarm.transcript import Transcript

_NETWORK, _REWARDS, _PULLS, _DOUBLES, _PLACES = 2, 3, 4, 5, 9
"""Which stream of chance is whose."""

_A_MOMENT = 1e-6
"""Timers are late by so much, or sums of times would round to a moment before the one that was asked for."""


class Machinery(ABC):
    """Processes that run, and messages between them."""

    def __init__(self, plan: Plan, transcript: Transcript) -> None:
        self.plan = plan
        self.time = 0.0
        self.messages = 0
        self.inspector = Inspector(
            plan.patience,
            arms_change=any(member.further_arms for member in plan.members),
            definitions={str(position): member.definitions for position, member in enumerate(plan.members)},
        )
        self.running: dict[AgentId, Process] = {}
        """Who runs under its name."""
        self.doubles: dict[AgentId, Process] = {}
        """Older processes that run on under the same name."""
        self._transcript = transcript
        self._faults = plan.faults
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._scheduled = 0
        self._clocks = [0.0] * len(plan.members)
        self._calendars = [member.calendar for member in plan.members]
        self._pulls = [0] * len(plan.members)
        self._sent: dict[tuple[AgentId, AgentId], int] = {}
        self._told: dict[tuple[AgentId, AgentId], int] = {}
        """Up to which number of its log one told another last."""
        self._pull_dice = [Dice(plan.seed, _PULLS, position) for position in range(len(plan.members))]
        self._place_dice = [Dice(plan.seed, _PLACES, position) for position in range(len(plan.members))]
        self._double_dice = Dice(plan.seed, _DOUBLES)
        self._reward_keys = [stream(plan.seed, _REWARDS, position) for position in range(len(plan.members))]

    @abstractmethod
    def _crash(self, process: Process) -> None:
        """Note that a process ends in the middle of sending."""

    @abstractmethod
    def _superseded(self, process: Process, session: int) -> None:
        """Note that a process learned of a later session of its agent."""

    # What is scheduled.

    def _at(self, time: float, act: Callable[[], None]) -> None:
        self._scheduled += 1
        heapq.heappush(self._queue, (time, self._scheduled, act))

    def _plan_pull(self, position: int, after: float) -> None:
        member, plan = self.plan.members[position], self.plan
        time = after - math.log(1.0 - self._pull_dice[position].unit()) * member.gap
        if time >= member.stops_at and time < plan.heals_at:
            time = plan.heals_at
        if time < plan.heals_at or (member.pulls_when_healed and time < plan.stops_at):
            self._at(time, partial(self._pull, position))

    def _now(self, process: Process) -> float:
        return self.time + self._clocks[process.position]

    # What agents do.

    def _pull(self, position: int) -> None:
        for process in (self.running.get(str(position)), self.doubles.get(str(position))):
            if process is not None:
                self._observe(process)
        self._plan_pull(position, self.time)

    def _observe(self, process: Process) -> None:
        agent, position = process.agent, process.position
        self._turn(process)
        self._pulls[position] += 1
        if agent.bandits and (not agent.has_plain or self._place_dice[position].happens(0.6)):
            self._observe_elsewhere(process)
        elif agent.has_plain:
            arm = agent.select_arm()
            reward = float(uniform(self._reward_keys[position], self._pulls[position]) < self.plan.means[arm])
            self._transcript.note(self.time, process.name, f"pulls {arm}: {reward:g}")
            period = agent.endpoint.replica.period_of("")
            self.inspector.observed(process, [(plainly(arm, period), int(reward))])
            self._take(process, agent.update(arm, reward, self._now(process)))

    def _observe_elsewhere(self, process: Process) -> None:
        """Let a process pull arms of bandits with names, in one place or in several at once."""
        agent, dice = process.agent, self._place_dice[process.position]
        count = dice.whole(1, self.plan.most_places) if self.plan.most_places > 1 else 1
        pulled: dict[tuple[str, str], tuple[Where, int]] = {}
        for number in range(count):
            bandit, segment = dice.pick(agent.bandits), dice.pick(self.plan.segments)
            pulled[bandit.name, segment] = self._pull_at(process, bandit.name, segment, number)
        self.inspector.observed(process, list(pulled.values()))
        placed = tuple(Placed(*at, (ArmTally(arm, 1, units, units),)) for at, ((arm, _, _, _), units) in pulled.items())
        self._take(process, agent.update_all((), self._now(process), elsewhere=placed))

    def _pull_at(self, process: Process, bandit: str, segment: str, number: int) -> tuple[Where, int]:
        """Return which arm is pulled in a place, and what it pays."""
        position, agent = process.position, process.agent
        arm = agent.policy_at(bandit, segment).select_arm()
        chance = uniform(self._reward_keys[position], self._pulls[position] + 1_000_000 * number)
        units = int(chance < (0.3 if arm == "c0" else 0.7))
        self._transcript.note(self.time, process.name, f"pulls {arm} of {bandit}/{segment}: {units}")
        return (arm, bandit, segment, agent.endpoint.replica.period_of(bandit)), units

    def _calendar(self, position: int) -> float:
        """Return what an agent's calendar says. In the end all stand still, so that there is a window to look at."""
        return min(self.time, self.plan.stops_at) + self._calendars[position]

    def _turn(self, process: Process) -> None:
        """Let a process look at its calendar."""
        if self.plan.bandits:
            outcome = process.agent.turn(self._calendar(process.position), self._now(process))
            if outcome.records:
                self._transcript.note(self.time, process.name, "begins a period")
                self.inspector.turned(process.name)
                self.inspector.disturbed(process.name)
                self._take(process, outcome)

    def _join(self, process: Process) -> None:
        """Let a process say that it is here, and what it does."""
        is_relay = process.position in self.plan.relays
        is_leaf = self.plan.has_leaves and not is_relay
        self._take(process, process.agent.join(self._now(process), is_relay=is_relay, is_leaf=is_leaf))

    def _wake(self, process: Process) -> None:
        process.alarm = None
        if not process.is_running or process.wakes_at is None:
            return
        if process.wakes_at > self.time:
            self._set_alarm(process)
            return
        self._transcript.note(self.time, process.name, "wakes")
        self._turn(process)
        self._take(process, process.agent.wake(self._now(process)))

    def _take(self, process: Process, outcome: Outcome, chain: int = 0) -> None:
        """Do what the contract says: persist the records, send the messages, set the timer."""
        process.disk.append(outcome.records)
        outgoing = outcome.outgoing
        is_fatal = bool(outgoing) and process.fuse is not None
        if outgoing:
            process.disk.sync()
            if process.fuse is not None:
                outgoing = outgoing[: int(process.fuse * (len(outgoing) + 1))]
            now = self._now(process)
            if any(isinstance(message, Notice) and message.changes.eliminations for message in outgoing):
                self.inspector.disturbed(process.name)
            for message in outgoing:
                is_fresh = isinstance(message, Share) and message.is_fresh
                length = 0 if is_fresh else min(chain, 1) if self._goes_on(message) else chain
                self.inspector.sends(process, message, now, chain=length)
                self._send(process, message, length)
        is_double = self.doubles.get(process.name) is process
        self.inspector.after(process, () if is_double else self.running.values())
        if is_fatal:
            self._crash(process)
            return
        process.disk.compact(process.agent)
        process.wakes_at = None
        if outcome.wake_at is not None:
            process.wakes_at = self.time + max(0.0, outcome.wake_at - self._now(process)) + _A_MOMENT
            self._set_alarm(process)
        if outcome.superseded_by is not None:
            self._superseded(process, outcome.superseded_by)

    def _goes_on(self, message: Message) -> bool:
        """Return whether a share goes on where the last one ended, which was too small for everything."""
        if not isinstance(message, Share):
            return False
        pair, (base, upto, *_) = (message.sender, message.receiver), message.changes
        before, self._told[pair] = self._told.get(pair, 0), upto
        return 0 < base == before < upto

    def _set_alarm(self, process: Process) -> None:
        assert process.wakes_at is not None
        if process.alarm is None or process.wakes_at < process.alarm:
            process.alarm = process.wakes_at
            self._at(process.wakes_at, partial(self._wake, process))

    # What the network does.

    def _send(self, process: Process, message: Message, chain: int) -> None:
        self.messages += 1
        frame = encode(message)
        self._transcript.note(self.time, process.name, "says", frame, message)
        pair = (message.sender, message.receiver)
        number = self._sent[pair] = self._sent.get(pair, 0) + 1
        sender, receiver = int(message.sender), int(message.receiver)
        key = stream(self.plan.seed, _NETWORK, sender, receiver, number)
        faults = self._faults
        if faults.cut(int(self.time), sender, receiver) or uniform(key, LOST) < faults.loss:
            self._transcript.note(self.time, "", "which is lost")
            return
        is_doubled = uniform(key, DOUBLED) < faults.duplication
        for copy in (FIRST_COPY, SECOND_COPY) if is_doubled else (FIRST_COPY,):
            chances = (uniform(key, copy + place) for place in range(3))
            late = holdup(faults.jitter, faults.reordering, faults.held_back, *chances)
            self._at(self.time + self.plan.delay + late, partial(self._arrive_message, message.receiver, frame, chain))

    def _arrive_message(self, receiver: AgentId, frame: bytes, chain: int) -> None:
        process, double = self.running.get(receiver), self.doubles.get(receiver)
        if double is not None and (process is None or self._double_dice.happens(0.5)):
            self._deliver(double, frame, chain)
            if self._double_dice.happens(0.5):
                return
        if process is not None:
            self._deliver(process, frame, chain)

    def _deliver(self, process: Process, frame: bytes, chain: int) -> None:
        if not process.is_running:
            return
        message = decode(frame)
        self._turn(process)
        self._transcript.note(self.time, process.name, "hears", frame, message)
        try:
            outcome = process.agent.receive(message, self._now(process))
        except PeerError as error:
            self._transcript.note(self.time, process.name, f"refuses: {error}")
            if message.sender in process.agent.endpoint.links:
                self.inspector.violations.append(f"{process.name} refused what {message.sender} said: {error}")
            return
        self.inspector.heard(process, message)
        self._take(process, outcome, chain + 1)
