"""Members whose clocks are wrong: decisions do not expire because of that, nobody falls silent, and windows stay."""

import math
from random import Random
from types import SimpleNamespace

import pytest

from cobandit import UCB, Constant, RetryTimers, on_demand
from cobandit.core import Bandit, Placed
from cobandit.live.drive import clock as clock_module
from cobandit.live.drive.clock import SystemClock, VirtualClock
from cobandit.live.machine import control_messages
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.calendar_time import BELIEVED_AFTER, CalendarTime
from cobandit.live.machine.machine import NOTE_LIFE_EVERY, Machine
from cobandit.live.machine.sessions import CHANCE_BITS, EPOCH, fresh_session, latest_session
from cobandit.live.machine.step import Terms
from cobandit.live.store.journal import MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.values.tally import ArmTally

GROUP, DAY = "tested", 86_400.0
TICK = 60.0
SHARING = on_demand(Constant(1), loss_tolerant=RetryTimers(first=2.0, least=0.1, tick=TICK, longest=600.0))
EXPIRE_AFTER = 10_000.0


def talk(*computers: "Computer", rounds: int = 20) -> None:
    """Let each of these observe something, and talk to the others of them."""
    on_the_way: list[tuple[str, bytes]] = []
    for computer in computers:
        computer.observes()
        for other in computers:
            if other is not computer:
                computer.machine.introduction.greet(other.name)
    for _ in range(rounds):
        for computer in computers:
            mine = [packet for receiver, packet in on_the_way if receiver == computer.name]
            on_the_way = [entry for entry in on_the_way if entry[0] != computer.name]
            on_the_way += computer.step(*mine)
            computer.clock.time += 0.5


class DayClock(VirtualClock):
    """Time that passes only when told to, with a time of day that may be set."""

    ahead = 0.0

    def time_of_day(self) -> float:
        return self.time + self.ahead


class Computer:
    """A member's journal and clock, and the member that runs on it."""

    arms: tuple[str, ...] = ("A", "B")

    def __init__(self, name: str = "ann", *, clock_ahead: float = 0.0) -> None:
        self.clock, self.journal, self.name = DayClock(), MemoryJournal(), name
        self.clock.time = 1_800_000_000.0 + clock_ahead
        self.start()

    def start(self, *, clock_jumps: float = 0.0) -> None:
        self.clock.time += clock_jumps
        restored = restore(
            self.journal, name=self.name, group=GROUP, arms=self.arms, build=UCB, sharing=SHARING, clock=self.clock
        )
        self.machine = Machine(Terms(self.name, GROUP, SHARING, UCB, EXPIRE_AFTER, 0), restored, self.clock)
        self.machine.make_decider(None, seed=1, wake=lambda: None)
        self.journal.replace(self.machine.state(is_clean=False))
        self.machine.introduction.introduce()
        self.step()

    def stop(self) -> None:
        self.step()
        self.journal.replace(self.machine.state(is_clean=True))

    def step(self, *packets: bytes) -> list[tuple[str, bytes]]:
        step = self.machine.step([(packet, None) for packet in packets])
        if not step.is_empty:
            self.journal.write((step.batch,))
        if self.machine.succession.session_wanted is not None:  # as a node does
            self.machine.begin_session(
                self.machine.succession.session_wanted, incarnation=self.machine.succession.session_wanted
            )
            self.machine.introduction.introduce()
        if self.machine.succession.superseded_by is not None:
            return []
        return [(receiver, control_messages.pack(content, GROUP)) for receiver, content in step.outgoing]

    def runs_for(self, seconds: float) -> None:
        """Let time pass, and the member take steps when it wants to."""
        end = self.clock.time + seconds
        while (due_at := self.machine.due_at()) is not None and due_at <= end:
            self.clock.time = max(self.clock.time, due_at)
            self.step()
        self.clock.time = end
        self.step()

    def observes(self) -> None:
        decider = self.machine.decider
        decider.settle(decider.select_arm().number, 1.0)

    def decides(self) -> int:
        number = self.machine.decider.select_arm().number
        self.step()
        return number

    def is_open(self, number: int) -> bool:
        return number in self.machine.open_decisions.open


@pytest.mark.parametrize("jump", [-2.0 * DAY, 2.0 * DAY, 400.0 * DAY])
@pytest.mark.parametrize("is_killed", [True, False])
def test_a_clock_that_is_wrong_after_a_restart_neither_ends_nor_prolongs_a_decision(
    jump: float, *, is_killed: bool
) -> None:
    ann = Computer()
    number = ann.decides()
    ann.runs_for(0.5 * EXPIRE_AFTER)
    if not is_killed:
        ann.stop()
    ann.start(clock_jumps=jump)
    assert ann.is_open(number)
    ann.runs_for(0.4 * EXPIRE_AFTER)
    assert ann.is_open(number)
    ann.runs_for(0.1 * EXPIRE_AFTER + (NOTE_LIFE_EVERY if is_killed else 0.0))
    assert not ann.is_open(number)
    assert ann.machine.agent.knowledge.own_by_arm() == {"A": 1, "B": 0}


def test_what_a_crash_has_taken_can_be_rewarded_though_the_clock_has_jumped() -> None:
    ann = Computer()
    token = ann.machine.decider.select_arm().id  # never written down
    ann.start(clock_jumps=2.0 * DAY)
    assert ann.machine.settling.settle_token(token, 1.0)
    late = ann.machine.decider.select_arm().id
    ann.start()
    ann.runs_for(1.1 * EXPIRE_AFTER)
    assert not ann.machine.settling.settle_token(late, 1.0)


def test_who_starts_with_a_clock_that_was_set_back_a_day_says_again_what_is_not_acknowledged() -> None:
    ann, bob = Computer(), Computer("bob")
    ann.step(control_messages.pack(bob.machine.introduction.hello(), GROUP))
    ann.observes()
    ann.step()
    ann.runs_for(10 * TICK)
    ann.stop()
    ann.start(clock_jumps=-DAY)
    due_at = ann.machine.due_at()
    assert due_at is not None
    assert due_at <= ann.clock.time + TICK
    ann.clock.time = due_at
    assert ann.step()


def test_who_has_no_state_and_a_clock_that_is_behind_goes_on_above_what_others_know() -> None:
    former, bob, cleo = Computer(), Computer("bob"), Computer("cleo")
    talk(former, bob)
    again = Computer(clock_ahead=-60.0)
    talk(again, cleo)  # who has never heard of the former one
    assert again.machine.agent.peers.link("cleo").is_known
    assert again.machine.agent.session < former.machine.agent.session
    talk(again, bob)
    assert again.machine.succession.superseded_by is None
    assert again.machine.agent.session > former.machine.agent.session
    talk(again, bob, cleo, rounds=200)
    # What the former one observed only bob has heard of: one alone is not believed, and keeps it for itself.
    assert [one.machine.agent.policy.tally.observations for one in (again, bob, cleo)] == [8, 9, 8]
    talk(former, bob)  # it was not gone after all: the older of the two stops
    assert (former.machine.succession.superseded_by, again.machine.succession.superseded_by) == (
        again.machine.agent.session,
        None,
    )


def test_who_forgot_an_incarnation_and_has_begun_a_session_above_it_gets_it_back() -> None:
    former, bob = Computer(), Computer("bob")
    talk(former, bob)
    again = Computer(clock_ahead=-60.0)
    again.clock.time += 120.0  # it was set right, and then there was a new arm
    again.machine.begin_session(fresh_session(again.machine.agent.session, again.clock), arms=("A", "B", "C"))
    assert again.machine.agent.incarnation < former.machine.agent.session < again.machine.agent.session
    talk(again, bob, rounds=200)
    assert again.machine.succession.superseded_by is None
    assert again.machine.agent.incarnation > former.machine.agent.session
    # One of the former, one of this one, of the new arm, which bob does not serve; and two of bob.
    assert [one.machine.agent.policy.tally.observations for one in (again, bob)] == [4, 3]


def test_a_real_twin_that_speaks_after_it_was_superseded_stops_the_other() -> None:
    older, bob = Computer(), Computer("bob")
    talk(older, bob)
    newer = Computer(clock_ahead=60.0)
    talk(newer, bob)
    talk(older, bob)
    assert (older.machine.succession.superseded_by, newer.machine.succession.superseded_by) == (
        newer.machine.agent.session,
        None,
    )


def test_starts_from_one_disk_with_a_clock_that_is_behind_get_different_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cobandit.live.machine.sessions.secrets.randbits", Random(1).getrandbits)
    clock, last = VirtualClock(), int(3600.0 * 1000.0) << CHANCE_BITS
    clock.time = EPOCH + 10.0
    numbers = [fresh_session(last, clock) for _ in range(300)]
    assert len(set(numbers)) == 300
    assert all(last < number < latest_session(clock.now()) for number in numbers)
    assert fresh_session(0, clock) >> CHANCE_BITS == 10_000  # a clock that is right needs no more chance


PERIOD = 6.0
WINDOWED = Bandit("home", ("A", "B"), 1, period=PERIOD, periods=10)


class Forgetful(Computer):
    """The same of a bandit with a window of a minute."""

    arms = ()

    def start(self, *, clock_jumps: float = 0.0) -> None:
        super().start(clock_jumps=clock_jumps)
        if not self.machine.agent.bandits:
            session = fresh_session(self.machine.agent.session, self.clock)
            self.machine.begin_session(session, bandits=(WINDOWED,))
            self.machine.introduction.introduce()
            self.step()

    def observes(self) -> None:
        agent, one = self.machine.agent, ArmTally("A", 1, 1, 1)
        self.machine.take(agent.update_all((), self.clock.now(), elsewhere=(Placed("home", "", (one,)),)))

    @property
    def known(self) -> int:
        return sum(entry.observations for _, entry in self.machine.agent.endpoint.replica.cells())

    @property
    def calendar_ahead(self) -> float:
        """By how much the calendar is ahead of the time as it really is, to a period."""
        return self.machine.agent.calendar.time - self.clock.time


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_clock_that_is_wrong_for_seconds_ends_no_window(jump: float) -> None:
    ann, bob = Forgetful(), Forgetful("bob")
    talk(ann, bob)
    ann.runs_for(20.0)
    bob.runs_for(20.0)
    ann.clock.ahead = jump
    talk(ann, bob, rounds=4)
    assert "clock was set by" in ann.machine.alerts.troubles[0]
    ann.clock.ahead = 0.0
    talk(ann, bob)
    assert (ann.known, bob.known) == (6, 6)
    assert not ann.machine.alerts.troubles
    assert -2 * PERIOD < ann.calendar_ahead <= 0.0


def test_a_clock_that_was_wrong_for_long_is_followed_there_and_back_and_nothing_counts_twice() -> None:
    ann, bob = Forgetful(), Forgetful("bob")
    talk(ann, bob)
    bob.runs_for(200.0)
    ann.runs_for(200.0)
    ann.clock.ahead = DAY
    for _ in range(int(2 * BELIEVED_AFTER)):
        ann.runs_for(1.0)
    assert ann.calendar_ahead > 0.9 * DAY
    talk(ann, bob)
    assert bob.known == 1  # its own: the other is of tomorrow
    life = ann.machine.agent.incarnation
    ann.clock.ahead = 0.0
    for _ in range(int(1.1 * BELIEVED_AFTER)):
        ann.runs_for(1.0)
    assert abs(ann.calendar_ahead) < 2 * PERIOD
    assert ann.machine.agent.incarnation > life
    bob.runs_for(ann.clock.time - bob.clock.time)
    talk(ann, bob, rounds=40)
    assert ann.known == bob.known == 2
    ann.start()  # after a crash: what was written leads to the same time
    assert abs(ann.calendar_ahead) < 2 * PERIOD


def test_a_clock_that_is_a_day_ahead_at_the_start_is_followed_as_soon_as_it_has_been_right_as_long() -> None:
    ann, bob = Forgetful(), Forgetful("bob")
    ann.clock.ahead = DAY
    talk(ann, bob, rounds=4)
    assert ann.calendar_ahead > 0.9 * DAY
    ann.clock.ahead = 0.0
    for _ in range(12):
        ann.runs_for(0.5)
    assert abs(ann.calendar_ahead) < 2 * PERIOD
    talk(ann, bob)
    assert bob.known >= 2


def test_a_state_that_is_a_day_ahead_is_followed_for_a_minute() -> None:
    ann = Forgetful(clock_ahead=DAY)
    ann.stop()
    ann.start(clock_jumps=-DAY)
    for _ in range(int(BELIEVED_AFTER) - 1):
        ann.runs_for(1.0)
    assert ann.calendar_ahead > 0.9 * DAY
    ann.runs_for(1.0)
    ann.runs_for(1.0)
    assert abs(ann.calendar_ahead) < 2 * PERIOD


def test_a_computer_that_slept_for_an_hour_has_a_clock_that_nobody_doubts(monkeypatch: pytest.MonkeyPatch) -> None:
    awake, slept = 1000.0, 0.0
    computer = SimpleNamespace(
        time=lambda: 1_800_000_000.0 + awake + slept,
        monotonic=lambda: awake,
        CLOCK_BOOTTIME=7,
        clock_gettime=lambda which: {7: awake + slept}[which],
    )
    monkeypatch.setattr(clock_module, "time", computer)
    clock, alerts = SystemClock(), Alerts("ann", GROUP)
    calendar = CalendarTime(clock, alerts, 0.0)
    awake += BELIEVED_AFTER
    assert calendar.at(clock.now(), PERIOD) == computer.time()
    slept += 3600.0
    assert calendar.at(clock.now(), PERIOD) == computer.time()
    assert alerts.troubles == ()


def test_a_clock_that_was_ahead_while_nothing_had_periods_is_no_matter_for_the_first_that_has() -> None:
    shown = SimpleNamespace(ahead=0.0, waited=1_800_000_000.0)
    clock = SimpleNamespace(now=lambda: shown.waited, time_of_day=lambda: shown.waited + shown.ahead)
    alerts = Alerts("ann", GROUP)
    calendar = CalendarTime(clock, alerts, 0.0)
    for shown.ahead in (0.0, DAY, 0.0):
        shown.waited += 1.0
        assert calendar.at(shown.waited, math.inf) == shown.waited + shown.ahead
    shown.waited += 1.0
    assert calendar.at(shown.waited, PERIOD) == shown.waited
    assert alerts.troubles == ()
