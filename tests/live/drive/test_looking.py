"""How the network side hears of decisions: it looks at a decider in use, and is woken by one that was not."""

import time
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from cobandit import connect
from cobandit.live.decide.decider import Decider
from cobandit.live.drive import looking, sending, starting, writing
from cobandit.live.drive.member import Member
from cobandit.live.machine.batch import Batch
from cobandit.live.store.journal import JournalError, MemoryJournal

WITHIN = 60.0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.001)


def decide(member: Member, times: int) -> None:
    for _ in range(times):
        assert member.update(member.select_arm(), 1.0)


def count_wakes(member: Member, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    decider = member._node.machine.decider
    wakes: list[None] = []
    wake = decider._common._wake

    def counting() -> None:
        wakes.append(None)
        wake()

    monkeypatch.setattr(decider._common, "_wake", counting)
    return wakes


def has_settled(member: Member, rewards: int) -> bool:
    """Whether the network side has taken so many rewards."""
    return member._node.machine.agent.endpoint.replica.observations == rewards


def test_a_decider_in_use_wakes_nobody_and_is_emptied_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "LOOKS_UNTIL_IDLE", 1_000_000)
    with connect("memory://looking", group="in use", name="web-1", arms=["A", "B"]) as member:
        wakes = count_wakes(member, monkeypatch)
        for rounds in range(1, 6):
            decide(member, 10)
            wait_until(partial(has_settled, member, 10 * rounds))
        assert wakes == []


def test_a_decider_out_of_use_wakes_the_network_side_once_for_many_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "LOOKS_UNTIL_IDLE", 3)
    with connect("memory://looking", group="out of use", name="web-1", arms=["A", "B"]) as member:
        wait_until(lambda: not member._node.machine.decider.is_awake)
        monkeypatch.setattr(looking, "LOOKS_UNTIL_IDLE", 1_000_000)
        wakes = count_wakes(member, monkeypatch)
        decide(member, 10)
        wait_until(partial(has_settled, member, 10))
        assert wakes == [None]


def test_a_decision_between_the_last_look_and_the_word_to_call_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(looking, "LOOKS_UNTIL_IDLE", 1_000_000)
    monkeypatch.setattr(sending, "FIRST_ANNOUNCEMENT", 3600.0)
    # Looks find nothing; what there is, is there as soon as the decider is told to call.
    late = property(lambda decider: not decider.is_awake and bool(decider._decided or decider._settled))
    monkeypatch.setattr(Decider, "is_waiting", late)
    with connect("memory://looking", group="between", name="web-1", arms=["A", "B"]) as member:
        wakes = count_wakes(member, monkeypatch)
        wait_until(
            lambda: member._node._sending.counts["letters"] == 1
        )  # from now on there is no other reason for a step
        decide(member, 1)
        monkeypatch.setattr(looking, "LOOKS_UNTIL_IDLE", 1)
        wait_until(partial(has_settled, member, 1))
        assert wakes == []


def _has_reached(events: list[None], count: int) -> bool:
    return len(events) >= count


class FailingJournal(MemoryJournal):
    is_durable = True

    def __init__(self) -> None:
        super().__init__()
        self.attempts = 0
        self.is_broken = True

    def write(self, batches: Sequence[Batch], mail_done: Sequence[int] = ()) -> None:
        self.attempts += 1
        if self.is_broken:
            raise JournalError("the disk is full")
        super().write(batches, mail_done)


def test_a_disk_that_failed_is_tried_again_at_its_time_and_not_with_every_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal = FailingJournal()
    monkeypatch.setattr(writing, "JOURNAL_RETRY", 3600.0)
    monkeypatch.setattr(
        starting, "_open_journal", lambda options, _: (options.name, journal, options.proof, options.url)
    )
    with connect("memory://looking", group="disk", name="web-1", arms=["A", "B"]) as member:
        looks: list[None] = []
        look = member._node._looking._look

        def counting() -> None:
            looks.append(None)
            look()

        monkeypatch.setattr(member._node._looking, "_look", counting)
        for _ in range(20):
            decide(member, 10)
            enough = len(looks) + 2
            wait_until(partial(_has_reached, looks, enough))
        wait_until(lambda: journal.attempts > 0)
        assert journal.attempts == 1
        with pytest.raises(JournalError, match="the disk is full"):
            member.sync()
        assert journal.attempts == 2
        journal.is_broken = False
        member.sync()
        assert sum(len(batch.settled) for batch in journal.history()) == 200
