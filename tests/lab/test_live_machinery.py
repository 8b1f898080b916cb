"""What live worlds run on: an event loop that can be killed, disks that forget, a network that loses, true accounts."""

import asyncio

import pytest

from cobandit.live.machine.batch import Batch, NodeState
from cobandit.live.store.journal import JournalError
from lab.live_swarm.computer import AFTER_WRITE, BEFORE_WRITE, Clock, Disk, DiskJournal, ProcessClock
from lab.live_swarm.insides import Origin, View
from lab.live_swarm.plan import Cut
from lab.live_swarm.timeline import Killed, ProcessLoop, Timeline
from lab.live_swarm.truth import Bounds, Place, Truth

STATE = NodeState(b"", run=1, secret=b"", is_clean=False, group="g")
CLEAN = NodeState(b"", run=1, secret=b"", is_clean=True, group="g")


def _run(timeline: Timeline, until: float) -> None:
    timeline.at(until, lambda: None)
    while timeline.time < until:
        timeline.step()


def test_coroutines_sleep_in_virtual_time_and_work_for_the_disk_takes_its_time() -> None:
    timeline, done = Timeline(), list[tuple[float, str]]()
    loop = ProcessLoop(timeline, disk_seconds=lambda: 4.0)

    async def work() -> None:
        await asyncio.sleep(10.0)
        done.append((timeline.time, "slept"))
        await asyncio.get_running_loop().run_in_executor(None, lambda: done.append((timeline.time, "wrote")))
        done.append((timeline.time, "knows"))
        try:
            async with asyncio.timeout(5.0):
                await asyncio.Event().wait()
        except TimeoutError:
            done.append((timeline.time, "waited"))

    _ = loop.create_task(work())
    _run(timeline, 100.0)
    assert done == [(10.0, "slept"), (12.0, "wrote"), (14.0, "knows"), (19.0, "waited")]
    assert loop.failures == []


def test_a_loop_that_was_killed_does_nothing_more() -> None:
    timeline, done = Timeline(), list[str]()
    loop = ProcessLoop(timeline, disk_seconds=lambda: 4.0)

    async def work() -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, lambda: done.append("wrote"))
            done.append("knows")
        finally:
            await asyncio.sleep(0.0)
            done.append("tidied up")

    _ = loop.create_task(work())
    timeline.at(3.0, loop.die)
    _run(timeline, 100.0)
    assert done == ["wrote"]


def test_what_nobody_catches_is_told() -> None:
    timeline = Timeline()
    loop = ProcessLoop(timeline, disk_seconds=lambda: 0.0)
    loop.call_later(1.0, int, "x")
    _run(timeline, 2.0)
    assert len(loop.failures) == 1
    assert "invalid literal for int()" in loop.failures[0]


def test_a_process_does_not_notice_that_the_clock_is_set_and_a_later_one_does() -> None:
    timeline = Timeline()
    machine = Clock(timeline)
    process = ProcessClock(machine)
    machine.offset -= 50.0
    assert (machine.now(), ProcessClock(machine).now()) == (process.now() - 50.0, process.now() - 50.0)


class Points:
    def __init__(self, fatal: str = "") -> None:
        self.fatal = fatal
        self.seen: list[str] = []

    def __call__(self, point: str) -> None:
        self.seen.append(point)
        if point == self.fatal:
            raise Killed


def _journal(disk: Disk, mark: int = 1, fatal: str = "") -> DiskJournal:
    known: View = {}
    return DiskJournal(disk, mark, lambda: known, Points(fatal))


def test_a_write_is_there_or_not_however_a_process_ends() -> None:
    disk = Disk(forgets=False)
    _journal(disk).replace(STATE)
    with pytest.raises(Killed):
        _journal(disk, fatal=BEFORE_WRITE).write([Batch(trusted_since=1)])
    assert disk.stored().batches == []
    with pytest.raises(Killed):
        _journal(disk, fatal=AFTER_WRITE).write([Batch(trusted_since=2)])
    assert disk.stored().batches == [Batch(trusted_since=2)]


def test_an_honest_disk_keeps_everything_and_another_forgets_what_it_said_it_had_synced() -> None:
    for forgets, left in ((False, [Batch(trusted_since=1)]), (True, [])):
        disk = Disk(forgets=forgets)
        _journal(disk).replace(STATE)
        _journal(disk).write([Batch(trusted_since=1)])
        assert disk.lose_power() is forgets
        assert disk.stored().batches == left


def test_a_disk_is_rolled_back_to_a_copy_and_what_is_written_then_does_not_change_other_copies() -> None:
    disk = Disk(forgets=False)
    journal = _journal(disk)
    journal.replace(STATE)
    for number in range(1, 20):
        journal.write([Batch(trusted_since=number)])
    twin = disk.copied()
    disk.roll_back(0.0)
    assert disk.stored().batches == [Batch(trusted_since=number) for number in range(1, 5)]
    journal.write([Batch(trusted_since=99)])
    assert disk.stored().batches[4:] == [Batch(trusted_since=99)]
    assert twin.stored().batches == [Batch(trusted_since=number) for number in range(1, 20)]


def test_a_copy_or_an_older_state_of_a_disk_is_not_what_was_left_in_good_order() -> None:
    disk = Disk(forgets=False)
    _journal(disk, mark=1).replace(CLEAN)
    assert disk.stored().state == CLEAN
    assert disk.left_clean_by == 1
    assert disk.copied().stored().state == STATE
    disk.mark = 2  # a later start was here
    assert disk.stored().state == STATE
    assert disk.left_clean_by is None


def test_a_disk_that_takes_nothing_says_so_and_keeps_what_it_had() -> None:
    disk = Disk(forgets=False)
    _journal(disk).replace(STATE)
    disk.refuses = True
    with pytest.raises(JournalError):
        _journal(disk).write([Batch(trusted_since=1)])
    assert disk.stored().batches == []


def test_mail_survives_a_power_failure_and_is_dropped_with_the_turn_that_took_it() -> None:
    disk = Disk(forgets=True)
    journal = _journal(disk)
    journal.replace(STATE)
    disk.leave_mail("token", 1.0)
    disk.lose_power()
    ((number, token, reward),) = journal.mail()
    assert (token, reward) == ("token", 1.0)
    journal.write([Batch()], [number])
    assert journal.mail() == []


def test_a_cut_holds_in_one_direction_or_both_for_a_while() -> None:
    one_way = Cut(10.0, 20.0, frozenset({"a"}), one_way=True)
    assert [one_way.holds(time, "a", "b") for time in (9.0, 10.0, 20.0)] == [False, True, False]
    assert not one_way.holds(10.0, "b", "a")
    both = one_way._replace(one_way=False)
    assert both.holds(10.0, "b", "a")
    assert not both.holds(10.0, "b", "c")


def test_a_decision_that_may_have_two_rewards_counts_once_with_either() -> None:
    truth = Truth()
    truth.may_count("m", 1, "A", 3)
    truth.may_count("m", 1, "A", 3)
    truth.may_count("m", 1, "A", 0)
    truth.may_count("m", 2, "A", 2)
    assert truth.bounds["A"] == Bounds(count=2, most=5, least=2)


def test_what_was_counted_in_two_incarnations_is_remembered_unless_the_first_was_never_written() -> None:
    first, second = Origin("m", 1), Origin("m", 2)
    truth = Truth()
    truth.observed(first, "A", 7, 1)
    truth.forgot(first)
    truth.observed(second, "A", 7, 1)
    assert truth.twice == []
    truth.wrote(second)
    truth.forgot(second)
    third = Origin("m", 3)
    truth.observed(third, "A", 7, 1)
    assert truth.twice == [(Place(second, "A", 1), Place(third, "A", 1))]
