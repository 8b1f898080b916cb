"""Two members meet though their first words are lost."""

from tacit import UCB, Agent
from tacit.protocol import Geometric, Patience, on_demand
from tacit.runtime.clerk import Clerk
from tacit.runtime.clock import VirtualClock
from tacit.runtime.controls import Controls
from tacit.runtime.errands import Errands
from tacit.runtime.letters import Hello, pack
from tacit.runtime.outstanding import Outstanding
from tacit.runtime.restoring import Restored
from tacit.runtime.turn import Terms

SHARING = on_demand(Geometric(2, cap=4), loss_tolerant=Patience(first=1.0, least=0.1, tick=1.0, longest=5.0))


def _clerk(clock: VirtualClock) -> Clerk:
    agent = Agent("j", UCB(["A", "B"]), SHARING, boot=1)
    restored = Restored(agent, Controls(), Errands(), Outstanding(), 1, b"secret", removed=frozenset(), is_new=True)
    clerk = Clerk(Terms("j", "g", SHARING, UCB, 1000.0, None), restored, clock)
    clerk.make_desk(None, seed=1, wake=lambda: None)
    return clerk


def test_who_can_be_reached_is_greeted_until_it_has_said_who_it_is() -> None:
    clock = VirtualClock()
    clerk = _clerk(clock)
    clerk.greet("q")
    greeted = []
    for _ in range(20):
        greeted += [clock.time for receiver, _ in clerk.turn([]).outgoing if receiver == "q"]
        clock.time += 1.0
    assert greeted == [0.0, 2.0, 6.0, 14.0]
    hello = Hello("q", ("A", "B"), clerk.agent.policy.quantum.per_reward, 1, 1, b"", wants_answer=False)
    clock.time = 30.0
    clerk.turn([(pack(hello, "g"), None)])
    clock.time = 1000.0
    assert [content for _, content in clerk.turn([]).outgoing if isinstance(content, Hello)] == []
