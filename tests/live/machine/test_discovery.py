"""Two members meet though their first words are lost."""

from cobandit import UCB, Agent
from cobandit.core import Geometric, RetryTimers, on_demand
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.machine.control_messages import Hello, pack
from cobandit.live.machine.controls import Controls
from cobandit.live.machine.discovery import Discovery
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.outbox import Outbox
from cobandit.live.machine.step import Restored, Terms

SHARING = on_demand(Geometric(2, cap=4), loss_tolerant=RetryTimers(first=1.0, least=0.1, tick=1.0, longest=5.0))


def _machine(clock: VirtualClock) -> Machine:
    agent = Agent("j", UCB(["A", "B"]), SHARING, incarnation=1)
    restored = Restored(agent, Controls(), Outbox(), OpenDecisions(), 1, b"secret", removed=frozenset(), is_new=True)
    machine = Machine(Terms("j", "g", SHARING, UCB, 1000.0, None), restored, clock)
    machine.make_decider(None, seed=1, wake=lambda: None)
    return machine


def test_who_can_be_reached_is_greeted_until_it_has_said_who_it_is() -> None:
    clock = VirtualClock()
    machine = _machine(clock)
    machine.introduction.greet("q")
    greeted = []
    for _ in range(20):
        greeted += [clock.time for receiver, _ in machine.step([]).outgoing if receiver == "q"]
        clock.time += 1.0
    assert greeted == [0.0, 2.0, 6.0, 14.0]
    hello = Hello("q", ("A", "B"), machine.agent.policy.quantum.per_reward, 1, 1, b"", wants_answer=False)
    clock.time = 30.0
    machine.step([(pack(hello, "g"), None)])
    clock.time = 1000.0
    assert [content for _, content in machine.step([]).outgoing if isinstance(content, Hello)] == []


def test_who_missed_the_answer_asks_again_and_is_answered_though_it_is_known_by_now() -> None:
    clock = VirtualClock()
    machine = _machine(clock)
    asking = Hello("q", ("A", "B"), machine.agent.policy.quantum.per_reward, 1, 1, b"", wants_answer=True)
    answers = []
    for time in (0.0, 0.5, 2.0, 6.0):
        clock.time = time
        step = machine.step([(pack(asking, "g"), None)])
        answers += [(time, receiver) for receiver, hello in step.outgoing if isinstance(hello, Hello) and hello.answers]
    assert answers == [(0.0, "q"), (2.0, "q"), (6.0, "q")]  # but not what came twice in half a second


def test_an_announcement_is_answered_once_and_an_answer_never() -> None:
    clock = VirtualClock()
    machine = _machine(clock)
    announced = Hello("q", ("A", "B"), machine.agent.policy.quantum.per_reward, 1, 1, b"")
    answered = Hello("r", ("A", "B"), machine.agent.policy.quantum.per_reward, 1, 1, b"", answers=(1, 2))
    answers = []
    for time in (0.0, 10.0, 20.0):
        clock.time = time
        step = machine.step([(pack(hello, "g"), None) for hello in (announced, answered)])
        answers += [(time, receiver) for receiver, content in step.outgoing if isinstance(content, Hello)]
    assert answers == [(0.0, "q")]


def test_of_two_newcomers_each_asks_the_other_so_that_both_know_and_neither_asks_again() -> None:
    clock = VirtualClock()
    machine = _machine(clock)
    machine.introduction.introduce()
    machine.introduction.awaits_settings = True
    units, session, notice = (
        machine.agent.policy.quantum.per_reward,
        machine.agent.session,
        machine.agent.presence.number,
    )

    def answers_to(hello: Hello) -> list[tuple[str, bool]]:
        clock.time += 1.0
        step = machine.step([(pack(hello, "g"), None)])
        return [(to, content.wants_answer) for to, content in step.outgoing if isinstance(content, Hello)]

    later = Hello("q", ("A", "B"), units, 1, 1, b"", is_new=True)
    assert answers_to(later) == [("q", True)]
    assert machine.discovery.newcomers == set()  # it may be a packet of an earlier start that is late
    old = Hello("q", ("A", "B"), units, 1, 1, b"", is_new=True, answers=(session - 1, 9), wants_answer=True)
    assert (answers_to(old), machine.discovery.newcomers) == ([("q", True)], set())
    told = Hello("q", ("A", "B"), units, 1, 1, b"", is_new=True, answers=(session, notice), wants_answer=True)
    assert (answers_to(told), machine.discovery.newcomers) == ([("q", False)], {"q"})
    told = Hello("q", ("A", "B"), units, 1, 1, b"", answers=(session, notice))
    assert (answers_to(told), machine.discovery.newcomers, machine.introduction.settings_from) == ([], set(), "q")


def test_somebody_who_asks_often_is_told_now_and_then_and_also_when_the_clock_has_gone_back() -> None:
    known = Discovery()
    assert [known.may_tell("eve", now) for now in (100.0, 100.4, 100.5, 3.0)] == [True, False, True, True]
    assert known.may_answer("eve", 100.4)  # greetings are another matter
