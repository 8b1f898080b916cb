"""Members that are gone get no packet, no timer and no line; what they observed counts, and they may come back."""

import math

import pytest

from cobandit import UCB, Constant, RetryTimers, on_demand
from cobandit.live.decide.decision import Claim, sign
from cobandit.live.drive.clock import VirtualClock
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import ControlsTold
from cobandit.live.machine.controls import GONE, MAX_NAMES_TO_FORGET, Controls, Setting, forgetting, stamp_at
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.step import Terms
from cobandit.live.store.journal import MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.values.errors import LocalError, StateError, UnknownError
from cobandit.values.tally import LONGEST_NAME

GROUP, HOUR, DAY = "tested", 3600.0, 86_400.0
SHARING = on_demand(Constant(1), loss_tolerant=RetryTimers(first=2.0, least=0.1, tick=60.0, longest=600.0))


class Computer:
    """A member on a journal of its own, with the clock that all have."""

    def __init__(self, name: str, clock: VirtualClock, forget_after: float = DAY) -> None:
        self.name, self.clock, self.forget_after, self.journal = name, clock, forget_after, MemoryJournal()
        self.start()

    def start(self) -> None:
        found = restore(
            self.journal, name=self.name, group=GROUP, arms=["A", "B"], build=UCB, sharing=SHARING, clock=self.clock
        )
        terms = Terms(self.name, GROUP, SHARING, UCB, 30 * DAY, None, forget_after=self.forget_after)
        self.machine = Machine(terms, found, self.clock)
        self.machine.make_decider(None, seed=1, wake=lambda: None)
        self.journal.replace(self.machine.state(is_clean=False))
        self.machine.introduction.introduce()

    def step(self, *packets: bytes) -> list[tuple[str, bytes]]:
        step = self.machine.step([(packet, None) for packet in packets])
        if not step.is_empty:
            self.journal.write((step.batch,))
        return [(receiver, control_messages.pack(content, GROUP)) for receiver, content in step.outgoing]

    def observes(self) -> None:
        self.machine.decider.settle(self.machine.decider.select_arm().number, 1.0)

    @property
    def observations(self) -> int:
        return self.machine.agent.policy.tally.observations


class World:
    """Members that run, and how many packets went to each that does not."""

    def __init__(self, *names: str, forget_after: float = DAY) -> None:
        self.clock = VirtualClock()
        self.clock.time = 1_800_000_000.0
        self.running = {name: Computer(name, self.clock, forget_after) for name in names}
        for one in self.running.values():
            for other in self.running:
                if other != one.name:
                    one.machine.introduction.greet(other)
        self.in_vain: dict[str, int] = {}
        self.runs_for(1.0)

    def __getitem__(self, name: str) -> Computer:
        return self.running[name]

    def runs_for(self, seconds: float) -> None:
        """Let time pass, and everybody take steps when it wants to, or something comes."""
        end = self.clock.time + seconds
        arriving: dict[str, list[bytes]] = {}
        while True:
            now, arriving = arriving, {}
            for name, one in self.running.items():
                for receiver, packet in one.step(*now.get(name, [])):
                    if receiver in self.running:
                        arriving.setdefault(receiver, []).append(packet)
                    else:
                        self.in_vain[receiver] = self.in_vain.get(receiver, 0) + 1
            if arriving:
                self.clock.time += 0.01
                continue
            due_at = min((one.machine.due_at() or math.inf for one in self.running.values()), default=math.inf)
            if due_at > end:
                break
            self.clock.time = max(self.clock.time + 0.01, due_at)
        self.clock.time = max(self.clock.time, end)

    def stop(self, name: str) -> Computer:
        """Let a member say farewell."""
        one = self.running.pop(name)
        one.machine.take_leave()
        for receiver, packet in one.step():
            self.running[receiver].step(packet)
        one.journal.replace(one.machine.state(is_clean=True))
        return one

    def back(self, one: Computer) -> None:
        """Let a member start again from its journal."""
        one.start()
        self.running[one.name] = one
        for other in self.running:
            if other != one.name:
                one.machine.introduction.greet(other)


def test_nothing_is_sent_to_who_said_farewell() -> None:
    world = World("ann", "bob")
    world["bob"].observes()
    world.runs_for(200.0)
    bob = world.stop("bob")
    ann = world["ann"].machine
    assert (ann.peers, ann.agent.peers.gone, ann.agent.peers.gone_observations()) == ((), 1, 1)
    ann.rewards_for_others.offer("bob", sign(Claim("bob", 1, "A", world.clock.time), b"key"), 1.0)
    for _ in range(200):
        ann.introduction.introduce()  # as `cobandit serve` does every minute
        world["ann"].observes()
        world.runs_for(60.0)
    ann.flush()
    world.runs_for(3.0 * DAY)
    assert (world.in_vain, world["ann"].observations, ann.outbox.waiting) == ({}, 201, 1)
    world.back(bob)
    world.runs_for(200.0)
    assert (bob.machine.agent.incarnation, bob.observations, world["ann"].observations) == (
        ann.agent.peers.link("bob").incarnation,
        201,
        201,
    )
    assert (ann.rewards_for_others.brought, ann.outbox.waiting, ann.agent.peers.gone) == (1, 0, 0)


def test_who_is_killed_is_written_to_less_and_less_and_not_at_all_after_a_day() -> None:
    world = World("ann", "bob")
    del world.running["bob"]
    world["ann"].observes()
    world.runs_for(DAY - 100.0)
    assert "bob" in world["ann"].machine.agent.peers
    assert 100 < world.in_vain["bob"] < DAY / 600.0 + 20
    world.runs_for(0.2 * DAY)
    assert "bob" not in world["ann"].machine.agent.peers
    before = dict(world.in_vain)
    world["ann"].observes()
    world.runs_for(10.0 * DAY)
    assert world.in_vain == before


def test_nobody_is_gone_for_what_happened_before_this_start() -> None:
    world = World("ann", "bob")
    bob = world.running.pop("bob")
    ann = world.running.pop("ann")
    ann.journal.replace(ann.machine.state(is_clean=True))
    world.clock.time += 40.0 * DAY
    world.back(ann)
    world.runs_for(0.5 * DAY)
    assert ann.machine.peers == ("bob",)
    world.back(bob)
    world.runs_for(200.0)
    assert ann.machine.agent.peers.is_present("bob")


def test_a_clock_that_was_ahead_keeps_nobody_in_mind_for_ever() -> None:
    world = World("ann", "bob")
    del world.running["bob"]
    ann = world.running.pop("ann")
    ann.journal.replace(ann.machine.state(is_clean=True))
    world.clock.time -= 400.0 * DAY
    world.back(ann)
    world.runs_for(1.2 * DAY)
    assert (ann.machine.peers, ann.machine.agent.peers.gone) == ((), 1)


def told(name: str, at: float) -> bytes:
    setting = Setting(forgetting(name), GONE, stamp_at(at), "operator")
    return control_messages.pack(ControlsTold("operator", (setting,)), GROUP)


def test_an_operator_says_who_is_gone_and_everybody_hears_it() -> None:
    world = World("ann", "bob", "cleo")
    world["cleo"].observes()
    world.runs_for(200.0)
    del world.running["cleo"]
    world.runs_for(HOUR)
    world["ann"].step(told("cleo", world.clock.time))
    world.runs_for(10.0)
    assert [(one.machine.agent.peers.gone, one.observations) for one in world.running.values()] == [(1, 1), (1, 1)]
    before = dict(world.in_vain)
    world.runs_for(2.0 * DAY)
    assert world.in_vain == before


def test_a_recorded_word_forgets_nobody_who_was_heard_since() -> None:
    world = World("ann", "bob")
    recorded = told("bob", world.clock.time + 0.5)
    world.runs_for(1.0)
    world["ann"].step(recorded)
    assert world["ann"].machine.agent.peers.gone == 1
    world["bob"].observes()
    world.runs_for(200.0)
    assert (world["ann"].machine.agent.peers.gone, world["ann"].observations) == (0, 1)
    world["ann"].step(recorded)
    world["ann"].machine.operations.set_control_arm("A")  # what is set changes, and who is gone is looked at again
    assert world["ann"].machine.agent.peers.gone == 0


def test_who_was_heard_in_the_same_millisecond_is_forgotten_too() -> None:
    world = World("ann", "bob")
    heard_at = world["ann"].machine.agent.peers.last_heard("bob")
    assert heard_at is not None
    world["ann"].step(told("bob", heard_at))
    assert world["ann"].machine.agent.peers.gone == 1


def test_nobody_is_said_to_be_gone_who_was_never_there() -> None:
    world = World("ann", "bob")
    with pytest.raises(UnknownError, match="'bop' was never met by ann"):
        world["ann"].machine.operations.set_gone("bop")
    assert world["ann"].machine.controls.settings == ()


def test_of_many_names_the_last_are_kept_whatever_is_heard_first() -> None:
    settings = [Setting(forgetting(f"p{n}"), GONE, n + 1, "x") for n in range(MAX_NAMES_TO_FORGET + 10)]
    one, other = Controls(), Controls()
    one.merge(settings, 1e9)
    for setting in reversed(settings):
        other.merge([setting], 1e9)
    assert one.settings == other.settings
    assert set(one.forgotten) == {f"p{n}" for n in range(10, MAX_NAMES_TO_FORGET + 10)}
    assert str(one) == "none are set"


@pytest.mark.parametrize("name", ["", "x" * (LONGEST_NAME + 1), "a\ud800"])
def test_a_leaf_that_knows_nobody_forgets_no_name_that_others_would_refuse(name: str) -> None:
    """They would refuse all that is set with it, for ever."""
    clock = VirtualClock()
    found = restore(
        MemoryJournal(),
        name="leaf",
        group=GROUP,
        arms=["A", "B"],
        build=UCB,
        sharing=SHARING,
        clock=clock,
        is_leaf=True,
    )
    machine = Machine(Terms("leaf", GROUP, SHARING, UCB, 30 * DAY, None, relays=("relay",)), found, clock)
    machine.make_decider(None, seed=1, wake=lambda: None)
    machine.introduction.introduce()
    before = machine.controls.digest
    with pytest.raises(LocalError, match="the name of a member must be a string of 1 to 200 bytes"):
        machine.operations.set_gone(name)
    with pytest.raises(StateError, match="leaf is this member itself"):
        machine.operations.set_gone("leaf")
    assert machine.controls.digest == before
    machine.operations.set_gone("gone")  # it may be a leaf of the same relay
    assert machine.controls.digest != before
