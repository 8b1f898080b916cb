"""The live node over memory, with a virtual clock and a real journal's bytes, is the simulator's agent, row by row."""

from collections.abc import Callable, Sequence

import pytest

from cobandit import Constant, Geometric, on_demand
from cobandit.agent import Agent
from cobandit.core import Message, Outcome, RetryTimers
from cobandit.live.decide.decision import Decision
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.drive.node import Node
from cobandit.live.machine.control_messages import ControlMessage, pack, unpack
from cobandit.live.machine.controls import Controls
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.outbox import Outbox
from cobandit.live.machine.step import Restored, Terms
from cobandit.live.store.journal import MemoryJournal
from cobandit.live.transports.base import Inbox, Transport
from cobandit.policies import Policy, Thompson
from cobandit.scenario import Absence, AgentSpec, Arms, BuiltIn, Faults, Rate, Scenario
from cobandit.scenario.tape import Tape
from cobandit.scenario.trace import Row
from cobandit.simulator.reference import ReferenceRun, run
from lab.pairs import lasting

GROUP = "simulated"


class Handing(Transport):
    """A transport into the hands of the simulator's network."""

    def __init__(self) -> None:
        self.packets: list[bytes] = []

    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        raise AssertionError("nothing is opened in a simulation")

    def send(self, receiver: str, frame: bytes) -> bool:
        self.packets.append(frame)
        return True

    def announce(self, frame: bytes) -> None:
        raise AssertionError("nobody needs to be found")

    async def close(self) -> None:
        pass


class Drawn(Thompson):
    """Thompson sampling as the simulator has it: without posteriors, a live member draws as this policy does."""

    @classmethod
    def of(cls, arms: Sequence[str], seed: int) -> "Drawn":
        return cls(arms, seed=seed, quantum=1.0)

    def posteriors(self) -> None:  # type: ignore[override]
        return None


class LiveAgent:
    """A node that answers where the simulator expects an agent. All that goes in and out are bytes."""

    def __init__(self, agent: Agent, build: Callable[[Sequence[str]], Policy], clock: VirtualClock) -> None:
        self._clock = clock
        restored = Restored(agent, Controls(), Outbox(), OpenDecisions(), 1, b"secret", frozenset(), is_new=True)
        terms = Terms(agent.name, GROUP, agent.sharing, build, expire_after=1e9, default_units=None)
        self._machine = Machine(terms, restored, clock)
        self._handed = Handing()
        self.journal = MemoryJournal()
        self._node = Node(self._machine, self.journal, self._handed)
        self._decider = self._machine.make_decider(None, seed=0, wake=lambda: None)
        self._decision: Decision | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._machine.agent, name)

    def select_arm(self) -> str:
        self._decision = self._decider.select_arm()
        return self._decision.arm

    def update(self, arm: str, reward: float, now: float) -> Outcome:
        assert self._decision is not None
        assert self._decision.arm == arm
        self._clock.time = now
        assert self._decider.settle(self._decision.number, reward)
        return self._outcome()

    def receive(self, message: Message, now: float) -> Outcome:
        self._clock.time = now
        self._node.frame(pack(message, GROUP), message.sender)
        return self._outcome(may_wake=False)

    def wake(self, now: float) -> Outcome:
        self._clock.time = now
        return self._outcome()

    def join(self, now: float) -> Outcome:
        self._clock.time = now
        self._machine.introduction.introduce()
        return self._outcome(may_wake=False)

    def leave(self) -> Outcome:
        self._machine.take_leave()
        return self._outcome(may_wake=False)

    def _outcome(self, *, may_wake: bool = True) -> Outcome:
        self._node.step(may_wake=may_wake)
        packets, self._handed.packets = self._handed.packets, []
        messages: list[Message] = []
        for packet in packets:
            message = unpack(packet, GROUP)
            assert not isinstance(message, ControlMessage)
            messages.append(message)
        return Outcome(outgoing=tuple(messages), wake_at=self._machine.agent.wake_at)


def replayed_live(scenario: Scenario, seed: int) -> tuple[list[Row], ReferenceRun]:
    rows: list[Row] = []
    tape = Tape(seed, 0)
    engine = ReferenceRun(scenario, tape, rows)
    clock = VirtualClock()

    def live(position: int, agent: Agent) -> LiveAgent:
        return LiveAgent(agent, lambda arms: scenario.policy(arms, tape.policy_seed(position)), clock)

    engine.agents[:] = [live(position, agent) for position, agent in enumerate(engine.agents)]  # type: ignore[misc]
    engine.run()
    return rows, engine


PATIENCE = RetryTimers(first=16.0, least=1.0, growth=1.5, tick=60.0, longest=500.0)
ARMS = Arms.of([0.2, 0.5, 0.8, 0.4])
AGENTS = (
    AgentSpec(Rate(0.6)),
    AgentSpec(Rate(0.1)),
    AgentSpec(Rate(0.3), arms=("0", "1", "2")),
    AgentSpec(Rate(0.05), absences=(Absence(200, 350),)),
)
SAME_ARMS = tuple(spec for spec in AGENTS if not spec.arms)
TOLERANT = on_demand(Geometric(2, cap=64), loss_tolerant=PATIENCE)
BAD_NETWORK = Faults(loss=0.2, duplication=0.1, jitter=3, reordering=0.2, held_back=9)

WORLDS = {
    "as live members talk": Scenario(600, ARMS, AGENTS, BuiltIn("ucb"), TOLERANT, delay=2),
    "without delay": Scenario(600, ARMS, AGENTS, BuiltIn("ucb"), TOLERANT),
    "as the paper prints it": Scenario(600, ARMS, AGENTS, BuiltIn("ucb"), on_demand(), delay=1),
    "on a network that loses messages": Scenario(
        600, ARMS, AGENTS, BuiltIn("ucb"), on_demand(Constant(1), loss_tolerant=PATIENCE), delay=1, faults=BAD_NETWORK
    ),
    "with elimination": Scenario(
        600, ARMS, SAME_ARMS, BuiltIn("aae", alpha=0.3), TOLERANT, delay=1, faults=BAD_NETWORK
    ),
    "with draws": Scenario(600, ARMS, AGENTS, Drawn.of, TOLERANT, delay=1, faults=BAD_NETWORK),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_live_fleet_replays_a_tape_to_the_trace_of_the_readable_engine(world: str, seed: int) -> None:
    ref: list[Row] = []
    run(WORLDS[world], seed=seed, trace=ref)
    got, _ = replayed_live(WORLDS[world], seed)
    assert got == ref
    assert len(ref) > 400


def test_what_the_live_fleet_wrote_down_rebuilds_its_agents() -> None:
    _, engine = replayed_live(WORLDS["on a network that loses messages"], 1)
    from cobandit.codec import decode_record  # noqa: PLC0415

    for agent in engine.agents:
        assert isinstance(agent, LiveAgent)
        machine = agent._machine
        stored = agent.journal.read()
        fresh = ReferenceRun(WORLDS["on a network that loses messages"], Tape(1, 0), None).agents[
            int(machine.agent.name)
        ]
        records = [decode_record(record) for batch in stored.batches for record in batch.records]
        again = Agent.restore(
            fresh.snapshot(), records, policy=machine.terms.build(fresh.arms), sharing=machine.agent.sharing
        )
        assert lasting(again.snapshot()) == lasting(machine.agent.snapshot())
