"""Nodes among faults: disks that fail, peers that lie, doubles, brokers that are not there."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from cobandit import UCB, Constant, RetryTimers, on_demand
from cobandit.core import Acknowledgement, Changes, Delivery, Notice, Presence, Receipt, Share, Sharing
from cobandit.core.messages import MAX_INCARNATION
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.clock import Clock
from cobandit.live.drive import first_settings, receiving, writing
from cobandit.live.drive.clock import SystemClock
from cobandit.live.drive.node import Node
from cobandit.live.machine import guard
from cobandit.live.machine.batch import Batch
from cobandit.live.machine.control_messages import (
    ControlMessage,
    ControlsHeard,
    ControlsTold,
    Hello,
    Rewards,
    StatusAsked,
    StatusTold,
    pack,
    unpack,
)
from cobandit.live.machine.controls import FURTHEST_AHEAD, Setting, freezing, stamp_at
from cobandit.live.machine.machine import Machine
from cobandit.live.machine.step import Terms
from cobandit.live.status.statistics import decode_statistics
from cobandit.live.store.journal import JournalError, MemoryJournal
from cobandit.live.store.restoring import restore
from cobandit.live.transports.memory import Hub, MemoryTransport
from cobandit.values.errors import LocalError

QUICK = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=0.2, longest=1.0))
SLOW = on_demand(Constant(1000), loss_tolerant=RetryTimers(first=1000.0, least=1000.0, tick=1.0, longest=1000.0))
GROUP = "tested"
WITHIN = 60.0
FAR_AHEAD = MAX_INCARNATION - 2**41


def here(sender: str, receiver: str, *, session: int = 1, number: int = 2, is_present: bool = True) -> Notice:
    """Return how a member says that it is here, or goes away."""
    arms, per_reward = ("A", "B"), 10**6
    presence = Presence(sender, session, number, session, is_present, arms, per_reward)
    return Notice(sender, receiver, Changes(presences=(presence,)))


class FailingJournal(MemoryJournal):
    """A disk that can be full."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.attempts = 0

    def write(self, batches: tuple[Batch, ...], mail_done: tuple[int, ...] = ()) -> None:  # type: ignore[override]
        self.attempts += 1
        if self.is_full:
            raise JournalError("the journal cannot be written (full): free the disk")
        super().write(batches, mail_done)


class Ear(MemoryTransport):
    """Somebody on the network who is no member, says anything, and hears what is said to it."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self.heard: list[Any] = []

    def frame(self, frame: bytes, sender: str | None) -> None:
        self.heard.append((sender, unpack(frame, GROUP)))

    def reachable(self, peer: str | None) -> None:
        pass

    def refused(self, reason: Refusal, sender: str | None, host: str | None = None) -> None:
        pass

    def trouble(self, what: str | None) -> None:
        pass

    def of(self, kind: type[Any]) -> list[Any]:
        return [content for _, content in self.heard if isinstance(content, kind)]


class Scene:
    """Some nodes on one network, all on this test's loop."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.nodes: list[Node] = []
        self.journals: dict[str, FailingJournal] = {}

    async def node(
        self, name: str, *, clock: Clock | None = None, hub: Hub | None = None, sharing: Sharing = QUICK
    ) -> Node:
        journal = self.journals.setdefault(name, FailingJournal())
        clock = clock or SystemClock()
        build: Callable[[Any], UCB] = UCB
        restored = restore(journal, name=name, group=GROUP, arms=["A", "B"], build=build, sharing=sharing, clock=clock)
        machine = Machine(Terms(name, GROUP, sharing, build, 1e6, None), restored, clock)
        made = Node(machine, journal, MemoryTransport(hub or self.hub))
        machine.make_decider(None, seed=1, wake=made.wake)
        await made.start()
        self.nodes.append(made)
        return made

    async def ear(self, name: str) -> Ear:
        ear = Ear(self.hub)
        await ear.open(name, GROUP, ear)
        return ear

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(WITHIN):
            while not is_so():  # noqa: ASYNC110  # it may be anything, and nobody tells
                await asyncio.sleep(0.01)

    async def end(self) -> None:
        for made in self.nodes:
            await made.stop()


def played(scene_of: Callable[[Scene], Any]) -> None:
    """Run a scene."""

    async def run() -> None:
        scene = Scene()
        try:
            await scene_of(scene)
        finally:
            await scene.end()

    asyncio.run(run())


def pull(made: Node, times: int = 1) -> None:
    for _ in range(times):
        decision = made.machine.decider.select_arm()
        made.machine.decider.settle(decision.number, 1.0)


def refusals_are(made: Node, count: int) -> bool:
    return sum(made.statistics().refused.values()) == count


def known(made: Node) -> int:
    return made.machine.agent.policy.tally.observations


def test_with_a_full_disk_a_member_decides_says_so_once_and_tells_nobody_what_is_not_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(scene: Scene) -> None:
        ann, bob = await scene.node("ann"), await scene.node("bob")
        await scene.until(lambda: ann.statistics().peers and bob.statistics().peers)
        pull(ann)
        await scene.until(lambda: known(bob) == 1)
        disk = scene.journals["ann"]
        disk.is_full = True
        pull(ann, 10)
        pull(bob, 3)
        await scene.until(lambda: ann.statistics().troubles)
        attempts = disk.attempts
        await scene.until(lambda: disk.attempts > attempts)  # it tries again
        assert known(bob) == 4
        before = known(ann)
        ann.frame(pack(Hello("cleo", ("A", "B"), 10**6, 1, 2, b""), GROUP), "cleo")
        attempts = disk.attempts
        await scene.until(lambda: disk.attempts > attempts)
        assert (known(ann), len(ann.statistics().peers)) == (before, 1)  # what cannot be written is not heard
        with pytest.raises(JournalError, match="full"):
            await ann.synced()
        disk.is_full = False
        await scene.until(lambda: not ann.statistics().troubles)
        await ann.synced()
        await scene.until(lambda: known(ann) == known(bob) == 14)

    monkey = pytest.MonkeyPatch()
    monkey.setattr(writing, "JOURNAL_RETRY", 0.02)
    with caplog.at_level(logging.INFO, "cobandit"):
        played(scene)
    monkey.undo()
    told = [record.getMessage() for record in caplog.records if "journal" in record.getMessage()]
    assert told == [
        (
            "event=journal_unwritable ann: the journal cannot be written (full): free the disk. Until then it decides, "
            "shares nothing, and tries again"
        ),
        "event=journal_unwritable_over ann: works again: the journal",
    ]
    assert [record.levelname for record in caplog.records if "journal" in record.getMessage()] == ["ERROR", "INFO"]


def test_a_flush_is_repeated_and_reaches_who_is_met_while_it_waits_for_another() -> None:
    async def scene(scene: Scene) -> None:
        ann, mute = await scene.node("ann", sharing=SLOW), await scene.ear("mute")
        ann.frame(pack(here("mute", "ann"), GROUP), "mute")
        await scene.until(lambda: ann.statistics().peers)
        pull(ann, 5)
        flushing = asyncio.create_task(ann.flush(WITHIN))
        await scene.until(lambda: mute.of(Share))
        bob = await scene.node("bob", sharing=SLOW)
        await scene.until(lambda: known(bob) == 5 and len(mute.of(Share)) >= 3)
        assert not flushing.done()
        await ann.stop()
        assert not await flushing
        assert len(mute.of(Share)) < 10

    played(scene)


def test_a_flush_of_a_member_whose_network_does_not_work_tells_nobody() -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        pull(ann, 5)
        assert await ann.flush(0.0)  # there is nobody else
        ann.trouble("the server cannot be reached")
        assert not await ann.flush(0.0)
        flushing = asyncio.create_task(ann.flush(WITHIN))
        bob = await scene.node("bob")
        assert await flushing
        assert known(bob) == 5
        ann.trouble(None)

    played(scene)


def test_a_flush_waits_no_longer_than_it_may_for_a_disk_that_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(scene: Scene) -> None:
        ann, mute = await scene.node("ann", sharing=SLOW), await scene.ear("mute")
        ann.frame(pack(here("mute", "ann"), GROUP), "mute")
        await scene.until(lambda: ann.statistics().peers)
        pull(ann, 5)
        flushing = asyncio.create_task(ann.flush(1.0))
        await scene.until(lambda: mute.of(Share))
        stalls, write = asyncio.Event(), ann._writing.write

        async def stalling(*arguments: Any) -> Any:
            await stalls.wait()
            return await write(*arguments)

        monkeypatch.setattr(ann._writing, "write", stalling)
        pull(ann, 5)
        await scene.until(ann._steps.locked)
        ended, _ = await asyncio.wait([flushing], timeout=10.0)
        is_stalled = ann._steps.locked()
        stalls.set()
        assert (len(ended), is_stalled, await flushing) == (1, True, False)

    played(scene)


def test_a_flush_is_over_when_what_was_observed_before_it_is_known() -> None:
    async def scene(scene: Scene) -> None:
        ann, bob = await scene.node("ann", sharing=SLOW), await scene.node("bob", sharing=SLOW)
        await scene.until(lambda: ann.statistics().peers and bob.statistics().peers)
        pull(ann, 5)
        flushing = asyncio.create_task(ann.flush(WITHIN))
        while not flushing.done():
            pull(ann)
            await asyncio.sleep(0)
        assert await flushing
        assert 5 <= known(bob) <= known(ann)

    played(scene)


def test_what_waits_for_a_disk_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MOST_WAITING", 50)

    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        scene.journals["ann"].is_full = True
        pull(ann, 100)
        await scene.until(lambda: ann.machine.decider.refusal)
        decision = ann.machine.decider.select_arm()
        with pytest.raises(LocalError, match="200 decisions and rewards wait for the disk"):
            ann.machine.decider.settle(decision.number, 1.0)
        scene.journals["ann"].is_full = False
        await scene.until(lambda: ann.machine.decider.refusal is None)
        assert ann.machine.decider.settle(decision.number, 1.0)

    monkeypatch.setattr(writing, "JOURNAL_RETRY", 0.02)
    played(scene)


def test_the_older_of_two_processes_with_one_name_shares_no_more(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(scene: Scene) -> None:
        bob = await scene.node("bob")
        older = await scene.node("ann")
        await scene.until(lambda: older.statistics().peers)
        pull(older, 5)
        await scene.until(lambda: known(bob) == 5)
        pull(bob)
        await scene.until(lambda: older.statistics().peers[0].lacks == 0)
        before = known(bob)
        # The same member on another machine, with a copy of the state and the same road to bob.
        del scene.hub.members[GROUP, "ann"]
        newer = await scene.node("ann")
        pull(newer, 2)
        await scene.until(lambda: known(bob) >= before + 2)
        scene.hub.members[GROUP, "ann"] = older._transport  # type: ignore[assignment]
        pull(older, 3)
        pull(bob, 1)
        await scene.until(lambda: older.statistics().is_superseded)
        sent = older.statistics().communication.sent
        pull(older, 3)
        await older.synced()
        assert older.statistics().communication.sent == sent
        assert any("another process has started as 'ann'" in trouble for trouble in older.statistics().troubles)
        scene.hub.members[GROUP, "ann"] = newer._transport  # type: ignore[assignment]
        # What the older one observed before it heard counts: it was observed. What it observed since is not told.
        assert bob.statistics().observations == before + 2 + 1 + 3

    with caplog.at_level(logging.ERROR, "cobandit"):
        played(scene)
    assert sum("another process has started" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.parametrize(
    "packet",
    [
        Acknowledgement("eve", "ann", Delivery(1, 0, Receipt(FAR_AHEAD, 0, 0))),
        Acknowledgement("eve", "ann", Delivery(FAR_AHEAD, 0, Receipt(1, 0, 0))),
        Hello("eve", ("A", "B"), 10**6, FAR_AHEAD, 2, b"", wants_answer=False),
        here("eve", "ann", session=FAR_AHEAD, number=4),
    ],
)
def test_a_session_in_the_far_future_is_refused_and_nobody_begins_a_later_one(packet: Any) -> None:
    async def scene(scene: Scene) -> None:
        ann, eve = await scene.node("ann"), await scene.ear("eve")
        boot = ann.statistics().incarnation
        eve.send("ann", pack(Hello("eve", ("A", "B"), 10**6, 1, 2, b"", wants_answer=False), GROUP))
        eve.send("ann", pack(packet, GROUP))
        await scene.until(lambda: ann.statistics().refused)
        assert (ann.statistics().refused, ann.statistics().incarnation) == ({"absurd": 1}, boot)

    played(scene)


class Past:
    """A clock that is far behind."""

    def now(self) -> float:
        return SystemClock().now() - 1e6

    def time_of_day(self) -> float:
        return self.now()


def test_after_its_disk_and_its_clock_went_back_a_member_begins_above_what_others_know() -> None:
    async def scene(scene: Scene) -> None:
        ann, bob = await scene.node("ann"), await scene.node("bob")
        await scene.until(lambda: ann.statistics().peers)
        pull(ann, 4)
        await scene.until(lambda: known(bob) == 4)
        boot = ann.statistics().incarnation
        await ann.stop()
        scene.nodes.remove(ann)
        del scene.journals["ann"]
        again = await scene.node("ann", clock=Past())
        assert again.statistics().incarnation < boot
        pull(again, 2)
        pull(bob, 1)
        await scene.until(lambda: known(bob) == known(again) == 7)
        assert again.statistics().incarnation > boot
        assert not again.statistics().is_superseded

    played(scene)


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (b"", "malformed"),
        (b"nonsense", "malformed"),
        (b"M" + b"\0" * 30, "malformed"),
        (b"L" + b"\0" * 30, "malformed"),
        (pack(StatusAsked("eve"), "another group"), "foreign_group"),
        (pack(StatusAsked("bob"), GROUP), "forged"),
        (pack(here("bob", "ann", is_present=False), GROUP), "forged"),
        (pack(here("eve", "ann", is_present=False), GROUP), "stranger"),
        (pack(here("eve", "bob"), GROUP), "absurd"),
        (pack(Hello("eve", ("A",), 7, 1, 2, b"", wants_answer=False), GROUP), "absurd"),
        (pack(Rewards("eve", (("d1.x", 1.0),)), GROUP), "stranger"),
        (bytes(5 * 2**20), "oversized"),
    ],
)
def test_what_must_not_come_in_is_refused_counted_and_changes_nothing(packet: bytes, reason: str) -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        eve = await scene.ear("eve")
        pull(ann)
        await ann.synced()
        before = ann.machine.agent.snapshot()
        ann.frame(packet, "eve")
        await scene.until(lambda: ann.statistics().refused)
        assert ann.statistics().refused == {reason: 1}
        assert ann.machine.agent.snapshot() == before
        del eve

    played(scene)


def test_who_is_wrong_too_often_is_in_quarantine_and_others_are_heard(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(scene: Scene) -> None:
        ann, bob = await scene.node("ann"), await scene.node("bob")
        await scene.until(lambda: ann.statistics().peers)
        for number in range(guard.MOST_ERRORS + 5):
            ann.frame(b"nonsense %d" % number, "eve")
            await scene.until(partial(refusals_are, ann, number + 1))
        assert ann.statistics().quarantined == ("eve",)
        assert ann.statistics().refused == {"malformed": guard.MOST_ERRORS, "quarantined": 5}
        pull(bob)
        await scene.until(lambda: known(ann) == 1)

    with caplog.at_level(logging.WARNING, "cobandit"):
        played(scene)
    assert sum("eve is in quarantine" in record.getMessage() for record in caplog.records) == 1


def test_a_doubled_or_delayed_packet_changes_nothing() -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        bob = await scene.ear("bob")
        ann.frame(pack(Hello("bob", ("A", "B"), 10**6, 1, 2, b"", wants_answer=True), GROUP), "bob")
        await scene.until(lambda: bob.of(Hello))
        pull(ann, 3)
        await scene.until(lambda: bob.of(Share))
        before = ann.statistics().observations
        for _ in range(3):
            ann.frame(pack(Hello("bob", ("A", "B"), 10**6, 1, 2, b"", wants_answer=True), GROUP), "bob")
        await ann.synced()
        assert (ann.statistics().observations, len(ann.statistics().peers)) == (before, 1)
        assert len(bob.of(Hello)) == 2  # the announcement, and one answer: not four

    played(scene)


def test_a_stranger_is_asked_who_it_is_and_not_too_often() -> None:
    async def scene(scene: Scene) -> None:
        bob = await scene.ear("bob")
        ann = await scene.node("ann")
        await scene.until(lambda: len(bob.of(Hello)) == 1)  # the announcement
        for _ in range(20):
            ann.frame(pack(here("bob", "ann", is_present=False), GROUP), "bob")
        await scene.until(lambda: len(bob.of(Hello)) == 2)
        await ann.synced()
        assert ann.statistics().refused == {"stranger": 20}
        assert [hello.wants_answer for hello in bob.of(Hello)] == [False, True]

    played(scene)


def test_anybody_on_the_network_may_ask_how_a_member_is() -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        pull(ann, 7)
        operator = await scene.ear("operator")
        operator.announce(pack(StatusAsked("operator"), GROUP))
        await scene.until(lambda: operator.of(StatusTold))
        statistics = decode_statistics(operator.of(StatusTold)[0].statistics)
        assert (statistics.name, statistics.own_observations, statistics.peers) == ("ann", 7, ())

    played(scene)


def test_who_asks_without_end_is_answered_once_a_second() -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        operator = await scene.ear("operator")
        for _ in range(500):
            ann.frame(pack(StatusAsked("operator"), GROUP), "operator")
        await scene.until(lambda: operator.of(StatusTold))
        await ann.synced()
        assert len(operator.of(StatusTold)) == 1

    played(scene)


def test_what_one_peer_is_sent_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MAX_BYTES_AT_ONCE", 3000)
    monkeypatch.setattr(guard, "MAX_BYTES_PER_SECOND", 1e-9)

    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        bob, cleo = await scene.ear("bob"), await scene.ear("cleo")
        for number in range(300):
            hello = Hello("bob", ("A", "B"), 10**6, 1 + number, 2, b"", wants_answer=True)
            ann.frame(pack(hello, GROUP), "bob")
            await ann.synced()
        await scene.until(lambda: ann.statistics().communication.lost > 0)
        assert sum(len(pack(content, GROUP)) for _, content in bob.heard) <= 3000 + 200  # and the announcement
        ann.frame(pack(Hello("cleo", ("A", "B"), 10**6, 1, 2, b"", wants_answer=True), GROUP), "cleo")
        await scene.until(lambda: cleo.of(Hello))

    played(scene)


def test_settings_and_rewards_of_any_number_reach_a_member_in_small_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTransport, "largest_frame", 4096)

    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        for number in range(500):
            ann.machine.controls.turn(freezing(f"arm number {number}"), "frozen", 1e9, by="ann")
        bob = await scene.node("bob")
        await scene.until(lambda: bob.machine.controls.digest == ann.machine.controls.digest)
        await scene.until(lambda: len(ann.machine.peers) == 1)
        for _ in range(200):
            decision = bob.machine.decider.select_arm()
            ann.machine.rewards_for_others.offer("bob", decision.id, 1.0)
        await ann.act(lambda: None)
        await scene.until(lambda: ann.statistics().rewards_brought == 200)
        assert ann.statistics().troubles == bob.statistics().troubles == ()

    played(scene)


def test_what_is_too_large_to_be_sent_is_a_trouble_until_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        monkeypatch.setattr(ann._transport, "largest_frame", 40)
        assert ann._sending.packed(ann.machine.introduction.hello(), "bob") is None
        (trouble,) = ann.statistics().troubles
        assert trouble.startswith("Hello is not sent: a frame of ")
        monkeypatch.setattr(ann._transport, "largest_frame", 4000)
        assert ann._sending.packed(ann.machine.introduction.hello(), "cleo") is not None
        assert len(ann.statistics().troubles) == 1
        assert ann._sending.packed(ann.machine.introduction.hello(), "bob") is not None
        assert ann.statistics().troubles == ()

    played(scene)


def test_packets_that_wait_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "MOST_PACKET_BYTES", 1000)

    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        for _ in range(5):
            ann.frame(bytes(400), "eve")
        assert ann.statistics().refused == {"flood": 3}
        await scene.until(lambda: refusals_are(ann, 5))
        ann.frame(bytes(400), "eve")
        await scene.until(lambda: refusals_are(ann, 6))
        assert ann.statistics().refused == {"flood": 3, "malformed": 3}

    played(scene)


@pytest.mark.parametrize("limit", [("MAX_PACKETS_OF_ONE", 2), ("MAX_PACKET_BYTES_OF_ONE", 1000)])
def test_one_member_cannot_fill_the_queue(limit: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, *limit)

    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        taken = [ann._receiving.frame(bytes(400), sender) for sender in ("eve", "eve", "eve", "bob", None, None, None)]
        assert taken == [True, True, False, True, True, True, True]
        assert ann.statistics().refused == {"flood": 1}
        ann._receiving.take()
        assert ann._receiving.frame(bytes(400), "eve")

    played(scene)


def test_others_cannot_make_the_log_grow_or_break_its_lines(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        for number in range(200):
            ann.refused(Refusal.FORGED, f"name {number}")
        arms = tuple(f"{'arm ' * 40}{number}" for number in range(500))
        ann.frame(pack(Hello("eve\nERROR all is lost", arms, 10**6, 1, 2, b"", wants_answer=False), GROUP), None)
        await scene.until(lambda: ann.statistics().peers)

    with caplog.at_level(logging.WARNING, "cobandit"):
        played(scene)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert max(map(len, lines)) < 1100
    assert not any("\n" in line for line in lines)


def test_an_idle_member_says_nothing_but_that_it_is_here_and_ever_more_rarely() -> None:
    class Hurried:
        """A clock a thousand times as fast."""

        def __init__(self) -> None:
            self._clock = SystemClock()
            self._began = self._clock.now()

        def now(self) -> float:
            return self._began + 1000.0 * (self._clock.now() - self._began)

        def time_of_day(self) -> float:
            return self.now()

    async def scene(scene: Scene) -> None:
        ear = await scene.ear("ear")
        ann = await scene.node("ann", clock=Hurried())
        await scene.until(lambda: ann.statistics().uptime_s > 3000.0)
        kinds = {type(content) for content in (content for _, content in ear.heard)}
        assert kinds == {Hello}
        # 2, 4, ... seconds apart, up to ten minutes: nine in the first eight minutes, then one in ten.
        assert len(ear.heard) <= 15

    played(scene)


def test_messages_of_both_sorts_survive_the_way_there_and_back() -> None:
    for content in (
        StatusAsked("ann"),
        Hello("ann", ("A", "ü"), 10**6, 2**52, 4, b"digest", wants_answer=True),
        Rewards("ann", (("d1.x", 0.5),)),
        here("ann", "bob", session=3, number=5, is_present=False),
    ):
        again = unpack(pack(content, GROUP), GROUP)
        assert again == content
        assert isinstance(again, ControlMessage) == isinstance(content, ControlMessage)


def test_who_starts_together_has_nobody_to_wait_for(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(first_settings, "ALONE_AFTER", 1.0)
    monkeypatch.setattr(first_settings, "ANSWERED_WITHIN", WITHIN)  # if they waited, that would be noticed

    async def scene(scene: Scene) -> None:
        await scene.ear("somebody who does not answer")
        ann, bob = await asyncio.gather(scene.node("ann"), scene.node("bob"))
        assert [made.statistics().settings_from for made in (ann, bob)] == [None, None]
        assert {peer.name for peer in ann.statistics().peers} == {"bob"}
        ann.machine.operations.set_control_arm("B")
        cleo = await scene.node("cleo")
        assert (cleo.machine.decider.select_arm().arm, cleo.statistics().settings_from) == ("B", "ann")

    played(scene)
    alike = "everybody who answered has just started too: it starts with its own settings (none are set)"
    assert [line for line in caplog.messages if "starts" in line or "settings_not_told" in line] == [
        f"event=starts_together ann: {alike}",
        f"event=starts_together bob: {alike}",
        "event=settings_told cleo: starts with the settings that ann has told",
    ]


def test_who_starts_waits_for_somebody_who_is_here_and_may_know_what_is_set(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_settings, "ALONE_AFTER", 1.0)
    monkeypatch.setattr(first_settings, "ANSWERED_WITHIN", 1.2)

    async def scene(scene: Scene) -> None:
        old = await scene.ear("old")
        say = {name: pack(here("old", name), GROUP) for name in ("ann", "bob")}  # it is here, and does not answer
        monkeypatch.setattr(old, "frame", lambda _, sender: old.send(sender, say[sender]))
        await asyncio.gather(scene.node("ann"), scene.node("bob"))

    played(scene)
    late = "nobody has told the settings within 1.2 seconds: it starts with its own (none are set), and obeys others"
    assert [line.split(": ")[0] for line in caplog.messages if late in line] == [
        "event=settings_not_told ann",
        "event=settings_not_told bob",
    ]


def test_a_refusal_names_whom_it_concerns_if_that_is_a_peer(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        ann.frame(pack(here("bob", "ann"), GROUP), "bob")
        await scene.until(lambda: ann.statistics().peers)
        for name in ("bob", "made up", None):
            ann.refused(Refusal.REVOKED, name)

    played(scene)
    said = "event=packet_refused ann: refused: something from a member whose certificate is revoked"
    assert [line for line in caplog.messages if "packet_refused" in line] == [f"{said}, in the name of bob", said]


def test_a_refusal_says_where_the_first_came_from(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        for number in range(50):  # others may have as many addresses as they like
            ann.refused(Refusal.FORGED, None, f"10.0.0.{number}")
        ann.refused(Refusal.MALFORMED, None, "10.0.0.7")

    played(scene)
    assert [line for line in caplog.messages if "packet_refused" in line] == [
        "event=packet_refused ann: refused: something not from whom it says it is (first from 10.0.0.0)",
        "event=packet_refused ann: refused: something not a message (first from 10.0.0.7)",
    ]


def test_passing_on_a_setting_that_is_ahead_of_a_clock_leads_to_no_quarantine() -> None:
    async def scene(scene: Scene) -> None:
        ann = await scene.node("ann")
        bob = await scene.ear("bob")
        ann.frame(pack(here("bob", "ann"), GROUP), "bob")
        await scene.until(lambda: ann.statistics().peers)
        ahead = Setting("kill", "A", stamp_at(SystemClock().now() + FURTHEST_AHEAD + 60.0), "operator")
        frozen = Setting("freeze B", "frozen", stamp_at(SystemClock().now() + 0.03), "operator")
        for _ in range(2 * guard.MOST_ERRORS):
            ann.frame(pack(ControlsTold("bob", (ahead, frozen)), GROUP), "bob")
        await scene.until(lambda: bob.of(ControlsHeard))
        told = ann.statistics()
        assert (told.quarantined, told.refused) == ((), {"setting": 2 * guard.MOST_ERRORS})
        assert (told.control_arm, ann.machine.controls.frozen) == (None, frozenset({"B"}))

    played(scene)
