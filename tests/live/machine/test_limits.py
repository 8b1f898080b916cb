"""What one peer, or an outsider, can make a member do, keep and write: attacks, and honest fleets beside them."""

from typing import Any

import pytest

from cobandit import UCB, Agent
from cobandit.core import (
    Changes,
    Delivery,
    Geometric,
    InputRecord,
    Message,
    Notice,
    Presence,
    Receipt,
    RetryTimers,
    Share,
    on_demand,
)
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.decision import LONGEST_TOKEN
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.machine import inbound
from cobandit.live.machine.answers import Answers
from cobandit.live.machine.control_messages import (
    MAX_DIGEST,
    MAX_STATUS,
    MAX_VERSIONS,
    MOST_REWARDS,
    ControlsHeard,
    ControlsTold,
    Hello,
    Rewards,
    RewardsTaken,
    StatusAsked,
    StatusTold,
    pack,
    unpack,
)
from cobandit.live.machine.controls import FROZEN, MOST_FROZEN, Controls, Setting, freezing
from cobandit.live.machine.discovery import (
    MAX_ANSWERS_AT_ONCE,
    MAX_TOLD_AT_ONCE,
)
from cobandit.live.machine.guard import (
    MAX_REPETITIONS_AT_ONCE,
    MAX_REPETITIONS_PER_SECOND,
    MAX_SESSIONS_AT_ONCE,
    MAX_SESSIONS_PER_SECOND,
    MAX_SETTINGS_AT_ONCE,
)
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.open_decisions import OpenDecisions
from cobandit.live.machine.outbox import FIRST_WAIT, Outbox
from cobandit.live.machine.step import Restored, Step, Terms
from cobandit.values.errors import PeerError
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS, ArmTally

GROUP = "g"
SHARING = on_demand(Geometric(2, cap=4), loss_tolerant=RetryTimers(first=1.0, least=0.1, tick=1.0, longest=5.0))
QUANTUM = UCB(["A"]).quantum
UNITS = QUANTUM.per_reward


class Scene:
    """A machine, and the time."""

    def __init__(self, arms: tuple[str, ...] = ("A", "B"), controls: Controls | None = None) -> None:
        self.clock = VirtualClock()
        self.clock.time = 1000.0
        agent = Agent("j", UCB(arms), SHARING, incarnation=1)
        restored = Restored(
            agent, controls or Controls(), Outbox(), OpenDecisions(), 1, b"secret", removed=frozenset(), is_new=True
        )
        self.machine = Machine(Terms("j", GROUP, SHARING, UCB, 1000.0, None), restored, self.clock)
        self.machine.make_decider(None, seed=1, wake=lambda: None)
        self.machine.introduction.introduce()
        self.machine.step([])

    def hears(self, *contents: Any, sender: str | None = None) -> Step:
        return self.machine.step([(pack(content, GROUP), sender) for content in contents], may_wake=False)


def hello(sender: str, session: int = 1, arms: tuple[str, ...] = ("A", "B"), **more: Any) -> Hello:
    return Hello(sender, arms, UNITS, session, 2, b"", **more)


def share(sender: str, *, attempt: int = 0, number: int = 1, session: int = 1) -> Share:
    return Share(sender, "j", number, 0, Changes(), Delivery(session, attempt, Receipt(1, 0, 0)))


def sent(step: Step, kind: type[Any]) -> list[str]:
    return [receiver for receiver, content in step.outgoing if isinstance(content, kind)]


def test_members_whose_names_nothing_proves_are_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(inbound, "MAX_UNPROVED_MEMBERS", 2)
    scene = Scene()
    scene.hears(*(hello(name) for name in "abcd"))
    assert list(scene.machine.peers) == ["a", "b"]
    assert scene.machine.guard.refusals == {Refusal.FLOOD: 2}
    (said,) = (line for line in caplog.messages if "newcomer" in line)
    assert said == (
        "event=packet_refused j: refused: a newcomer, for 2 members are known already, and nothing proves names: use "
        "keys, or forget those that are gone with `cobandit forget`"
    )
    scene.hears(hello("e"), sender="e")  # which is proved
    scene.hears(hello("a", session=2))  # known, and started again
    assert list(scene.machine.peers) == ["a", "b", "e"]
    scene.machine.forget("b")
    scene.machine.forget("e")
    scene.hears(hello("c"))
    assert list(scene.machine.peers) == ["a", "c"]
    assert scene.machine.guard.refusals == {Refusal.FLOOD: 2}


LONG_NAME, LONG_TOKEN = "n" * (LONGEST_NAME + 1), "t" * (LONGEST_TOKEN + 1)
SETTING = Setting("kill", None, 1, "x")


@pytest.mark.parametrize(
    "message",
    [
        StatusAsked(LONG_NAME),
        hello("q", arms=("A", LONG_NAME)),
        hello("q", arms=tuple(str(number) for number in range(MOST_ARMS + 1))),
        Hello("q", ("A",), 1, 1, 1, bytes(MAX_DIGEST + 1)),
        hello("q", reads=tuple(range(MAX_VERSIONS + 1))),
        ControlsTold("q", (SETTING,) * (MOST_FROZEN + 2)),
        ControlsHeard("q", bytes(MAX_DIGEST + 1)),
        Rewards("q", ((LONG_TOKEN, 1.0),)),
        Rewards("q", (("t", 1.0),) * (MOST_REWARDS + 1)),
        RewardsTaken("q", (LONG_TOKEN,)),
        RewardsTaken("q", ("t",) * (MOST_REWARDS + 1)),
        StatusTold("q", bytes(MAX_STATUS + 1)),
    ],
)
def test_every_field_of_a_control_message_has_a_greatest_length(message: Any) -> None:
    with pytest.raises(PeerError):
        unpack(pack(message, GROUP), GROUP)
    scene = Scene()
    scene.hears(message, sender=message.sender)
    assert scene.machine.guard.refusals == {Refusal.MALFORMED: 1}
    assert scene.machine.peers == ()


@pytest.mark.parametrize(
    "message",
    [
        Hello("n" * LONGEST_NAME, ("a" * LONGEST_NAME,) * MOST_ARMS, 1, 1, 1, bytes(MAX_DIGEST)),
        ControlsTold("q", (SETTING,) * (MOST_FROZEN + 1)),
        Rewards("q", (("t" * LONGEST_TOKEN, 1.0),) * MOST_REWARDS),
        StatusTold("q", bytes(MAX_STATUS)),
    ],
)
def test_a_control_message_of_the_greatest_length_is_read(message: Any) -> None:
    assert unpack(pack(message, GROUP), GROUP) == message


def test_names_in_facts_have_a_greatest_length() -> None:
    scene = Scene()
    scene.hears(hello("q"))
    changes = Changes(cells=(), eliminations=(("q", 1, (LONG_NAME,)),))  # type: ignore[arg-type]
    scene.hears(Notice("q", "j", changes, 1), sender="q")
    assert scene.machine.guard.refusals == {Refusal.ABSURD: 1}


def test_who_says_that_it_has_other_settings_each_time_is_told_them_once_a_second() -> None:
    frozen = tuple(Setting(freezing(f"arm {n}"), FROZEN, 1, "x") for n in range(1000))
    scene = Scene(controls=Controls(frozen))
    told = 0
    for number in range(1000):  # in ten seconds
        scene.clock.time = 1000.0 + number / 100.0
        step = scene.hears(hello("q", wants_answer=True), ControlsHeard("q", number.to_bytes(8)))
        told += len(sent(step, ControlsTold))
    assert 1 <= told <= 10 / FIRST_WAIT + 1


def test_made_up_names_are_told_and_answered_only_so_often() -> None:
    scene = Scene()
    asked = [StatusAsked(f"eve {number}") for number in range(3000)]
    assert len(scene.hears(*asked).askers) == MAX_TOLD_AT_ONCE
    strangers = [Notice(f"eve {number}", "j", Changes(), 1) for number in range(3000)]
    assert len(sent(scene.hears(*strangers), Hello)) == MAX_ANSWERS_AT_ONCE
    scene.hears(hello("ann"))
    assert scene.hears(StatusAsked("ann")).askers == ["ann"]  # members do not wait behind those


def test_a_member_that_begins_session_after_session_is_heard_only_so_often() -> None:
    scene = Scene()
    scene.hears(hello("eve"), sender="eve")
    step = scene.hears(*(hello("eve", session=number) for number in range(2, 3000)), sender="eve")
    assert len(sent(step, Hello)) == len(step.batch.records) == MAX_SESSIONS_AT_ONCE
    scene.clock.time += 10.0
    step = scene.hears(*(hello("eve", session=number) for number in range(3000, 6000)), sender="eve")
    assert len(sent(step, Hello)) == 10 * MAX_SESSIONS_PER_SECOND
    assert scene.machine.guard.quarantined(scene.clock.time) == ()


def test_repetitions_are_answered_only_so_often() -> None:
    scene = Scene()
    scene.hears(hello("eve"), share("eve"), sender="eve")
    before = scene.machine.guard.refusals.total()
    scene.hears(*(share("eve", attempt=number) for number in range(1, 3000)), sender="eve")
    assert scene.machine.guard.refusals[Refusal.TOO_OFTEN] - before == 2999 - MAX_REPETITIONS_AT_ONCE
    scene.clock.time += 1.0
    step = scene.hears(*(share("eve", attempt=number) for number in range(1, 100)), sender="eve")
    assert len(step.outgoing) == MAX_REPETITIONS_PER_SECOND


def test_what_is_said_again_and_changes_nothing_is_not_written_down() -> None:
    scene = Scene()
    first = scene.hears(hello("q"), share("q"))
    assert len(first.batch.records) == 2
    again = scene.hears(*(3 * [hello("q", wants_answer=True), share("q"), share("q", attempt=1)]))
    assert (again.batch.records, again.is_empty) == ((), True)
    assert sent(again, Hello) == []
    scene.clock.time += 50.0
    scene.hears(share("q", attempt=2))
    assert scene.machine.agent.peers.link("q").last_heard == scene.clock.time


def test_what_was_not_written_down_is_not_missing_after_a_replay() -> None:
    one = Agent("j", UCB(["A", "B"]), SHARING, incarnation=1)
    snapshot, records = one.snapshot(), list[InputRecord]()
    there = Presence("q", 1, 2, 1, is_present=True, arms=("A", "B"), units_per_reward=UNITS)
    shares = (share("q"), share("q", attempt=1), share("q", number=2))
    said: list[Message] = [Notice("q", "j", Changes(presences=(there,)), 1), *shares]
    for now, message in enumerate((*said, *said)):
        records += one.receive(message, float(now)).records
    again = Agent.restore(snapshot, records, policy=UCB(["A", "B"]), sharing=SHARING)
    kept, found = one.snapshot().endpoint, again.snapshot().endpoint
    assert len(records) == 3

    def without_times(state: Any) -> Any:
        return state._replace(links=tuple(link._replace(last_heard=None) for link in state.links))

    assert without_times(found) == without_times(kept)


def test_three_hundred_members_with_a_thousand_arms_start_at_once_and_run_into_no_limit() -> None:
    arms = tuple(f"arm number {number}" for number in range(1000))
    scene = Scene(arms)
    names = [f"pod-{number}" for number in range(300)]
    step = scene.hears(*(hello(name, arms=arms, wants_answer=True) for name in names))
    assert sent(step, Hello) == names
    asked = scene.hears(*(StatusAsked(name) for name in names))
    assert asked.askers == names
    grown = [hello("pod-0", session=2 + n, arms=(*arms, *map(str, range(n + 1)))) for n in range(50)]
    assert len(scene.hears(*grown).batch.records) == 50
    assert scene.machine.guard.refusals == {}


def test_a_member_listens_only_to_those_whom_it_has_asked() -> None:
    answers = Answers(GROUP)
    told = StatusTold("eve", b"what nobody reads")
    answers.begin((), None)
    with pytest.raises(PeerError):
        answers.take(told)
    answers._asked = frozenset({"ann"})
    answers.take(told)
    assert answers.answered == {}.keys()


def test_an_observation_is_still_counted_and_written_once() -> None:
    scene = Scene()
    scene.hears(hello("q"))
    cells = Changes(0, 1, cells=(("q", 1, (ArmTally("A", 1, UNITS, QUANTUM.square(UNITS)),)),))  # type: ignore[arg-type]
    told = share("q")._replace(changes=cells, observations=1)
    counted = []
    for _ in range(3):
        step = scene.hears(told)
        counted.append((len(step.batch.records), scene.machine.agent.policy.tally.observations))
    assert counted == [(1, 1), (0, 1), (0, 1)]


def test_one_setting_is_logged_as_that_and_new_ones_of_one_peer_are_heard_only_so_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene(controls=Controls(Setting(freezing(f"{number:0150d}"), FROZEN, 1, "p") for number in range(1000)))
    for number in range(2 * MAX_SETTINGS_AT_ONCE):
        setting = Setting(freezing("A"), None if number % 2 else FROZEN, 2 + number, "p")
        scene.machine.step([(pack(ControlsTold("p", (setting,)), GROUP), None)])
    lines = [record.getMessage() for record in caplog.records if "controls changed" in record.getMessage()]
    assert len(lines) == MAX_SETTINGS_AT_ONCE
    assert lines[0].endswith("controls changed, said p: A is frozen")
    assert lines[1].endswith("controls changed, said p: no more: A is frozen")
    scene.machine.step([(pack(ControlsTold("p", scene.machine.controls.settings), GROUP), None)])  # nothing new
    assert scene.machine.guard.refusals[Refusal.TOO_OFTEN] == MAX_SETTINGS_AT_ONCE
    scene.clock.time += 1.0
    scene.machine.step([(pack(ControlsTold("p", (setting,)), GROUP), None)])
    assert "A" not in scene.machine.controls.frozen
    scene.machine.alerts.say(30, "any", "x" * 10_000)
    assert max(len(record.getMessage()) for record in caplog.records) < 3000
