"""The readable engine: virtual time, real agents. It defines the correct results for every faster engine.

It drives the same `Agent` that runs in live fleets, or the nodes of a plug-in (`plugged.py`). It adds only time,
randomness and a network. The order inside a slot is fixed, because counts depend on it:
1. agents leave and join, and their notices go out;
2. messages that are due arrive, in sending order, and answers go out;
3. agents that asked to be woken are woken, in the order of the scenario;
4. agents whose slot it is decide, in the order of the scenario: each pulls, records and shares, and with zero delay
   each share arrives at once, is answered at once, and so on until quiet, before the next agent decides.
"""

import heapq
import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cobandit.codec import size_of_all
from cobandit.core import Acknowledgement, Message, Notice, Share
from cobandit.protocols.node import Note
from cobandit.scenario.payments import Payments
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.tape import Stream, Tape
from cobandit.scenario.topology import Relays
from cobandit.scenario.trace import Kind, Row
from cobandit.simulator.meeting import Fleet, meet, role_of
from cobandit.simulator.moving import Account
from cobandit.simulator.network import Network
from cobandit.simulator.plugged import Actor, Produced, meet_plugged
from cobandit.simulator.result import COUNTED_AT, UNKNOWN, Communication, Counts, Result, received
from cobandit.simulator.wiring import links_of
from cobandit.values.errors import LocalError

MOST_NOTES = 10_000
"""Maximum messages of plug-ins in one slot, plus a hundred for each pair of nodes. With more, they would never end."""

MEASURED_AT_ONCE = 1000
"""How many messages are measured together."""

Watch = Callable[["ReferenceRun"], None]


def run(
    scenario: Scenario,
    *,
    seed: int,
    trial: int = 0,
    trace: list[Row] | None = None,
    checkpoints: Sequence[int] = (),
    watch: Watch | None = None,
) -> Result:
    """Run a scenario once.

    Args:
        scenario: The world.
        seed: The random seed.
        trial: The number of the trial with this seed.
        trace: A list that receives a row for everything that happens.
        checkpoints: Slots at whose beginning to record the counts so far.
        watch: Called with the run after everything that happens; for checking invariants.

    >>> from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
    >>> world = Scenario(horizon=100, arms=Arms.of([0.2, 0.8]), agents=(AgentSpec(Rate(1.0)), AgentSpec(Rate(0.1))))
    >>> result = run(world, seed=1)
    >>> result.decisions[0], result.shares < 40
    (100, True)
    """
    engine = ReferenceRun(scenario, Tape(seed, trial), trace, checkpoints, watch)
    engine.run()
    return engine.result()


class ReferenceRun:
    """A run in progress."""

    def __init__(
        self,
        scenario: Scenario,
        tape: Tape,
        trace: list[Row] | None,
        checkpoints: Sequence[int] = (),
        watch: Watch | None = None,
    ) -> None:
        if not isinstance(scenario, Scenario):
            raise LocalError(f"a scenario is a Scenario, or read_scenario(path).scenario, not {scenario!r}")
        self.scenario = scenario
        plugged = scenario.plugged
        self.agents = [] if plugged else meet(scenario, tape)
        """The agents, and then any relays. With a plug-in, there are nodes instead of agents."""
        self.nodes = meet_plugged(scenario, plugged, tape) if plugged else []
        self._actors: list[Actor] = self.nodes if plugged else self.agents  # type: ignore[assignment]  # one list
        self.network = Network(scenario.delay, scenario.faults)
        self._outbox: deque[Any] = deque()
        self.away: set[str] = set()
        self.slot = 0
        count, links = len(scenario.agents), links_of(scenario)
        self._trace = trace
        self._checkpoints = sorted(checkpoints)
        self._pulls_at: list[Counts] = []
        self._counted_at: list[tuple[int, ...]] = []
        self._watch = watch
        self._position = {agent.name: position for position, agent in enumerate(self._actors)}
        self._arm_position = {arm: position for position, arm in enumerate(scenario.arms.names)}
        self._payments = Payments(scenario, tape)
        self._account = None if scenario.course is None else Account(scenario, self._payments.expected)
        self._clocks = [
            spec.schedule.clock(tape.clock_keys(position, scenario.horizon))
            for position, spec in enumerate(scenario.agents)
        ]
        self._pulls = np.zeros((count, len(scenario.arms.names)), np.int64)
        self._units = np.zeros(self._pulls.shape, np.int64)
        """Rewards, in quanta."""
        self._pull_counts = [0] * count
        self.communication = Communication.none(count, links)
        self._unmeasured: list[Message] = []
        """Messages that were sent and have not been counted yet."""
        self._places: dict[tuple[int, int], Any] = {}
        """Where the messages of a link are counted. In a mesh, the two positions determine it."""
        if links is not None:
            self._places = {(one, other): place for place, (one, other) in enumerate(links.tolist())}
        fades = scenario.forgetting is not None and scenario.forgetting.half_life is not None
        self.lacking = UNKNOWN if fades or (plugged is not None and not plugged.about.observations) else 0
        self._spoke_at = [-1] * len(self._actors)
        """The slot in which each node last sent something."""
        self._notes = (-1, 0)
        """The slot, and the number of messages that plug-ins have sent in it."""
        self._made = Made(scenario)
        self._turns_at = 0.0 if scenario.forgetting is not None else math.inf
        self._message_keys = [tape.key(position, Stream.NETWORK) for position in range(len(self._actors))]
        self._wakes: list[float | None] = [agent.wake_at for agent in self._actors]
        self._fleet = Fleet(scenario, self.agents) if isinstance(scenario.topology, Relays) and not plugged else None

    def run(self) -> None:
        """Walk from event to event until the horizon."""
        decisions: list[tuple[int, int]] = []
        for position, spec in enumerate(self.scenario.agents):
            self._plan(decisions, position, after=spec.start - 1)
        moves = _moves(self.scenario)
        while True:
            next_slots = [queue[0][0] for queue in (decisions, moves) if queue]
            arrival = self.network.next_arrival()
            if arrival is not None:
                next_slots.append(arrival)
            next_slots.extend(max(self.slot, math.ceil(time)) for time in self._wakes if time is not None)
            self.slot = min(next_slots, default=self.scenario.horizon)
            self._remember(until=min(self.slot, self.scenario.horizon))
            if self.slot >= self.scenario.horizon:
                return
            if self.slot >= self._turns_at:
                self._turn()
            while moves and moves[0][0] == self.slot:
                _, position, kind = heapq.heappop(moves)
                self._move(position, kind)
            while (message := self.network.take_arrival(self.slot)) is not None:
                self._deliver(message)
                self._send_all()
            while (sleeper := self._next_sleeper()) is not None:
                self._take(sleeper, self._actors[sleeper].wake(self.slot))
                self._send_all()
            while decisions and decisions[0][0] == self.slot:
                _, position = heapq.heappop(decisions)
                if self._actors[position].name not in self.away:
                    self._decide(position)
                self._plan(decisions, position, after=self.slot)

    def _turn(self) -> None:
        """Start a period at all nodes, and forget what is outside the window."""
        forgetting = self.scenario.forgetting
        assert forgetting is not None
        for position, agent in enumerate(self.agents):
            wake_at = agent.turn(self.slot, self.slot).wake_at
            self._wakes[position] = None if agent.name in self.away else wake_at
        self._turns_at = forgetting.period * (self.slot // forgetting.period + 1)
        self._made.turn(self.slot)

    def _next_sleeper(self) -> int | None:
        """Return the first agent that is due to be woken."""
        for position, time in enumerate(self._wakes):
            if time is not None and time <= self.slot:
                return position
        return None

    def _remember(self, until: int) -> None:
        """Record the counts for every checkpoint up to this slot."""
        said = self.communication
        while len(self._pulls_at) < len(self._checkpoints) and self._checkpoints[len(self._pulls_at)] <= until:
            self._measure()
            self._pulls_at.append(self._pulls.copy())
            if self._account is not None:
                self._account.remember()
            shares = int(said.shares.sum())
            messages = shares + int(said.retries.sum()) + int(said.acknowledgements.sum())
            self._counted_at.append((shares, messages, said.bytes, said.agent_rounds, self.lacking))

    def in_flight(self) -> list[Message]:
        """Return all messages that were produced but not received."""
        return self.network.in_flight() + list(self._outbox)

    def result(self) -> Result:
        """Return the measurements so far."""
        self._measure()
        gaps = np.zeros(self._pulls.shape)
        agents, expected = self._actors[: len(self._pulls)], self.scenario.arms.expected
        best = np.array([self.scenario.arms.best(agent.arms) for agent in agents])
        for position, agent in enumerate(agents):
            for arm in agent.arms:
                place = self._arm_position[arm]
                gaps[position, place] = best[position] - expected[place]
        names = tuple(agent.name for agent in agents)
        return Result(
            names,
            self._pulls,
            gaps,
            received(self.scenario.arms, self._pulls, self._units),
            best,
            self.communication,
            self.lacking,
            np.array(self._checkpoints, np.int64),
            np.array(self._pulls_at, np.int64).reshape(-1, *self._pulls.shape),
            **dict(zip(COUNTED_AT, np.array(self._counted_at, np.int64).reshape(-1, len(COUNTED_AT)).T, strict=True)),
            moving=None if self._account is None else self._account.moving(),
        )

    def _plan(self, decisions: list[tuple[int, int]], position: int, after: int) -> None:
        stop = self.scenario.agents[position].stop
        slot = self._clocks[position].next_slot(after)
        if slot < self.scenario.horizon and (stop is None or slot < stop):
            heapq.heappush(decisions, (slot, position))

    def _decide(self, position: int) -> None:
        agent = self._actors[position]
        arm = agent.select_arm()
        if arm not in self._arm_position:
            raise LocalError(f"the policy of agent {agent.name} chose {arm!r}, which is not an arm")
        pull, place = self._pull_counts[position], self._arm_position[arm]
        units = self._payments.draw(position, place, self.slot, pull, int(self._pulls[position, place]))
        if self._account is not None:
            self._account.add(position, place, self._payments.step)
        self._pull_counts[position] = pull + 1
        self._pulls[position, place] += 1
        self._units[position, place] += units
        if self.lacking != UNKNOWN:
            self.lacking += self._lacked(agent)
        self._made.add(arm)
        candidates_before = agent.policy.candidates
        per_reward = self._payments.per_reward  # what plug-ins are given, they may send: 0 and 1 are whole numbers
        outcome = agent.update(arm, units if per_reward == 1 else units / per_reward, self.slot)
        if agent.policy.candidates is not candidates_before:
            self._tell_eliminations(position, candidates_before)
        self._tell(Kind.DECISION, position, place, units, pull + 1)
        self._take(position, outcome)
        self._send_all()
        self._clocks[position].decided(sent=any(map(_is_new_share, outcome.outgoing)))

    def _lacked(self, agent: Actor) -> int:
        """Return how many observations by others of its own arms an agent does not know."""
        known, made = agent.policy.tally.observations, self._made.of(agent.arms)
        if known > made:
            raise LocalError(f"agent {agent.name} knows {known} observations, but {made} were made: some counted twice")
        return made - known

    def _take(self, position: int, outcome: Produced) -> None:
        self._outbox.extend(outcome.outgoing)
        self._wakes[position] = outcome.wake_at

    def _move(self, position: int, kind: Kind) -> None:
        agent, is_relay = self._actors[position], position >= len(self.scenario.agents)
        self._tell(kind, position)
        if kind is Kind.LEAVE:
            self.away.add(agent.name)
            self._wakes[position] = None
            if not is_relay:
                self._outbox.extend(agent.leave().outgoing)
            self._rehome()
            if is_relay:
                self._notice(position, is_here=False)
            self._send_all()
            return
        self.away.discard(agent.name)
        if is_relay and self._fleet is not None:
            self._take(position, self._fleet.start(position, self.slot))
            self.agents[position].turn(self.slot, self.slot)
        else:
            self._take(position, agent.join(self.slot, **role_of(self.scenario, position)))
        self._rehome()
        if is_relay:
            self._notice(position, is_here=True)
        self._send_all()
        while (message := self.network.take_kept(agent.name)) is not None:
            self._deliver(message)
            self._send_all()

    def _notice(self, position: int, *, is_here: bool) -> None:
        """Tell the neighbours of a plug-in's hub that it was killed or is back: connections break and are made."""
        for node in self.nodes:
            if position in node.node.neighbours and node.name not in self.away:
                self._take(node.node.position, node.notice(position, self.slot, is_here=is_here))

    def _rehome(self) -> None:
        """Tell all nodes which relays are present, if there are any, and when to be woken for that."""
        if self._fleet is not None and self._fleet.rehome(self.away, self.slot):
            for position, agent in enumerate(self.agents):
                self._wakes[position] = None if agent.name in self.away else agent.wake_at

    def _send_all(self) -> None:
        """Send the content of the outbox. With zero delay, a share is answered before the next one is sent."""
        if self._watch is not None:
            self._watch(self)
        while self._outbox:
            self._transmit(self._outbox.popleft())
            if self._watch is not None:
                self._watch(self)

    def _transmit(self, message: Message | Note) -> None:
        sender, receiver = self._position[message.sender], self._position[message.receiver]
        if isinstance(message, Note):
            self._count_note(message, sender, receiver)
        else:
            self._unmeasured.append(message)
            if len(self._unmeasured) >= MEASURED_AT_ONCE:
                self._measure()
            if self._trace is not None:
                self._tell_sent(message, sender, receiver)
        self._note_round(sender)
        delays = self.network.delays(self.slot, self._message_keys[sender], sender, receiver)
        if not delays:
            self._tell(Kind.LOSS, sender, receiver)
        for delay in delays:
            if delay:
                self.network.send(message, self.slot + delay)
            else:
                self._deliver(message)

    def _deliver(self, message: Message | Note) -> None:
        if message.receiver in self.away:
            self.network.keep(message)
            return
        position = self._position[message.receiver]
        if self._trace is not None:
            self._tell_arrived(message, position)
        outcome = self._actors[position].receive(message, self.slot)
        self._wakes[position] = outcome.wake_at
        if outcome.outgoing:
            self._outbox.extendleft(reversed(outcome.outgoing))

    def _tell_arrived(self, message: Message | Note, position: int) -> None:
        if isinstance(message, Share) or (isinstance(message, Note) and message.kind == "share"):
            self._tell(Kind.DELIVERY, position, self._position[message.sender], message.number)

    def _tell_sent(self, message: Message, sender: int, receiver: int) -> None:
        own = self.agents[sender].endpoint.replica.observations
        if isinstance(message, Share) and message.is_fresh:
            self._tell(Kind.SHARE, sender, receiver, message.number, message.observations, own)
        elif isinstance(message, Share):
            attempt = 0 if message.delivery is None else message.delivery.attempt
            self._tell(Kind.RETRY, sender, receiver, message.number, attempt, own)
        elif isinstance(message, Acknowledgement):
            seen = message.delivery.receipt
            known = self.agents[receiver].peers.observations_at(message.sender, seen.held)
            self._tell(Kind.ACKNOWLEDGE, sender, receiver, seen.number, known)

    def _measure(self) -> None:
        """Measure messages in batches, which takes less time than one by one."""
        said, positions, counted = self.communication, self._position, Counter[tuple[Any, int, int]]()
        for message in self._unmeasured:
            sender, receiver, is_fresh = positions[message.sender], positions[message.receiver], True
            if isinstance(message, Share):
                common, is_fresh = len(self.agents[sender].peers.common_arms(message.receiver)), message.is_fresh
                said.definition_bits += 2 * common * math.log2(message.observations + 1)
            counted[type(message) if is_fresh else None, sender, receiver] += 1
        tables = {Share: said.shares, None: said.retries, Acknowledgement: said.acknowledgements, Notice: said.notices}
        for (kind, sender, receiver), count in counted.items():
            tables[kind][self._places.get((sender, receiver), (sender, receiver))] += count
        said.bytes += size_of_all(self._unmeasured)
        self._unmeasured.clear()

    def _count_note(self, note: Note, sender: int, receiver: int) -> None:
        slot, count = self._notes
        self._notes = (self.slot, count + 1 if slot == self.slot else 1)
        if self._notes[1] > MOST_NOTES + 100 * len(self.nodes) ** 2:
            raise LocalError(
                f"in slot {self.slot} the protocol has sent {count} messages: nodes answer each other without end. Let "
                "`received` send only what is news"
            )
        said, place = self.communication, self._places.get((sender, receiver), (sender, receiver))
        said.bytes += note.size
        if note.kind == "notice":
            said.notices[place] += 1
            return
        speaker, listener = self.nodes[sender], self.nodes[receiver]
        common = len(set(speaker.arms).intersection(listener.arms))
        said.definition_bits += 2 * common * math.log2(note.observations + 1)
        said.shares[place] += 1
        self._tell(Kind.SHARE, sender, receiver, note.number, note.observations, speaker.policy.own_pulls)

    def _note_round(self, sender: int) -> None:
        if self._spoke_at[sender] != self.slot:
            self._spoke_at[sender] = self.slot
            self.communication.agent_rounds += 1

    def _tell_eliminations(self, position: int, before: tuple[str, ...]) -> None:
        left = len(before)
        for arm in before:
            if arm not in self._actors[position].policy.candidates:
                left -= 1
                self._tell(Kind.ELIMINATION, position, self._arm_position[arm], left)

    def _tell(self, kind: Kind, agent: int, other: int = 0, a: int = 0, b: int = 0, c: int = 0) -> None:
        if self._trace is not None:
            self._trace.append(Row(self.slot, int(kind), agent, other, a, b, c))


class Made:
    """How many observations all agents made of each arm. Only those that still count."""

    def __init__(self, scenario: Scenario) -> None:
        self._forgetting = scenario.forgetting
        self._arms = scenario.arms.names
        self._by_period: dict[int, dict[str, int]] = {0: dict.fromkeys(self._arms, 0)}
        self._present = self._all = 0

    def add(self, arm: str) -> None:
        """Count one."""
        self._by_period[self._present][arm] += 1
        self._all += 1

    def of(self, arms: Sequence[str]) -> int:
        """Return the number of observations of these arms."""
        if len(arms) == len(self._arms):
            return self._all
        return sum(counts[arm] for counts in self._by_period.values() for arm in arms)

    def turn(self, slot: int) -> None:
        """Forget what is outside the window."""
        assert self._forgetting is not None
        self._present = int(slot // self._forgetting.period)
        self._by_period.setdefault(self._present, dict.fromkeys(self._arms, 0))
        first = self._present - self._forgetting.periods
        self._by_period = {period: counts for period, counts in self._by_period.items() if period > first}
        self._all = sum(sum(counts.values()) for counts in self._by_period.values())


def _is_new_share(message: Message | Note) -> bool:
    return message.kind == "share" if isinstance(message, Note) else isinstance(message, Share) and message.is_fresh


def _moves(scenario: Scenario) -> list[tuple[int, int, Kind]]:
    moves: list[tuple[int, int, Kind]] = []
    for position, spec in enumerate(scenario.agents):
        for absence in spec.absences:
            moves.append((absence.leave, position, Kind.LEAVE))
            if absence.rejoin is not None:
                moves.append((absence.rejoin, position, Kind.JOIN))
    for away in scenario.topology.absences if isinstance(scenario.topology, Relays) else ():
        moves.append((away.leave, len(scenario.agents) + away.relay, Kind.LEAVE))
        if away.rejoin is not None:
            moves.append((away.rejoin, len(scenario.agents) + away.relay, Kind.JOIN))
    heapq.heapify(moves)
    return moves
