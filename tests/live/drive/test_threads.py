"""The machine is one thread's: nobody else looks into it, whatever a member is asked."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cobandit
from cobandit.live.decide.taken import Taken
from cobandit.live.drive import starting
from cobandit.live.drive.background import background
from cobandit.live.drive.member import Member
from cobandit.live.machine.machine import Machine


class Guarded(Machine):
    """A machine that refuses every look at it from another thread than the loop's."""

    def __getattribute__(self, name: str) -> Any:
        if not background().is_here():
            raise AssertionError(f"{threading.current_thread().name} looked at {name}")
        return super().__getattribute__(name)


@pytest.fixture
def members(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Member, Member]]:
    monkeypatch.setattr(starting, "Machine", Guarded)
    options: dict[str, Any] = {"group": "guarded", "arms": ["A", "B"]}
    with (
        cobandit.connect("memory://threads", name="ann", state=tmp_path / "ann.db", **options) as ann,
        cobandit.connect("memory://threads", name="bob", **options) as bob,
    ):
        yield ann, bob


def test_a_guarded_machine_refuses_other_threads(members: tuple[Member, Member]) -> None:
    with pytest.raises(AssertionError, match="MainThread looked at agent"):
        _ = members[0]._node.machine.agent


def test_what_a_member_says_of_itself_is_published(members: tuple[Member, Member]) -> None:
    ann, _ = members
    before = (ann.name, ann.arms, ann.offered_arms, ann.is_open, ann.disk_trouble, repr(ann))
    assert before == ("ann", ("A", "B"), ("A", "B"), True, None, "<cobandit member 'ann' of group 'guarded'>")
    ann.remove_arm("A")
    ann.add_arm("C")
    assert (ann.arms, ann.offered_arms) == (("A", "B", "C"), ("B", "C"))
    ann.add_arm("A")
    assert ann.offered_arms == ("A", "B", "C")
    ann.close()
    assert (ann.name, ann.arms, ann.offered_arms, ann.is_open) == ("ann", ("A", "B", "C"), ("A", "B", "C"), False)


def test_decisions_are_made_and_rewarded_without_a_look_at_the_machine(members: tuple[Member, Member]) -> None:
    ann, bob = members
    own, by_id, later, withdrawn = (ann.select_arm() for _ in range(4))
    assert (ann.update(own, 1.0), ann.update(own, 1.0)) == (Taken.COUNTED, Taken.COUNTED_BEFORE)
    assert (ann.update(by_id.id, 1.0), ann.update(by_id.id, 1.0)) == (Taken.COUNTED, Taken.COUNTED_BEFORE)
    assert (ann.withdraw(withdrawn), ann.withdraw(withdrawn.id)) == (True, False)
    assert (asyncio.run(ann.updated(later.id, 1.0)), asyncio.run(ann.updated(later.id, 1.0))) == (
        Taken.COUNTED,
        Taken.COUNTED_BEFORE,
    )
    assert ann.update(bob.select_arm().id, 1.0)
    assert asyncio.run(ann.updated(bob.select_arm().id, 1.0))
    ann.sync()
    told = ann.statistics()
    assert (told.own_observations, told.rewards_waiting + told.rewards_brought) == (3, 2)
    assert [entry.reward for entry in ann.log()] == [1.0, 1.0, 1.0, None]


def test_operators_change_the_machine_on_its_own_thread(members: tuple[Member, Member]) -> None:
    ann, _ = members
    ann.freeze_arm("A")
    assert {ann.select_arm().arm for _ in range(20)} == {"B"}
    ann.unfreeze_arm("A")
    ann.kill("A")
    assert {ann.select_arm().arm for _ in range(20)} == {"A"}
    ann.lift()
    ann.catch_up()
    assert ann.flush(60.0)
    assert [member.name for member in ann.fleet().members] == ["ann", "bob"]
    assert ann.snapshot()
    ann.forget("bob")
    assert ann.statistics().peers == ()
